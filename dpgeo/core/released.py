"""Results of mechanisms: noisy values that have been paid for and may be published.

Everything that is shown about a release is a deterministic function of its `Released` object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.attributes import Attribute
from dpgeo.core.guarantees import Bounding, Counting, Guarantee
from dpgeo.core.measures import Measure
from dpgeo.core.noise import CountNoise, DiscreteLaplace, PlanarLaplace
from dpgeo.core.release_request import ReleaseRequest, read_stored
from dpgeo.core.series import Part
from dpgeo.core.slices import UNDIVIDED, SliceNames
from dpgeo.core.spend import Measured
from dpgeo.core.totals import Totals
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

Product = Literal["Summary statistics", "Dataset", "Synthetic data"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Content:
    """Base class of what mechanisms release: a frozen dataclass of arrays and plain fields.

    The codec, which encodes releases as blobs, stores each field according to its type annotation.
    The functions that make map layers, answer range queries and describe a release are registered
    by the type of its content.
    """

    most_bytes: ClassVar[int] = 512 * 1024**2
    """Limit on the total size of all decompressed arrays, in bytes.

    It is the size of four int64 grids of 4096 x 4096 cells.
    """

    product: ClassVar[Product] = "Summary statistics"
    """Type of data product, a term of the Differential Privacy Deployments Registry."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridRelease(Content):
    """A noisy count for every cell of a grid.

    `counts` is an int64 array of the grid's shape with the noisy counts as drawn, which may be
    negative. Cells that do not intersect the study area are exactly 0, without noise, since they
    are publicly known to be empty. If `threshold` is above 0, a second layer shows counts below the
    threshold as 0.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: CountNoise
    threshold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DividedRelease(Content):
    """Base class of content that is divided into s slices of local time or of a category.

    `keys` (s,) are the names of the slices in files, `titles` (s,) are their titles on pages, and
    `time_zone` is the time zone in which the slices are defined. `values`, `times` and `category`
    are as in `SliceNames`; releases by time alone leave them empty, and `titles` names the times.
    """

    keys: tuple[str, ...]
    titles: tuple[str, ...]
    time_zone: str
    values: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    category: str = ""

    @property
    def names(self) -> SliceNames:
        """The keys and titles of the slices."""
        times = self.times if self.values else self.titles
        return SliceNames(self.keys, self.values, times, self.category, self.time_zone)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SlicesRelease(DividedRelease):
    """A noisy count for every cell in every slice.

    `counts` is int64 (s, rows, columns): for each of s slices, counts as in `GridRelease`.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: CountNoise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionRelease(Content):
    """Noisy counts of cells, and noisy totals of disjoint boxes chosen from those counts.

    `counts` is as in `GridRelease`. `boxes` is int32 (n, 4): first row, row after the last, first
    column, column after the last. Together the boxes cover the grid. `totals` is int64 (n,); a box
    that does not intersect the study area has the total 0. `answers` is the method of estimating
    cells: "uniform" or "least-squares".
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: CountNoise
    boxes: NDArray[np.int32]
    totals: NDArray[np.int64]
    totals_noise: CountNoise
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeRelease(Content):
    """Noisy counts for a tree of boxes, whose disjoint leaves cover the study area.

    Nodes are ordered by level. `boxes` is int32 (n, 4) as in `PartitionRelease`; each box contains
    a cell that intersects the study area. `level` is int32 (n,), 0 for the roots. `parent` is int32
    (n,), the index of the parent node, or -1 for a root. `measured`, bool (n,), marks the nodes
    with a noisy count of their own; all leaves have one. `counts` is int64 (n,), 0 for nodes that
    were not measured. `noises` holds the noise for each level's counts.
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
    """Noisy counts for boxes in several phases, and a surface inferred from them.

    The boxes of one phase are disjoint and cover all cells that intersect the study area; each box
    contains at least one such cell. The boxes of a phase were chosen from the counts of earlier
    phases alone. `boxes` is int32 (n, 4) as in `PartitionRelease`, `phase` is int32 (n,), ascending
    from 0, and `counts` is int64 (n,), as drawn. `noises` holds the noise for each phase. `surface`
    is float64 of the grid's shape: the expected count for each cell given all phases, 0 in cells
    that do not intersect the study area. It is stored instead of recomputed, so that a release does
    not change when the inference method is improved. `fixed` is true if no box depends on the data.
    """

    grid: Grid
    boxes: NDArray[np.int32]
    phase: NDArray[np.int32]
    counts: NDArray[np.int64]
    noises: tuple[CountNoise, ...]
    surface: NDArray[np.float64]
    fixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhasedSlicesRelease(DividedRelease):
    """Noisy counts for boxes in every slice, in phases, and a surface for each slice.

    Within each of s slices, `boxes`, `phase` and `counts` (n,) are as in `PhasedRelease`.
    `slice_number`, int32 (n,), is the index of each box's slice, ascending within a phase. `noises`
    holds the noise for each phase, which is the same in all slices. `surfaces` is float64 (s, rows,
    columns).
    """

    grid: Grid
    boxes: NDArray[np.int32]
    phase: NDArray[np.int32]
    slice_number: NDArray[np.int32]
    counts: NDArray[np.int64]
    noises: tuple[CountNoise, ...]
    surfaces: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseRelease(Content):
    """The cells whose noisy counts reach a public threshold.

    `cells`, int64 (n,), are the indices of these cells, row * columns + column, in ascending order;
    all of them intersect the study area. `counts`, int64 (n,), are their noisy counts, each at
    least `threshold`.
    """

    grid: Grid
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    threshold: int
    noise: CountNoise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClustersRelease(Content):
    """Cluster centres and the noisy number of records nearest to each.

    `longitude` and `latitude` are float64 (k,) in degrees; `counts` is int64 (k,), as drawn. Every
    record is counted once, at the centre nearest to it on the sphere.
    """

    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    counts: NDArray[np.int64]
    noise: CountNoise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZonesRelease(Content):
    """Noisy counts, int64 (n,), of declared zones in the study area."""

    zones: Zones
    counts: NDArray[np.int64]
    noise: CountNoise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileRelease(Content):
    """Noisy counts, int64 (z, b), of z zones in each of b parts of the local week.

    There may be a single zone, the whole study area. `keys` (b,) and `titles` (b,) name the parts
    in files and on pages; `time_zone` is the zone of the local times.
    """

    zones: Zones
    keys: tuple[str, ...]
    titles: tuple[str, ...]
    time_zone: str
    counts: NDArray[np.int64]
    noise: CountNoise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContourRelease(Content):
    """A noisy count for every cell, and the surface on which contours are drawn.

    `counts` is int64 of the grid's shape, as in `GridRelease`. `surface` is float64 of the same
    shape: expected counts, never negative, and 0 in cells that do not intersect the study area. It
    is stored instead of recomputed, so that better inference changes no release. `lines`, float64
    (m,), holds the densities of the contours in ascending order, in people per square kilometre of
    ground.
    """

    grid: Grid
    counts: NDArray[np.int64]
    noise: CountNoise
    surface: NDArray[np.float64]
    lines: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragesRelease(Content):
    """Noisy sums of a measure by region, from which the mean of each region follows.

    Each value of a measure is stored as a step k from 0 to K, the measure's `steps`. `above` and
    `below`, int64 of the regions' shape, hold noisy sums as drawn, over all counted records of a
    region: `above` is the sum of k, and `below` the sum of K - k. `noise` is the noise of each
    entry. If the release is divided into slices (`slices` is not empty), there is an axis of slices
    before those of the regions.
    """

    measure: Measure
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    noise: CountNoise
    slices: SliceNames = UNDIVIDED


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZoneAverages(AveragesRelease):
    """Noisy sums of a measure in n declared zones, int64 (n,), or (s, n) in s slices."""

    zones: Zones


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridAverages(AveragesRelease):
    """Noisy sums of a measure in the cells of a grid, int64 (rows, columns).

    In a release with s slices, the shape is (s, rows, columns). Cells that do not intersect the
    study area have sums of exactly 0.
    """

    grid: Grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuartilesRelease(Content):
    """Noisy histograms of a measure's values by region, from which quartiles follow.

    `counts`, int64 of the regions' shape and one axis more, are the noisy numbers of counted
    records in each of equally wide bins of the measure's range, as drawn. `noise` is the noise of
    each entry. If the release is divided into slices (`slices` is not empty), there is an axis of
    slices before those of the regions.
    """

    measure: Measure
    counts: NDArray[np.int64]
    noise: CountNoise
    slices: SliceNames = UNDIVIDED

    @property
    def bins(self) -> int:
        """Number of bins into which each region's values are counted."""
        return int(self.counts.shape[-1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZoneQuartiles(QuartilesRelease):
    """Noisy histograms of a measure in n zones, int64 (n, bins), or (s, n, bins) in s slices."""

    zones: Zones


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridQuartiles(QuartilesRelease):
    """Noisy histograms of a measure in the cells of a grid, int64 (rows, columns, bins).

    In a release with s slices, the shape is (s, rows, columns, bins). Cells that do not intersect
    the study area have counts of exactly 0.
    """

    grid: Grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowsRelease(DividedRelease):
    """Noisy counts of trips between regions, and of departures and arrivals of each region.

    The n regions are disjoint `zones`: declared ones, or the squares of a grid. There are s slices;
    an undivided release has one, without a name. `pairs`, int64 (m,), are the noisy counts of pairs
    of regions, numbered slice by slice, then by origin, then by destination. If `listed` is empty
    and `sparse` is false, they cover all s * n * n pairs. Otherwise `listed`, int64 (m,),
    ascending, holds the numbers of the pairs whose noisy counts reached `threshold`. Unless
    `within` is true, trips inside a region were left out, and their pairs are 0 or not listed.
    `leaving` and `arriving`, int64 (s, n), are noisy numbers of trips that begin and end in each
    region; they stand out from `ends_threshold` on, and only pairs whose ends do are shown. If
    `gap_hours` is above 0, two consecutive rows of a person made a trip if they are at most that
    many hours apart.
    """

    zones: Zones
    squares: bool
    gap_hours: int
    within: bool
    sparse: bool
    threshold: int
    ends_threshold: int
    listed: NDArray[np.int64]
    pairs: NDArray[np.int64]
    leaving: NDArray[np.int64]
    arriving: NDArray[np.int64]
    noise: CountNoise
    sum_noise: CountNoise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacesRelease(Content):
    """Noisy counts of declared places, and of places by context (a slice of time or a category
    value).

    The n places have `keys`, `names` and positions in degrees. A row counts at the nearest place
    that is at most `reach` metres away or, if `reach` is 0, at the place whose key it names.
    `counts`, int64 (n,), are the noisy counts of places. `pairs`, int64 (h, n), are the noisy
    counts of each place in each of the h contexts that `slices` names; without contexts, h is 0. If
    `adds_up` is true, `counts` and `pairs` were measured on the same sample of rows, so a place's
    true counts by context add up to its true count.
    """

    keys: tuple[str, ...]
    names: tuple[str, ...]
    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    reach: int
    counts: NDArray[np.int64]
    noise: CountNoise
    pairs: NDArray[np.int64]
    pair_noise: CountNoise
    slices: SliceNames = UNDIVIDED
    adds_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TripsRelease(Content):
    """Noisy counts of the features of trips, from which trips are made up.

    `ends`, int64 (n, n), are the noisy numbers of trips by the cell in which they start and the
    cell in which they end, for the n cells of the grid. `moves`, int64 (n, 8), are noisy sums by
    the cell that a move leaves and its direction (`core.trip_paths`): however many moves a trip
    has, it adds UNITS in all, divided among the moves as evenly as possible. Entries of cells that
    do not intersect the study area are exactly 0, without noise, as are moves into such cells.
    `lengths`, int64 (m,), are the noisy numbers of trips with 1 to m moves; longer trips were cut
    off. If `gap_minutes` is above 0, consecutive rows of a person that are at most that many
    minutes apart made a trip; otherwise each row was a trip.
    """

    product = "Synthetic data"

    grid: Grid
    gap_minutes: int
    ends: NDArray[np.int64]
    moves: NDArray[np.int64]
    lengths: NDArray[np.int64]
    noise: DiscreteLaplace
    move_noise: DiscreteLaplace
    length_noise: DiscreteLaplace


NO_TIME = -(1 << 63)
"""Stands for the missing time of a report: the smallest int64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointsRelease(Content):
    """Perturbed reports, and the density estimated from them by deconvolution.

    `longitude` and `latitude` are int32 (n,) in units of 1e-7 degrees. All points are in the study
    area, sorted by longitude, latitude, time and attributes. `time` is int64 (n,) in seconds since
    1970, rounded as declared, and NO_TIME for a report without a time; it is empty if times are
    dropped. `prior` is the name of the public layer used for remapping, or "" without remapping. If
    `padded` is not 0, padding reports were added so that every privacy unit has exactly `padded`
    points. `attributes` holds the published attributes with their declared values. `combination`,
    int32 (n,), is the index of each report's combination of values (`core.attributes.combine`); it
    is empty without attributes. `density` is float64 of the grid's shape and adds up to n;
    `updates` is the number of iterations that estimated it. The density is stored instead of
    recomputed, so that a better method changes no release.
    """

    # The usual limit on the size of arrays (`Content.most_bytes`) is too small for points: this
    # one is enough for about 10^9 of them, at 8 bytes each, or for half as many with times.
    most_bytes = 8 * 1024**3
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
    """Places drawn for virtual users, and noisy counts for pairs of a unit and a cluster.

    Places belong to units, such as districts, in a public hierarchy. The candidate places (m,) are
    all public: `longitude` and `latitude`, float64, are in degrees; `unit` and `cluster`, int32,
    are the indices of each place's unit and cluster. `levels` are the names of the visible levels
    of the hierarchy. `unit_paths` gives, for each unit of the finest visible level, the names of
    the units that contain it, the widest first, followed by its own name.

    The clusters (k,) have `centre_longitude` and `centre_latitude`, float64, in degrees.

    Each pair of a unit and a cluster that have places in common is a bin (b,): `bin_unit` and
    `bin_cluster`, int32, are the indices of the pair, and `counts`, int64, are the noisy numbers of
    records nearest to places of the bin, as drawn.

    There is one draw (e,) for each place drawn for a virtual user: `person`, int32, is the virtual
    user's new label, from 0 to `people` - 1, in ascending order, and `place`, int32, is the index
    of the place.
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
    PhasedSlicesRelease,
    SparseRelease,
    ClustersRelease,
    LocationsRelease,
    ZonesRelease,
    ZoneAverages,
    GridAverages,
    ZoneQuartiles,
    GridQuartiles,
    ProfileRelease,
    ContourRelease,
    FlowsRelease,
    TripsRelease,
    PlacesRelease,
    PointsRelease,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Released:
    """The immutable result of one run of a mechanism.

    `bound` is the contribution bound: the maximum number of cells (if people are counted) or
    records (if visits are counted) that count for one privacy unit. `bounding` is the method of
    choosing them for a privacy unit that has more. `trace` lists the epsilons or rhos spent and the
    noise drawn for each. `totals` are the noisy totals paid for along with the map, or None.
    `about` is the publisher's description (title, dataset, publisher, licence and so on); with it,
    every file can be generated from this object alone.
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
    totals: Totals | None = None

    @property
    def request(self) -> ReleaseRequest:
        """The request, read from `about`; if it has none, one for what was drawn."""
        text = self.about.get("request")
        if text is not None:
            return read_stored(text)
        return ReleaseRequest(
            mechanism=self.mechanism,
            parameters=dict(sorted(self.parameters.items())),
            bound=self.bound,
            counting=self.counting,
            bounding=self.bounding,
        )

    @property
    def series(self) -> Part | None:
        """The release's position in its series, read from `about`; None if it is in no series."""
        return Part.read(self.about)
