"""Flows for the public pages: the largest ones, and the matrix of the busiest regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from dpgeo.core.released import Content, FlowsRelease
from dpgeo.postprocess.layers import Layer
from dpgeo.postprocess.layers.flows import ARRIVING_NAME, LEAVING_NAME
from dpgeo.postprocess.layers.layer import Numbers
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.summary import counted

LARGEST = 40
"""Number of flows in the table, which is also the most that a map draws at a time."""

MATRIX_SIDE = 20
"""Number of regions along each side of the matrix."""


@dataclass(frozen=True, slots=True)
class FlowRow:
    """A listed flow with its margin."""

    origin: str
    destination: str
    value: int
    margin: float


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """Departures of a region by destination.

    `cells` hold the listed flows, None for those too small to tell from none, and "" for the region
    itself.
    """

    name: str
    cells: tuple[int | str | None, ...]
    total: int


@dataclass(frozen=True, slots=True)
class TimeTotal:
    """All trips of a slice of time, with their margin."""

    title: str
    value: float
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """The flows that a page shows without scripts, of the slice that the map opens on.

    `listed` of them stand out. The matrix has the `shown` regions with most departures and arrivals
    of all `regions`; `busiest` is the region with most arrivals and the number of these.
    """

    title: str
    rows: tuple[FlowRow, ...]
    listed: int
    least: int
    regions: int
    squares: bool
    names: tuple[str, ...]
    matrix: tuple[MatrixRow, ...]
    total_margin: float
    times: tuple[TimeTotal, ...]


@singledispatch
def flows_of(content: Content, shown: Sequence[Layer]) -> Flows | None:
    """Return the flows of a release, or None for content without flows."""
    return None


@flows_of.register
def _flows(content: FlowsRelease, shown: Sequence[Layer]) -> Flows:
    named = {layer.name: layer for layer in shown}
    lines = next(layer for layer in shown if layer.opens)
    leaving, arriving = (counted(named[name])[0] for name in (LEAVING_NAME, ARRIVING_NAME))
    busy = np.argsort(-(leaving + arriving), kind="stable")[:MATRIX_SIDE]
    sliced = len(content.keys) > 1
    n = len(content.zones)
    return Flows(
        title=lines.title if sliced else "",
        rows=_rows(lines),
        listed=len(lines),
        least=content.threshold,
        regions=n,
        squares=content.squares,
        names=tuple(content.zones.names[each] for each in sorted(busy.tolist())),
        matrix=_matrix(content, lines, sorted(busy.tolist()), leaving),
        total_margin=float(margin_of_sum({content.sum_noise: len(content.keys)})),
        times=tuple(
            TimeTotal(title, float(counts.sum()), float(margin_of_sum({content.sum_noise: n})))
            for title, counts in zip(content.titles, content.leaving, strict=True)
        )
        if sliced
        else (),
    )


def _rows(lines: Layer) -> tuple[FlowRow, ...]:
    value, margin, _ = counted(lines)
    largest = np.argsort(-value, kind="stable")[:LARGEST].tolist()
    return tuple(
        FlowRow(
            str(lines.columns["origin_name"][each]),
            str(lines.columns["destination_name"][each]),
            int(value[each]),
            float(margin[each]),
        )
        for each in largest
    )


def _matrix(
    content: FlowsRelease, lines: Layer, chosen: list[int], leaving: Numbers
) -> tuple[MatrixRow, ...]:
    ends = zip(lines.columns["origin"], lines.columns["destination"], strict=True)
    counts = dict(zip(ends, counted(lines)[0].tolist(), strict=True))
    keys, names = content.zones.keys, content.zones.names
    return tuple(
        MatrixRow(
            names[origin],
            tuple(
                "" if origin == other else counts.get((keys[origin], keys[other]))
                for other in chosen
            ),
            int(leaving[origin]),
        )
        for origin in chosen
    )
