"""A ledger as CSV, for the records of those who answer for it."""

from __future__ import annotations

import csv
from typing import Protocol

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import entries_of
from dpgeo.core.epsilon import format_epsilon

COLUMNS = ("at", "kind", "notion", "epsilon", "what", "who", "job")
"""`epsilon` is per metre where the notion is that of points."""


class Writable(Protocol):
    """Anything that text can be written to: a terminal, an answer."""

    def write(self, text: str, /) -> object:
        """Take the text."""


def write_entries(ledger: Ledger, target: Writable) -> None:
    """Write every debit and refund of these people, oldest first. Private: it lists drafts."""
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries_of(ledger).order_by("id").iterator():
        epsilon = format_epsilon(entry.epsilon)
        words = [as_text(text) for text in (entry.what, entry.who)]
        notion = entry.ledger.notion
        writer.writerow([entry.at.isoformat(), entry.kind, notion, epsilon, *words, entry.job])


def as_text(value: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value
