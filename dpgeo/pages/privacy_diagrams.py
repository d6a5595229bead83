"""Diagrams of the privacy pages, as numbers for SVG templates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dpgeo.core.guessing import COIN, MODERATE, STRONG
from dpgeo.postprocess.profiles import Strip

WIDTH, BASE, PEAK = 330, 118, 104
"""Width, baseline and peak height of the drawing of curves, in SVG units."""

SCALE = 44.0
"""Width of one noise scale in the drawing of curves, in SVG units."""

MIDDLE = 160.0
MIN_SHIFT = 2.5
"""Smallest distance between two curves, in SVG units; closer ones are drawn this far apart."""

SCALE_WIDTH = 340
"""Width of the scale of correct guesses in SVG units."""

THIS_LABEL, TOGETHER_LABEL, GAP = 68, 120, 6
"""Widths of the labels for this map and for all maps together, and the gap between the labels.

They are in SVG units. The widths are those of the language in which
the labels are longest.
"""

CHART_WIDTH, CHART_HEIGHT = 344, 56
"""Width and height of a bar chart of a map's strips in SVG units, without the text below it."""


@dataclass(frozen=True, slots=True)
class Curves:
    """SVG paths of a noisy count's distribution, with and without one person's data.

    At no point is one density more than e^shift times as high as the other.
    """

    without: str
    present: str
    shift: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A measurement's share of the cost, as a segment of a bar that is 1000 SVG units wide.

    There are gaps between the segments.
    """

    x: float
    width: float
    tone: int


@dataclass(frozen=True, slots=True)
class Chart:
    """Bar chart of counts in strips of a map: SVG paths of bars and intervals, and the y of 0."""

    columns: str
    intervals: str
    zero: float
    strips: tuple[Strip, ...]
    fullest: Strip
    sides: str
    """Argument for the filter `figures.degrees`, such as "NS2": the letters of two hemispheres, and
    the number of decimals that the labels need.
    """


@dataclass(frozen=True, slots=True)
class Range:
    """Positions of an interval's ends and middle on a bar, in per cent."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark on the scale of correct guesses, and the anchor of its label."""

    x: float
    anchor: str
    right: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of correct guesses, with marks at the bounds for this map and for all maps together.

    `together` is None if there is no bound for all maps.
    """

    this: Mark
    together: Mark | None
    near: bool
    """Whether the labels are so close together that each needs its own line."""
    width: int = SCALE_WIDTH
    moderate: int = SCALE_WIDTH * (STRONG - COIN) // (100 - COIN)
    weak: int = SCALE_WIDTH * (MODERATE - COIN) // (100 - COIN)


def curves(shift: float) -> Curves:
    """Draw two Laplace densities that are `shift` noise scales apart.

    They are drawn at least MIN_SHIFT and at most 150 SVG units apart.
    """
    drawn = min(max(shift * SCALE, MIN_SHIFT), 150.0)
    return Curves(
        without=_laplace(MIDDLE - drawn / 2),
        present=_laplace(MIDDLE + drawn / 2),
        shift=shift,
    )


def scale(this: int, together: int | None) -> Scale:
    """Place two bounds on correct guesses, in per cent, on a scale from 50 to 100.

    If the two labels would overlap, `near` is set, so that each gets its own line.
    """
    first, first_end = _mark(this, THIS_LABEL)
    if together is None:
        return Scale(this=first, together=None, near=False)
    second, second_end = _mark(together, TOGETHER_LABEL)
    near = first_end + GAP > second_end - TOGETHER_LABEL
    return Scale(this=first, together=second, near=near)


def _mark(right: int, label: int) -> tuple[Mark, float]:
    """Return the mark for a bound of `right` correct guesses in 100, and the x where its label
    ends.

    `label` is the width of the label.
    """
    x = SCALE_WIDTH * (right - COIN) / (100 - COIN)
    if x < label / 2:
        anchor, end = "start", x + label
    elif x > SCALE_WIDTH - label / 2:
        anchor, end = "end", x
    else:
        anchor, end = "middle", x + label / 2
    return Mark(x=round(x, 1), anchor=anchor, right=right), end


def bars(shares: Sequence[float]) -> list[Bar]:
    """Return adjacent bars for `shares`, percentages that add up to 100."""
    starts = [0.0, *accumulate(shares)]
    return [
        Bar(x=10 * start, width=max(1.0, 10 * share - 2.5), tone=index % 3)
        for index, (start, share) in enumerate(zip(starts, shares, strict=False))
    ]


def chart(strips: Sequence[Strip], sides: str) -> Chart:
    """Draw the counts of one or more strips of a map as bars with their intervals.

    `sides` is "EW" for strips from west to east, and "NS" for strips from south to north.
    """
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
    """Return the positions of values and the ends of their ranges on a scale from 0 to the highest
    upper end.
    """
    most = max((value + margin for value, margin in figures), default=0.0) or 1.0

    def place(value: float) -> float:
        """Return a value's position on a bar, in per cent; negative values are placed at 0."""
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
