"""Permissions of users and API keys, derived from roles and scopes."""

from __future__ import annotations

import hashlib
from datetime import UTC
from typing import Protocol, TypeAlias

from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet
from django.utils import timezone

from dpgeo.accounts.models import (
    ApiKey,
    Membership,
    Organisation,
    Role,
    Scope,
    SignedIn,
    User,
)
from dpgeo.audit.models import Event

Visitor: TypeAlias = User | AnonymousUser
"""The user who sent a request, signed in or anonymous."""

NEEDED_ROLE: dict[str, Role] = {
    "view": Role.STEWARD,
    "edit": Role.STEWARD,
    "declare": Role.STEWARD,
    "upload": Role.STEWARD,
    "request": Role.STEWARD,
    "see_private": Role.STEWARD,
    "publish": Role.APPROVER,
    "set_budget": Role.ADMINISTRATOR,
}
"""The lowest role that allows each action on a dataset."""

NEEDED_SCOPE: dict[str, Scope | None] = {
    "view": None,
    "edit": Scope.DATASETS_WRITE,
    "declare": Scope.DATASETS_WRITE,
    "upload": Scope.UPLOADS_WRITE,
    "request": Scope.RELEASES_REQUEST,
    "publish": Scope.RELEASES_PUBLISH,
}
"""The scope that an API key needs for each action, in addition to its user's role.

None means that no scope is needed. No key may perform an action that is missing here, such as
seeing private details.
"""

RANK = {role: rank for rank, role in enumerate(Role)}


class Owned(Protocol):
    """An object that belongs to an organisation, such as a dataset."""

    organisation_id: int


def role_in(user: Visitor, organisation: Organisation | int) -> Role | None:
    """Return a user's role in an organisation, or None if the user is not a member.

    The organisation is given as an object or by its id.
    """
    if not isinstance(user, User) or not user.is_active:
        return None
    wanted = organisation.pk if isinstance(organisation, Organisation) else organisation
    if user.acting_key and user.acting_key.organisation_id != wanted:
        return None
    membership = Membership.objects.filter(user=user, organisation_id=wanted).first()
    return Role(membership.role) if membership else None


def key_owner_id(user: User | None) -> int | None:
    """Return the id of the account that stands for a user's person where two persons are required.

    It is the user's own account if an operator has vouched that the user is a person of their own.
    Otherwise it is the account of whoever invited the user. None stands for the console, and for
    users whose inviter is no longer known.
    """
    seen = set()
    while user is not None and not user.vouched and user.pk not in seen:
        seen.add(user.pk)
        user = user.invited_by
    return None if user is None or user.pk in seen else user.pk


def are_two_persons(one: User | None, other: User | None) -> bool:
    """Return whether two accounts count as two persons; None is the operator at the console."""
    if one is None or other is None:
        return one is not other and key_owner_id(one or other) is not None
    owners = {key_owner_id(one), key_owner_id(other)}
    return len(owners) == 2 and None not in owners


def visible_organisations(user: Visitor) -> QuerySet[Organisation]:
    """Return a user's organisations.

    These are all organisations for a superuser, and at most one for an API key.
    """
    if not isinstance(user, User) or not user.is_active:
        return Organisation.objects.none()
    organisations = Organisation.objects.order_by("name")
    if not user.is_superuser:
        organisations = organisations.filter(memberships__user=user)
    return (
        organisations.filter(pk=user.acting_key.organisation_id)
        if user.acting_key
        else organisations
    )


def joined_last(user: Visitor) -> Organisation | None:
    """Return the organisation that a user joined last, or None; forms propose it as the default.

    The demo's administrator belongs to two organisations and joined the one for real data last.
    """
    if not isinstance(user, User):
        return None
    joined = visible_organisations(user).filter(memberships__user=user)
    return joined.order_by("-memberships__pk").first()


def may(user: Visitor, dataset: Owned, action: str) -> bool:
    """Return whether a user may perform an action listed in `NEEDED_ROLE` on a dataset.

    If the user acts through an API key, the key's scopes must allow the action too.
    """
    needed = NEEDED_ROLE[action]
    if not isinstance(user, User) or not user.is_active:
        return False
    if user.acting_key and not key_allows(user.acting_key, dataset, action):
        return False
    if user.is_superuser:
        return True
    role = role_in(user, dataset.organisation_id)
    return role is not None and RANK[role] >= RANK[needed]


def may_administer(user: Visitor, organisation: Organisation | int) -> bool:
    """Return whether a user may manage an organisation's budgets and keys.

    Requests with an API key never may.
    """
    if isinstance(user, User) and user.acting_key:
        return False
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return role_in(user, organisation) == Role.ADMINISTRATOR


def may_grant_budget(user: Visitor, organisation: Organisation | int) -> bool:
    """Return whether a user may give a new dataset a budget of its own.

    Administrators may, and their API keys with the scope BUDGETS_GRANT. Other users can only
    declare datasets that share an existing budget. Otherwise every new dataset about the same
    people would increase the epsilon that may be spent on them.
    """
    key = user.acting_key if isinstance(user, User) else None
    if key and Scope.BUDGETS_GRANT not in key.scopes:
        return False
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return role_in(user, organisation) == Role.ADMINISTRATOR


def key_allows(key: ApiKey, dataset: Owned, action: str) -> bool:
    """Return whether an API key's organisation and scopes allow an action on a dataset."""
    if dataset.organisation_id != key.organisation_id or action not in NEEDED_SCOPE:
        return False
    scope = NEEDED_SCOPE[action]
    return scope is None or scope in key.scopes


def events_visible_to(user: Visitor) -> QuerySet[Event]:
    """Return the events of the audit list that a user may see.

    Superusers see all. Administrators of an organisation, and members with the permission
    `audit.view_event` (privacy officers), see the organisation's events, and those of its members
    that belong to no organisation, such as sign-ins. API keys see none.
    """
    if not isinstance(user, User) or not user.is_active or user.acting_key:
        return Event.objects.none()
    if user.is_superuser:
        return Event.objects.all()
    seen = [each.pk for each in organisations_overseen_by(user)]
    members = Membership.objects.filter(organisation__in=seen).values("user")
    return Event.objects.filter(
        Q(organisation__in=seen) | Q(organisation=None, account__in=members)
    )


def organisations_overseen_by(user: Visitor) -> list[Organisation]:
    """Return the organisations whose audit list and budgets a user watches over.

    Superusers watch over all, administrators over theirs, and members with the permission
    `audit.view_event` (privacy officers) over those that they belong to. API keys see none.
    """
    if not isinstance(user, User) or not user.is_active or user.acting_key:
        return []
    officer = user.has_perm("audit.view_event")
    return [each for each in visible_organisations(user) if officer or may_administer(user, each)]


def may_see_events(user: Visitor) -> bool:
    """Return whether a user may open the audit list."""
    if not isinstance(user, User) or not user.is_active or user.acting_key:
        return False
    if user.is_superuser or user.has_perm("audit.view_event"):
        return True
    return Membership.objects.filter(user=user, role=Role.ADMINISTRATOR).exists()


def user_sessions(user: User) -> QuerySet[SignedIn]:
    """Return the sessions of a user that are still valid, newest first."""
    valid = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return SignedIn.objects.filter(user=user, session_key__in=valid)


def keys_managed_by(user: Visitor) -> QuerySet[ApiKey]:
    """Return the API keys, including revoked ones, of organisations that a user administers."""
    managed = [each.pk for each in visible_organisations(user) if may_administer(user, each)]
    return ApiKey.objects.filter(organisation__in=managed).select_related(
        "organisation", "created_by"
    )


def key_owner(secret: str) -> User | None:
    """Return the user whose API key has this secret, with `acting_key` set.

    Returns None for an unknown, expired or revoked key, and if the user was deleted, is inactive or
    is no longer a member of the key's organisation.
    """
    key = (
        ApiKey.objects.filter(sha256=secret_digest(secret), revoked_at__isnull=True)
        .filter(Q(expires_on=None) | Q(expires_on__gte=timezone.now().astimezone(UTC).date()))
        .select_related("created_by", "organisation")
        .first()
    )
    if key is None or key.created_by is None:
        return None
    user = key.created_by
    user.acting_key = key
    return user if visible_organisations(user).exists() else None


def secret_digest(secret: str) -> str:
    """Return the hash under which the secret of an API key is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()
