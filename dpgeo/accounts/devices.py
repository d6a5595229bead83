"""Devices from which an account has signed in, recognised by a signed cookie.

Anybody who knows an account's name can use up its sign-in attempts. A device from which the account
has signed in before therefore has its own allowance of attempts: failures elsewhere do not block
it, and its own failures are limited just as strictly. A device gets a cookie only after a
successful sign-in. The cookie is bound to the account and its password, and expires after
`LIFETIME`; changing the password invalidates all cookies of the account. Each cookie carries one of
`DEVICES` numbers, and failures are counted by that number. However many cookies somebody collects,
the attempts per window are thus at most `DEVICES` times those of one device.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from dpgeo.accounts.fresh_tokens import seal, unseal
from dpgeo.accounts.models import User

DEVICES = 10
"""Number of failure counters per account. A new device gets one of them at random."""

LIFETIME = timedelta(days=90)

SALT = "dpgeo.accounts.device"


def device_name(request: HttpRequest, name: str) -> str | None:
    """Return the key of a known device's failure counter, or None for any other device.

    `name` is the account name in the request. A device is known only to the account that signed in
    from it, and names that differ in case belong to different accounts.
    """
    device = _read(request)
    if device is None or device[0].get_username() != name:
        return None
    return f"signing in by device {device[0].pk} {device[1]}"


def remember_device(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Set the device's cookie after a sign-in, with the number of its failure counter.

    A device that the account has used before keeps its number.
    """
    known = _read(request)
    number = known[1] if known and known[0].pk == user.pk else secrets.randbelow(DEVICES)
    facts = {"user": user.pk, "number": number, "password": _fingerprint(user)}
    response.set_cookie(
        settings.DPGEO_DEVICE_COOKIE,
        seal(facts, salt=SALT),
        max_age=LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> tuple[User, int] | None:
    """Return the account that the device's cookie names, and the number of its failure counter.

    Returns None if the cookie is missing or not valid.
    """
    cookie = request.COOKIES.get(settings.DPGEO_DEVICE_COOKIE, "")
    try:
        facts = unseal(cookie, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=facts["user"], is_active=True).first()
    if user is None or not constant_time_compare(facts["password"], _fingerprint(user)):
        return None
    return user, facts["number"]


def _fingerprint(user: User) -> str:
    """Return a keyed hash of the stored password; it changes when the password changes."""
    return salted_hmac(SALT, user.password, algorithm="sha256").hexdigest()
