"""Signal receivers that record sign-ins, accounts and roles in the audit list.

Signals are sent for changes by every page and command, including Django's admin.
"""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.models import Session
from django.db import DatabaseError, transaction
from django.db.models.signals import post_delete, post_save, pre_save
from django.utils import timezone

from dpgeo.accounts.models import ApiKey, Membership, Organisation, SignedIn, User
from dpgeo.accounts.providers import drop_claims
from dpgeo.audit.models import EventKind
from dpgeo.audit.origin import current_origin
from dpgeo.audit.services import event_record

logger = logging.getLogger(__name__)

RIGHTS = ("username", "email", "is_active", "is_staff", "is_superuser", "vouched")
"""Account fields whose changes are recorded in the audit list, but without the values."""


def record_sign_in(sender: object, user: User, request: Any = None, **_: Any) -> None:
    """Record a sign-in in the audit list, and list its session among the user's sessions."""
    event_record(EventKind.SIGN_IN, by=user, detail=password_proofs(request, user))
    session = getattr(request, "session", None)
    if session is None:
        return
    if not session.session_key:
        # Store the session to get its key. Django replaces the session if another account was
        # signed in, and stores the new one only later.
        session.create()
    list_session(user, session.session_key)


def password_proofs(request: Any, user: User) -> str:
    """Return the methods by which somebody signed in, such as "password, totp"."""
    if not hasattr(request, "session"):
        return ""
    records = get_authentication_records(request, user)
    return ", ".join(each.get("type") or each.get("provider") or each["method"] for each in records)


def list_session(user: User, key: str) -> None:
    """Add a session to the list of its user's sessions, and remove those that have ended."""
    valid = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    SignedIn.objects.filter(user=user).exclude(session_key__in=valid).delete()
    SignedIn.objects.update_or_create(
        session_key=key, defaults={"user": user, "origin": current_origin()}
    )


def record_sign_out(sender: object, user: User | None, **_: Any) -> None:
    """Record in the audit list that somebody signed out."""
    if user is not None:
        event_record(EventKind.SIGN_OUT, by=user)


def record_failure(sender: object, credentials: dict[str, Any], **_: Any) -> None:
    """Record a failed sign-in in the audit list."""
    record_attempt(EventKind.SIGN_IN_FAILED, str(credentials.get("username") or ""))


def record_attempt(kind: EventKind, name: str, *, detail: str = "") -> None:
    """Record in the audit list that somebody tried to sign in as `name`.

    The name is recorded only if there is such an account, since people sometimes type a password
    where the name belongs. If the database cannot be written, nothing is recorded, so that the
    response is still sent.
    """
    user = User.objects.filter(username__iexact=name).first() if name else None
    try:
        with transaction.atomic():
            event_record(kind, by=user, who=str(user) if user else "", detail=detail)
    except DatabaseError as error:
        logger.warning("an event was not recorded: %s", type(error).__name__)


def remember_former(sender: type[Any], instance: Any, **_: Any) -> None:
    """Read a row's stored fields before it is saved, so that what changes can be recorded."""
    instance.former = sender.objects.filter(pk=instance.pk).first() if instance.pk else None


def record_account(sender: object, instance: User, created: bool, **_: Any) -> None:
    """Record in the audit list a new account, a new password, or changed rights of an account."""
    former = getattr(instance, "former", None)
    name = instance.get_username()
    if created:
        event_record(EventKind.ACCOUNT, subject=name, detail="created")
    # Django keeps a new password in `_password` until the account is saved. It is None if a sign-in
    # only hashes the same password anew.
    if getattr(instance, "_password", None) is not None:
        event_record(EventKind.PASSWORD, subject=name)
    if former is not None:
        changed = [each for each in RIGHTS if getattr(former, each) != getattr(instance, each)]
        if changed:
            event_record(EventKind.ACCOUNT, subject=name, detail=", ".join(changed))


def record_account_deleted(sender: object, instance: User, **_: Any) -> None:
    """Record in the audit list that an account was deleted."""
    event_record(EventKind.ACCOUNT, subject=instance.get_username(), detail="deleted")


def record_role(sender: object, instance: Membership, created: bool, **_: Any) -> None:
    """Record in the audit list a new member, or a member's new role."""
    former = getattr(instance, "former", None)
    if former is None or former.role != instance.role:
        detail = instance.role if former is None else f"{former.role} > {instance.role}"
        _record_role(instance, detail)


def record_member_left(sender: object, instance: Membership, **_: Any) -> None:
    """Record in the audit list that a membership ended."""
    _record_role(instance, f"{instance.role} > none")


def _record_role(membership: Membership, detail: str) -> None:
    event_record(
        EventKind.ROLE,
        organisation=membership.organisation_id,
        subject=membership.user.get_username(),
        detail=detail,
    )


def record_organisation(sender: object, instance: Organisation, created: bool, **_: Any) -> None:
    """Record in the audit list a new organisation, or who now needs a second factor in it."""
    if created:
        event_record(EventKind.ORGANISATION, organisation=instance.pk, subject=instance.name)
    former = getattr(instance, "former", None)
    if (former.second_factor if former else "") != instance.second_factor:
        event_record(
            EventKind.FACTOR,
            organisation=instance.pk,
            subject=instance.name,
            detail=f"needed from: {instance.second_factor or 'nobody'}",
        )


def record_factor(sender: object, instance: Authenticator, created: bool, **_: Any) -> None:
    """Record in the audit list that an account got a second factor or recovery codes."""
    if created:
        _record_factor(instance, "added")


def record_factor_removed(sender: object, instance: Authenticator, **_: Any) -> None:
    """Record in the audit list that an account's second factor or recovery codes were removed."""
    _record_factor(instance, "removed")


def _record_factor(factor: Authenticator, what: str) -> None:
    name = {"totp": "authenticator app", "webauthn": "passkey"}.get(factor.type, "recovery codes")
    event_record(EventKind.FACTOR, subject=str(factor.user), detail=f"{name} {what}")


def record_key(sender: object, instance: ApiKey, created: bool, **_: Any) -> None:
    """Record a new API key in the audit list, with its scopes and the shown part of its secret."""
    if created:
        event_record(
            EventKind.KEY_CREATED,
            by=instance.created_by,
            organisation=instance.organisation_id,
            subject=f"{instance.name} ({instance.prefix})",
            detail=", ".join(instance.scopes),
        )


def connect() -> None:
    """Connect this module's receivers to Django's signals."""
    user_logged_in.connect(record_sign_in, dispatch_uid="audit.sign_in")
    user_logged_out.connect(record_sign_out, dispatch_uid="audit.sign_out")
    user_login_failed.connect(record_failure, dispatch_uid="audit.failure")
    for model in (User, Membership, Organisation):
        pre_save.connect(remember_former, sender=model, dispatch_uid=f"audit.former {model}")
    post_save.connect(record_account, sender=User, dispatch_uid="audit.account")
    post_delete.connect(record_account_deleted, sender=User, dispatch_uid="audit.account_deleted")
    post_save.connect(record_role, sender=Membership, dispatch_uid="audit.role")
    post_delete.connect(record_member_left, sender=Membership, dispatch_uid="audit.member_left")
    post_save.connect(record_organisation, sender=Organisation, dispatch_uid="audit.organisation")
    pre_save.connect(drop_claims, sender=SocialAccount, dispatch_uid="accounts.drop_claims")
    post_save.connect(record_factor, sender=Authenticator, dispatch_uid="audit.factor")
    post_delete.connect(
        record_factor_removed, sender=Authenticator, dispatch_uid="audit.factor_removed"
    )
    post_save.connect(record_key, sender=ApiKey, dispatch_uid="audit.key")
