"""Sending of a message to a server that an organisation names, without reaching private networks.

Server-side request forgery: whoever may create a webhook chooses a URL that this server then
connects to, so the URL might name a machine that only this server can reach. The host is therefore
resolved once, every address found has to be public, and the connection is made to that very
address. A second look-up, which might have another result (DNS rebinding), never takes place.
Redirects are not followed, proxies from the environment are not used, and nothing of a response is
kept except its status.
"""

from __future__ import annotations

import enum
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from dpgeo.core.errors import InvalidInput
from dpgeo.webhooks.addresses import is_public

SECONDS = 10.0
"""Seconds within which a receiver has to respond."""

MAX_STATUS_LINE_LENGTH = 256


class Outcome(enum.StrEnum):
    """Reason why a message got no HTTP response."""

    NO_NAME = "no-name"
    PRIVATE = "private"
    NO_ANSWER = "no-answer"
    NO_TLS = "no-tls"


class PrivateAddress(Exception):
    """Raised if a host has an address that is not public."""


def check_url(url: str) -> SplitResult:
    """Return the parts of a URL. Raises InvalidInput if no message may be sent to it.

    Only https is allowed, unless the installation allows private addresses.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = SplitResult("", "", "", "", ""), None
    schemes = {"https", "http"} if settings.DPGEO_WEBHOOK_PRIVATE else {"https"}
    plain = url.isascii() and url.isprintable() and " " not in url
    if (
        not plain
        or len(url) > 500
        or parts.scheme not in schemes
        or not parts.hostname
        or "@" in parts.netloc
        or parts.fragment
        or port == 0
    ):
        raise InvalidInput(
            "Give an address such as https://hooks.example.org/maps, of at most 500 characters, "
            "without a user or a password.",
            field="url",
        )
    return parts


def resolve(host: str, port: int) -> str:
    """Return an IP address of a host.

    Raises PrivateAddress if any of its addresses is not public, unless the installation allows
    private addresses, or OSError if it has none.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]) for each in found]
    if not settings.DPGEO_WEBHOOK_PRIVATE:
        for text in addresses:
            if not is_public(ipaddress.ip_address(text.partition("%")[0])):
                raise PrivateAddress
    return addresses[0]


def send(url: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Post a body to a URL, and return the status of the response or an `Outcome`."""
    parts = check_url(url)
    deadline = time.monotonic() + SECONDS
    https = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if https else 80)
    connection = (HTTPSConnection if https else HTTPConnection)(host, port)
    try:
        address = resolve(host, port)
    except PrivateAddress:
        return Outcome.PRIVATE
    except (OSError, UnicodeError):
        return Outcome.NO_NAME
    try:
        connection.sock = socket.create_connection((address, port), timeout=SECONDS)
        if https:
            context = ssl.create_default_context()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=host)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body=body, headers=dict(headers))
        return _status(connection.sock, deadline)
    except ssl.SSLError:
        return Outcome.NO_TLS
    except (HTTPException, OSError, ValueError):
        return Outcome.NO_ANSWER
    finally:
        connection.close()


def _status(answering: socket.socket, deadline: float) -> str:
    """Return the status code from the first line of an HTTP response, without reading further.

    Raises OSError if the line is not complete before the deadline, even if it arrives byte by byte,
    and ValueError if it is not HTTP.
    """
    line = b""
    while b"\n" not in line and len(line) < MAX_STATUS_LINE_LENGTH:
        answering.settimeout(max(deadline - time.monotonic(), 0.001))
        if not (read := answering.recv(MAX_STATUS_LINE_LENGTH)):
            break
        line += read
    words = line.split(b"\r\n")[0].split(b" ")
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or len(words[1]) != 3:
        raise ValueError("no HTTP")
    return str(int(words[1]))
