"""How often one caller may ask, so that nobody keeps the others from being served.

Requests are counted by key, and without one by address, in windows of a minute. The counts are in
the cache "throttle", which all processes share: files beside the database by default (no further
server, and no write to the database per request), Redis where several machines serve. Neither
holds an address: only a keyed hash of it, for two windows. A cache that fails lets requests pass,
for this protects the server's time and no secret; and a count lost between two processes lets one
request more pass.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from dpgeo.accounts.models import User

WINDOW_SECONDS = 60

logger = logging.getLogger(__name__)


def count_request(request: Request) -> None:
    """Count a request, by its key or its address. Raises Throttled, which says when to come back.

    A wrong key counts for its address, and then raises AuthenticationFailed.
    """
    refusal = None
    user: Any = None
    if "Authorization" in request.headers:
        try:
            user = request.user
        except AuthenticationFailed as error:
            refusal = error
    key = user.acting_key if isinstance(user, User) else None
    if key:
        _count(f"key {key.pk}", settings.DPGEO_KEY_REQUESTS_A_MINUTE)
    else:
        _count(f"address {_address(request)}", settings.DPGEO_REQUESTS_A_MINUTE)
    if refusal:
        raise refusal


def _count(who: str, limit: int) -> None:
    """One more request of `who` in this minute; a limit of 0 is none."""
    if not limit:
        return
    now = time.time()
    name = salted_hmac("dpgeo.throttle", f"{who} {int(now // WINDOW_SECONDS)}").hexdigest()
    try:
        counts = caches["throttle"]
        counts.add(name, 0, timeout=2 * WINDOW_SECONDS)
        seen = counts.incr(name)
    except Exception as error:  # Redis and files fail in many ways; none may close the site.
        logger.warning("Requests are not counted: %s", type(error).__name__)
        return
    if seen > limit:
        raise Throttled(wait=WINDOW_SECONDS - now % WINDOW_SECONDS)


def _address(request: Request) -> str:
    """Where a request comes from: an IPv4 address, or the network that one IPv6 customer gets."""
    text = str(BaseThrottle().get_ident(request))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if address.version == 4:
        return text
    return str(ipaddress.ip_network((int(address), 64), strict=False))
