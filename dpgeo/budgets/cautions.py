"""What whoever sets a budget should hear, though it is not refused."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.artefacts.wording import format_odds

LARGE = Fraction(10)
"""A total from which on the promise is next to none: odds may change by a factor of 22,000."""


def cautions_on(total: Fraction) -> list[str]:
    """Sentences about a total epsilon; none for a usual one."""
    if total <= LARGE:
        return []
    return [
        f"A total epsilon above {LARGE} promises next to nothing: whether a person is in the data "
        f"may change the odds of anything published by a factor {format_odds(total)}. Lower it "
        "before the first publication."
    ]
