"""One budget that many processes spend from at the same time: it is never exceeded."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import pytest

from dpgeo.core.zcdp import nano_rho_of_pure
from tests.services.installation import Installation

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]

PROCESSES = 16
DEBITS_EACH = 625 if os.environ.get("DPGEO_AUDIT") == "1" else 63
ASKED = PROCESSES * DEBITS_EACH

HELD = ASKED * 4 // 5
"""Number of debits of EPSILON for which a budget of 4 is enough."""

EPSILON = f"{4_000_000 // HELD / 1_000_000:.6f}"


def test_ten_thousand_concurrent_debits_never_overspend(installation: Installation) -> None:
    """16 processes together request a quarter more than the budget; the budget is never overspent.

    `make audit` makes ten times as many debits.
    """
    ledger = installation.ask("prepare", rows=1)["ledger"]
    processes = [
        installation.begin("debits", ledger=ledger, count=DEBITS_EACH, epsilon=EPSILON)
        for _ in range(PROCESSES)
    ]
    answers = [installation.answer(process) for process in processes]
    paid = sum(answer["paid"] for answer in answers)
    assert paid == Fraction(4) // Fraction(EPSILON)
    assert sum(answer["refused"] for answer in answers) == ASKED - paid > 0
    sums = installation.ask("total", ledger=ledger)
    assert sums["spent"] == sums["summed"] == paid * int(Fraction(EPSILON) * 1_000_000)
    assert sums["spent"] <= sums["total"] == 4_000_000


def test_concurrent_debits_of_rho_and_of_pure_epsilons_never_overspend(
    installation: Installation,
) -> None:
    """Half of 16 processes debit a rho, half an epsilon of equal cost, until none is left."""
    ledger = installation.ask("prepare", rows=1, in_rho=True)["ledger"]
    total = installation.ask("total", ledger=ledger)["total"]
    epsilon = Fraction(math.isqrt(2_000 * total // HELD), 1_000_000)
    price = nano_rho_of_pure(epsilon)
    costs = ({"nano_rho": price}, {"epsilon": str(epsilon)})
    processes = [
        installation.begin("debits", ledger=ledger, count=DEBITS_EACH, **costs[number % 2])
        for number in range(PROCESSES)
    ]
    answers = [installation.answer(process) for process in processes]
    paid = sum(answer["paid"] for answer in answers)
    assert paid == total // price < ASKED
    sums = installation.ask("total", ledger=ledger)
    assert sums["spent"] == sums["summed"] == paid * price <= total


@pytest.mark.parametrize("in_rho", [False, True], ids=["epsilon", "rho"])
def test_mergers_under_concurrent_debits_lose_none(
    installation: Installation, in_rho: bool
) -> None:
    """No debit is lost if two ledgers are merged in both directions while processes debit them.

    Both budgets together pay for 160 debits.
    """
    ledgers = [installation.ask("prepare", rows=1, in_rho=in_rho)["ledger"] for _ in range(2)]
    price = 50_000
    cost: dict[str, object] = {"epsilon": "0.05"}
    if in_rho:
        price = installation.ask("total", ledger=ledgers[0])["total"] // 80
        cost = {"nano_rho": price}
    debits = [
        installation.begin("debits", ledger=ledger, count=60, **cost)
        for ledger in ledgers
        for _ in range(2)
    ]
    mergers = [
        installation.begin("merge", ledger=one, into=other)
        for one, other in (ledgers, ledgers[::-1])
    ]
    assert sum(installation.answer(merger)["merged"] for merger in mergers) == 1
    paid = sum(installation.answer(process)["paid"] for process in debits)
    sums = [installation.ask("total", ledger=ledger) for ledger in ledgers]
    assert all(each["spent"] == each["summed"] for each in sums)
    assert sorted(each["spent"] for each in sums) == [0, price * paid]
    assert 80 <= paid <= 160
