"""Devices from which an account has signed in, known by a signed cookie.

Anybody who knows an account's name can use up its attempts to sign in. So a device on which its
member has signed in before has attempts of its own: failures elsewhere do not lock it out, and its
own failures are counted as strictly as theirs. A cookie is given only to somebody who had the
password, is bound to account and password, and expires after `LIFETIME`; changing the password ends
all of an account's cookies. Each has one of `DEVICES` numbers, by which failures are counted: so
however many cookies somebody collects, they add at most that many times the attempts of a window.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from dpgeo.accounts.models import User

DEVICES = 10
"""How many devices of one account are told apart."""

LIFETIME = timedelta(days=90)

SALT = "dpgeo.accounts.device"


def device_of(request: HttpRequest, name: str) -> str | None:
    """Return the key under which failures of a known device count; None for any other device.

    `name` is the account that the request wants to enter; a device is known to one account.
    """
    device = _read(request)
    if device is None or device[0].get_username().casefold() != name.casefold():
        return None
    return f"signing in by device {device[0].pk} {device[1]}"


def remember_device(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Give the device a cookie, or a fresh one of the same number, after it has signed in."""
    known = _read(request)
    number = known[1] if known and known[0].pk == user.pk else secrets.randbelow(DEVICES)
    facts = {"user": user.pk, "number": number, "password": _fingerprint(user)}
    response.set_cookie(
        settings.DPGEO_DEVICE_COOKIE,
        signing.dumps(facts, salt=SALT),
        max_age=LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> tuple[User, int] | None:
    """Return the account and the number of a valid cookie."""
    cookie = request.COOKIES.get(settings.DPGEO_DEVICE_COOKIE, "")
    try:
        facts = signing.loads(cookie, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=facts["user"], is_active=True).first()
    if user is None or not constant_time_compare(facts["password"], _fingerprint(user)):
        return None
    return user, facts["number"]


def _fingerprint(user: User) -> str:
    """Return a keyed hash of the stored password, which changes with it."""
    return salted_hmac(SALT, user.password, algorithm="sha256").hexdigest()
