"""Check of one-time and recovery codes, with a limit on guesses.

A code has six digits and three are valid at any time, so a guess is right with a chance of 3 in a
million. `A_WINDOW` wrong codes in a quarter of an hour and `A_DAY` in a day leave whoever already
has the password a chance below 1 in 10,000 a day. Wrong codes are counted in the database, under a
lock on the account, in one transaction with the check: neither concurrent requests nor a cache that
fails give more guesses. Only somebody with the password can make codes be refused for a while, and
passkeys and single sign-on are not affected.

The time step of an accepted code is stored, and codes of this step or an earlier one are refused,
so a code that somebody else has seen is of no use (RFC 6238, section 5.2).
"""

from __future__ import annotations

from datetime import timedelta

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from django.db import transaction
from django.utils import timezone

from dpgeo.accounts.models import FailedCode, User
from dpgeo.core.errors import InvalidInput

A_WINDOW, A_DAY = 5, 20
"""Numbers of wrong codes after which more are refused: in a quarter of an hour, and in a day."""

WINDOW, DAY = timedelta(minutes=15), timedelta(days=1)

STEP = "step"


class TooManyCodes(InvalidInput):
    """Raised if an account's codes are refused because too many were wrong."""


def code_use(*, user: User, code: str) -> Authenticator:
    """Use up a code of an account, and return the factor it belongs to (app or recovery codes).

    Raises InvalidInput for a wrong or used code, or TooManyCodes beyond the limits.
    """
    with transaction.atomic(durable=True):
        User.objects.select_for_update().get(pk=user.pk)
        refused = _is_over_limit(user)
        if not refused:
            # Count the code before it is checked: if it cannot be counted, it is not checked.
            failure = FailedCode.objects.create(user=user)
            if found := _use(user, code):
                failure.delete()
                found.user = user
                return found
    if refused:
        raise TooManyCodes("Too many wrong codes; try again later, or use a passkey.", field="code")
    raise InvalidInput("This code is not right, or it was used already.", field="code")


def _is_over_limit(user: User) -> bool:
    now = timezone.now()
    FailedCode.objects.filter(user=user, at__lt=now - DAY).delete()
    failed = FailedCode.objects.filter(user=user)
    return failed.count() >= A_DAY or failed.filter(at__gte=now - WINDOW).count() >= A_WINDOW


def _use(user: User, code: str) -> Authenticator | None:
    """Mark a code as used, and return the stored factor it belongs to; None if it is not valid."""
    for each in Authenticator.objects.select_for_update().filter(user=user):
        if each.type == Authenticator.Type.TOTP and _use_step(each, code):
            return each
        if each.type == Authenticator.Type.RECOVERY_CODES and each.wrap().validate_code(code):
            each.refresh_from_db()
            return each
    return None


def _use_step(authenticator: Authenticator, code: str) -> bool:
    secret = decrypt(authenticator.data["secret"])
    step = matching_step(secret, code)
    if step is None or step <= authenticator.data.get(STEP, -1):
        return False
    authenticator.data[STEP] = step
    authenticator.save(update_fields=["data"])
    return True


def matching_step(secret: str, code: str) -> int | None:
    """Return the currently valid time step that has this code, or None if no step has it."""
    for step in totp.yield_hotp_counters_from_time():
        expected = totp.format_hotp_value(totp.hotp_value(secret, step))
        if compare_user_code(actual=code, expected=expected):
            return int(step)
    return None
