"""What a mechanism hands over: plain arrays that noise has paid for. All of it may be public.

Everything a person ever sees of a dataset is a deterministic function of one `Released`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.attributes import Attribute
from dpgeo.core.guarantees import Bounding, Counting, Guarantee
from dpgeo.core.noise import DiscreteLaplace, PlanarLaplace
from dpgeo.core.spend import Measured
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridRelease:
    """A noisy count for every cell of a grid.

    `counts` is int64 of the grid's shape, raw (negatives kept); cells that do not touch the study
    area are exactly 0, for they are publicly known to be empty. A `threshold` above 0 asks that
    counts below it be shown as 0 beside the raw ones.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    threshold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SlicesRelease:
    """A noisy count for every cell in every slice of local time.

    `counts` is int64 (s, rows, columns), raw as in `GridRelease`, of the slices in their order;
    `keys` and `titles` (s,) name them, and `time_zone` is the one they are told in.
    """

    grid: Grid
    keys: tuple[str, ...]
    titles: tuple[str, ...]
    time_zone: str
    counts: NDArray[np.int64]
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionRelease:
    """Noisy cells, and fresh noisy totals of disjoint boxes chosen from those noisy cells alone.

    `boxes` is int32 (n, 4): first row, row after the last, first column, column after the last.
    Together the boxes cover the grid. `totals` is int64 (n,); a box that does not touch the study
    area has total 0. `answers` says how a cell's estimate follows: "uniform" or "least-squares".
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    boxes: NDArray[np.int32]
    totals: NDArray[np.int64]
    totals_noise: DiscreteLaplace
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeRelease:
    """Noisy counts of a tree of boxes; its leaves are disjoint and cover the study area.

    Nodes are in order of their levels. `boxes` is int32 (n, 4) as in `PartitionRelease`, and each
    holds a cell that touches the study area. `level` is int32 (n,), 0 for the roots, and `parent`
    int32 (n,) the index of the node that a box is a part of, -1 for a root; leaves are nobody's
    parent. `measured` says which nodes have a noisy count of their own, all leaves among them, and
    `counts` is int64 (n,), 0 where there is none. `noises` has the noise of each level's counts.
    """

    grid: Grid
    boxes: NDArray[np.int32]
    level: NDArray[np.int32]
    parent: NDArray[np.int32]
    measured: NDArray[np.bool_]
    counts: NDArray[np.int64]
    noises: tuple[DiscreteLaplace, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhasedRelease:
    """Noisy counts of boxes in several phases, and a surface inferred from all of them.

    The boxes of one phase are disjoint, hold a cell that touches the study area each, cover all
    such cells, and were chosen from the counts of earlier phases alone. `boxes` is int32 (n, 4) as
    in `PartitionRelease`, `phase` int32 (n,) from 0 and never falling, `counts` int64 (n,) raw;
    `noises` has each phase's noise. `surface` is float64 of the grid's shape: what all phases
    together lead to expect in each cell, 0 in cells that do not touch the study area. It is kept
    rather than made again, for a release never changes when inference gets better.
    """

    grid: Grid
    boxes: NDArray[np.int32]
    phase: NDArray[np.int32]
    counts: NDArray[np.int64]
    noises: tuple[DiscreteLaplace, ...]
    surface: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseRelease:
    """The cells whose noisy counts reach a public threshold; all others are known to be below it.

    `cells` is int64 (n,), ascending numbers row * columns + column of cells that touch the study
    area, and `counts` int64 (n,) their noisy counts, each at least `threshold`.
    """

    grid: Grid
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    threshold: int
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClustersRelease:
    """Centres and the noisy number of records nearest to each.

    `longitude` and `latitude` are float64 (k,) in degrees, `counts` int64 (k,) raw. On a sphere
    every position of the study area is nearest to one centre, so each record is in one count.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    counts: NDArray[np.int64]
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZonesRelease:
    """Noisy counts int64 (n,) of declared zones, within the study area, raw (negatives kept)."""

    zones: Zones
    counts: NDArray[np.int64]
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContourRelease:
    """A noisy count for every cell, and the surface on which contours are drawn.

    `counts` is int64 of the grid's shape as in `GridRelease`, `surface` float64 of the same shape:
    expected counts, never negative and 0 in cells that do not touch the study area, kept for the
    reason given in `PhasedRelease`. `lines` is float64 (m,), ascending: the people per square
    kilometre of ground at which contours run.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    surface: NDArray[np.float64]
    lines: NDArray[np.float64]


NO_TIME = -(1 << 63)
"""What stands for a report's time where it has none: the least int64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointsRelease:
    """Reports moved by noise, and the density recovered from them.

    `longitude` and `latitude` are int32 (n,) in units of 1e-7 degrees, each in the study area,
    sorted by longitude, latitude, time and attributes. `time` is int64 (n,) in seconds since 1970,
    rounded as declared, the least int64 where a report has none, and of size 0 where times are
    dropped. `prior` names the public layer by which points were put where their reports were
    likeliest made, "" where they were left where the noise put them. Every unit has `padded`
    points, some of them made up; 0 where none is. `attributes` are the public ones that are told of
    every report, and `combination` is int32 (n,) the number of its values (`core.attributes`), of
    size 0 without any.
    `density` is float64 of the grid's shape, adds up to n, and is kept for the reason that
    `PhasedRelease.surface` is; it took so many `updates`.
    """

    longitude: NDArray[np.int32]
    latitude: NDArray[np.int32]
    time: NDArray[np.int64]
    noise: PlanarLaplace
    grid: Grid
    density: NDArray[np.float64]
    updates: int
    prior: str = ""
    padded: int = 0
    attributes: tuple[Attribute, ...] = ()
    combination: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocationsRelease:
    """Places drawn for made-up people, and noisy counts of the units and clusters of real ones'.

    Candidate places, all public: `longitude` and `latitude` float64 (m,) in degrees, `unit` and
    `cluster` int32 (m,). `levels` are those that stay visible, `unit_paths` their finest units,
    each with the names of all it lies in, from the widest on; `centre_longitude` and
    `centre_latitude` float64 (k,) are the clusters' centres. A bin is a pair of unit and cluster
    that holds a place: `bin_unit` and `bin_cluster` int32 (b,), `counts` int64 (b,) its raw noisy
    number of records. `person` int32 (e,) are fresh labels, below `people`, of made-up people,
    ascending, and `place` int32 (e,) the places drawn for them.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    unit: NDArray[np.int32]
    cluster: NDArray[np.int32]
    levels: tuple[str, ...]
    unit_paths: tuple[tuple[str, ...], ...]
    centre_longitude: NDArray[np.float64]
    centre_latitude: NDArray[np.float64]
    bin_unit: NDArray[np.int32]
    bin_cluster: NDArray[np.int32]
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    people: int
    person: NDArray[np.int32]
    place: NDArray[np.int32]


Content = (
    GridRelease
    | SlicesRelease
    | PartitionRelease
    | TreeRelease
    | PhasedRelease
    | SparseRelease
    | ClustersRelease
    | LocationsRelease
    | ZonesRelease
    | ContourRelease
    | PointsRelease
)
CONTENT_TYPES: tuple[type[Content], ...] = (
    GridRelease,
    SlicesRelease,
    PartitionRelease,
    TreeRelease,
    PhasedRelease,
    SparseRelease,
    ClustersRelease,
    LocationsRelease,
    ZonesRelease,
    ContourRelease,
    PointsRelease,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Released:
    """The immutable outcome of one run of a mechanism, with all that is needed to explain it.

    `bound` is the number of cells (people) or records (visits) that one unit adds at most, and
    `bounding` says which ones where there are more.
    `about` holds what the publisher says of it (title, dataset, publisher, licence, ...), so that
    every file can be made again from this alone.
    """

    mechanism: str
    parameters: Mapping[str, int | bool | str]
    software: str
    about: Mapping[str, str]
    area: StudyArea
    counting: Counting
    bound: int
    guarantee: Guarantee
    trace: tuple[Measured, ...]
    content: Content
    bounding: Bounding = Bounding.RANDOM
