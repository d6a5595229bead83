"""PrivTree: a quadtree that is split where people are, with fresh counts of its leaves.

Idea. Split a box into four if its noisy, biased count is large. Because the bias grows with the
depth, one draw of noise per box is enough, however deep the tree becomes: crowded areas are split
down to streets, and empty country stays one box. Then count the leaves.

Privacy argument. A privacy unit adds at most l in total to the cells of the grid (bounded by the
view). The splits are epsilon1-differentially private by the argument in `privacy.private_quadtree`.
They are drawn by the Meter, which releases only which boxes were split. Given the tree, its leaves
are public and disjoint, and their counts are sums of the same bounded cells, every cell in at most
one leaf (`PrivateCounts.regroup`), so measuring them with epsilon2 is epsilon2-differentially
private. Adaptive sequential composition gives epsilon1 + epsilon2 = epsilon. Boxes outside the
study area are empty by its public declaration and are left out.

Utility. Leaves have few people or are single cells, and each carries fresh noise of scale
l/epsilon2, whatever its size. With delta = (7/3) l ln 4 / epsilon1, a box at level d is split if it
has clearly more than d delta people, so smaller groups are not resolved. On generated maps
(mixtures of crowds, a city of blocks; 1e4 to 1e6 people), a third of epsilon for the splits gave
the smallest error; with half of epsilon, as in the paper, errors were 1.2 to 1.5 times as large.

References. Zhang, Xiao and Xie 2016 (PrivTree), with the corrections in
docs/mechanisms/privtree.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core.domain import Domain
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import TreeRelease
from dpgeo.core.spend import Spend
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid

SPLITS = "where to split"
PARTITIONS = "counts of partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of PrivTree."""

    cells: int = param(
        1024,
        "Cells along each side, at which splitting ends. Powers of two divide most evenly.",
        low=1,
        high=4096,
        beyond="For finer cells choose sparse-grid.",
    )
    split_share: int = param(
        33,
        "Percent of epsilon spent on deciding where to split; the rest counts the partitions.",
        low=1,
        high=99,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare `split_share` of epsilon for the splits, and the rest for the partitions."""
    splits = epsilon * Fraction(params.split_share, 100)
    return [
        Spend(label=SPLITS, epsilon=splits),
        Spend(label=PARTITIONS, epsilon=epsilon - splits),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> TreeRelease:
    """Grow the tree, then measure its leaves."""
    grid = Grid.over(view.domain.area, params.cells)
    inside = grid.inside(view.domain.area)
    cells = view.histogram(grid)
    noise = meter.laplace(PARTITIONS, cells)
    tree = meter.grow_tree(SPLITS, cells, inside)
    leaves = np.flatnonzero(tree.leaf)
    region = np.where(inside, box_image(tree.boxes[leaves], grid.shape), -1)
    counts = np.zeros(len(tree.boxes), dtype=np.int64)
    counts[leaves] = meter.measure(PARTITIONS, cells.regroup(region, len(leaves)))
    return TreeRelease(
        grid=grid,
        boxes=tree.boxes,
        level=tree.level,
        parent=tree.parent,
        measured=tree.leaf,
        counts=counts,
        noises=(noise,) * (int(tree.level[-1]) + 1),
    )


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Forecast the noise in a partition's count.

    The number of partitions depends on the data, so only its maximum is forecast: the number of
    cells.
    """
    noise = DiscreteLaplace(plan(params, epsilon)[1].epsilon, bound)
    return forecast_cells(domain, params.cells, noise, region="partition", divided=True)


MECHANISM = Mechanism(
    key="privtree",
    title="PrivTree",
    summary="A quadtree, as fine as streets where people are; empty land stays one box.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    regions=usual_regions,
    counted=counted_cells,
)
