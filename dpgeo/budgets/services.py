"""Services that change ledgers in short transactions, limited by the database.

If two simultaneous requests first checked the budget and then saved, they could overspend it. A
conditional UPDATE checks and saves in one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.selectors import NO_POINTS, current_ledger, ledger_organisation, left_units
from dpgeo.core.epsilon import MICRO, format_epsilon, parse_epsilon
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput
from dpgeo.core.guarantees import SCALE, Guarantee, Notion, PureDP
from dpgeo.core.levels import Level
from dpgeo.core.number_text import number_text
from dpgeo.core.zcdp import delta_text, parse_delta
from dpgeo.phrases import Figure
from dpgeo.spatial.ground_grid import input_step


@dataclass(frozen=True, slots=True)
class Accounting:
    """The currency of a budget for counts: epsilon or, with a delta, the rho of zCDP.

    Delta is 10^-`delta_exponent`, and at most 0.1/`population`, where `population` is the publicly
    declared number of people whom the data might be about (`core.zcdp.parse_delta`).
    """

    delta_exponent: int | None = None
    population: int | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of `Ledger` that store the currency, with their values."""
        notion = Notion.PURE_DP if self.delta_exponent is None else Notion.ZCDP
        return {
            "notion": notion.value,
            "delta_exponent": self.delta_exponent,
            "population": self.population,
        }


PURE = Accounting()

MAX_PEOPLE = 100_000_000_000
"""Largest declared population; more people than have ever been alive at a time."""


def parse_accounting(notion: object, *, delta: object = "", population: object = "") -> Accounting:
    """Parse the currency of a budget for counts, as in a form or an API call.

    `notion` is "pure-dp" or "zcdp"; "" stands for the former. `delta` and `population` are for zCDP
    alone, for which the population must be given. Raises InvalidInput, with the field at fault.
    """
    if notion in ("", None, Notion.PURE_DP.value):
        for field, value in (("delta", delta), ("population", population)):
            if value not in ("", None):
                raise InvalidInput(
                    "Belongs to a budget in rho alone; leave it out, or choose zcdp.", field=field
                )
        return PURE
    if notion != Notion.ZCDP.value:
        raise InvalidInput(
            "{value!r} is not a currency; give pure-dp or zcdp.",
            value=str(notion),
            field="accounting",
        )
    try:
        people = int(number_text(population))
    except ValueError:
        people = 0
    if not 1 <= people <= MAX_PEOPLE:
        raise InvalidInput(
            "Give how many people live where the data were collected, by public sources, in digits "
            "alone, such as 570000; delta is at most a tenth of one over it.",
            field="population",
        )
    return Accounting(delta_exponent=parse_delta(delta, people), population=people)


def ledger_create(*, name: str, total: Fraction | None, accounting: Accounting = PURE) -> Ledger:
    """Create a ledger for one set of people. Raises InvalidInput for an invalid total.

    If `total` is None, nothing can be paid from the ledger until `ledger_set_total` sets a total.
    Under zCDP the total is declared as an epsilon at the ledger's delta, too.
    """
    ledger = Ledger(name=name[:200], total_units=0, **accounting.columns)
    if total is not None:
        ledger.total_units = _declared_units(ledger, total)
    ledger.save()
    return ledger


def ledger_set_accounting(*, ledger: Ledger, accounting: Accounting) -> Ledger:
    """Change the currency of a budget from which nothing was ever paid; its total is converted.

    Raises Conflict if anything was paid or merged, if a publication rests on the total, or if there
    is a budget for points: amounts of one currency must never be read as amounts of the other.
    """
    with transaction.atomic():
        stored = Ledger.objects.select_for_update().get(pk=ledger.pk)
        if stored.entries.exists() or stored.promised_at or stored.merged_into_id:
            raise Conflict(
                "Something was paid from this budget already, so its currency stays as it is.",
                field="accounting",
            )
        if accounting != PURE and Ledger.objects.filter(beside=stored).exists():
            raise Conflict(NO_POINTS, field="accounting")
        total = stored.epsilon_of(stored.total_units)
        before = stored.words(stored.total_units)
        for column, value in accounting.columns.items():
            setattr(stored, column, value)
        stored.total_units = _declared_units(stored, total) if total else 0
        stored.save()
        _record_total(stored, f"{before} > {stored.words(stored.total_units)}")
    ledger.refresh_from_db()
    return ledger


def _declared_units(ledger: Ledger, total: Fraction) -> int:
    """Return a total that people declared as an epsilon, in the ledger's units.

    It is rounded down. Raises InvalidInput if the total is invalid, or less than one unit.
    """
    units = ledger.units_for(parse_epsilon(total, field="budget"))
    if units == 0:
        raise InvalidInput(
            "Is too small at a delta of {delta}; give more.",
            delta=delta_text(ledger.delta or Fraction(1)),
            field="budget",
        )
    return units


def ledger_create_for_points(*, beside: Ledger, total: Level) -> Ledger:
    """Create a budget for perturbed points, whose total is a level within a radius.

    `beside` is the budget for counts of the same people. Raises Conflict if it is in rho, if they
    already have a budget for points, or if a release was published: a published release promises a
    bound on what can be learned about a person's presence in the data, and perturbed points would
    reveal that presence.
    """
    with transaction.atomic():
        counts_ledger = Ledger.objects.select_for_update().get(pk=beside.pk)
        if counts_ledger.is_zcdp:
            raise Conflict(NO_POINTS, field="points_budget")
        if counts_ledger.promised_at:
            raise Conflict(
                "A published map promises a limit to how well anybody can ever guess who is in the "
                "data; points would break it. Declare a new dataset about other people, with a "
                "budget for points from the start.",
                field="points_budget",
            )
        try:
            with transaction.atomic():
                points = Ledger.objects.create(
                    name=f"{counts_ledger.name}: points"[:200],
                    notion=Notion.GEO_IND.value,
                    beside=counts_ledger,
                    radius=total.radius,
                    input_step=input_step(total.radius),
                    total_units=total.pico,
                )
        except IntegrityError:
            raise Conflict(
                "These people's data have a budget for points already.", field="points_budget"
            ) from None
        _record_total(points, points.words(points.total_units))
        return points


def ledger_set_total(*, ledger: Ledger, total: Fraction | Level) -> Ledger:
    """Change the total of a budget.

    A total in rho is declared as an epsilon at the ledger's delta. Raises Conflict, with the reason
    and the amounts, if the new total is less than what is spent, or if it is an increase after a
    publication or a merger.
    """
    units = _total_units(ledger, total)
    field = "budget" if ledger.radius is None else "points_budget"
    changeable = Ledger.objects.filter(pk=ledger.pk, spent_units__lte=units)
    with transaction.atomic():
        stored = Ledger.objects.select_for_update().get(pk=ledger.pk)
        changed = (
            changeable.filter(promised_at__isnull=True, merged__isnull=True)
            | changeable.filter(total_units__gte=units)
        ).update(total_units=units)
        if changed and stored.total_units != units:
            _record_total(stored, f"{stored.words(stored.total_units)} > {stored.words(units)}")
    ledger.refresh_from_db()
    if changed or ledger.total_units == units:
        return ledger
    if ledger.spent_units > units:
        spent = Figure(ledger.amount(ledger.spent_units))
        raise Conflict(
            "{spent} is already spent; the budget cannot be less.", spent=spent, field=field
        )
    promised = Figure(ledger.amount(ledger.total_units))
    raise Conflict(
        "A published release promises a total of {promised} to the people in the data; the "
        "budget can be lowered, not raised.",
        promised=promised,
        field=field,
    )


def _record_total(ledger: Ledger, detail: str) -> None:
    event_record(
        EventKind.BUDGET,
        organisation=ledger_organisation(ledger),
        subject=ledger.name,
        detail=detail,
    )


def _total_units(ledger: Ledger, total: Fraction | Level) -> int:
    if isinstance(total, Fraction):
        if ledger.radius is not None:
            raise TypeError("A budget for points is a level within a radius, not an epsilon.")
        if total == ledger.epsilon_of(ledger.total_units):
            # A form shows the epsilon of the total rounded up. If the form is sent with that
            # epsilon unchanged, the total must not change either.
            return ledger.total_units
        return _declared_units(ledger, total)
    if ledger.radius is None:
        raise TypeError("This budget is an epsilon, not a level within a radius.")
    if total.radius != ledger.radius:
        raise Conflict(
            "This budget's levels hold within {radius:,} m; use that radius.",
            radius=ledger.radius,
            field="points_radius",
        )
    return total.pico


def ledger_promise(*, ledger: Ledger, total_units: int) -> None:
    """Record that a published release states the ledger's total, and so promises it.

    Only the first such publication sets the time of the promise. `total_units` is the total that
    the release states. Raises Conflict if the ledger's total is higher.
    """
    stated = {"total_units__lte": total_units, "merged_units__lte": total_units}
    updated = Ledger.objects.filter(pk=ledger.pk, **stated).update(
        promised_at=Coalesce("promised_at", timezone.now())
    )
    if not updated:
        raise Conflict(
            "This release states a total budget of {total}, but the budget has been raised "
            "since. Lower it again, or request a new release.",
            total=Figure(ledger.amount(total_units)),
        )


def check_decided(total_units: int) -> None:
    """Raise Conflict if a release would promise a total budget of 0 for counts.

    A release of points can be paid for before the budget for counts has been given a total.
    Publishing it states the totals of both budgets. Since a stated total is never raised, no count
    could ever be published afterwards.
    """
    if total_units == 0:
        raise Conflict(
            "Say first how much may ever be published as counts of these people: a page of points "
            "states that total too, and it cannot be raised afterwards.",
            field="budget",
        )


def check_fits(*, ledger: Ledger, cost: Guarantee, refunds: bool = True) -> None:
    """Raise BudgetExceeded, with the remaining amount, if `cost` exceeds that amount.

    Without `refunds`, refunded amounts count as spent (`selectors.debited_units`).
    """
    units = ledger.price(cost)
    left = left_units(ledger, refunds=refunds)
    if units <= left:
        return
    if ledger.is_zcdp and isinstance(cost, PureDP) and left > 0:
        raise BudgetExceeded(
            "This map is paid for as epsilon {asked} without a delta, which costs {price}, but "
            "only {left} is left; ask for at most epsilon {most}.",
            asked=Figure(format_epsilon(cost.epsilon)),
            price=ledger.phrase(units),
            left=ledger.phrase(left),
            most=Figure(format_epsilon(most_pure(left))),
            field="epsilon",
        )
    raise BudgetExceeded(
        "You asked for {asked}, but only {left} of {total} is left; ask for at most {left}."
        if left > 0
        else "You asked for {asked}, but nobody has said yet how much may be published."
        if ledger.total_units == 0
        else "You asked for {asked}, but the budget of {total} is spent.",
        asked=ledger.phrase(units),
        left=Figure(ledger.rest(left)),
        total=Figure(ledger.amount(ledger.lifetime_units)),
        field="epsilon" if ledger.radius is None else "level",
    )


PAID_ALREADY = "This job has been paid for already; it is not charged twice."


def most_pure(nano_rho: int) -> Fraction:
    """Return the largest pure epsilon, in whole millionths, that a rho pays for."""
    # A pure epsilon costs a rho of epsilon^2/2. MICRO is the number of millionths in 1, and SCALE
    # that of nano-rho in a rho of 1. So m millionths of epsilon cost SCALE m^2 / (2 MICRO^2)
    # nano-rho; return the largest m whose cost is at most `nano_rho`.
    return Fraction(isqrt(2 * nano_rho * MICRO**2 // SCALE[Notion.ZCDP]), MICRO)


def budget_debit(*, ledger: Ledger, job: UUID, cost: Guarantee, what: str, who: str) -> Entry:
    """Debit the cost of a job from `ledger` or, after a merger, from the target ledger.

    `what` and `who` are stored in the entry: what is paid for, and who requested it. Raises
    BudgetExceeded if too little is left, Conflict if the job was debited before or the budget
    changed meanwhile, or TypeError if the ledger's currency cannot pay for the cost.
    """
    units = ledger.price(cost)
    currency = ledger.notion, ledger.delta_exponent
    try:
        with transaction.atomic():
            if paid := _debit(ledger, job, units, what, who):
                return paid
    except IntegrityError:
        raise Conflict(PAID_ALREADY) from None
    ledger.refresh_from_db()
    paying = ledger.merged_into or ledger
    if (paying.notion, paying.delta_exponent) == currency:
        if paying != ledger:
            return budget_debit(ledger=paying, job=job, cost=cost, what=what, who=who)
        check_fits(ledger=ledger, cost=cost)
    # The debit failed, but the budget suffices now: another job was refunded meanwhile, or the
    # ledger's currency changed. Raising BudgetExceeded here would end a series for good.
    raise Conflict("The budget has changed meanwhile; try again.", field="epsilon")


def _debit(ledger: Ledger, job: UUID, units: int, what: str, who: str) -> Entry | None:
    """Debit units of a ledger, in a transaction; return None if too little is left.

    Also return None if the ledger was merged, or its currency changed, after `ledger` was read. A
    changed delta counts as a changed currency, since `units` were computed at the former delta.
    """
    paid = Ledger.objects.filter(
        pk=ledger.pk,
        notion=ledger.notion,
        delta_exponent=ledger.delta_exponent,
        total_units__gte=F("spent_units") + units,
        merged_into__isnull=True,
    ).update(spent_units=F("spent_units") + units)
    if not paid:
        return None
    return Entry.objects.create(
        ledger=ledger, job=job, kind=EntryKind.DEBIT, units=units, what=what[:300], who=who[:200]
    )


def budget_debit_found(
    *, ledger: Ledger, job: UUID, cost: Guarantee, what: str, radius: int = 0
) -> Entry | None:
    """Debit a draw again if its debit is missing in a restored database.

    The draw must be debited, since somebody may have seen its result. If the budget is now too
    small, everything that is left is debited, so that nothing more can be requested. Returns None
    if nothing is left. The total of a ledger for recovered draws grows by the cost of each draw.
    Raises Conflict if the job is already debited.

    `radius` is 0 for counts. For perturbed points, it is the distance in metres within which their
    level holds, and the step of the grid to which positions were snapped follows from it. If that
    grid is coarser than the ledger's `input_step`, `input_step` is set to its step, because
    sentences about the budget must state the coarsest grid.
    """
    who = "found after a restore"
    ledger = current_ledger(ledger)
    if radius and ledger.radius is not None:
        Ledger.objects.filter(pk=ledger.pk).update(
            input_step=Greatest(F("input_step"), input_step(radius))
        )
    if not ledger.pays_for(cost):
        Ledger.objects.filter(pk=ledger.pk).update(
            promised_at=Coalesce("promised_at", timezone.now())
        )
        return _debit_rest(ledger, job, what, who)
    try:
        with transaction.atomic():
            if ledger.recovers:
                # The total of a ledger for recovered draws is the sum of their costs, so raise it
                # by this one.
                found = F("spent_units") + ledger.price(cost)
                Ledger.objects.filter(pk=ledger.pk).update(
                    total_units=Greatest(F("total_units"), found)
                )
            return budget_debit(ledger=ledger, job=job, cost=cost, what=what, who=who)
    except BudgetExceeded:
        return _debit_rest(ledger, job, what, who)


def _debit_rest(ledger: Ledger, job: UUID, what: str, who: str) -> Entry | None:
    """Debit all that is left of a ledger for a job; return None if nothing is left.

    Raises Conflict if the job is already debited.
    """
    ledger.refresh_from_db()
    if not ledger.left_units:
        return None
    try:
        with transaction.atomic():
            return _debit(ledger, job, ledger.left_units, what, who)
    except IntegrityError:
        raise Conflict(PAID_ALREADY) from None


def budget_refund(*, job: UUID) -> Entry | None:
    """Refund the debit for a job. The caller must make sure that no noise was drawn.

    After a merger, the refund goes to the ledger into which the debited ledger was merged. Returns
    None if there was no debit or it was already refunded.
    """
    debit = Entry.objects.filter(job=job, kind=EntryKind.DEBIT).first()
    if debit is None:
        return None
    try:
        with transaction.atomic():
            return Entry.objects.create(
                ledger_id=_give_back(debit),
                job=job,
                kind=EntryKind.REFUND,
                units=-debit.units,
                what=debit.what,
                who=debit.who,
            )
    except IntegrityError:
        return None


def _give_back(debit: Entry) -> int:
    """Subtract a debit from the spent amount of its current ledger; return that ledger's id.

    The update locks the row. A concurrent merger of this ledger has either finished, and then the
    loop continues with the ledger it was merged into, or it waits until this transaction ends.
    """
    ledger = debit.ledger
    while not Ledger.objects.filter(pk=ledger.pk, merged_into__isnull=True).update(
        spent_units=F("spent_units") - debit.units
    ):
        ledger = current_ledger(ledger)
    return ledger.pk


def ledger_recovering(
    *,
    slug: str,
    title: str,
    publisher: str,
    notion: Notion,
    radius: int,
    accounting: Accounting = PURE,
) -> Ledger:
    """Return the ledger for draws from a dataset that is not in this database.

    The ledger is created for the first such draw. Its total is the sum of the recovered draws, so
    nothing else can be paid from it. `radius` is the distance in metres within which the level of a
    budget for points holds; it is not used for counts. `slug`, `title`, `publisher` and
    `accounting` are those of the missing dataset.
    """
    counts_ledger, _ = Ledger.objects.get_or_create(
        recovers=slug[:80],
        notion=accounting.columns["notion"],
        defaults={
            "name": title[:200],
            "recovers_for": publisher[:200],
            "total_units": 0,
            **accounting.columns,
        },
    )
    if notion is not Notion.GEO_IND:
        return counts_ledger
    points, _ = Ledger.objects.get_or_create(
        recovers=slug[:80],
        notion=notion.value,
        defaults={
            "name": f"{title}: points"[:200],
            "beside": counts_ledger,
            "radius": radius,
            "input_step": input_step(radius),
            "total_units": 0,
        },
    )
    return points
