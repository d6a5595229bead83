"""Limits on attempts that could open an account or send mail, counted in the database.

Sign-ins by password or passkey, confirmations of a password, requests for a new one, invitations
and answers of single sign-on are counted here; wrong codes are counted by `codes`.

Argument. An attempt is counted before it is checked, and whoever cannot be counted is refused.
The counters are in the database because an attempt cannot be checked without it: where accounts can
be read but nothing can be counted (a full disk, a read-only copy), `count_attempt` raises the
database's error, which `api.outages` answers with 503 and Retry-After. No other server or folder is
needed, so a cache that fails gives nobody more guesses. Each count is committed before the attempt
goes on (`durable`), so an error later in the request does not undo it. Strangers can add rows, as
they can to the audit list by signing in wrongly; here the reaper deletes them when their window is
over. Attempts beyond a limit only read.

IP addresses and names are stored only as keyed hashes, which change with each window.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from dpgeo.accounts.models import AttemptCount
from dpgeo.accounts.rate_counters import counter_name


def count_attempt(who: str, limit: int, *, window: int) -> float | None:
    """Count an attempt of the client `who` in the current window of `window` seconds.

    Returns None within the limit. Beyond it, returns the number of seconds until the window ends. A
    `limit` of 0 means that there is no limit. Raises DatabaseError if nothing can be counted. Must
    not be called in a transaction.
    """
    if not limit:
        return None
    now = time.time()
    name, wait = counter_name(who, now, window), window - now % window
    counter = AttemptCount.objects.filter(name=name)
    if counter.filter(attempts__gte=limit).exists():
        return wait
    with transaction.atomic(durable=True):
        ends_at = datetime.fromtimestamp(now + wait, tz=UTC)
        AttemptCount.objects.get_or_create(name=name, defaults={"ends_at": ends_at})
        counter.update(attempts=F("attempts") + 1)
        attempts = counter.values_list("attempts", flat=True).get()
    return wait if attempts > limit else None


def forget_attempt(who: str, *, window: int) -> None:
    """Subtract an attempt that has succeeded, if it was counted in the current window."""
    name = counter_name(who, time.time(), window)
    AttemptCount.objects.filter(name=name, attempts__gt=0).update(attempts=F("attempts") - 1)


def attempts_forget() -> None:
    """Delete the counters of windows that are over."""
    AttemptCount.objects.filter(ends_at__lt=timezone.now()).delete()
