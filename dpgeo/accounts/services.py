"""Writes on organisations and memberships."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from dpgeo.accounts.models import Membership, Organisation, Role, User
from dpgeo.core.errors import InvalidInput


def organisation_create(
    *, name: str, slug: str = "", contact: str = "", administrator: User | None = None
) -> Organisation:
    """A new publisher, with its first administrator. Raises InvalidInput if the name is taken."""
    name = name.strip()
    if not name or len(name) > 200:
        raise InvalidInput("Give the organisation a name of 1 to 200 characters.", field="name")
    try:
        with transaction.atomic():
            organisation = Organisation.objects.create(
                name=name, slug=slug or _free_slug(name), contact=contact
            )
            if administrator is not None:
                membership_set(
                    organisation=organisation, user=administrator, role=Role.ADMINISTRATOR
                )
    except IntegrityError:
        raise InvalidInput(
            f"There is already an organisation {name!r} or with that short name; choose another.",
            field="name",
        ) from None
    return organisation


def _free_slug(name: str) -> str:
    """A short name that is not taken."""
    base = slugify(name)[:40] or "organisation"
    taken = set(Organisation.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return base if base not in taken else next(slug for slug in numbered if slug not in taken)


def membership_set(*, organisation: Organisation, user: User, role: Role) -> Membership:
    """Give a person a role in an organisation, in place of the one they had."""
    membership, _ = Membership.objects.update_or_create(
        organisation=organisation, user=user, defaults={"role": role}
    )
    return membership
