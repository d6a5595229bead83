"""The small drawings of the privacy pages, as numbers for their SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

WIDTH, BASE, PEAK = 330, 118, 104
"""Of the curves' picture, in its own units."""

SCALE = 44.0
"""What one scale of the noise measures in the picture."""

MIDDLE = 160.0
LEAST_SHIFT = 2.5
"""So that two curves are seen to be two."""


@dataclass(frozen=True, slots=True)
class Curves:
    """SVG paths of a count's distribution without and with one person, `shift` scales apart.

    Nowhere is one more than e^shift times as high as the other.
    """

    without: str
    present: str
    shift: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One spend on the ruler of 1000 units, with a gap to the next."""

    x: float
    width: float
    tone: int


def curves(shift: float) -> Curves:
    """Laplace densities moved apart by `shift` scales of the noise."""
    drawn = min(max(shift * SCALE, LEAST_SHIFT), 150.0)
    return Curves(
        without=_laplace(MIDDLE - drawn / 2),
        present=_laplace(MIDDLE + drawn / 2),
        shift=shift,
    )


def bars(shares: Sequence[float]) -> list[Bar]:
    """The spends side by side; `shares` are per cents that add up to 100."""
    starts = [0.0, *accumulate(shares)]
    return [
        Bar(x=10 * start, width=max(1.0, 10 * share - 2.5), tone=index % 3)
        for index, (start, share) in enumerate(zip(starts, shares, strict=False))
    ]


def _laplace(middle: float) -> str:
    points = []
    for x in range(3, WIDTH - 2, 3):
        height = PEAK * math.exp(-abs(x - middle) / SCALE)
        points.append(f"{x} {BASE - height:.1f}")
    return "M" + "L".join(points)
