"""Origin of an event in coarse form: the network from which a request came."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from rest_framework.throttling import BaseThrottle

CONSOLE = "console"
"""Origin of an event outside a request: a command at a terminal, a worker or the reaper."""

WITH_PORT = re.compile(r"\[(.+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
"""Matches an address with a port; those of IPv6 are in brackets."""

PREFIXES = {4: 24, 6: 48}
"""Lengths in bits of the network addresses that are stored, by version of the Internet protocol.

A stored address identifies the network of an organisation or a provider, but no machine in it.
"""

_request: ContextVar[HttpRequest | None] = ContextVar("audited_request", default=None)


_acting: ContextVar[str] = ContextVar("audited_acting", default="")


@contextmanager
def acting(name: str) -> Iterator[None]:
    """Attribute events in the block to `name`, such as a sign-in provider, not to an account."""
    token = _acting.set(name)
    try:
        yield
    finally:
        _acting.reset(token)


def audited_request(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that stores the current request, so that events can name its user and
    network.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        token = _request.set(request)
        try:
            return get_response(request)
        finally:
            _request.reset(token)

    return middleware


def current_origin() -> str:
    """Return the network of the current request's client, or CONSOLE outside a request."""
    request = _request.get()
    return (
        CONSOLE
        if request is None
        else client_network(str(BaseThrottle().get_ident(cast(Any, request))))
    )


def current_user() -> Any:
    """Return the user of the current request, or None if there is none or `acting` names
    somebody.
    """
    if _acting.get():
        return None
    user = getattr(_request.get(), "user", None)
    return user if user is not None and user.is_authenticated else None


def current_name() -> str:
    """Return the name to record for an event without an account: the one given to `acting`, or else
    CONSOLE outside a request and "" within one.
    """
    return _acting.get() or CONSOLE * (_request.get() is None)


def client_network(text: str) -> str:
    """Return the network that contains an address, or "unknown" if the text is no address."""
    address = client_address(text)
    if address is None:
        return "unknown"
    network = ipaddress.IPv4Network if address.version == 4 else ipaddress.IPv6Network
    return str(network((int(address), PREFIXES[address.version]), strict=False))


def client_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that the server or a proxy gives for a client, or None if it is none.

    A server that listens for IPv6 and IPv4 at once writes IPv4 addresses as ::ffff:192.0.2.7, and
    some proxies add the client's port, which each connection chooses anew.
    """
    with_port = WITH_PORT.fullmatch(text.strip())
    try:
        address = ipaddress.ip_address(with_port[1] or with_port[2] if with_port else text.strip())
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address
