"""Request limits per minute, by API key or, for requests without a key, by IP address.

The keys of an organisation together may have a quota for a day.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from dpgeo.accounts.models import ApiKey, User
from dpgeo.accounts.rate_counters import DAY, address_of, count, requests_of

SECONDS_A_REQUEST = 0.05
"""Seconds of processor time that count as one more request, so that 600 requests correspond to 30
seconds.
"""


def count_request(request: Request) -> None:
    """Count a request by its API key or, without one, by its IP address.

    Raises Throttled, with the time to wait, if the limit is exceeded. If the key is invalid, counts
    the request by its IP address and then raises AuthenticationFailed.
    """
    refusal = None
    key = None
    try:
        key = _key_of(request)
    except AuthenticationFailed as error:
        refusal = error
    if key:
        wait = count(f"key {key.pk}", settings.DPGEO_KEY_REQUESTS_A_MINUTE)
        if wait is None:
            most = key.organisation.quota_requests or 0
            wait = count(requests_of(key.organisation_id), most, window=DAY)
    else:
        wait = count(f"address {address_of(request)}", settings.DPGEO_REQUESTS_A_MINUTE)
    if wait is not None:
        raise Throttled(wait=wait)
    if refusal:
        raise refusal


def _key_of(request: Request) -> ApiKey | None:
    """Return the API key of a request, or None without one. Raises AuthenticationFailed.

    A request whose header names another authentication scheme counts as one without a key.
    """
    if "Authorization" not in request.headers:
        return None
    user: Any = request.user
    return user.acting_key if isinstance(user, User) else None


def count_time(request: Request, seconds: float) -> None:
    """Count a request's processor time towards the rate limit, unless it has an API key.

    Every SECONDS_A_REQUEST count as one more request.
    """
    more = int(seconds / SECONDS_A_REQUEST)
    if not more:
        return
    try:
        key = _key_of(request)
    except AuthenticationFailed:
        key = None
    if not key:
        count(f"address {address_of(request)}", settings.DPGEO_REQUESTS_A_MINUTE, more=more)


def count_tasks(request: Request, tasks: int) -> None:
    """Count `tasks` more tasks planned from an IP address, with or without an API key.

    Raises Throttled if the tasks of a minute exceed the limit.
    """
    who = f"tasks {address_of(request)}"
    wait = count(who, settings.DPGEO_TASKS_A_MINUTE, more=tasks)
    if wait is not None:
        raise Throttled(wait=wait)
