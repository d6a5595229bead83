"""Rate limits on requests, which keep the site available.

The counters are in the cache named "throttle", which all processes share. By default it consists of
files next to the database, which need no additional server and no database write per request. If
several machines serve the site, the cache is Redis. IP addresses are stored only as keyed hashes,
which change with each window; counters expire after two windows, and the reaper deletes the files
of expired ones.

If the cache fails, requests are not limited: what they read is public, or opened by a key of 256
random bits, so the limits protect nothing but the server, and the failure of a counter must not
take the site down. Where a limit protects an account or private data, the counters are in the
database, and what cannot be counted is refused (`attempts`).
"""

from __future__ import annotations

import ipaddress
import logging
import time
from typing import Any

from django.core.cache import caches
from django.utils.crypto import salted_hmac
from rest_framework.throttling import BaseThrottle

from dpgeo.accounts.file_cache import CountsInFiles
from dpgeo.audit.origin import client_address

logger = logging.getLogger(__name__)


DAY = 86400
"""Seconds of a day; windows of this length begin at midnight in UTC."""


def count(who: str, limit: int, *, window: int = 60, more: int = 1) -> float | None:
    """Count `more` events of the client `who` in the current window of `window` seconds.

    Returns None within the limit. Beyond it, returns the number of seconds until the window ends. A
    `limit` of 0 means that there is no limit.
    """
    if not limit:
        return None
    now = time.time()
    name = counter_name(who, now, window)
    try:
        counts = caches["throttle"]
        counts.add(name, 0, timeout=2 * window)
        seen = counts.incr(name, more)
    # Catch all errors, because Redis and files fail in many ways, and no failure may take the site
    # down.
    except Exception as error:
        logger.warning("Requests are not counted: %s", type(error).__name__)
        return None
    return window - now % window if seen > limit else None


def counted(who: str, *, window: int) -> int:
    """Return how many events of a client were counted in the current window, or 0 if unknown."""
    try:
        return int(caches["throttle"].get(counter_name(who, time.time(), window)) or 0)
    except Exception as error:  # no failure of the cache may take the site down
        logger.warning("Requests are not counted: %s", type(error).__name__)
        return 0


def counters_forget() -> None:
    """Delete expired counters, if they are in files; Redis deletes its own."""
    cache = caches["throttle"]
    if not isinstance(cache, CountsInFiles):
        return
    try:
        cache.delete_expired()
    except OSError as error:  # the reaper's other work must go on
        logger.warning("Expired counters stay: %s", type(error).__name__)


def requests_of(organisation: int) -> str:
    """Return the name under which the requests of an organisation's API keys are counted."""
    return f"requests of {organisation}"


def counter_name(who: str, now: float, window: int) -> str:
    """Return a keyed hash of a client's name and of the window that contains the time `now`."""
    return salted_hmac("dpgeo.throttle", f"{who} {int(now // window)}").hexdigest()


def address_of(request: Any) -> str:
    """Return the IPv4 address of a request's client, or its /64 network for IPv6."""
    text = str(BaseThrottle().get_ident(request))
    address = client_address(text)
    if address is None or address.version == 4:
        return str(address or text)
    return str(ipaddress.ip_network((int(address), 64), strict=False))
