"""Covers: the measured regions of a release that together make up a query region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import CountNoise
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.coverage import Coverage, Lines, as_array, coverage, distinct, edges_of
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.prepared import prepared

Shares = NDArray[np.float64]
Ints = NDArray[np.int64]
Shapes = NDArray[np.object_]

NEGLIGIBLE = 1e-9
"""Shares of a region's ground that differ from 0 or 1 by less than this become exactly 0 or 1.

The limit is far above rounding errors, but far too small to change a count by one person.
"""

CORNER = 1e-6
"""For boxes with less than this share of their ground in the study area, shares are computed by
clipping shapes: adding up areas row by row, as for other boxes, would be too inaccurate.
"""

MAX_PIECES = 900_000
"""Largest number of pieces into which grid lines may cut the outlines of a request's regions.

This many pieces take about 0.2 s of CPU time.
"""

COUNTS_A_PIECE = 10
"""Number of cells' counts that are added up in about the time that it takes to clip one piece of an
outline, the unit of MAX_PIECES.
"""

TOO_FINE = (
    "Counting along its outline would take {work:,} steps, of at most {most:,}; simplify it to "
    "fewer corners, give a smaller area, or send several requests."
)


UNEVEN_ERRORS = 1.3
"""Factor for the half-width of the interval for unevenness in regions chosen from the counts.

If a query region cuts boxes that were chosen to fit the people in them, the half-width is this
factor times the root of the sum of m^2 s (1 - s) over the boxes that are cut. Here m is a box's
count and s the share of its ground in the region. The factor was chosen on generated maps
(docs/mechanisms/accuracy.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cover:
    """Whole and partial measured regions that together make up a query region.

    `whole` maps each noise distribution to the number of whole regions measured with it. `total` is
    the sum of the noisy counts of all whole regions. The other arrays (n,) describe the partial
    regions: `values` holds their noisy counts, `scales` the scales of their noise, and `shares` the
    fraction of each region's ground area that lies inside the query region. `tail` is the 97.5 %
    quantile of the noise, in standard deviations of the noise.
    """

    whole: dict[CountNoise, int]
    total: float
    values: NDArray[np.float64]
    scales: NDArray[np.float64]
    shares: Shares
    tail: float
    notes: tuple[str, ...] = ()

    @property
    def uneven(self) -> float:
        """Half-width of a 95 % interval for the error of assuming an even spread in cut regions."""
        square = np.square(np.maximum(self.values, 0.0)) * self.shares * (1 - self.shares)
        return UNEVEN_ERRORS * math.sqrt(float(square.sum()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inferred:
    """Sum of an inferred surface over a query region, and what is uncertain about it.

    `noise` is the half-width of a 95 % interval for the error of the sum that is due to noise in
    the counts, after inference has reduced it. `model` is the half-width for the error of the
    assumption about how people are spread within the regions that the query region cuts. `areas` is
    the number of measured regions that intersect the query region, and `cut` the number of these
    that were used in part.
    """

    estimate: float
    noise: float
    model: float
    areas: int
    cut: int

    @property
    def margin(self) -> float:
        """Half-width of the 95 % interval for both errors, `noise` and `model`, if they are
        independent.
        """
        return math.hypot(self.noise, self.model)


def ground_of(shapes: Shapes) -> NDArray[np.float64]:
    """Return numbers (n,) proportional to the shapes' ground areas, by an equal-area projection."""
    flat = shapely.transform(
        shapes, lambda degrees: np.column_stack([degrees[:, 0], np.sin(np.radians(degrees[:, 1]))])
    )
    return np.asarray(shapely.area(flat))


def squares(grid: Grid, boxes: NDArray[np.integer[Any]]) -> Shapes:
    """Return boxes of grid cells (n, 4) as shapes (n,) in degrees."""
    west, south, east, north = grid.box_bounds(boxes).T
    return np.asarray(shapely.box(west, south, east, north), dtype=object)


def snapped(share: Shares) -> Shares:
    """Return shares (n,) of ground, with those within NEGLIGIBLE of 0 or 1 set to 0 or 1."""
    share = np.clip(share, 0.0, 1.0)
    share[share > 1 - NEGLIGIBLE] = 1.0
    share[share < NEGLIGIBLE] = 0.0
    return share


def clipped_shares(shapes: Shapes, regions: Shapes, area: StudyArea) -> Shares:
    """Return the share (n,) of each shape's ground area that its query region covers.

    The i-th of the `shapes` (n,) belongs to the i-th of the `regions` (n,). Only ground in the
    study area counts. The computing time grows with the number of vertices of each shape and its
    region.
    """
    share = np.ones(len(shapes))
    beyond = ~shapely.covers(regions, shapes)
    if beyond.any():
        cut = shapes[beyond]
        inside = shapely.intersection(cut, regions[beyond])
        outside = ~shapely.covers(prepared(area.shape), cut)
        cut[outside] = shapely.intersection(cut[outside], area.shape)
        share[beyond] = ground_of(inside) / np.maximum(ground_of(cut), 1e-300)
    return snapped(share)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """Measured regions that lie only partly in a query region, listed for all query regions.

    Each entry of the arrays (n,) describes one use of a measured region: the index `region` of the
    query region, the noisy count `value`, the index `noise` of its noise distribution, and the
    `share` of its ground area in the query region.
    """

    region: Ints
    value: NDArray[Any]
    noise: Ints
    share: Shares


def covers_of(
    noises: Sequence[CountNoise],
    totals: NDArray[Any],
    wholes: NDArray[Any],
    parts: Parts,
    notes: tuple[str, ...] = (),
) -> list[Cover]:
    """Build the cover of each of m query regions: the measured regions that make it up.

    `totals` (m,) holds, for each query region, the sum of the counts of its whole measured regions.
    `wholes` (m, k) says how many of these were measured with each of the k `noises`. `notes` are
    sentences to show with every answer.
    """
    scales = np.array([each.scale for each in noises])
    tail = max(each.tail(0.025) for each in noises)
    order = np.argsort(parts.region, kind="stable")
    ends = np.searchsorted(parts.region[order], np.arange(len(totals) + 1))
    values = parts.value[order].astype(np.float64)
    part_scales, shares = scales[parts.noise[order]], parts.share[order]
    counted: dict[tuple[int, ...], dict[CountNoise, int]] = {}
    for numbers in set(map(tuple, wholes.tolist())):
        whole = counted[numbers] = {}
        for each, number in zip(noises, numbers, strict=True):
            if number:  # Two levels of a tree may have equal noise: add up their regions.
                whole[each] = whole.get(each, 0) + int(number)
    result = []
    for index, (total, numbers) in enumerate(zip(totals.tolist(), wholes.tolist(), strict=True)):
        part = slice(ends[index], ends[index + 1])
        result.append(
            Cover(
                whole=counted[tuple(numbers)],
                total=float(total),
                values=values[part],
                scales=part_scales[part],
                shares=shares[part],
                tail=tail,
                notes=notes,
            )
        )
    return result


class Areas:
    """Base class for the measured regions of a release.

    If people are counted, `once` says whether each person counts at most once in each region.
    `complete` says whether every count was published, however small. `modelled` says whether the
    interval of an answer allows for an uneven spread of people within the regions that the query
    cuts (UNEVEN_ERRORS).
    """

    once: bool = False
    complete: bool = True
    modelled: bool = False

    def covers(self, regions: Shapes) -> Sequence[Cover | Inferred]:
        """Return, for each query region (n,), its cover by measured regions or an inferred sum.

        The query regions lie in the study area. Raises InvalidInput if the work would take too
        long.
        """
        raise NotImplementedError

    def sums_of_each(
        self, regions: Shapes, sets: Sequence[Sequence[NDArray[np.int64]]]
    ) -> tuple[list[Cover], NDArray[np.float64]]:
        """Return covers and sums of several sets of counts for query regions (n,).

        There are k `sets`. A set is a list of arrays, each with a count for every measured region;
        the arrays are added up. The covers (n,) use the first set. The sums (k, n) add up each
        set's counts, each count times its region's share in the query region. Raises InvalidInput
        if the work would take too long.
        """
        raise NotImplementedError


def check_work(work: int, most: int) -> None:
    """Raise InvalidInput if a request's work is more than `most`, in the same unit."""
    if work > most:
        raise InvalidInput(TOO_FINE, work=work, most=most)


class Covering:
    """Computes which cells of a grid are covered by query regions and by the study area."""

    def __init__(self, grid: Grid, area: StudyArea) -> None:
        self.grid, self.area, self.lines = grid, area, Lines(grid)

    def of(self, regions: Shapes, times: int = 1) -> Coverage:
        """Return the cells that each query region covers.

        Raises InvalidInput if the work would take too long; each piece of an outline between grid
        lines counts `times` times.
        """
        edges = edges_of(regions)
        check_work(times * edges.pieces(self.lines), MAX_PIECES)
        return coverage(self.lines, edges, len(regions))

    @cached_property
    def of_area(self) -> Coverage:
        """Return the cells that the study area covers."""
        return coverage(self.lines, edges_of(as_array([self.area.shape])), 1)

    def shares(self, covered: Coverage, regions: Shapes) -> Shares:
        """Return the share (n,) of each cut cell's ground area that the query region covers.

        Only ground in the study area counts.
        """
        known = self.of_area
        cell = covered.cell
        index = np.minimum(np.searchsorted(known.key, cell), len(known.key) - 1)
        available = np.where(known.key[index] == cell, known.share[index], 1.0)
        share = snapped(covered.share / np.maximum(available, CORNER))
        corner = np.flatnonzero(available < CORNER)
        if corner.size:
            row, column = np.divmod(cell[corner], self.grid.columns)
            boxes = np.column_stack([row, row + 1, column, column + 1])
            share[corner] = self.clipped(boxes, regions, covered.polygon[corner])
        return share

    def clipped(self, boxes: Ints, regions: Shapes, region: Ints) -> Shares:
        """Return the share (n,) of each box (n, 4) that its region covers.

        `region` (n,) holds, for each box, the index of its region in `regions`. To save time, each
        region is first clipped to the strip of grid rows that the box spans.
        """
        rows = np.column_stack([region, boxes[:, :2]])
        rows, which = np.unique(rows, axis=0, return_inverse=True)
        sides = np.tile([0, self.grid.columns], (len(rows), 1))
        bands = squares(self.grid, np.column_stack([rows[:, 1:], sides]))
        near = shapely.intersection(bands, regions[rows[:, 0]])
        return clipped_shares(squares(self.grid, boxes), near[which.ravel()], self.area)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Touched:
    """Cells that the outlines of query regions cut, and runs of cells that query regions cover.

    The arrays with an entry for each cut cell (n,) are `polygon`, the index of the query region,
    `number`, the index of the cell's count, and `share`, the share of the cell's ground in the
    region. The arrays with an entry for each run of covered cells (m,) are `run`, the index of the
    query region, and `first` and `after`, the range of the run's cells among all counted cells,
    `first` included and `after` excluded.
    """

    regions: int
    polygon: Ints
    number: Ints
    share: Shares
    run: Ints
    first: Ints
    after: Ints


def _running(counts: Sequence[Ints]) -> list[Ints]:
    """Return the running sums (n + 1,) of each array of counts (n,), starting with 0."""
    return [np.concatenate([[0], np.cumsum(each)]) for each in counts]


def _shared_sums(touched: _Touched, counts: Ints) -> NDArray[np.float64]:
    """Return the sum (n,) of `counts` over each query region.

    The count of a cell that an outline cuts is multiplied by the share of the cell in the region.
    """
    (before,) = _running([counts])
    runs = before[touched.after] - before[touched.first]
    inside = counts[touched.number] * touched.share
    return np.asarray(
        np.bincount(touched.run, weights=runs, minlength=touched.regions)
        + np.bincount(touched.polygon, weights=inside, minlength=touched.regions)
    )


class Cells(Areas):
    """Grid cells that each have one or several noisy counts.

    Each array in `counts` holds one count for each of `cells`, which are ascending cell indices.
    `cells` is None if every cell of the grid was counted.
    """

    once = True

    def __init__(
        self,
        grid: Grid,
        counts: Sequence[NDArray[np.int64]],
        noise: CountNoise,
        area: StudyArea,
        *,
        cells: Ints | None = None,
        note: str = "",
    ) -> None:
        self._covering = Covering(grid, area)
        self._counts = [each.ravel() for each in counts]
        self._before = _running(self._counts)
        self._noise, self._cells = noise, cells
        self._notes = (note,) if note else ()
        self.complete = cells is None

    def covers(self, regions: Shapes) -> list[Cover]:
        """Return the cover of each query region by cells; a cell's several counts are added up."""
        touched = self._touched(regions, len(self._counts))
        return self._covers(touched, self._counts, self._before)

    def sums_of_each(
        self, regions: Shapes, sets: Sequence[Sequence[NDArray[np.int64]]]
    ) -> tuple[list[Cover], NDArray[np.float64]]:
        """Return the regions' covers, and the sums (k, n) of k sets of counts in n regions.

        `Areas.sums_of_each` explains the arguments.
        """
        touched = self._touched(regions, max(1, sum(map(len, sets)) // COUNTS_A_PIECE))
        first = [each.ravel() for each in sets[0]]
        covers = self._covers(touched, first, _running(first))
        totals = [np.sum([each.ravel() for each in counts], axis=0) for counts in sets]
        return covers, np.array([_shared_sums(touched, each) for each in totals])

    def _touched(self, regions: Shapes, times: int) -> _Touched:
        covered = self._covering.of(regions, times)
        number, known = self._numbers(covered.cell)
        share = np.where(known, self._covering.shares(covered, regions), 0.0)
        region, start, end = covered.runs
        return _Touched(
            regions=len(regions),
            polygon=covered.polygon,
            number=number,
            share=share,
            run=region,
            first=self._ranks(start),
            after=self._ranks(end),
        )

    def _covers(
        self, touched: _Touched, sums: Sequence[Ints], befores: Sequence[Ints]
    ) -> list[Cover]:
        times, share, number = len(sums), touched.share, touched.number
        whole, part = share == 1.0, (share > 0.0) & (share < 1.0)
        totals, wholes = np.zeros(touched.regions), np.zeros((touched.regions, 1))
        np.add.at(wholes[:, 0], touched.run, times * (touched.after - touched.first))
        np.add.at(wholes[:, 0], touched.polygon[whole], times)
        for counts, before in zip(sums, befores, strict=True):
            np.add.at(totals, touched.run, before[touched.after] - before[touched.first])
            np.add.at(totals, touched.polygon[whole], counts[number[whole]])
        parts = Parts(
            region=np.tile(touched.polygon[part], times),
            value=np.concatenate([counts[number[part]] for counts in sums]),
            noise=np.zeros(times * np.count_nonzero(part), dtype=np.int64),
            share=np.tile(share[part], times),
        )
        return covers_of([self._noise], totals, wholes, parts, self._notes)

    def _ranks(self, cell: Ints) -> Ints:
        """Return how many counted cells have a lower index than each cell (n,)."""
        return cell if self._cells is None else np.searchsorted(self._cells, cell)

    def _numbers(self, cell: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the index (n,) of each cell's count, and a mask (n,) of the cells with a count."""
        if self._cells is None:
            return cell, np.ones(len(cell), dtype=np.bool_)
        if not len(self._cells):
            return cell, np.zeros(len(cell), dtype=np.bool_)
        number = np.minimum(np.searchsorted(self._cells, cell), len(self._cells) - 1)
        return number, self._cells[number] == cell


class Boxes:
    """Disjoint boxes (n, 4) of cells, for computing which share of each box polygons cover."""

    def __init__(self, grid: Grid, boxes: NDArray[np.integer[Any]], area: StudyArea) -> None:
        self._covering, self._image = Covering(grid, area), box_image(boxes, grid.shape)
        self._lines = self._covering.lines
        self.boxes = boxes.astype(np.int64)
        top, _, left, _ = self.boxes.T
        self.anchors = top * grid.columns + left
        self.ground = self._whole_ground()
        """The ground area (n,) of each box within the study area."""
        whole = self.ground.copy()
        _, box, ground = self._touched(self._covering.of_area)
        self.ground[box] = ground
        self._corner = self.ground < CORNER * whole

    def _whole_ground(self) -> NDArray[np.float64]:
        top, bottom, left, right = self.boxes.T
        sines = np.sin(np.radians(self._lines.y))
        x = self._lines.x
        return np.asarray((sines[bottom] - sines[top]) * (x[right] - x[left]))

    def covered(self, regions: Shapes, weight: int = 1) -> tuple[Coverage, Ints, Ints, Shares]:
        """Return the covered cells, and the boxes that the outline of a region intersects.

        The boxes are given by three arrays: the index of the region, the index of the box, and the
        share of the box that the region covers. Raises InvalidInput if the work would take too
        long; a piece of outline between grid lines counts `weight` times.
        """
        covered = self._covering.of(regions, weight)
        region, box, ground = self._touched(covered)
        share = snapped(ground / np.maximum(self.ground[box], 1e-300))
        corner = np.flatnonzero(self._corner[box])
        if corner.size:
            share[corner] = self._covering.clipped(self.boxes[box[corner]], regions, region[corner])
        return covered, region, box, share

    def _touched(self, covered: Coverage) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """Return all pairs of a polygon and a box that the polygon's outline intersects.

        The three arrays hold, for each pair, the index of the polygon, the index of the box, and
        the covered ground area of the box.
        """
        pieces, edges, lines = covered.pieces, covered.edges, self._lines
        label = self._image[pieces.row, pieces.column].astype(np.int64)
        # Grid lines cut edges of outlines into pieces; successive pieces of an edge in the same box
        # count as one, to save work.
        change = (np.diff(pieces.edge) != 0) | (np.diff(label) != 0)
        first = np.concatenate([[0], np.flatnonzero(change) + 1])
        last = np.concatenate([first[1:] - 1, [len(label) - 1]])
        known = label[first] >= 0
        first, last = first[known], last[known]
        box, edge = label[first], pieces.edge[first]
        right = lines.x[self.boxes[box, 3]]
        middle = (pieces.x0[first] + pieces.x1[last]) / 2
        area = edges.sign[edge] * (pieces.v1[last] - pieces.v0[first]) * (right - middle)
        key = edges.polygon[edge] * len(self.boxes) + box
        keys = distinct(key)
        which = np.searchsorted(keys, key)
        ground = np.bincount(which, weights=area, minlength=len(keys))
        polygon, box = np.divmod(keys, len(self.boxes))
        return polygon, box, ground + self._to_the_left(covered, polygon, box)

    def _to_the_left(self, covered: Coverage, polygon: Ints, box: Ints) -> NDArray[np.float64]:
        """Return, for n pairs of a polygon and a box, a first estimate (n,) of the covered area.

        It is the length of the box's left edge that the polygon covers, times the box's width. If
        no outline crosses the box, it is the covered area; otherwise `_touched` adds a correction.
        """
        rows = covered.key // self._lines.grid.columns % self._lines.grid.rows
        starts = np.searchsorted(
            covered.key, np.arange(covered.polygons + 1) * self._lines.grid.size
        )
        low, high = rows[np.minimum(starts[:-1], len(rows) - 1)], rows[starts[1:] - 1]
        top, bottom, left, right = self.boxes[box].T
        first = np.maximum(top, low[polygon])
        number = np.maximum(np.minimum(bottom, high[polygon] + 1) - first, 0)
        check_work(int(number.sum()), 4 * MAX_PIECES)
        index = np.repeat(np.arange(len(box)), number)
        row = first[index] + np.arange(len(index)) - np.repeat(np.cumsum(number) - number, number)
        share = covered.to_the_left(polygon[index], row, left[index])
        height = np.bincount(index, weights=share * self._lines.heights[row], minlength=len(box))
        return np.asarray(height * (self._lines.x[right] - self._lines.x[left]))


class Listed(Areas):
    """Disjoint boxes of cells, all measured with the same noise distribution."""

    modelled = True

    def __init__(
        self,
        grid: Grid,
        boxes: NDArray[np.integer[Any]],
        values: NDArray[np.int64],
        noise: CountNoise,
        area: StudyArea,
    ) -> None:
        top, _, left, _ = boxes.T
        order = np.argsort(top.astype(np.int64) * grid.columns + left)
        self._boxes = Boxes(grid, boxes[order], area)
        self._values, self._noise = values[order], noise
        self._before = np.concatenate([[0], np.cumsum(self._values)])

    def covers(self, regions: Shapes) -> list[Cover]:
        """Return, for each query region, the listed boxes that lie in it wholly or in part."""
        covered, region, box, share = self._boxes.covered(regions)
        totals, wholes = np.zeros(len(regions)), np.zeros((len(regions), 1))
        # First add each box whose first cell lies in a run of cells inside a query region. This is
        # right for boxes off the region's outline; then correct it for boxes that it intersects.
        where, start, end = covered.runs
        anchors = self._boxes.anchors
        first, after = np.searchsorted(anchors, start), np.searchsorted(anchors, end)
        np.add.at(totals, where, self._before[after] - self._before[first])
        np.add.at(wholes[:, 0], where, after - first)
        counted = covered.untouched_inside(region, anchors[box])
        change = (share == 1.0).astype(np.int64) - counted
        np.add.at(totals, region, change * self._values[box])
        np.add.at(wholes[:, 0], region, change)
        part = (share > 0.0) & (share < 1.0)
        parts = Parts(
            region=region[part],
            value=self._values[box[part]],
            noise=np.zeros(np.count_nonzero(part), dtype=np.int64),
            share=share[part],
        )
        return covers_of([self._noise], totals, wholes, parts)
