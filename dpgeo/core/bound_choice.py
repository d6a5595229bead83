"""Public constants of the private choice of the contribution bound (`privacy.bound_choice`)."""

from __future__ import annotations

from fractions import Fraction

PARTS = 10

QUANTILE = Fraction(9, PARTS)
"""Share of the people of whom the privately chosen bound should keep all contributions."""

MAX_PERCENT = 20
