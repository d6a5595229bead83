"""Who acts: a program by its key, a member by their session, or anybody.

A key is sent as `Authorization: Bearer dpg_...`. What it opens is decided in `accounts.selectors`,
by its scopes and the role of who made it.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import Visitor, bearer_of, may
from dpgeo.accounts.services import KEY_BEGINS, key_mark_used
from dpgeo.api.problems import Gone
from dpgeo.core.errors import NotAllowed
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import datasets_visible_to
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import ReleaseGone, release_visible

SEE_DRAFTS = (Scope.RELEASES_REQUEST, Scope.RELEASES_PUBLISH)
"""A key that has one of these sees its organisation's drafts."""

NO_KEY = (
    "This key opens nothing: it is mistyped, revoked, or its maker is no longer a member. An "
    "administrator of your organisation makes another at /desk/keys/."
)


class KeyAuthentication(BaseAuthentication):
    """The key that a request shows."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """Who acts by the key; None without one. Raises AuthenticationFailed for a wrong one."""
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        secret = secret.strip()
        user = bearer_of(secret) if secret.startswith(KEY_BEGINS) else None
        if user is None or user.acting_key is None:
            raise AuthenticationFailed(NO_KEY)
        key_mark_used(key=user.acting_key)
        return user, None

    def authenticate_header(self, request: Request) -> str:
        """What a refusal asks for."""
        return 'Bearer realm="dpgeo"'


class KeyDescription(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Keys in the OpenAPI schema."""

    target_class = KeyAuthentication
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A key that an administrator of an organisation made at /desk/keys/.",
        }


def actor_of(request: Request, scope: Scope) -> User:
    """Who may act in a scope: a member by their session, or a key that has it.

    Raises NotAuthenticated (401) for nobody and NotAllowed (403) for a key without the scope.
    """
    user = request.user
    if not isinstance(user, User):
        raise NotAuthenticated("Send a key as Authorization: Bearer dpg_..., or sign in.")
    if user.acting_key and scope not in user.acting_key.scopes:
        raise NotAllowed(
            f"This key lacks the scope {scope}; use one that has it, made at /desk/keys/."
        )
    return user


def viewer_of(request: Request) -> Visitor:
    """Who looks at releases: a key that may not see drafts sees what everybody sees."""
    user = request.user
    if not isinstance(user, User):
        return AnonymousUser()
    key = user.acting_key
    return AnonymousUser() if key and not set(SEE_DRAFTS) & set(key.scopes) else user


def release_seen(viewer: Visitor, release_id: str) -> Release:
    """A release that `viewer` may know of. Raises Http404, and Gone for one that ended unseen."""
    try:
        return release_visible(viewer, release_id)
    except ReleaseGone as ended:
        raise Gone(ended.gone, release_id) from None
    except Release.DoesNotExist:
        raise Http404 from None


def check_served(release: Release) -> None:
    """Raise Gone for what has no files any more."""
    if gone := release.rules.gone:
        raise Gone(gone, release.pk)


def own_dataset(user: User, slug: str, action: str) -> Dataset:
    """A dataset of the organisations that `user` acts for.

    Raises Http404, for another's as for none, and NotAllowed where the role does not suffice.
    """
    found = datasets_visible_to(user).filter(slug=slug).first()
    if found is None:
        raise Http404
    if not may(user, found, action):
        raise NotAllowed("Your role in this organisation does not suffice; ask an administrator.")
    return found
