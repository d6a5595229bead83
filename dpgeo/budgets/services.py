"""Writes on the ledger. Each is one short transaction that the database itself keeps within limits.

A check followed by a save overspends under concurrency; a conditional UPDATE cannot.
"""

from __future__ import annotations

from fractions import Fraction
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.core.epsilon import format_epsilon, from_micro, parse_epsilon, to_micro
from dpgeo.core.errors import BudgetExceeded, Conflict


def ledger_create(*, name: str, total: Fraction) -> Ledger:
    """A new ledger for one set of people. Raises InvalidInput on a total that is no epsilon."""
    micro = to_micro(parse_epsilon(total, field="budget"))
    return Ledger.objects.create(name=name[:200], total_micro=micro)


def ledger_set_total(*, ledger: Ledger, total: Fraction) -> Ledger:
    """Change a budget: never below what is spent, and never up once a release was published.

    Raises Conflict with the reason and the numbers; nothing is changed then.
    """
    micro = to_micro(parse_epsilon(total, field="budget"))
    changeable = Ledger.objects.filter(pk=ledger.pk, spent_micro__lte=micro)
    changed = (
        changeable.filter(promised_at__isnull=True) | changeable.filter(total_micro__gte=micro)
    ).update(total_micro=micro)
    ledger.refresh_from_db()
    if changed:
        return ledger
    if ledger.spent_micro > micro:
        spent = format_epsilon(ledger.spent)
        raise Conflict(f"{spent} is already spent; the budget cannot be less.", field="budget")
    promised = format_epsilon(ledger.total)
    raise Conflict(
        f"A published release promises a total of {promised} to the people in the data; the "
        "budget can be lowered, not raised.",
        field="budget",
    )


def ledger_promise(*, ledger: Ledger, total_micro: int) -> None:
    """Make the total a public promise, at the first publication that rests on it.

    `total_micro` is the total the publication states. Raises Conflict if the ledger's is higher.
    """
    kept = Ledger.objects.filter(pk=ledger.pk, total_micro__lte=total_micro).update(
        promised_at=Coalesce("promised_at", timezone.now())
    )
    if not kept:
        raise Conflict(
            f"This release states a total budget of {format_epsilon(from_micro(total_micro))}, "
            "and the budget was raised since. Lower it again, or request the release anew."
        )


def check_fits(*, ledger: Ledger, epsilon: Fraction) -> None:
    """Raise BudgetExceeded, with what was asked and what is left, if a ledger cannot hold it."""
    left = ledger.left
    if epsilon <= left:
        return
    room = f"ask for at most {format_epsilon(left)}" if left > 0 else "nothing is left to ask for"
    raise BudgetExceeded(
        f"Asked for epsilon {format_epsilon(epsilon)}, but {format_epsilon(left)} of "
        f"{format_epsilon(ledger.total)} is left; {room}.",
        field="epsilon",
    )


def budget_debit(*, ledger: Ledger, job: UUID, epsilon: Fraction, what: str, who: str) -> Entry:
    """Pay for a job, once. Raises BudgetExceeded, or Conflict if the job was paid for before."""
    micro = to_micro(epsilon)
    try:
        with transaction.atomic():
            paid = Ledger.objects.filter(
                pk=ledger.pk, total_micro__gte=F("spent_micro") + micro
            ).update(spent_micro=F("spent_micro") + micro)
            if paid:
                return Entry.objects.create(
                    ledger=ledger,
                    job=job,
                    kind=EntryKind.DEBIT,
                    micro=micro,
                    what=what[:300],
                    who=who[:200],
                )
    except IntegrityError:
        raise Conflict("This job has been paid for already; it is not charged twice.") from None
    ledger.refresh_from_db()
    check_fits(ledger=ledger, epsilon=epsilon)
    # What was held a moment ago has just been given back.
    raise BudgetExceeded("The budget changed meanwhile; ask again.", field="epsilon")


def budget_debit_found(*, ledger: Ledger, job: UUID, epsilon: Fraction, what: str) -> Entry | None:
    """Debit again what a restored database has forgotten: the noise was drawn, and may be known.

    Where the budget does not hold it any more, all that is left is debited, so that nothing more
    can be asked for; None where nothing is left. Raises Conflict if the job was paid for.
    """
    who = "found after a restore"
    try:
        return budget_debit(ledger=ledger, job=job, epsilon=epsilon, what=what, who=who)
    except BudgetExceeded:
        ledger.refresh_from_db()
        left = ledger.left
        if left <= 0:
            return None
        return budget_debit(ledger=ledger, job=job, epsilon=left, what=what, who=who)


def budget_refund(*, job: UUID) -> Entry | None:
    """Give a job's debit back, once. The caller knows that no noise was drawn.

    None where there was no debit, or where it was given back before.
    """
    debit = Entry.objects.filter(job=job, kind=EntryKind.DEBIT).first()
    if debit is None:
        return None
    try:
        with transaction.atomic():
            entry = Entry.objects.create(
                ledger_id=debit.ledger_id,
                job=job,
                kind=EntryKind.REFUND,
                micro=-debit.micro,
                what=debit.what,
                who=debit.who,
            )
            Ledger.objects.filter(pk=debit.ledger_id).update(
                spent_micro=F("spent_micro") - debit.micro
            )
    except IntegrityError:
        return None
    return entry
