"""Second factors of accounts: who needs one, and which sessions have proved one.

A second factor is an authenticator app (TOTP, RFC 6238) or a passkey (WebAuthn); recovery codes
stand in for a lost one. django-allauth stores them and asks for them while somebody signs in.

An organisation can demand a second factor of all members from some role on, and an installation of
all its organisations (DPGEO_SECOND_FACTOR). Superusers and staff, who may enter the administration,
need one as soon as anybody does.

Argument. Every page, the administration and the API learn who sent a request from `request.user`.
The middleware `proved_sessions` hides the user of every session in which no second factor was
proved although the account has one or needs one. No view has to ask by itself, so a new page, or a
way to sign in that forgets to ask for a code, opens nothing. The pages on which an account gets its
first factor are the only exceptions; they are marked with `opens_before_second_factor`, and open to
accounts without a factor alone: otherwise a session without the factor could add or remove one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from dpgeo.accounts.fresh_tokens import is_from_future
from dpgeo.accounts.models import Membership, Organisation, Role, User
from dpgeo.accounts.providers import providers
from dpgeo.accounts.selectors import RANK, Visitor

STAFF = "staff"
"""Value of DPGEO_SECOND_FACTOR that demands a second factor of staff and superusers alone."""

View = TypeVar("View", bound=Callable[..., Any])


def factors_of(user: User) -> list[Authenticator]:
    """Return an account's second factors, oldest first, without its recovery codes."""
    factors = Authenticator.objects.filter(user=user).order_by("created_at", "pk")
    return list(factors.exclude(type=Authenticator.Type.RECOVERY_CODES))


def has_second_factor(user: User) -> bool:
    """Return whether an account has a second factor."""
    factors = Authenticator.objects.filter(user=user)
    return bool(factors.exclude(type=Authenticator.Type.RECOVERY_CODES).exists())


def needs_second_factor(user: User) -> bool:
    """Return whether an organisation or the installation demands a second factor of an account."""
    everywhere = settings.DPGEO_SECOND_FACTOR
    if user.is_superuser or user.is_staff:
        return bool(everywhere) or Organisation.objects.exclude(second_factor="").exists()
    memberships = Membership.objects.filter(user=user).select_related("organisation")
    for membership in memberships:
        demanded = {everywhere, membership.organisation.second_factor} & set(Role.values)
        if any(RANK[Role(membership.role)] >= RANK[Role(each)] for each in demanded):
            return True
    return False


def is_proved(request: HttpRequest, user: Visitor) -> bool:
    """Return whether a session has proved a second factor, or its account needs none."""
    if not isinstance(user, User):
        return True
    records = get_authentication_records(request, user)
    if any(each["method"] == "mfa" or _is_trusted(each) for each in records):
        return True
    return not has_second_factor(user) and not needs_second_factor(user)


def _is_trusted(record: dict[str, Any]) -> bool:
    """Return whether a sign-in came from a provider that asks for a second factor by itself."""
    provider = providers().get(record.get("provider", ""), {})
    return record["method"] == "socialaccount" and bool(provider.get("second_factor"))


def proof_record(*, request: HttpRequest, user: User, at: float) -> None:
    """Record in a session that the user proved their identity to a provider.

    `at` is when they did, in seconds since 1970.
    """
    record_authentication(request, user, "provider", at=min(at, time.time()))


def opens_before_second_factor(view: View) -> View:
    """Mark a view as open to sessions whose account has no second factor yet."""
    view.opens_before_second_factor = True  # type: ignore[attr-defined]
    return view


class proved_sessions:  # noqa: N801
    """Middleware that treats a signed-in user as anonymous until a demanded second factor is
    proved.

    Like Django's AuthenticationMiddleware, it does not read the session before a view asks for the
    user, so that public pages stay the same for all.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Replace the request's user."""
        request.user = cast(User, SimpleLazyObject(lambda: _proved_user(request)))
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, *_: object) -> None:
        """Treat a user without a second factor as signed in on the views where one is set up."""
        if getattr(view, "opens_before_second_factor", False):
            request.user = cast(User, SimpleLazyObject(lambda: _enrolling_user(request)))


def signed_in_user(request: HttpRequest) -> Visitor:
    """Return a session's user, whether or not a second factor was proved.

    A session that began in the future was made while the clock was wrong, so nobody knows its age.
    """
    user = get_user(request)
    records = get_authentication_records(request, user) if user.is_authenticated else []
    return AnonymousUser() if any(is_from_future(each["at"]) for each in records) else user


def _proved_user(request: HttpRequest) -> Visitor:
    user = signed_in_user(request)
    return user if is_proved(request, user) else AnonymousUser()


def _enrolling_user(request: HttpRequest) -> Visitor:
    user = signed_in_user(request)
    enrols = isinstance(user, User) and not has_second_factor(user)
    return user if enrols or is_proved(request, user) else AnonymousUser()
