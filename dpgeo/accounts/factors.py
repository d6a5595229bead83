"""Services that add and remove second factors and recovery codes."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from dpgeo.accounts.codes import STEP, matching_step
from dpgeo.accounts.models import User
from dpgeo.accounts.second_factor import factors_of, needs_second_factor
from dpgeo.accounts.selectors import user_sessions
from dpgeo.accounts.services import session_end
from dpgeo.core.errors import Conflict, InvalidInput


@transaction.atomic
def app_add(*, request: HttpRequest, user: User, secret: str, code: str) -> list[str]:
    """Add an authenticator app whose first code is given; return fresh recovery codes.

    No codes are returned if the account already has some. All other sessions end, because they did
    not prove the new factor. Raises InvalidInput for a wrong code, or Conflict if there is an app.
    """
    User.objects.select_for_update().get(pk=user.pk)
    step = matching_step(secret, code)
    if step is None:
        raise InvalidInput(
            "This code is not right. Check the clock of your phone, and type the newest code.",
            field="code",
        )
    if Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists():
        raise Conflict("This account has an authenticator app already; remove it first.")
    factor = TOTP.activate(user, secret).instance
    factor.data[STEP] = step
    factor.save(update_fields=["data"])
    return factor_added(request=request, user=user, factor=factor)


@transaction.atomic
def passkey_add(
    *, request: HttpRequest, user: User, name: str, credential: dict[str, Any]
) -> list[str]:
    """Add a passkey that answered this session's challenge; return fresh recovery codes.

    No codes are returned if the account already has some. All other sessions end, because they did
    not prove the new factor. Raises InvalidInput for a wrong answer, and for a passkey that does
    not ask its user for a PIN or fingerprint.
    """
    from allauth.mfa.webauthn.internal import auth

    User.objects.select_for_update().get(pk=user.pk)
    try:
        auth.parse_registration_response(credential)
        binding = auth.complete_registration(credential)
    except (ValidationError, AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput("The passkey was not accepted; try again.") from None
    if not binding.is_user_verified():
        raise InvalidInput(
            "This passkey does not check who uses it; give it a PIN, or use another."
        )
    factor = auth.WebAuthn.add(user, name, credential).instance
    return factor_added(request=request, user=user, factor=factor)


def passkey_use(*, user: User, credential: dict[str, Any]) -> Authenticator:
    """Return the passkey of an account that answered this session's challenge.

    Raises InvalidInput if the `credential` is not a right answer by one of its passkeys.
    """
    from allauth.mfa.webauthn.internal import auth

    try:
        auth.parse_authentication_response(credential)
        return auth.complete_authentication(user, credential)
    except (ValidationError, AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput("This passkey does not belong to this account; try again.") from None


def factor_added(*, request: HttpRequest, user: User, factor: Authenticator) -> list[str]:
    """Mark a session as having proved its account's new factor, and end the account's other
    sessions.

    Returns fresh recovery codes, or none if the account already has some.
    """
    record_authentication(request, user, "mfa", id=factor.pk, type=factor.type)
    for session in user_sessions(user).exclude(session_key=request.session.session_key or ""):
        session_end(session=session)
    has_codes = Authenticator.objects.filter(
        user=user, type=Authenticator.Type.RECOVERY_CODES
    ).exists()
    return [] if has_codes else recovery_codes_renew(user=user)


@transaction.atomic
def recovery_codes_renew(*, user: User) -> list[str]:
    """Replace an account's recovery codes and return the new ones, which are shown only once.

    Raises Conflict if the account has no second factor.
    """
    User.objects.select_for_update().get(pk=user.pk)
    if not factors_of(user):
        raise Conflict("Set up a second factor first; recovery codes replace a lost one.")
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    return cast(list[str], RecoveryCodes.activate(user).generate_codes())


def recovery_codes_left(user: User) -> int:
    """Return the number of an account's unused recovery codes."""
    stored = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES)
    return sum(len(each.wrap().get_unused_codes()) for each in stored)


@transaction.atomic
def factor_remove(*, user: User, factor: Authenticator) -> None:
    """Remove one of a user's own second factors, and the recovery codes with the last one.

    Raises Conflict for the last factor of an account that needs one.
    """
    User.objects.select_for_update().get(pk=user.pk)
    others = [each for each in factors_of(user) if each.pk != factor.pk]
    if not others and needs_second_factor(user):
        raise Conflict(
            "This account needs a second factor; set up another one before you remove this one."
        )
    Authenticator.objects.filter(pk=factor.pk, user=user).delete()
    if not others:
        Authenticator.objects.filter(user=user).delete()


@transaction.atomic
def factors_reset(*, user: User) -> None:
    """Remove all second factors of somebody who lost them, and end their sessions.

    The caller must have checked who asks for it: afterwards the password alone opens the account,
    until a new factor is set up.
    """
    Authenticator.objects.filter(user=user).delete()
    for session in user_sessions(user):
        session_end(session=session)
