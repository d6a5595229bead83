"""Table of means or medians, highest first, with their intervals and possible ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.phrases import Phrase, listed
from dpgeo.postprocess.layers import Layer
from dpgeo.postprocess.layers.features import MEDIAN, RANKS, interval_columns, typical_column

MAX_ROWS = 40
"""Maximum number of rows; of more regions, the highest and the lowest are shown."""

MAX_NAMED = 3
"""Maximum number of regions that one sentence names."""


@dataclass(frozen=True, slots=True)
class MeanRow:
    """The mean or median of a region, with its interval.

    `left`, `middle` and `right` are the positions of `low`, `mean` and `high` on a scale from 0 to
    100.
    """

    name: str
    mean: float
    low: float
    high: float
    best: int
    worst: int
    left: float
    middle: float
    right: float


@dataclass(frozen=True, slots=True)
class MeanTable:
    """Means or, if `medians` is true, medians of named regions.

    `untold` are the names of regions with too few records for a value, and `left_out` is the number
    of regions with a value that the table omits. `sentences` say which regions surely have the
    highest and the lowest values. `digits` is the number of decimals that the widest interval
    justifies.
    """

    unit: str
    rows: tuple[MeanRow, ...]
    untold: tuple[str, ...]
    left_out: int
    low: float
    high: float
    sentences: tuple[Phrase, ...]
    digits: int
    medians: bool


def mean_table(layers: Sequence[Layer]) -> MeanTable | None:
    """Return the table of averages or quartiles of zones, or None for any other release."""
    first = layers[0]
    columns, column = first.columns, typical_column(first.columns)
    if first.sliced or first.told is None or not column or "name" not in columns:
        return None
    told, names = np.asarray(first.told), columns["name"]
    lows, highs = (columns[name][told] for name in interval_columns(column))
    order = [int(index) for index in np.argsort(-columns[column], kind="stable") if told[index]]
    low = float(np.min(lows, initial=np.inf)) if order else 0.0
    high = float(np.max(highs, initial=-np.inf)) if order else 0.0
    half = MAX_ROWS // 2
    shown = order if len(order) <= MAX_ROWS else [*order[:half], *order[-half:]]
    return MeanTable(
        unit=first.unit,
        rows=tuple(_row(first, column, index, low, high) for index in shown),
        untold=tuple(str(name) for name in names[~told]),
        left_out=len(order) - len(shown),
        low=low,
        high=high,
        sentences=_sentences(first, order),
        digits=_digits(highs - lows),
        medians=column == MEDIAN,
    )


def _row(layer: Layer, column: str, index: int, low: float, high: float) -> MeanRow:
    columns, width = layer.columns, (high - low) or 1.0
    start, end = interval_columns(column)
    values = [float(columns[name][index]) for name in (start, column, end)]
    places = [round(100 * (value - low) / width, 2) for value in values]
    best, worst = (int(columns[name][index]) for name in RANKS)
    return MeanRow(
        name=str(columns["name"][index]),
        mean=values[1],
        low=values[0],
        high=values[2],
        best=best,
        worst=worst,
        left=places[0],
        middle=places[1],
        right=places[2],
    )


def _digits(widths: NDArray[np.float64]) -> int:
    widest = float(widths.max(initial=0.0))
    return max(0, 1 - math.floor(math.log10(widest))) if widest > 0 else 0


def _sentences(layer: Layer, order: list[int]) -> tuple[Phrase, ...]:
    """Return sentences that name the regions which surely have the highest and the lowest values.

    `order` lists the regions whose value is shown, highest first.
    """
    if len(order) < 2:
        return ()
    names = [str(layer.columns["name"][index]) for index in order]
    best, worst = (np.asarray(layer.columns[name])[order] for name in RANKS)
    top = next((k for k in range(1, MAX_NAMED + 1) if np.sum(worst <= k) == k), 0)
    last = len(order) + 1
    bottom = next((k for k in range(1, MAX_NAMED + 1) if np.sum(best >= last - k) == k), 0)
    highest = [name for name, rank in zip(names, worst, strict=True) if rank <= top]
    lowest = [name for name, rank in zip(names, best, strict=True) if rank >= last - bottom]
    return (_highest(highest), _lowest(lowest))


def _highest(names: list[str]) -> Phrase:
    if not names:
        return Phrase("Which one is the highest can't be told.")
    if len(names) == 1:
        return Phrase("{name} is surely the highest.", name=names[0])
    return Phrase(
        "{names} are surely the highest; which of them comes first can't be told.",
        names=listed(names),
    )


def _lowest(names: list[str]) -> Phrase:
    if not names:
        return Phrase("Which one is the lowest can't be told.")
    if len(names) == 1:
        return Phrase("{name} is surely the lowest.", name=names[0])
    return Phrase(
        "{names} are surely the lowest; which of them comes last can't be told.",
        names=listed(names),
    )
