"""CSV export of a ledger, for the records of data stewards."""

from __future__ import annotations

from typing import Protocol

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import ledger_entries
from dpgeo.core.csv_text import NumberText, csv_line
from dpgeo.core.epsilon import format_epsilon

COLUMNS = ("at", "kind", "notion", "epsilon", "rho", "what", "who", "job")
"""Columns of the CSV file.

In a budget for points, `epsilon` is per metre. In a budget in rho, `rho` is the amount and
`epsilon` is empty, since epsilons of its entries would not add up.
"""


class Writable(Protocol):
    """A target for text, such as a terminal or an HTTP response."""

    def write(self, text: str, /) -> object:
        """Append `text`; the result is ignored."""


def write_entries(ledger: Ledger, target: Writable) -> None:
    """Write all entries of a ledger as CSV, oldest first.

    The file is private, since it also shows the cost of drafts.
    """
    target.write(csv_line(COLUMNS))
    for entry in ledger_entries(ledger).order_by("id").iterator():
        ledger = entry.ledger
        epsilon = "" if ledger.is_zcdp else format_epsilon(entry.epsilon)
        rho = ledger.rho_text(entry.units) if ledger.is_zcdp else ""
        amounts = [NumberText(epsilon), NumberText(rho)]
        begins = [entry.at.isoformat(), entry.kind, ledger.notion, *amounts]
        target.write(csv_line([*begins, entry.what, entry.who, entry.job]))
