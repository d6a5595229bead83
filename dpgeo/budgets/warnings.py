"""Warnings about unusually large privacy budgets, which are allowed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpgeo.artefacts.wording import format_odds

LARGE = Fraction(10)
"""Total epsilon above which the protection is weak: odds may change by a factor of 22,000."""


NEXT_TO_NOTHING = (
    "A total epsilon above {limit} promises next to nothing: whether a person is in the data may "
    "change the odds of anything published by a factor {odds}. Lower it before the first "
    "publication."
)


def cautions_on(
    total: Fraction, say: Callable[[str], str] = str, figure: Callable[[str], str] = str
) -> list[str]:
    """Return warnings about a total epsilon; none for a usual one.

    `say` translates sentences, and `figure` the separators of English figures.
    """
    if total <= LARGE:
        return []
    return [say(NEXT_TO_NOTHING).format(limit=LARGE, odds=figure(format_odds(total)))]
