"""The small drawings of the privacy pages, as numbers for their SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dpgeo.postprocess.profiles import Strip

WIDTH, BASE, PEAK = 330, 118, 104
"""Of the curves' picture, in its own units."""

SCALE = 44.0
"""What one scale of the noise measures in the picture."""

MIDDLE = 160.0
LEAST_SHIFT = 2.5
"""So that two curves are seen to be two."""

CHART_WIDTH, CHART_HEIGHT = 344, 56
"""Of a chart of strips, in its own units; the words under it are not counted."""


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


@dataclass(frozen=True, slots=True)
class Chart:
    """Strips side by side: SVG paths of their columns and of their intervals, and where 0 lies."""

    columns: str
    intervals: str
    zero: float
    strips: tuple[Strip, ...]
    fullest: Strip
    sides: str
    """How `figures.degrees` writes where strips begin, so that no two begin alike."""


@dataclass(frozen=True, slots=True)
class Range:
    """Where an interval's ends and its middle stand on a bar, in per cent of it."""

    low: float
    middle: float
    high: float


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


def chart(strips: Sequence[Strip], sides: str) -> Chart:
    """At least one strip, as columns that stand on 0, each with its interval; `sides` are "EW"."""
    narrowest = min(each.high - each.low for each in strips)
    decimals = max(0, math.ceil(-math.log10(narrowest)))
    highest = max(max(each.value + each.margin for each in strips), 1.0)
    lowest = min(min(each.value - each.margin for each in strips), 0.0)
    wide = CHART_WIDTH / len(strips)

    def y(value: float) -> float:
        return CHART_HEIGHT * (highest - value) / (highest - lowest)

    columns, intervals = [], []
    for index, strip in enumerate(strips):
        x, zero = index * wide, y(0)
        columns.append(f"M{x + 0.5:.1f} {zero:.1f}V{y(strip.value):.1f}h{wide - 1:.1f}V{zero:.1f}Z")
        low, high = y(strip.value - strip.margin), y(strip.value + strip.margin)
        intervals.append(f"M{x + wide / 2:.1f} {low:.1f}V{high:.1f}")
    return Chart(
        columns="".join(columns),
        intervals="".join(intervals),
        zero=round(y(0), 1),
        strips=tuple(strips),
        fullest=max(strips, key=lambda each: each.value),
        sides=f"{sides}{decimals}",
    )


def ranges(figures: Sequence[tuple[float, float]]) -> list[Range]:
    """Figures and their margins on bars as long as the highest end of all."""
    most = max((value + margin for value, margin in figures), default=0.0) or 1.0

    def place(value: float) -> float:
        """What noise took below 0 stands at the bar's start."""
        return min(max(100 * value / most, 0.0), 100.0)

    return [
        Range(low=place(value - margin), middle=place(value), high=place(value + margin))
        for value, margin in figures
    ]


def _laplace(middle: float) -> str:
    points = []
    for x in range(3, WIDTH - 2, 3):
        height = PEAK * math.exp(-abs(x - middle) / SCALE)
        points.append(f"{x} {BASE - height:.1f}")
    return "M" + "L".join(points)
