"""Budgets in rho: what is debited, converted and refused, and that epsilons are never added up."""

from __future__ import annotations

import io
import uuid
from fractions import Fraction
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from dpgeo.budgets.export import write_entries
from dpgeo.budgets.merging import ledger_merge
from dpgeo.budgets.models import Entry, Ledger
from dpgeo.budgets.selectors import is_paid_for, ledger_for
from dpgeo.budgets.services import (
    PURE,
    Accounting,
    budget_debit,
    budget_debit_found,
    budget_refund,
    ledger_create,
    ledger_create_for_points,
    ledger_promise,
    ledger_recovering,
    ledger_set_accounting,
    ledger_set_total,
    most_pure,
)
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput
from dpgeo.core.guarantees import ZCDP, Guarantee, Notion, PureDP, Unit
from dpgeo.core.levels import make_level
from dpgeo.core.zcdp import epsilon_at, exponent_delta, nano_rho_for

pytestmark = pytest.mark.django_db

DELTA = exponent_delta(9)

RHO = Accounting(delta_exponent=9, population=1_000_000)


def in_rho(total: Fraction | None = Fraction(1), exponent: int = 9) -> Ledger:
    accounting = Accounting(delta_exponent=exponent, population=1_000_000)
    return ledger_create(name="people", total=total, accounting=accounting)


def rho(nano: int) -> ZCDP:
    return ZCDP(Fraction(nano, 10**9), DELTA, Unit.PERSON)


def debit(ledger: Ledger, cost: Guarantee, job: uuid.UUID | None = None) -> Entry:
    job = job or uuid.uuid4()
    return budget_debit(ledger=ledger, job=job, cost=cost, what="A map", who="ann")


def test_a_total_in_rho_is_declared_as_an_epsilon_and_rounded_down() -> None:
    ledger = in_rho(Fraction(3))
    assert ledger.total_units == nano_rho_for(Fraction(3), DELTA)
    assert ledger.total <= 3 < epsilon_at(Fraction(ledger.total_units + 1, 10**9), DELTA)


def test_a_total_of_less_than_one_nano_rho_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        in_rho(Fraction(1, 10**6))
    assert refused.value.field == "budget"


def test_rhos_add_up_where_epsilons_do_not() -> None:
    ledger = in_rho(Fraction(3))
    twelfth = ledger.total_units // 12
    for _ in range(12):
        debit(ledger, rho(twelfth))
    ledger.refresh_from_db()
    assert ledger.spent_units == 12 * twelfth
    assert ledger.spent <= 3 < 12 * rho(twelfth).epsilon
    with pytest.raises(BudgetExceeded):
        debit(ledger, rho(twelfth))


def test_a_pure_map_costs_half_its_epsilon_squared_rounded_up() -> None:
    ledger = in_rho(Fraction(3))
    entry = debit(ledger, PureDP(Fraction(100_001, 1_000_000), Unit.PERSON))
    assert entry.units == 5_000_101  # 5,000,100.0005 nano-rho
    with pytest.raises(BudgetExceeded, match=r"ask for at most epsilon 0\.4") as refused:
        debit(ledger, PureDP(Fraction(1), Unit.PERSON))
    assert refused.value.field == "epsilon"


@pytest.mark.parametrize("nano", [1, 2, 12_345, 15_000_000, 121_000_000])
def test_the_most_pure_epsilon_is_what_the_rho_pays_for(nano: int) -> None:
    most = most_pure(nano)
    assert most**2 / 2 <= Fraction(nano, 10**9) < (most + Fraction(1, 10**6)) ** 2 / 2


def test_rho_is_never_paid_in_epsilon() -> None:
    ledger = ledger_create(name="people", total=Fraction(1))
    with pytest.raises(TypeError):
        debit(ledger, rho(1))
    with pytest.raises(Conflict):
        ledger_for(ledger, Notion.ZCDP)
    assert ledger_for(in_rho(), Notion.PURE_DP).is_zcdp


def test_a_refund_gives_back_the_rho() -> None:
    ledger = in_rho()
    entry = debit(ledger, rho(1_000))
    assert is_paid_for(entry.job, rho(1_000))
    assert not is_paid_for(entry.job, rho(1_001))
    budget_refund(job=entry.job)
    ledger.refresh_from_db()
    assert ledger.spent_units == 0
    assert not is_paid_for(entry.job, rho(1_000))


def test_budgets_of_different_currencies_do_not_merge() -> None:
    epsilon = ledger_create(name="people", total=Fraction(1))
    for one, other in ((epsilon, in_rho()), (in_rho(), epsilon)):
        with pytest.raises(Conflict, match="cannot become one"):
            ledger_merge(ledger=one, into=other, who="ann")


def test_merged_budgets_in_rho_add_up_and_keep_the_smaller_delta() -> None:
    one, other = in_rho(Fraction(2), 9), in_rho(Fraction(1), 12)
    debit(one, rho(1_000))
    debit(other, rho(500))
    merged = ledger_merge(ledger=other, into=one, who="ann")
    assert merged.delta == exponent_delta(12)
    assert merged.spent_units == 1_500
    assert merged.total_units == nano_rho_for(Fraction(1), exponent_delta(12))


def test_no_budget_for_points_is_beside_one_in_rho() -> None:
    level = make_level("ln 4", 200)
    with pytest.raises(Conflict, match="no budget for points"):
        ledger_create_for_points(beside=in_rho(), total=level)
    epsilon = ledger_create(name="people", total=Fraction(1))
    ledger_create_for_points(beside=epsilon, total=level)
    with pytest.raises(Conflict, match="no budget for points"):
        ledger_set_accounting(ledger=epsilon, accounting=RHO)


def test_the_currency_changes_only_while_nothing_was_paid() -> None:
    ledger = ledger_create(name="people", total=Fraction(3))
    changed = ledger_set_accounting(ledger=ledger, accounting=RHO)
    assert changed.total_units == nano_rho_for(Fraction(3), DELTA)
    assert ledger_set_accounting(ledger=ledger, accounting=PURE).total_units == 3_000_000
    budget_refund(job=debit(ledger, PureDP(Fraction(1), Unit.PERSON)).job)
    with pytest.raises(Conflict, match="stays as it is"):
        ledger_set_accounting(ledger=ledger, accounting=RHO)


def test_a_promise_keeps_the_currency() -> None:
    ledger = ledger_create(name="people", total=Fraction(3))
    ledger_promise(ledger=ledger, total_units=3_000_000)
    with pytest.raises(Conflict, match="stays as it is"):
        ledger_set_accounting(ledger=ledger, accounting=RHO)


def test_a_debit_that_was_priced_in_the_former_currency_is_not_made() -> None:
    ledger = ledger_create(name="people", total=Fraction(3))
    former = Ledger.objects.get(pk=ledger.pk)
    ledger_set_accounting(ledger=ledger, accounting=RHO)
    with pytest.raises(Conflict, match="changed meanwhile"):
        debit(former, PureDP(Fraction(1), Unit.PERSON))
    assert not Entry.objects.exists()


def test_a_found_draw_that_does_not_fit_takes_all_that_is_left() -> None:
    ledger = in_rho()
    debit(ledger, rho(ledger.total_units - 10))
    found = budget_debit_found(
        ledger=ledger, job=uuid.uuid4(), cost=PureDP(Fraction(1), Unit.PERSON), what="A map"
    )
    assert found is not None
    assert found.units == 10


def test_a_found_draw_in_rho_takes_all_that_is_left_of_a_budget_in_epsilon() -> None:
    ledger, job = ledger_create(name="people", total=Fraction(3)), uuid.uuid4()
    found = budget_debit_found(ledger=ledger, job=job, cost=rho(10), what="A map")
    assert found is not None
    assert found.units == ledger.total_units
    assert not is_paid_for(job, rho(10))
    with pytest.raises(Conflict):
        ledger_set_total(ledger=ledger, total=Fraction(4))
    with pytest.raises(Conflict):
        budget_debit_found(ledger=in_rho(), job=job, cost=rho(10), what="A map")
    assert not budget_debit_found(ledger=ledger, job=uuid.uuid4(), cost=rho(10), what="A map")


def test_draws_of_an_unknown_dataset_in_rho_are_its_total() -> None:
    facts: dict[str, Any] = {
        "slug": "lost",
        "title": "Lost",
        "publisher": "City",
        "radius": 0,
        "accounting": RHO,
    }
    for notion, cost in (
        (Notion.ZCDP, rho(700)),
        (Notion.PURE_DP, PureDP(Fraction(1), Unit.PERSON)),
    ):
        ledger = ledger_recovering(notion=notion, **facts)
        assert budget_debit_found(ledger=ledger, job=uuid.uuid4(), cost=cost, what="A map")
    ledger.refresh_from_db()
    assert ledger.total_units == ledger.spent_units == 500_000_700


def test_a_total_in_rho_is_never_raised_after_a_promise() -> None:
    ledger = in_rho(Fraction(2))
    ledger_promise(ledger=ledger, total_units=ledger.total_units)
    with pytest.raises(Conflict):
        ledger_set_total(ledger=ledger, total=Fraction(3))
    assert ledger_set_total(ledger=ledger, total=Fraction(1)).total <= 1


def test_the_database_refuses_rho_without_a_delta_and_a_delta_without_rho() -> None:
    for wrong in ({"notion": "zcdp"}, {"delta_exponent": 9}, {"population": 5}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Ledger.objects.create(name="people", total_units=1, **wrong)


def test_a_ledger_file_gives_rho_and_no_epsilon_to_add_up() -> None:
    ledger = in_rho(Fraction(3))
    debit(ledger, rho(1_500_000))
    target = io.StringIO()
    write_entries(ledger, target)
    header, line = (each.split(",") for each in target.getvalue().splitlines())
    values = dict(zip(header, line, strict=True))
    assert (values["notion"], values["epsilon"], values["rho"]) == ("zcdp", "", "0.0015")


def test_amounts_in_rho_name_the_epsilon_and_its_delta() -> None:
    ledger = in_rho(Fraction(1))
    words = ledger.words(ledger.total_units)
    assert words.startswith("rho 0.01497")
    assert words.endswith("(epsilon 1 at delta 1e-9)")
