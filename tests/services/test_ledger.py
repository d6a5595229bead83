"""Many processes spend one budget at once, and not a millionth too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.installation import Installation

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

PROCESSES = 8
DEBITS_EACH = 125


def test_a_thousand_concurrent_debits_never_overspend(tmp_path: Path) -> None:
    """The budget of 4 holds 800 debits of 0.005; 8 processes ask for 1,000."""
    installation = Installation(tmp_path)
    ledger = installation.ask("prepare", rows=1)["ledger"]
    asked = [
        installation.begin("debits", ledger=ledger, count=DEBITS_EACH, epsilon="0.005")
        for _ in range(PROCESSES)
    ]
    answers = [installation.answer(process) for process in asked]
    assert sum(answer["paid"] for answer in answers) == 800
    assert sum(answer["refused"] for answer in answers) == 200
    sums = installation.ask("total", ledger=ledger)
    assert sums["spent"] == sums["summed"] == sums["total"] == 4_000_000
