"""Flows for the public pages: the largest flows, and the matrix of the busiest regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from dpgeo.core.released import Content, FlowsRelease
from dpgeo.postprocess.layers import Layer
from dpgeo.postprocess.layers.flows import layer_name, slices_of
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.summary import counted

MAX_ROWS = 40
"""Number of flows in the table, which is also the most that a map draws at a time."""

MATRIX_SIDE = 20
"""Number of regions along each side of the matrix."""


@dataclass(frozen=True, slots=True)
class FlowRow:
    """A flow that stands out from the noise, as a row of the table, with its margin."""

    origin: str
    destination: str
    value: int
    margin: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A flow that stands out from the noise, as a cell of the matrix, with its margin."""

    value: int
    margin: float


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """The departures of one region by destination, a row of the matrix.

    An entry of `cells` is None for a flow that does not stand out from the noise. The entry of the
    region itself holds the trips that stay in it, or "" if these were left out.
    """

    name: str
    cells: tuple[Cell | str | None, ...]
    total: int


@dataclass(frozen=True, slots=True)
class TimeTotal:
    """The total of all trips in one slice of time, with its margin."""

    title: str
    value: float
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """The tables of flows on a page, which need no script, for the slice that the map shows first.

    `listed` is the number of flows that stand out from the noise, and `regions` the number of the
    map's regions. The matrix contains the listed flows between the busiest regions, whose names are
    `names`, and `arrivals` holds the number of arrivals of each of these. `total_margin` is the
    margin of one region's departures or arrivals in the slice.
    """

    title: str
    rows: tuple[FlowRow, ...]
    listed: int
    least: int
    regions: int
    squares: bool
    names: tuple[str, ...]
    matrix: tuple[MatrixRow, ...]
    arrivals: tuple[int, ...]
    total_margin: float
    times: tuple[TimeTotal, ...]


@singledispatch
def listed_flows(content: Content, shown: Sequence[Layer]) -> Flows | None:
    """Return the flows of a release, or None for content without flows."""
    return None


@listed_flows.register
def _flows(content: FlowsRelease, shown: Sequence[Layer]) -> Flows:
    lines = next(layer for layer in shown if layer.opens)
    number = [layer_name(key) for key in content.keys].index(lines.name)
    leaving, arriving = content.leaving[number], content.arriving[number]
    busy = sorted(np.argsort(-(leaving + arriving), kind="stable")[:MATRIX_SIDE].tolist())
    sliced = len(content.keys) > 1
    n = len(content.zones)
    return Flows(
        title=lines.title if sliced else "",
        rows=_rows(lines),
        listed=len(lines),
        least=content.threshold,
        regions=n,
        squares=content.squares,
        names=tuple(content.zones.names[each] for each in busy),
        matrix=_matrix(content, lines, number, busy),
        arrivals=tuple(arriving[busy].tolist()),
        total_margin=float(margin_of_sum({content.sum_noise: 1})),
        times=tuple(
            TimeTotal(title, float(counts.sum()), float(margin_of_sum({content.sum_noise: n})))
            for title, counts in zip(content.titles, content.leaving, strict=True)
        )
        if sliced
        else (),
    )


def _rows(lines: Layer) -> tuple[FlowRow, ...]:
    value, margin, _ = counted(lines)
    largest = np.argsort(-value, kind="stable")[:MAX_ROWS].tolist()
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
    content: FlowsRelease, lines: Layer, number: int, chosen: list[int]
) -> tuple[MatrixRow, ...]:
    n, leaving = len(content.zones), content.leaving[number].tolist()
    own: dict[int, Cell] = {}
    if content.within and not content.sparse:
        within = slices_of(content)[number].count[:: n + 1].tolist()
        own = {each: Cell(within[each], float(content.noise.margin())) for each in chosen}
    ends = zip(lines.columns["origin"], lines.columns["destination"], strict=True)
    value, margin, _ = counted(lines)
    cells = [Cell(int(each), float(half)) for each, half in zip(value, margin, strict=True)]
    counts = dict(zip(ends, cells, strict=True))
    keys, names = content.zones.keys, content.zones.names
    return tuple(
        MatrixRow(
            names[origin],
            tuple(
                own.get(origin, "") if origin == other else counts.get((keys[origin], keys[other]))
                for other in chosen
            ),
            leaving[origin],
        )
        for origin in chosen
    )
