"""Adaptive grid: coarse squares, divided according to their noisy counts.

Idea. Measure the number of records roughly, with a small part of epsilon. Divide the map into m1 x
m1 squares, few enough that each count is far larger than its noise, and count them. Divide each
square into m2 x m2 partitions, more of them if the square's noisy count is large, and count the
partitions. The estimates are computed from all three levels.

Privacy argument. A privacy unit adds at most l in total to the cells of the grid (bounded by the
view). There are three levels: the total, the squares and the partitions. The counts of each level
are sums of those same cells, with every cell in at most one region of the level
(`PrivateCounts.regroup`). So each vector has L1 sensitivity l, and measuring it with epsilon_k is
epsilon_k-differentially private. m1 is a function of the noisy total and public parameters, and
each m2 is a function of its square's noisy count and public parameters, so the regions are public
once the earlier outputs are. By adaptive sequential composition the three epsilons add up to
epsilon. Cells outside the study area are empty by its public declaration and are in no region.

Utility. Let N be the noisy total (at least 1), e the epsilon that remains after the total, and
alpha the share of e that is spent on the squares. Then m1 = max(10, ceil(sqrt(N e/(10 l))/4)), and
for a square of noisy count n', m2 = max(1, ceil(sqrt(max(n', 0) (1 - alpha) e/(5 l)))). At these
sizes, noise and uneven density within a region cause about equal errors. Squares are divided along
the lines of a fine grid, so m1 and m2 are limited by its number of cells. The counts of all levels
are reconciled by least squares (`postprocess.consistency`); margins of error are exact for the
partitions' own counts.

References. Qardaji, Yang and Li 2013 (arXiv 1209.1322), with the corrections in
docs/mechanisms/adaptive-grid.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import TreeRelease
from dpgeo.core.spend import Spend
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.boxes import box_image, summed_area, tiles
from dpgeo.spatial.grid import Grid

TOTAL = "total count"
SQUARES = "counts of squares"
PARTITIONS = "counts of partitions"
LABELS = (TOTAL, SQUARES, PARTITIONS)

MIN_SQUARES = 10
COARSE_CONSTANT = 10
FINE_CONSTANT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of the adaptive grid."""

    cells: int = param(
        512,
        "Cells along each side of the grid whose lines all squares follow: the finest detail.",
        low=1,
        high=4096,
        beyond="For finer cells choose sparse-grid.",
    )
    pilot_share: int = param(
        3,
        "Percent of epsilon spent on the total, from which the number of squares follows.",
        low=1,
        high=50,
    )
    square_share: int = param(
        50,
        "Percent of the remaining epsilon that is spent on the squares; the rest counts the "
        "partitions they are divided into.",
        low=1,
        high=99,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare spends for the total count, the squares and the partitions."""
    pilot = epsilon * Fraction(params.pilot_share, 100)
    squares = (epsilon - pilot) * Fraction(params.square_share, 100)
    return [
        Spend(label=TOTAL, epsilon=pilot),
        Spend(label=SQUARES, epsilon=squares),
        Spend(label=PARTITIONS, epsilon=epsilon - pilot - squares),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> TreeRelease:
    """Measure the number of records, then squares, then their partitions."""
    grid = Grid.over(view.domain.area, params.cells)
    inside = grid.inside(view.domain.area)
    table = summed_area(inside)
    cells = view.histogram(grid)
    noises = tuple(meter.laplace(label, cells) for label in LABELS)
    frame = np.array([[0, grid.rows, 0, grid.columns]], dtype=np.int32)
    total = _measure(meter, TOTAL, cells, frame, inside)
    rate = float(noises[1].rate + noises[2].rate)
    squares, of_frame = tiles(frame, squares_along(int(total[0]), rate), table)
    coarse = _measure(meter, SQUARES, cells, squares, inside)
    partitions, of_square = tiles(squares, partitions_along(coarse, float(noises[2].rate)), table)
    fine = _measure(meter, PARTITIONS, cells, partitions, inside)
    boxes = np.concatenate([frame, squares, partitions])
    return TreeRelease(
        grid=grid,
        boxes=boxes,
        level=np.repeat([0, 1, 2], [1, len(squares), len(partitions)]).astype(np.int32),
        parent=np.concatenate([[-1], of_frame, 1 + of_square]).astype(np.int32),
        measured=np.ones(len(boxes), dtype=np.bool_),
        counts=np.concatenate([total, coarse, fine]),
        noises=noises,
    )


def squares_along(total: int, rate: float) -> int:
    """Return m1, the number of squares along each side of the map, given the noisy `total` count.

    `rate` is the epsilon that remains for the squares and partitions, divided by the
    contribution bound l.
    """
    records = max(total, 1)
    return max(MIN_SQUARES, math.ceil(math.sqrt(records * rate / COARSE_CONSTANT) / 4))


def partitions_along(counts: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
    """Return m2 (n,): each of the n squares is divided into m2 x m2 partitions.

    `counts` (n,) are the noisy counts of the squares. `rate` is the epsilon with which the
    partitions will be counted, divided by the contribution bound l.
    """
    along = np.ceil(np.sqrt(np.maximum(counts, 0) * rate / FINE_CONSTANT))
    return np.maximum(along, 1).astype(np.int64)


def _measure(
    meter: Meter,
    label: str,
    cells: PrivateCounts,
    boxes: NDArray[np.int32],
    inside: NDArray[np.bool_],
) -> NDArray[np.int64]:
    region = np.where(inside, box_image(boxes, inside.shape), -1)
    return meter.measure(label, cells.regroup(region, len(boxes)))


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Forecast the noise of a partition's own count.

    The actual number of partitions depends on the data and is not forecast.
    """
    noise = DiscreteLaplace(plan(params, epsilon)[2].epsilon, bound)
    return forecast_cells(domain, params.cells, noise, region="partition", divided=True)


MECHANISM = Mechanism(
    key="adaptive-grid",
    title="Adaptive grid",
    summary="Squares of two sizes: crowded ones are divided finely, quiet ones are left whole.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    subjects=(subjects.HEATMAP,),
    regions=usual_regions,
    counted=counted_cells,
)
