"""Warnings about unusually large privacy budgets, which are allowed."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.artefacts.wording import format_odds
from dpgeo.phrases import Figure, Phrase

LARGE = Fraction(10)
"""Total epsilon above which the protection is weak: odds may change by a factor of 22,000."""


NEXT_TO_NOTHING = (
    "A total epsilon above {limit} promises next to nothing: whether a person is in the data may "
    "change the odds of anything published by a factor {odds}. Lower it before the first "
    "publication."
)


def cautions_on(total: Fraction) -> list[Phrase]:
    """Return the warnings about a total epsilon; there are none up to LARGE."""
    if total <= LARGE:
        return []
    odds = Figure(format_odds(total))
    return [Phrase(NEXT_TO_NOTHING, limit=Figure(str(LARGE)), odds=odds)]
