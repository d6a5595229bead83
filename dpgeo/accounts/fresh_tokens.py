"""Ages of sign-ins and of signed tokens, which a clock that is set back does not keep young.

An age is the difference between two readings of the machine's clock. If the clock was ahead when
something was made, and is then set right, the age is negative, and would stay below any limit until
the clock has caught up. So a time in the future is treated as long ago; where another machine may
have read its clock, times more than `CLOCKS_APART` ahead.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import signing
from django.utils.http import base36_to_int

CLOCKS_APART = 60
"""Seconds by which another machine's clock may differ from this one's."""


def is_from_future(at: float) -> bool:
    """Return whether the time `at`, in seconds since 1970, can only come from a changed clock."""
    return at > time.time() + CLOCKS_APART


def is_younger(at: float, seconds: float) -> bool:
    """Return whether the time `at`, in seconds since 1970, is past, but by less than `seconds`."""
    return 0 <= time.time() - at < seconds


class FreshSigner(signing.TimestampSigner):
    """Django's signer with a time, which also refuses times in the future."""

    def unsign(self, value: str, max_age: int | timedelta | None = None) -> str:
        """Return the signed text. Raises SignatureExpired, or BadSignature."""
        text = super().unsign(value, max_age)
        stamp = value.rsplit(self.sep, 2)[1]
        if is_from_future(signing.b62_decode(stamp)):
            raise signing.SignatureExpired("The signature is from the future.")
        return text


def seal(facts: Any, *, salt: str) -> str:
    """Return signed text, with the current time, that carries JSON-serialisable facts."""
    return FreshSigner(salt=salt).sign_object(facts, compress=True)


def unseal(text: str, *, salt: str, max_age: int | timedelta) -> Any:
    """Return the facts that sealed text carries. Raises BadSignature if it is not valid."""
    return FreshSigner(salt=salt).unsign_object(text, max_age=max_age)


class ResetTokens(PasswordResetTokenGenerator):
    """Django's tokens of links that set a password, refused if they come from the future."""

    def check_token(self, user: Any, token: str | None) -> bool:
        """Return whether a token is an account's, unused and made in the last three days."""
        if not token or not super().check_token(user, token):
            return False
        made = base36_to_int(token.partition("-")[0])
        now: int = self._num_seconds(self._now())
        return made <= now + CLOCKS_APART


reset_tokens = ResetTokens()
