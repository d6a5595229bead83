"""How often somebody asks, so that nobody keeps the others from being served or guesses passwords.

The counts are in the cache "throttle", which all processes share: files beside the database by
default (no further server, and no write to the database per request), Redis where several machines
serve. Neither holds an address: only a keyed hash of it, for two windows. A cache that fails lets
requests pass: nobody is shut out of a site whose cache is down, and a password takes a tenth of a
second of processor time to try even then.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from typing import Any

from django.core.cache import caches
from django.utils.crypto import salted_hmac
from rest_framework.throttling import BaseThrottle

logger = logging.getLogger(__name__)


def count(who: str, limit: int, *, window: int = 60, more: int = 1) -> float | None:
    """So many more of `who` in this window of so many seconds; a limit of 0 is none.

    Answers None within the limit, and beyond it the seconds until the window ends.
    """
    if not limit:
        return None
    now = time.time()
    name = salted_hmac("dpgeo.throttle", f"{who} {int(now // window)}").hexdigest()
    try:
        counts = caches["throttle"]
        counts.add(name, 0, timeout=2 * window)
        seen = counts.incr(name, more)
    except Exception as error:  # Redis and files fail in many ways; none may close the site.
        logger.warning("Requests are not counted: %s", type(error).__name__)
        return None
    return window - now % window if seen > limit else None


def address_of(request: Any) -> str:
    """Where a request comes from: an IPv4 address, or the network that one IPv6 customer gets."""

    text = str(BaseThrottle().get_ident(request))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if address.version == 4:
        return text
    return str(ipaddress.ip_network((int(address), 64), strict=False))
