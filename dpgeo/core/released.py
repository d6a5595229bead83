"""Released: the results of mechanisms, which are paid for and may be public.

Everything shown of a dataset is a deterministic function of one `Released`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.attributes import Attribute
from dpgeo.core.guarantees import Bounding, Counting, Guarantee
from dpgeo.core.noise import DiscreteLaplace, PlanarLaplace
from dpgeo.core.spend import Measured
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

Product = Literal["Summary statistics", "Dataset", "Synthetic data"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Content:
    """What a mechanism releases: a frozen dataclass of arrays and plain fields.

    The codec that stores it needs nothing but the annotations of its fields. Layers, range answers
    and special wording are registered by its type.
    """

    most_bytes: ClassVar[int] = 512 * 1024**2
    """Limit in bytes on all decompressed arrays together: four int64 grids of 4096 x 4096 cells."""

    product: ClassVar[Product] = "Summary statistics"
    """Type of data product, a term of the Differential Privacy Deployments Registry."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridRelease(Content):
    """A noisy count for every cell of a grid.

    `counts` is int64 of the grid's shape, raw (negatives included). Cells that do not touch the
    study area are exactly 0 without noise, since they are publicly known to be empty. If
    `threshold` is above 0, a second layer shows the counts with those below the threshold set to 0.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    threshold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SlicesRelease(Content):
    """A noisy count for every cell in every slice of local time.

    `counts` is int64 (s, rows, columns), raw as in `GridRelease`, in the order of the slices.
    `keys` (s,) are the slices' names in files, `titles` (s,) those for readers, and `time_zone` is
    the zone of their times.
    """

    grid: Grid
    keys: tuple[str, ...]
    titles: tuple[str, ...]
    time_zone: str
    counts: NDArray[np.int64]
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionRelease(Content):
    """Noisy counts of cells, and noisy totals of disjoint boxes chosen from them.

    `counts` is as in `GridRelease`. `boxes` is int32 (n, 4): first row, row after the last, first
    column, column after the last. Together the boxes cover the grid. `totals` is int64 (n,); a box
    that does not touch the study area has total 0. `answers` is the method of estimating cells:
    "uniform" or "least-squares".
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    boxes: NDArray[np.int32]
    totals: NDArray[np.int64]
    totals_noise: DiscreteLaplace
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeRelease(Content):
    """Noisy counts of a tree of boxes; its disjoint leaves cover the area.

    Nodes are ordered by level. `boxes` is int32 (n, 4) as in `PartitionRelease`, and each holds a
    cell that touches the study area. `level` is int32 (n,), 0 for the roots, and `parent` is int32
    (n,), the index of the parent node, -1 for a root. `measured`, bool (n,), marks the nodes that
    have a noisy count of their own; all leaves do. `counts` is int64 (n,), 0 for the other nodes.
    `noises` holds the noise of each level's counts.
    """

    grid: Grid
    boxes: NDArray[np.int32]
    level: NDArray[np.int32]
    parent: NDArray[np.int32]
    measured: NDArray[np.bool_]
    counts: NDArray[np.int64]
    noises: tuple[DiscreteLaplace, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhasedRelease(Content):
    """Noisy counts of boxes in several phases, and a surface inferred from them.

    The boxes of one phase are disjoint and cover all cells that touch the study area; each box
    holds at least one such cell. The boxes were chosen from the counts of earlier phases alone.
    `boxes` is int32 (n, 4) as in `PartitionRelease`, `phase` int32 (n,), ascending from 0, `counts`
    int64 (n,) raw; `noises` holds the noise of each phase. `surface` is float64 of the grid's
    shape: the expected count of each cell given all phases, 0 in cells that do not touch the study
    area. It is stored and not recomputed, so that a release does not change when the inference
    improves.
    """

    grid: Grid
    boxes: NDArray[np.int32]
    phase: NDArray[np.int32]
    counts: NDArray[np.int64]
    noises: tuple[DiscreteLaplace, ...]
    surface: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseRelease(Content):
    """The cells whose noisy counts reach a public threshold.

    `cells` is int64 (n,): the numbers, row * columns + column, of cells that touch the study area,
    in ascending order. `counts`, int64 (n,), are their noisy counts, each at least `threshold`.
    """

    grid: Grid
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    threshold: int
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClustersRelease(Content):
    """Cluster centres and the noisy number of records nearest to each.

    `longitude` and `latitude` are float64 (k,) in degrees, `counts` int64 (k,) raw. Every position
    of the study area is assigned to its nearest centre on the sphere, so each record is in one
    count.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    counts: NDArray[np.int64]
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZonesRelease(Content):
    """Noisy counts, int64 (n,), of declared zones in the study area."""

    zones: Zones
    counts: NDArray[np.int64]
    noise: DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContourRelease(Content):
    """A noisy count for every cell, and the surface on which contours are drawn.

    `counts` is int64 of the grid's shape as in `GridRelease`. `surface` is float64 of the same
    shape: expected counts, never negative and 0 in cells that do not touch the study area. It is
    stored and not recomputed, for the reason given in `PhasedRelease`. `lines` is float64 (m,),
    ascending: the densities of the contours in people per square kilometre of ground.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: DiscreteLaplace
    surface: NDArray[np.float64]
    lines: NDArray[np.float64]


NO_TIME = -(1 << 63)
"""Value of a missing report time: the smallest int64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointsRelease(Content):
    """Perturbed reports, and the density estimated from them by deconvolution.

    `longitude` and `latitude` are int32 (n,) in units of 1e-7 degrees, each in the study area,
    sorted by longitude, latitude, time and attributes. `time` is int64 (n,) in seconds since 1970,
    rounded as declared, NO_TIME where a report has none, and of size 0 where times are dropped.
    `prior` is the name of the public layer used for remapping, "" without remapping. If `padded` is
    not 0, reports were made up so that every privacy unit has exactly `padded` points; 0 means no
    padding. `attributes` are the attributes declared public (columns and their values), the same
    for all reports. `combination` is int32 (n,): for each report, the number of its combination of
    values (`core.attributes.combine`); of size 0 without attributes. `density` is float64 of the
    grid's shape and adds up to n; `updates` is the number of iterations that estimated it. It is
    stored and not recomputed, for the reason given in `PhasedRelease`.
    """

    most_bytes = 8 * 1024**3  # some 10^9 points of 8 bytes, or half as many with times
    product = "Dataset"

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
class LocationsRelease(Content):
    """Places drawn for virtual users, and noisy counts by unit and cluster.

    Candidate places (m,), all public: `longitude` and `latitude`, float64, in degrees; `unit` and
    `cluster`, int32, the indices of a place's unit and cluster. `levels` are the visible levels of
    the hierarchy. `unit_paths` gives, for each unit of the finest visible level, the names of the
    units that contain it, widest first, and then its own name.

    Clusters (k,): `centre_longitude` and `centre_latitude`, float64, in degrees.

    Bins (b,), one for each pair of a unit and a cluster that have a place in common: `bin_unit` and
    `bin_cluster`, int32, are the pair, and `counts`, int64, is the raw noisy count of records.

    Draws (e,), one for each place drawn for a virtual user: `person`, int32, is the user's fresh
    label, from 0 to `people` - 1, in ascending order, and `place`, int32, the index of the place.
    """

    product = "Synthetic data"

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
    """The immutable result of one run of a mechanism.

    `bound` is the contribution bound. Where people are counted, it is the largest number of cells
    in which one privacy unit counts; where visits are counted, the largest number of its records
    that count. `bounding` says how these are chosen for a privacy unit that has more. `trace` lists
    what was spent and the noise it paid for. `about` is the publisher's description (title,
    dataset, publisher, licence, ...), so that every file can be regenerated from this object alone.
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
