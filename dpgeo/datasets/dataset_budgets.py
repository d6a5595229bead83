"""Budgets of datasets: setting, approving, sharing and merging them, in epsilon or in rho."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from django.db import transaction

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may_administer
from dpgeo.audit.models import EventKind
from dpgeo.audit.origin import current_user
from dpgeo.audit.services import event_record
from dpgeo.budgets.merging import ledger_lock, ledger_merge, ledgers_lock
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import (
    Accounting,
    ledger_create,
    ledger_create_for_points,
    ledger_set_accounting,
    ledger_set_total,
)
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.levels import Level
from dpgeo.datasets.decisions import MERGED, TOTAL, decision_record
from dpgeo.datasets.models import Dataset, Proposal
from dpgeo.datasets.proposals import (
    budget_propose,
    has_total,
    needs_second,
    proposal_decide,
)
from dpgeo.datasets.quotas import check_cap
from dpgeo.phrases import Phrase

logger = logging.getLogger(__name__)

BUDGETS = ("budget", "points_budget")
"""Names of the declared facts that are stored in ledgers, not in the dataset's row."""

ACCOUNTING = "accounting"
"""Name of the field that says whether the budget is in epsilon or rho (an `Accounting`)."""


def own_ledger(
    organisation: Organisation,
    name: str,
    total: Fraction | None,
    points: Level | None,
    accounting: Accounting,
) -> Ledger:
    """Create the ledger of a new dataset.

    Its totals are not set yet if a second person has to approve them. Raises Conflict for a total
    above the organisation's cap.
    """
    if needs_second(organisation):
        return ledger_create(name=name, total=None, accounting=accounting)
    own = ledger_create(name=name, total=total, accounting=accounting)
    check_cap(organisation, own)
    if points is not None:
        check_cap(organisation, ledger_create_for_points(beside=own, total=points))
    return own


def accounting_open(dataset: Dataset) -> bool:
    """Return whether a dataset's budget may still be changed from epsilon to rho, or back."""
    ledger = dataset.ledger
    return not (
        ledger.merged_into_id
        or ledger.promised_at
        or points_ledger(ledger)
        or (needs_second(dataset.organisation) and has_total(dataset))
        or ledger.entries.exists()
        or ledger.datasets.exclude(frozen_at=None).exists()
    )


def set_budgets(stored: Dataset, changes: Mapping[str, Any]) -> None:
    """Set what `changes` names: a dataset's totals, or whether they are in epsilon or in rho."""
    if ACCOUNTING in changes:
        _set_accounting(stored, changes[ACCOUNTING])
    if "budget" in changes:
        _set_budget(stored, parse_epsilon(changes["budget"], field="budget"))
    if "points_budget" in changes:
        _set_budget(stored, changes["points_budget"])


def _set_budget(dataset: Dataset, total: Fraction | Level) -> None:
    """Set a budget, or ask a second person to approve it if the organisation requires that.

    A budget that is made smaller protects people better, so it needs no approval.
    """
    if needs_second(dataset.organisation) and _is_raised(dataset.ledger, total):
        budget_propose(dataset=dataset, total=total, by=current_user())
    else:
        _set_total(dataset, total)


def _is_raised(ledger: Ledger, total: Fraction | Level) -> bool:
    if isinstance(total, Fraction):
        return ledger.units_for(total) > ledger.total_units
    points = points_ledger(ledger)
    return points is None or total.pico > points.total_units


def _set_total(dataset: Dataset, total: Fraction | Level) -> None:
    """Set a dataset's budget: an epsilon for counts, or a level for points.

    Raises Conflict if the total exceeds the organisation's cap, or InvalidInput.
    """
    if isinstance(total, Fraction):
        check_cap(dataset.organisation, ledger_set_total(ledger=dataset.ledger, total=total))
    else:
        check_cap(dataset.organisation, _set_points_budget(dataset.ledger, total))


def _set_points_budget(ledger: Ledger, total: Level) -> Ledger:
    points = points_ledger(ledger)
    if points is None:
        return ledger_create_for_points(beside=ledger, total=total)
    return ledger_set_total(ledger=points, total=total)


def proposal_approve(*, proposal: Proposal, by: User) -> None:
    """Approve and set the budget that another person asked for.

    Raises NotAllowed for the person who asked and for anybody who does not administer the
    organisation, or Conflict if somebody else decided or the budget can no longer be set.
    """
    with transaction.atomic():
        dataset = Dataset.objects.get(pk=proposal.dataset_id)
        locked = ledgers_lock(dataset.ledger_id)
        dataset = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if dataset.ledger_id not in locked:
            raise Conflict("The budget has changed meanwhile; try again.", field="budget")
        proposal_decide(proposal=proposal, by=by, approve=True)
        _set_total(dataset, proposal.total)
        record_totals(dataset)


def dataset_share_budget(*, dataset: Dataset, ledger: Ledger) -> Dataset:
    """Make a dataset that has no budget share the budget of another one about the same people.

    Raises Conflict if one of the two has been given another budget in the meantime, or InvalidInput
    if the budget belongs to another organisation or its datasets have another privacy unit.
    """
    with transaction.atomic():
        locked = ledgers_lock(dataset.ledger_id, ledger.pk)
        stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if stored.ledger_id != dataset.ledger_id or ledger.pk not in locked:
            raise Conflict("The budget has changed meanwhile; try again.", field="ledger")
        own = ledger_lock(stored.ledger)
        if own.total_units or points_ledger(own) or own.entries.exists():
            raise Conflict("This dataset has a budget of its own by now.", field="ledger")
        shared = ledger_lock(ledger)
        others = shared.datasets.exclude(pk=dataset.pk)
        if not others.filter(organisation=dataset.organisation_id).exists():
            raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
        check_unit(shared, dataset.unit, field="ledger", but=dataset)
        if own.is_zcdp and not shared.is_zcdp:
            raise Conflict(
                "This dataset was declared with a budget in rho, and the other one counts in "
                "epsilon, so they cannot be shared.",
                field="ledger",
            )
        if own.is_zcdp:
            _keep_smaller_delta(shared, own)
        Dataset.objects.filter(pk=dataset.pk).update(ledger=shared)
        event_record(
            EventKind.BUDGET,
            organisation=dataset.organisation_id,
            subject=dataset.slug,
            detail=f"shares {shared.name}",
        )
        if not own.datasets.exists():
            own.delete()
    dataset.refresh_from_db()
    return dataset


def _keep_smaller_delta(shared: Ledger, own: Ledger) -> None:
    """Give a shared ledger in rho the smaller delta and the larger population of two ledgers.

    `own` is the ledger that a dataset had before it began to share. Merging two ledgers also keeps
    the smaller delta and the larger population.
    """
    shared.delta_exponent = max(shared.delta_exponent or 0, own.delta_exponent or 0)
    shared.population = max(shared.population or 0, own.population or 0) or None
    shared.save(update_fields=["delta_exponent", "population"])


def dataset_merge_ledgers(*, dataset: Dataset, ledger: Ledger, by: User | None) -> Ledger:
    """Merge another ledger about the same people into a dataset's ledger, and return the latter.

    This cannot be undone: from then on, the dataset's ledger pays for releases of all datasets that
    used either of them. Only people who may set budgets can merge ledgers; API keys cannot, and the
    software never does so by itself. `by` is None at the console. Raises NotAllowed, InvalidInput
    if the datasets protect different privacy units, or Conflict.
    """
    organisation = dataset.organisation
    others = ledger.datasets.all()
    foreign = others.exclude(organisation=organisation).exists()
    if by is not None and (
        not may_administer(by, organisation)
        or foreign
        or (ledger.recovers and not by.is_superuser and ledger.recovers_for != organisation.name)
    ):
        raise NotAllowed("Only the administrators of this organisation may do this.")
    if foreign:
        raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
    with transaction.atomic():
        merged = ledger_merge(ledger=ledger, into=dataset.ledger, who=str(by or "console"))
        if not Dataset.objects.filter(pk=dataset.pk, ledger=merged).exists():
            raise Conflict("The budget has changed meanwhile; try again.", field="ledger")
        # Both ledgers are locked now, so no dataset can join them with another privacy unit.
        other = others.first()
        if other:
            check_unit(merged, other.unit, field="ledger")
        slugs = [*others.values_list("slug", flat=True)]
        others.update(ledger=merged)
        event_record(
            EventKind.BUDGET,
            by=by,
            organisation=organisation.pk,
            subject=merged.name,
            detail=f"merged with {ledger.name}",
        )
        decision_record(MERGED, datasets=[dataset.slug, *slugs])
    dataset.refresh_from_db()
    logger.info("ledger %s was merged into ledger %s", ledger.pk, merged.pk)
    return merged


def check_unit(ledger: Ledger, unit: str, *, field: str, but: Dataset | None = None) -> None:
    """Raise InvalidInput if another dataset on a ledger has another privacy unit.

    The dataset `but` is not checked. An epsilon per record and an epsilon per person do not add up:
    a person with k records loses k times the epsilon per record, so the sum of both would not bound
    anyone's privacy loss.
    """
    others = ledger.datasets.exclude(pk=but.pk) if but else ledger.datasets
    other = others.exclude(declaration__unit=unit).first()
    if other is not None:
        raise InvalidInput(
            "The budget is shared with {title!r}, which protects each {other_unit} and not each "
            "{unit}; such epsilons do not add up. Choose the same unit, or a budget of its own.",
            title=other.title,
            other_unit=Phrase(other.unit),
            unit=Phrase(unit),
            field=field,
        )


def check_currency(ledger: Ledger, accounting: Accounting | None) -> None:
    """Raise InvalidInput if a dataset asks for epsilon where its shared ledger is in rho, or for
    rho where it is in epsilon.

    Another delta or population is refused, too. With a larger population, for example, the ledger's
    delta could exceed the largest allowed one, 0.1/population.
    """
    if accounting not in (None, Accounting(ledger.delta_exponent, ledger.population)):
        raise InvalidInput(
            "The budget to share counts in another currency; leave this out to share it.",
            field=ACCOUNTING,
        )


def _set_accounting(stored: Dataset, accounting: Accounting) -> None:
    """Change what a dataset's budget is counted in: epsilon, or rho with its delta.

    Raises Conflict if a dataset that shares the budget has a confirmed upload.
    """
    ledger = stored.ledger
    if Accounting(ledger.delta_exponent, ledger.population) == accounting:
        return
    if ledger.datasets.exclude(frozen_at=None).exists():
        raise Conflict(
            "This was fixed when the first upload was confirmed, because all maps of these people "
            "are paid for in one currency; declare a new dataset about other people.",
            field=ACCOUNTING,
        )
    if needs_second(stored.organisation) and has_total(stored):
        raise Conflict(
            "Your organisation requires a second person for budgets, so the currency of a budget "
            "stays as it was declared; declare another dataset.",
            field=ACCOUNTING,
        )
    ledger_set_accounting(ledger=ledger, accounting=accounting)


def record_totals(dataset: Dataset) -> None:
    """Record the totals of a dataset's budgets beside the database (`decisions`).

    A database that is restored from a backup must not exceed them.
    """
    ledger = Ledger.objects.get(pk=dataset.ledger_id)
    points = points_ledger(ledger)
    decision_record(
        TOTAL,
        dataset=dataset.slug,
        notion=ledger.notion,
        delta_exponent=ledger.delta_exponent,
        population=ledger.population,
        units=ledger.total_units,
        points=points.total_units if points else None,
    )
