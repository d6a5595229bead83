"""Budgets: the ledger is never overspent, and its entries are never lost or rewritten."""

from __future__ import annotations

import uuid
from fractions import Fraction

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.services import (
    budget_debit,
    budget_refund,
    ledger_create,
    ledger_create_for_points,
    ledger_promise,
    ledger_set_total,
)
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput
from dpgeo.core.guarantees import GeoInd, PureDP, Unit
from dpgeo.core.levels import make_level

pytestmark = pytest.mark.django_db


def debit(ledger: Ledger, epsilon: Fraction, job: uuid.UUID | None = None) -> Entry:
    return budget_debit(
        ledger=ledger,
        job=job or uuid.uuid4(),
        cost=PureDP(epsilon, Unit.PERSON),
        what="A map",
        who="ann",
    )


def test_a_debit_is_exact() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    for _ in range(3):
        debit(ledger, Fraction(333_333, 1_000_000))
    ledger.refresh_from_db()
    assert ledger.left == Fraction(1, 1_000_000)


def test_a_debit_beyond_the_budget_is_refused_with_the_numbers() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    debit(ledger, Fraction(3, 4))
    with pytest.raises(BudgetExceeded) as refused:
        debit(ledger, Fraction(1, 2))
    assert refused.value.field == "epsilon"
    assert "0.5" in refused.value.message
    assert "0.25 of 1 is left" in refused.value.message
    assert "at most 0.25" in refused.value.message
    assert Entry.objects.count() == 1


def test_a_job_is_charged_once() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    job = uuid.uuid4()
    debit(ledger, Fraction(1, 4), job)
    with pytest.raises(Conflict):
        debit(ledger, Fraction(1, 4), job)
    ledger.refresh_from_db()
    assert ledger.spent_units == 250_000


def test_a_refund_is_given_once() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    entry = debit(ledger, Fraction(1, 4))
    assert budget_refund(job=entry.job) is not None
    assert budget_refund(job=entry.job) is None
    ledger.refresh_from_db()
    assert ledger.spent_units == 0
    assert [line.kind for line in ledger.entries.order_by("id")] == ["debit", "refund"]


def test_a_job_without_a_debit_is_not_refunded() -> None:
    assert budget_refund(job=uuid.uuid4()) is None
    assert not Entry.objects.exists()


def test_entries_are_neither_changed_nor_deleted() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    entry = debit(ledger, Fraction(1, 4))
    entry.what = "Something else"
    with pytest.raises(TypeError, match="append-only"):
        entry.save()
    with pytest.raises(TypeError, match="append-only"):
        entry.delete()
    with pytest.raises(TypeError, match="append-only"):
        Entry.objects.filter(pk=entry.pk).update(units=1)
    with pytest.raises(TypeError, match="append-only"):
        Entry.objects.all().delete()


def test_the_database_itself_refuses_to_change_an_entry() -> None:
    entry = debit(ledger_create(name="people", total=Fraction(1)), Fraction(1, 4))
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE budgets_entry SET units = 1 WHERE id = %s", [entry.pk])
    assert Entry.objects.get(pk=entry.pk).units == 250_000


def test_the_database_itself_refuses_an_overspent_ledger() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    with pytest.raises(DatabaseError), transaction.atomic():
        Ledger.objects.filter(pk=ledger.pk).update(spent_units=1_000_001)


def test_the_database_itself_refuses_a_second_debit_of_a_job() -> None:
    entry = debit(ledger_create(name="people", total=Fraction(1)), Fraction(1, 4))
    with pytest.raises(DatabaseError), transaction.atomic():
        Entry.objects.create(
            ledger=entry.ledger, job=entry.job, kind=EntryKind.DEBIT, units=1, what="", who=""
        )


@pytest.mark.parametrize("total", ["0", "-1", "nan", "0.0000001", "1e9"])
def test_a_ledger_needs_a_valid_budget(total: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ledger_create(name="people", total=total)  # type: ignore[arg-type]
    assert refused.value.field == "budget"


def test_a_budget_may_be_raised_only_before_the_first_publication() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    ledger_set_total(ledger=ledger, total=Fraction(2))
    ledger_promise(ledger=ledger, total_units=2_000_000)
    with pytest.raises(Conflict, match="lowered, not raised"):
        ledger_set_total(ledger=ledger, total=Fraction(3))
    assert ledger_set_total(ledger=ledger, total=Fraction(3, 2)).total_units == 1_500_000


def test_a_budget_is_never_less_than_what_is_spent() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    debit(ledger, Fraction(3, 4))
    with pytest.raises(Conflict, match=r"0\.75 is already spent"):
        ledger_set_total(ledger=ledger, total=Fraction(1, 2))
    ledger.refresh_from_db()
    assert ledger.total_units == 1_000_000


def test_a_release_that_states_less_than_the_budget_is_not_published() -> None:
    ledger = ledger_create(name="people", total=Fraction(2))
    with pytest.raises(Conflict, match="raised since"):
        ledger_promise(ledger=ledger, total_units=1_000_000)
    ledger.refresh_from_db()
    assert ledger.promised_at is None


def points(beside: Ledger, level: str = "ln 16") -> Ledger:
    return ledger_create_for_points(beside=beside, total=make_level(level, 200))


def test_points_are_debited_only_to_their_own_ledger() -> None:
    people = ledger_create(name="people", total=Fraction(1))
    ledger = points(people)
    cost = GeoInd(make_level("ln 4", 200).pico, Unit.PERSON)
    budget_debit(ledger=ledger, job=uuid.uuid4(), cost=cost, what="Points", who="ann")
    ledger.refresh_from_db()
    assert ledger.words(ledger.spent_units) == "level ln 4 within 200 m"
    with pytest.raises(TypeError):
        budget_debit(ledger=people, job=uuid.uuid4(), cost=cost, what="Points", who="ann")
    with pytest.raises(TypeError):
        debit(ledger, Fraction(1, 2))
    assert Entry.objects.count() == 1


def test_points_cost_no_more_than_their_ledger_holds() -> None:
    ledger = points(ledger_create(name="people", total=Fraction(1)))
    cost = GeoInd(make_level("ln 17", 200).pico, Unit.PERSON)
    with pytest.raises(BudgetExceeded) as refused:
        budget_debit(ledger=ledger, job=uuid.uuid4(), cost=cost, what="Points", who="ann")
    assert refused.value.message == (
        "You asked for level ln 17 within 200 m, but only ln 16 of ln 16 is left; ask for at most "
        "ln 16."
    )


def test_one_budget_for_points_is_declared_before_any_publication() -> None:
    people = ledger_create(name="people", total=Fraction(1))
    points(people)
    with pytest.raises(Conflict):
        points(people)
    promised = ledger_create(name="others", total=Fraction(1))
    ledger_promise(ledger=promised, total_units=1_000_000)
    with pytest.raises(Conflict, match="promises"):
        points(promised)


def test_the_radius_of_a_budget_for_points_is_fixed() -> None:
    ledger = points(ledger_create(name="people", total=Fraction(1)))
    with pytest.raises(Conflict) as refused:
        ledger_set_total(ledger=ledger, total=make_level("ln 16", 100))
    assert refused.value.field == "points_radius"
    raised = ledger_set_total(ledger=ledger, total=make_level("ln 64", 200))
    assert raised.amount(raised.total_units) == "ln 64"


def test_the_database_refuses_a_ledger_for_points_without_one_for_counts() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Ledger.objects.create(name="alone", notion="geo-ind", radius=200, total_units=1)


def test_the_database_refuses_a_ledger_for_points_without_the_step_of_its_grid() -> None:
    """Sentences about a budget for points state the grid, so none may be missing."""
    beside = ledger_create(name="people", total=Fraction(1))
    for steps in ({}, {"input_step": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Ledger.objects.create(
                name="points", notion="geo-ind", beside=beside, radius=200, total_units=1, **steps
            )
