"""Services for members: invitations by mail, roles, and the end of a membership.

An invitation is a link with 256 random bits, of which a hash is stored. It works once, for
`LIFETIME`, and only while whoever sent it still administers the organisation. An organisation keeps
at least one administrator.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.fresh_tokens import is_from_future
from dpgeo.accounts.models import Invitation, MailKind, Membership, Organisation, Role, User
from dpgeo.accounts.outgoing_mail import mail_queue
from dpgeo.accounts.selectors import may_administer, secret_digest
from dpgeo.accounts.services import membership_set
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.blanks import trim
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed

LIFETIME = timedelta(days=7)

A_DAY = 50
"""Invitations that an organisation may send in a day, so that it cannot be used to send spam."""

DAY = 24 * 3600


def invitation_create(
    *, organisation: Organisation, email: str, role: Role, by: User, by_mail: bool = False
) -> tuple[Invitation, str]:
    """Create an invitation, and return it with the secret of its link.

    With `by_mail`, a worker sends it with a secret of its own, which replaces the returned one. An
    earlier invitation to the same address ends. Raises NotAllowed if `by` does not administer the
    organisation, or InvalidInput for an invalid address or too many invitations.
    """
    _check_administers(by, organisation)
    email = trim(email)
    try:
        validate_email(email)
    except ValidationError:
        raise InvalidInput("Enter an e-mail address.", field="email") from None
    if count_attempt(f"invitations of {organisation.pk}", A_DAY, window=DAY) is not None:
        raise InvalidInput(
            "At most {limit} people can be invited in a day; try again tomorrow.", limit=A_DAY
        )
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        Invitation.objects.filter(organisation=organisation, email__iexact=email).delete()
        invitation = Invitation.objects.create(
            organisation=organisation,
            email=email,
            role=role,
            sha256=secret_digest(secret),
            invited_by=by,
            expires_at=timezone.now() + LIFETIME,
        )
        _record(invitation, by, role)
        if by_mail:
            mail_queue(kind=MailKind.INVITATION, address=email, invitation=invitation)
    return invitation, secret


def find_invitation(secret: str) -> Invitation | None:
    """Return the invitation with this secret, or None if there is none or it has ended."""
    invitations = Invitation.objects.select_related("organisation", "invited_by")
    found = invitations.filter(sha256=secret_digest(secret), expires_at__gt=timezone.now()).first()
    if found is None or found.invited_by is None or is_from_future(found.created_at.timestamp()):
        return None
    return found if may_administer(found.invited_by, found.organisation) else None


@transaction.atomic
def invitation_accept(*, invitation: Invitation, user: User) -> Membership:
    """Make a user a member, and end the invitation.

    Raises Conflict if the invitation was used or withdrawn meanwhile, or if the user is a member
    already.
    """
    used, _ = Invitation.objects.filter(pk=invitation.pk).delete()
    if not used:
        raise Conflict("This invitation was used or withdrawn; ask for another.")
    organisation = invitation.organisation
    if Membership.objects.filter(organisation=organisation, user=user).exists():
        raise Conflict("You are a member of this organisation already.")
    return membership_set(organisation=organisation, user=user, role=Role(invitation.role))


@transaction.atomic
def account_create(*, invitation: Invitation, account: User) -> User:
    """Store an account that somebody made by accepting an invitation.

    Where a second person must approve budgets and maps, the account counts as the inviter's own
    until an operator vouches for it, because the inviter may have opened the link. Raises Conflict
    if the invitation was used or withdrawn meanwhile.
    """
    account.vouched = False
    account.invited_by = invitation.invited_by
    account.save()
    invitation_accept(invitation=invitation, user=account)
    return account


@transaction.atomic
def invitation_withdraw(*, invitation: Invitation, by: User) -> None:
    """End an invitation that nobody has accepted.

    Raises NotAllowed if `by` does not administer the organisation.
    """
    _check_administers(by, invitation.organisation)
    invitation.delete()
    _record(invitation, by, "withdrawn")


def _record(invitation: Invitation, by: User, detail: str) -> None:
    """Record an event of an invitation in the audit list, with only the domain of its address.

    The list is kept for ever, so it must not hold whole addresses.
    """
    domain = invitation.email.rpartition("@")[2]
    organisation = invitation.organisation_id
    subject = f"somebody at {domain}"
    event_record(
        EventKind.INVITED, by=by, organisation=organisation, subject=subject, detail=detail
    )


@transaction.atomic
def membership_change(*, membership: Membership, role: Role, by: User) -> Membership:
    """Change a member's role.

    Raises NotAllowed if `by` does not administer the organisation, or Conflict if nobody would
    administer the organisation afterwards.
    """
    _check_administers(by, membership.organisation)
    if role != Role.ADMINISTRATOR:
        _check_not_last(membership)
    return membership_set(organisation=membership.organisation, user=membership.user, role=role)


@transaction.atomic
def membership_end(*, membership: Membership, by: User) -> None:
    """End one's own membership or, as an administrator, somebody else's.

    The member's API keys in this organisation stop working. Raises NotAllowed if `by` is neither
    the member nor an administrator, or Conflict if nobody would administer the organisation
    afterwards.
    """
    if membership.user_id != by.pk:
        _check_administers(by, membership.organisation)
    _check_not_last(membership)
    Membership.objects.get(pk=membership.pk).delete()


@transaction.atomic
def second_factor_demand(*, organisation: Organisation, role: str, by: User) -> None:
    """Demand a second factor of all members with `role` or a higher one; "" demands it of nobody.

    Raises NotAllowed if `by` does not administer the organisation.
    """
    _check_administers(by, organisation)
    stored = Organisation.objects.select_for_update().get(pk=organisation.pk)
    stored.second_factor = role
    stored.save(update_fields=["second_factor"])


def _check_not_last(membership: Membership) -> None:
    """Raise Conflict if a membership is that of its organisation's only administrator."""
    # Lock the organisation, so that two administrators cannot leave at once.
    Organisation.objects.select_for_update().get(pk=membership.organisation_id)
    administrators = Membership.objects.filter(
        organisation=membership.organisation_id, role=Role.ADMINISTRATOR
    )
    if not administrators.exclude(pk=membership.pk).exists():
        raise Conflict("An organisation needs an administrator; make somebody else one first.")


def _check_administers(user: User, organisation: Organisation) -> None:
    if not may_administer(user, organisation):
        raise NotAllowed("Members are managed by the administrators of their organisation.")
