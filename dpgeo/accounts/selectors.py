"""Who may do what: the one place where roles become permissions."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from dpgeo.accounts.models import Membership, Organisation, Role, User

Visitor: TypeAlias = User | AnonymousUser
"""Whoever made a request, signed in or not."""

NEEDED_ROLE: dict[str, Role] = {
    "view": Role.STEWARD,
    "edit": Role.STEWARD,
    "upload": Role.STEWARD,
    "request": Role.STEWARD,
    "see_private": Role.STEWARD,
    "publish": Role.APPROVER,
    "set_budget": Role.ADMINISTRATOR,
}
"""The least role that each action on a dataset needs."""

RANK = {role: rank for rank, role in enumerate(Role)}


class Owned(Protocol):
    """Whatever belongs to an organisation, such as a dataset."""

    organisation_id: int


def role_in(user: Visitor, organisation: Organisation | int) -> Role | None:
    """The role a person has in an organisation (or its primary key), None for strangers."""
    if not isinstance(user, User) or not user.is_active:
        return None
    key = organisation.pk if isinstance(organisation, Organisation) else organisation
    membership = Membership.objects.filter(user=user, organisation_id=key).first()
    return Role(membership.role) if membership else None


def organisations_of(user: Visitor) -> QuerySet[Organisation]:
    """The organisations a person belongs to; all of them for a superuser."""
    if not isinstance(user, User) or not user.is_active:
        return Organisation.objects.none()
    if user.is_superuser:
        return Organisation.objects.order_by("name")
    return Organisation.objects.filter(memberships__user=user).order_by("name")


def may(user: Visitor, dataset: Owned, action: str) -> bool:
    """Whether a person may do an action of `NEEDED_ROLE` on a dataset; a superuser may do all."""
    needed = NEEDED_ROLE[action]
    if not isinstance(user, User) or not user.is_active:
        return False
    if user.is_superuser:
        return True
    role = role_in(user, dataset.organisation_id)
    return role is not None and RANK[role] >= RANK[needed]


def may_administer(user: Visitor, organisation: Organisation | int) -> bool:
    """Whether a person sets the budgets and members of an organisation."""
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return role_in(user, organisation) == Role.ADMINISTRATOR
