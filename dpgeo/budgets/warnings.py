"""Warnings about unusually large privacy budgets, which are nevertheless allowed."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.phrases import Figure, Phrase

LARGE = Fraction(10)
"""Total epsilon above which there is hardly any protection."""


NEXT_TO_NOTHING = (
    "A total epsilon above {limit} promises next to nothing: whoever knows everyone else in the "
    "data may be almost certain whether a person is in them. Lower it before the first publication."
)


def cautions_on(total: Fraction) -> list[Phrase]:
    """Return warnings about a total epsilon; the list is empty if it is at most LARGE."""
    if total <= LARGE:
        return []
    return [Phrase(NEXT_TO_NOTHING, limit=Figure(str(LARGE)))]
