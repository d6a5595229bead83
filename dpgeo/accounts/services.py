"""Services that change organisations, memberships and API keys."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, date, timedelta

from django.contrib.sessions.models import Session
from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify

from dpgeo.accounts.models import (
    ApiKey,
    Membership,
    Organisation,
    Role,
    Scope,
    SignedIn,
    User,
)
from dpgeo.accounts.selectors import may_administer, secret_digest
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.blanks import trim
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed

KEY_BEGINS = "dpg_"
"""Prefix of every key's secret, by which people and secret scanners recognise it."""

SECRET_BYTES = 32
OVERLAP = timedelta(days=7)
"""Time for which a key still works after it was rotated, so that programs can be changed."""

SHOWN = 12
"""Number of characters of a key's secret that lists show.

The other 35 characters hold 208 random bits.
"""


def organisation_create(
    *,
    name: str,
    slug: str = "",
    contact: str = "",
    sector: str = "",
    administrator: User | None = None,
) -> Organisation:
    """Create an organisation and, if one is named, its first administrator.

    If `slug` is empty, an unused slug is derived from the name. Raises InvalidInput if the name is
    invalid, or if the name or the slug is already in use.
    """
    name = trim(name)
    if not name or len(name) > 200:
        raise InvalidInput("Give the organisation a name of 1 to 200 characters.", field="name")
    slug = slug or _free_slug(name)
    try:
        with transaction.atomic():
            organisation = Organisation.objects.create(
                name=name, slug=slug, contact=contact, sector=sector
            )
            if administrator is not None:
                membership_set(
                    organisation=organisation, user=administrator, role=Role.ADMINISTRATOR
                )
    except IntegrityError:
        if not Organisation.objects.filter(Q(name=name) | Q(slug=slug)).exists():
            raise
        raise InvalidInput(
            "There is already an organisation {name!r} or with that short name; choose another.",
            name=name,
            field="name",
        ) from None
    return organisation


def _free_slug(name: str) -> str:
    """Return an unused slug, derived from an organisation's name."""
    base = slugify(name)[:40] or "organisation"
    taken = set(Organisation.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return base if base not in taken else next(slug for slug in numbered if slug not in taken)


@transaction.atomic
def membership_set(*, organisation: Organisation, user: User, role: Role) -> Membership:
    """Set a user's role in an organisation, replacing any earlier role."""
    membership, _ = Membership.objects.update_or_create(
        organisation=organisation, user=user, defaults={"role": role}
    )
    return membership


@transaction.atomic
def key_create(
    *,
    organisation: Organisation,
    name: str,
    scopes: Collection[str],
    created_by: User,
    days: int | None = None,
) -> tuple[ApiKey, str]:
    """Create an API key that works for `days` days, or without end; return it with its secret.

    The secret is not stored and is shown only once. Raises NotAllowed if the user does not
    administer the organisation, or InvalidInput if the name is invalid, a scope is unknown or no
    scope is given.
    """
    _check_administers(created_by, organisation)
    name = trim(name)
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise InvalidInput(
            "Give the key a name of 1 to 100 characters that says where it is used.", field="name"
        )
    unknown = [scope for scope in scopes if scope not in Scope.values]
    if unknown or not scopes:
        raise InvalidInput(
            "Choose what the key may be used for, from {scopes}.",
            scopes=", ".join(Scope.values),
            field="scopes",
        )
    secret = KEY_BEGINS + secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey.objects.create(
        organisation=organisation,
        name=name,
        scopes=[scope for scope in Scope.values if scope in scopes],
        prefix=secret[:SHOWN],
        sha256=secret_digest(secret),
        created_by=created_by,
        expires_on=None if days is None else _today() + timedelta(days=days),
    )
    return key, secret


def _today() -> date:
    return timezone.now().astimezone(UTC).date()


@transaction.atomic
def key_rotate(*, key: ApiKey, by: User) -> tuple[ApiKey, str]:
    """Create a key to replace the old `key`; let the old one end after OVERLAP at the latest.

    The new key has the same name, scopes and number of days. Raises NotAllowed if the user does not
    administer the organisation, or Conflict if the key no longer works.
    """
    _check_administers(by, key.organisation)
    stored = ApiKey.objects.select_for_update().get(pk=key.pk)
    today = _today()
    if stored.revoked_at or (stored.expires_on and stored.expires_on < today):
        raise Conflict("This key no longer works; create a new one.")
    first_day = stored.created_at.astimezone(UTC).date()
    days = (stored.expires_on - first_day).days if stored.expires_on else None
    fresh = key_create(
        organisation=stored.organisation,
        name=stored.name,
        scopes=stored.scopes,
        created_by=by,
        days=days,
    )
    last = today + OVERLAP
    ends = min(stored.expires_on, last) if stored.expires_on else last
    ApiKey.objects.filter(pk=stored.pk).update(expires_on=ends)
    return fresh


def session_end(*, session: SignedIn, by: User | None = None) -> None:
    """End a session, so that its browser has to sign in again.

    `by` is the account that ends it if that is not the session's own account.
    """
    with transaction.atomic():
        Session.objects.filter(session_key=session.session_key).delete()
        detail = "by the list of sessions"
        subject = "" if by is None else session.user.get_username()
        event_record(EventKind.SIGN_OUT, by=by or session.user, subject=subject, detail=detail)
        session.delete()


def key_revoke(*, key: ApiKey, by: User) -> ApiKey:
    """Revoke an API key permanently. Repeating this is safe.

    Raises NotAllowed if the user does not administer the key's organisation. `by` is the user who
    revokes the key.
    """
    _check_administers(by, key.organisation)
    with transaction.atomic():
        valid = ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True)
        if valid.update(revoked_at=timezone.now()):
            subject = f"{key.name} ({key.prefix})"
            event_record(
                EventKind.KEY_REVOKED, by=by, organisation=key.organisation_id, subject=subject
            )
    key.refresh_from_db()
    return key


def key_mark_used(*, key: ApiKey) -> None:
    """Record the day on which an API key was last used, with at most one write per day.

    If the database cannot be written, nothing is recorded, so that read requests with the key still
    work.
    """
    today = timezone.now().date()
    if key.last_used_on != today:
        before = Q(last_used_on__isnull=True) | Q(last_used_on__lt=today)
        with suppress(OperationalError):
            ApiKey.objects.filter(before, pk=key.pk).update(last_used_on=today)


def _check_administers(user: User, organisation: Organisation) -> None:
    if not may_administer(user, organisation):
        raise NotAllowed("Keys are managed by the administrators of their organisation; ask one.")
