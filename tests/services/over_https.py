"""Caddy with the configuration that this project ships, and requests to it over https."""

from __future__ import annotations

import socket
import ssl
from functools import partial
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path

from tests.services.installation import ROOT

CADDY = "Caddy: apt-get install caddy"


def ask(port: int, root: Path, path: str, host: str = "localhost") -> HTTPResponse:
    """Request a path over https from this machine; return the response.

    The request fails unless the authority with the certificate `root` vouches for the server as
    `host`.
    """
    context = ssl.create_default_context(cafile=str(root))
    connection = HTTPSConnection(host, port, context=context, timeout=30)
    here = partial(socket.create_connection, ("127.0.0.1", port))
    connection._create_connection = lambda _, *rest: here(*rest)  # type: ignore[attr-defined]
    connection.request("GET", path)
    return connection.getresponse()


def local_caddyfile(http: int, https: int) -> str:
    """Return the shipped configuration, with these ports and Caddy's own certificate authority.

    That authority replaces Let's Encrypt, which cannot reach this machine.
    """
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    first = "{\n\tservers"
    assert first in text
    own = (
        f"admin off\n\tlocal_certs\n\tskip_install_trust\n\thttp_port {http}\n\thttps_port {https}"
    )
    return text.replace(first, f"{{\n\t{own}\n\tservers", 1)
