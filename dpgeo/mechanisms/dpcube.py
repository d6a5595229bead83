"""DPCube: boxes chosen from noisy counts of cells, and counted again.

Idea. Spend a part of epsilon on noisy counts of fine cells. Divide the map by a kd-tree grown on
these noisy counts, until the cells of each box differ only by noise. Spend the remainder on new
counts of the boxes. A large quiet district is then one box with one draw of noise, while boxes are
small where there are many people.

Privacy argument. The cells are public and disjoint, and a privacy unit adds at most l in total to
them (bounded by the view), so measuring them with epsilon1 is epsilon1-differentially private. The
tree is grown only from those noisy counts and public facts, so it is post-processing. Given this
tree, the boxes are public and disjoint. Their counts are sums of the same bounded cells, with every
cell in at most one box (`PrivateCounts.regroup`), so a privacy unit adds at most l to them in
total, and measuring them with epsilon2 is epsilon2-differentially private. By adaptive sequential
composition the cost is epsilon1 + epsilon2 = epsilon. Cells outside the study area are empty by its
public declaration: they are set to 0 and left out of every box; every box has a cell inside.

Under zCDP. If distinct people are counted, the squared sensitivity of the cells is l. A person's
cells may all be in one box, so the squared sensitivity of the boxes is l^2 (`PrivateCounts.regroup`
drops the mark of distinct counts), whatever the tree. The rhos of the two measurements add up to
rho, although the second depends on the first.

Utility. A box carries noise of scale l/epsilon2 whatever its size, so sums over large regions are
far more accurate than on a uniform grid. Dividing a box's count evenly among its cells adds an
error if people are unevenly spread in the box. Boxes are split where noisy counts show an uneven
spread, or where noise could hide one (`postprocess.kdtree`). Least-squares estimates keep the
detail within boxes, and with it the noise of cells.

References. Xiao, Xiong, Fan and Goryczka (DPCube), algorithms 2 and 3, with the corrections in
docs/mechanisms/dpcube.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.parameters import param
from dpgeo.core.released import PartitionRelease
from dpgeo.core.spend import Spend
from dpgeo.postprocess.kdtree import Rule, grow_kdtree
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid

CELLS = "cell counts"
PARTITIONS = "partition counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of DPCube."""

    cells: int = param(
        256,
        "Cells along each side.",
        low=1,
        high=4096,
        beyond="For finer cells choose sparse-grid.",
    )
    answers: str = param(
        "uniform",
        "How a cell is estimated: an even share of its partition, or cell and partition counts "
        "reconciled by least squares (sharper and noisier).",
        choices=("uniform", "least-squares"),
    )
    cell_share: int = param(
        30,
        "Percent of epsilon spent on the cell counts that partitions are chosen from; the rest "
        "counts the partitions.",
        low=1,
        high=99,
    )
    splitting: str = param(
        "suspicion",
        "When a partition is split: by the variance of its cells alone, or also where noise "
        "could hide unevenness that matters.",
        choices=("suspicion", "variance"),
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare `cell_share` of epsilon for the cells, and the rest for the partitions."""
    cells = epsilon * Fraction(params.cell_share, 100)
    return [Spend(label=CELLS, epsilon=cells), Spend(label=PARTITIONS, epsilon=epsilon - cells)]


def release(view: PrivateView, params: Params, meter: Meter) -> PartitionRelease:
    """Measure the cells, choose partitions from the noisy counts, and measure their totals."""
    grid = Grid.over(view.domain.area, params.cells)
    inside = grid.inside(view.domain.area)
    cells = view.histogram(grid)
    noise = meter.noise(CELLS, cells)
    # The noise of the boxes must be known before there are boxes. The sum of all cells has the same
    # sensitivity as sums over any boxes, so it stands for them; it is never measured.
    sums = cells.regroup(np.where(inside, 0, -1), 1)
    totals_noise = meter.noise(PARTITIONS, sums)
    counts = meter.measure(CELLS, cells)
    counts[~inside] = 0
    rule = Rule(
        cell_variance=noise.variance,
        total_variance=totals_noise.variance,
        suspicion=params.splitting == "suspicion",
    )
    boxes = grow_kdtree(counts, inside, rule)
    partition = np.where(inside, box_image(boxes, grid.shape), -1)
    return PartitionRelease(
        grid=grid,
        counts=counts,
        noise=noise,
        boxes=boxes,
        totals=meter.measure(PARTITIONS, cells.regroup(partition, len(boxes))),
        totals_noise=totals_noise,
        answers=params.answers,
    )


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise in a partition's count.

    The number of partitions depends on the data, so only its maximum is forecast: the number of
    cells.
    """
    noise = law.sums(plan(params, epsilon)[1].epsilon, bound)
    return forecast_cells(domain, params.cells, noise, region="partition", divided=True)


MECHANISM = Mechanism(
    key="dpcube",
    title="DPCube",
    summary=(
        "Small boxes where people crowd and large ones elsewhere, chosen from noisy cell counts."
    ),
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    subjects=(subjects.HEATMAP,),
    regions=usual_regions,
    counted=counted_cells,
)
