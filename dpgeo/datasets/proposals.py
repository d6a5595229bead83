"""Budgets that a second person has to approve, in organisations that require it.

The person who asked can never approve, whatever their role: a constraint of the database refuses
it, too. An API key counts as its owner. Operators of the site set the requirement
(`Organisation.two_persons`), so that nobody who is bound by it can lift it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dpgeo.accounts.models import Membership, Organisation, Role, User
from dpgeo.accounts.selectors import (
    are_two_persons,
    key_owner_id,
    may_administer,
    visible_organisations,
)
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.core.levels import Level
from dpgeo.datasets.models import Dataset, Proposal

ONE_PERSON = (
    "Your account and the one that asked count as one person, because one of them invited the "
    "other, or one person invited both; ask somebody else, or have the operator of this site "
    "confirm that they belong to two persons."
)


def needs_second(organisation: Organisation) -> bool:
    """Return whether an organisation requires a second person, as stored in the database now."""
    return Organisation.objects.filter(pk=organisation.pk, two_persons=True).exists()


def budget_propose(*, dataset: Dataset, total: Fraction | Level, by: User | None) -> Proposal:
    """Ask for the approval of a budget; an undecided earlier proposal for it is refused.

    `by` is the user who asks, or None for the operator at the console.
    """
    facts: dict[str, Any] = (
        {"epsilon": format_epsilon(total)} if isinstance(total, Fraction) else total.to_json()
    )
    same = Proposal.objects.filter(dataset=dataset, epsilon__isnull="epsilon" not in facts)
    with transaction.atomic():
        same.filter(decided_at=None).update(approved=False, decided_at=timezone.now())
        proposal = Proposal.objects.create(dataset=dataset, asked_by=by, **facts)
        _record(EventKind.ASKED, proposal, by)
    return proposal


def has_total(dataset: Dataset) -> bool:
    """Return whether a dataset's budget for counts has a total, or one that waits for approval."""
    waiting = Proposal.objects.filter(
        dataset__ledger=dataset.ledger_id, epsilon__isnull=False, decided_at=None
    )
    return bool(dataset.ledger.total_units) or waiting.exists()


def budgets_propose(
    dataset: Dataset, total: Fraction | None, points: Level | None, *, by: User | None
) -> None:
    """Ask for the approval of those budgets of a new dataset that are not None."""
    for each in (total, points):
        if each is not None:
            budget_propose(dataset=dataset, total=each, by=by)


def proposal_decide(*, proposal: Proposal, by: User, approve: bool) -> None:
    """Record the decision on a proposal; `services.proposal_approve` also sets the budget.

    Whoever asked may only withdraw the proposal. Of two decisions at the same moment, only one
    takes effect. Raises NotAllowed, or Conflict if the proposal was decided before.
    """
    dataset = proposal.dataset
    if not may_administer(by, dataset.organisation_id):
        raise NotAllowed("Budgets are approved by the administrators of their organisation.")
    if approve and proposal.asked_by_id == by.pk:
        raise NotAllowed(
            "You asked for this budget yourself; another administrator has to approve it."
        )
    if approve and not are_two_persons(proposal.asked_by, by):
        raise NotAllowed(ONE_PERSON)
    with transaction.atomic():
        decided = Proposal.objects.filter(pk=proposal.pk, decided_at=None).update(
            approved=approve, decided_by=by, decided_at=timezone.now()
        )
        if not decided:
            raise Conflict("Somebody has decided this already, or asked for another budget.")
        _record(EventKind.APPROVED if approve else EventKind.REFUSED, proposal, by)


def proposals_seen_by(user: User) -> QuerySet[Proposal]:
    """Return the undecided proposals of the organisations that a user administers."""
    managed = [each.pk for each in visible_organisations(user) if may_administer(user, each)]
    return Proposal.objects.filter(
        dataset__organisation__in=managed, decided_at=None
    ).select_related("dataset__organisation", "dataset__ledger", "asked_by")


def lacks_second(organisation: Organisation, role: Role) -> bool:
    """Return whether an organisation has fewer than two persons with this role or a higher one.

    If so, nobody can approve what the only person with the role asks for.
    """
    allowed = list(Role)[list(Role).index(role) :]
    members = Membership.objects.filter(organisation=organisation, user__is_active=True)
    deciding = members.filter(role__in=allowed).select_related("user")
    return len({key_owner_id(each.user) for each in deciding} - {None}) < 2


def _record(kind: EventKind, proposal: Proposal, by: User | None) -> None:
    event_record(
        kind,
        by=by,
        organisation=proposal.dataset.organisation_id,
        subject=proposal.dataset.slug,
        detail=str(proposal.words),
    )
