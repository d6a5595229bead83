"""Uniform grid: one noisy count for every cell.

Idea. Divide the map into equal squares and count the records in each.

Privacy argument. The cells are public and disjoint. A privacy unit adds at most l in total to the
counts (bounded by the view), so the vector's L1 sensitivity is l, and one `measure` with epsilon is
epsilon-differentially private. Cells outside the study area are empty by the public declaration of
the area; setting them to 0 is post-processing.

Under zCDP. If distinct people are counted, a privacy unit changes at most l counts, each by at most
1, so the squares of the changes add up to at most l. Discrete Gaussian noise with s = l/(2 rho) is
therefore rho-zCDP (`privacy.meter`). If visits are counted, all l may be in one cell, and
the squared sensitivity is l^2.

Utility. Every cell carries noise of scale about l/epsilon, whatever its count; the noise of a
region of m cells has a standard deviation sqrt(m) times as large. If most cells are empty, a second
layer of the release can show counts below a threshold T as 0: T = max(1, ceil(eta l ln(n)/epsilon))
for n cells and a strictness of 100 eta percent.

References. Dwork, McSherry, Nissim and Smith 2006; Xiao, Xiong, Fan and Goryczka (DPCube),
algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.parameters import param
from dpgeo.core.released import GridRelease
from dpgeo.core.spend import Spend
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells, single_sample
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

LABEL = "cell counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of the uniform grid."""

    cells: int = param(
        64,
        "Cells along each side.",
        low=1,
        high=4096,
        beyond="For finer cells choose sparse-grid.",
    )
    strictness: int = param(
        0,
        "Also give the counts with those below a threshold set to 0. At 100 percent less than "
        "one empty cell of the whole grid is expected to reach the threshold; at 0 there is no "
        "threshold.",
        low=0,
        high=400,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare one measurement, of the cells' counts, with the whole epsilon."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> GridRelease:
    """Measure every cell once."""
    grid = Grid.over(view.domain.area, params.cells)
    cells = view.histogram(grid)
    noise = meter.noise(LABEL, cells)
    counts = meter.measure(LABEL, cells)
    inside = grid.inside(view.domain.area)
    threshold = noise.list_threshold(int(np.count_nonzero(inside)), params.strictness)
    return GridRelease(
        grid=grid,
        counts=np.where(inside, counts, 0),
        noise=noise,
        threshold=threshold if params.strictness else 0,
    )


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a cell's count, measured with the whole epsilon."""
    noise = law.counts(epsilon, bound)
    return forecast_cells(domain, params.cells, noise, region="cell", alike=True)


MECHANISM = Mechanism(
    key="uniform-grid",
    title="Uniform grid",
    summary="Equal squares, each with its own noise. Simple, and best where counts are large.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    subjects=(subjects.HEATMAP,),
    regions=usual_regions,
    counted=counted_cells,
    serial=single_sample,
)
