"""Who may do what: the one place where roles become permissions."""

from __future__ import annotations

import hashlib
from typing import Protocol, TypeAlias

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from dpgeo.accounts.models import ApiKey, Membership, Organisation, Role, Scope, User

Visitor: TypeAlias = User | AnonymousUser
"""Whoever made a request, signed in or not."""

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
"""The least role that each action on a dataset needs."""

NEEDED_SCOPE: dict[str, Scope | None] = {
    "view": None,
    "edit": Scope.DATASETS_WRITE,
    "declare": Scope.DATASETS_WRITE,
    "upload": Scope.UPLOADS_WRITE,
    "request": Scope.RELEASES_REQUEST,
    "publish": Scope.RELEASES_PUBLISH,
}
"""The scope that a key needs beside its maker's role; None needs no particular one. Actions that
are not here, such as seeing private facts, are open to no key."""

RANK = {role: rank for rank, role in enumerate(Role)}


class Owned(Protocol):
    """Whatever belongs to an organisation, such as a dataset."""

    organisation_id: int


def role_in(user: Visitor, organisation: Organisation | int) -> Role | None:
    """The role a person has in an organisation (or its primary key), None for strangers."""
    if not isinstance(user, User) or not user.is_active:
        return None
    wanted = organisation.pk if isinstance(organisation, Organisation) else organisation
    if user.acting_key and user.acting_key.organisation_id != wanted:
        return None
    membership = Membership.objects.filter(user=user, organisation_id=wanted).first()
    return Role(membership.role) if membership else None


def organisations_of(user: Visitor) -> QuerySet[Organisation]:
    """The organisations a person belongs to; all of them for a superuser; a key's only one."""
    if not isinstance(user, User) or not user.is_active:
        return Organisation.objects.none()
    found = Organisation.objects.order_by("name")
    if not user.is_superuser:
        found = found.filter(memberships__user=user)
    return found.filter(pk=user.acting_key.organisation_id) if user.acting_key else found


def may(user: Visitor, dataset: Owned, action: str) -> bool:
    """Whether a person may do an action of `NEEDED_ROLE` on a dataset; a superuser may do all.

    Where a key acts, its scopes must allow it too.
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
    """Whether a person sets the budgets, members and keys of an organisation; no key does."""
    if isinstance(user, User) and user.acting_key:
        return False
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return role_in(user, organisation) == Role.ADMINISTRATOR


def may_grant_budget(user: Visitor, organisation: Organisation | int) -> bool:
    """Whether a new dataset may get a budget of its own: by an administrator, or by a key in an
    administrator's name that has the scope for it. Others declare datasets that share a budget;
    else every new declaration of the same people would mint privacy anew.
    """
    key = user.acting_key if isinstance(user, User) else None
    if key and Scope.BUDGETS_GRANT not in key.scopes:
        return False
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return role_in(user, organisation) == Role.ADMINISTRATOR


def key_allows(key: ApiKey, dataset: Owned, action: str) -> bool:
    """Whether a key is of the dataset's organisation and has the scope of an action."""
    if dataset.organisation_id != key.organisation_id or action not in NEEDED_SCOPE:
        return False
    scope = NEEDED_SCOPE[action]
    return scope is None or scope in key.scopes


def keys_managed_by(user: Visitor) -> QuerySet[ApiKey]:
    """The keys of the organisations a person administers, revoked ones included."""
    managed = [each.pk for each in organisations_of(user) if may_administer(user, each)]
    return ApiKey.objects.filter(organisation__in=managed).select_related(
        "organisation", "created_by"
    )


def bearer_of(secret: str) -> User | None:
    """The person in whose name a key acts, with `acting_key` set.

    None for what is no key, is revoked, or whose maker is gone, inactive or no longer a member.
    """
    key = (
        ApiKey.objects.filter(sha256=digest_of(secret), revoked_at__isnull=True)
        .select_related("created_by", "organisation")
        .first()
    )
    if key is None or key.created_by is None:
        return None
    user = key.created_by
    user.acting_key = key
    return user if organisations_of(user).exists() else None


def digest_of(secret: str) -> str:
    """What is kept of a key's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
