"""Contours: lines and bands of equal density, computed from noisy counts of cells.

Idea. Count people in equal squares with the whole epsilon, compute a density surface from the noisy
counts, and draw its contour lines. The lines tell a planner how many people to expect around any
place.

Privacy argument. The squares are public and disjoint. A privacy unit adds at most l in total to the
counts (bounded by the view), so the vector's L1 sensitivity is l, and one `measure` with epsilon is
epsilon-differentially private. The surface and the lines are computed from the noisy counts and
public parameters alone. If `levels` is "noise", the first line follows from a quantile of the
noise's public distribution, never from the counts. Cells outside the study area are empty by its
public declaration.

Under zCDP. If distinct people are counted, a privacy unit changes at most l counts, each by at most
1, so the squares of the changes add up to at most l. Discrete Gaussian noise with s = l/(2 rho) is
therefore rho-zCDP (`privacy.meter`). If visits are counted, all l may be in one cell, and
the squared sensitivity is l^2.

Utility. Squares carry noise of scale about l/epsilon. With `inferred` smoothing, a cell is shrunk
towards the value expected from its surroundings, which has the smallest error where people are few;
`blurred` takes a fixed weighted mean of nine cells; `none` keeps the noise. If `levels` is "noise",
the first line is at the value that noise alone reaches in at most one empty cell in a thousand, so
the area inside it is almost certainly not empty.

References. Xiong, Zhang and Zhu 2017, as described in Zhu, Li, Zhou and Yu, Differential Privacy
and Applications, section 13.3.2. Their method adds real-valued noise without bounding a person's
records, joins cells of the same noisy count by hand, and does not treat negative counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.kinds import CONTOURS
from dpgeo.core.parameters import param
from dpgeo.core.released import ContourRelease
from dpgeo.core.spend import Spend
from dpgeo.postprocess.contours import Smoothing, Spacing, line_values, make_surface
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

LABEL = "cell counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of contours."""

    cells: int = param(
        64,
        "Cells along each side.",
        low=2,
        high=512,
        beyond="For finer cells choose a heatmap: auto, or sparse-grid beyond 2048.",
    )
    smoothing: str = param(
        Smoothing.INFERRED.value,
        "How the surface follows from the noisy cells: inferred from each cell and its "
        "surroundings, blurred over nine cells, or none.",
        choices=[smoothing.value for smoothing in Smoothing],
    )
    levels: str = param(
        Spacing.NOISE.value,
        "At which densities lines run: noise starts at what at most one empty cell in a "
        "thousand reaches, and doubles; doubling and equal start at the declared first line.",
        choices=[spacing.value for spacing in Spacing],
    )
    first: int = param(
        50,
        "The first declared line, in people per square kilometre; ignored if the levels follow "
        "the noise.",
        low=1,
        high=1_000_000,
    )
    lines: int = param(7, "The most lines to draw.", low=1, high=30)


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare one measurement, of the cells' counts, with the whole epsilon."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> ContourRelease:
    """Measure every cell once, and choose contour lines on the resulting surface."""
    grid = Grid.over(view.domain.area, params.cells)
    cells = view.histogram(grid)
    noise = meter.noise(LABEL, cells)
    inside = grid.inside(view.domain.area)
    counts = np.where(inside, meter.measure(LABEL, cells), 0)
    surface = make_surface(counts, noise, inside, Smoothing(params.smoothing))
    spacing = Spacing(params.levels)
    return ContourRelease(
        grid=grid,
        counts=counts,
        noise=noise,
        surface=surface,
        lines=line_values(surface, noise, grid, spacing, params.first, params.lines),
    )


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a cell's count, measured with the whole epsilon."""
    noise = law.counts(epsilon, bound)
    return forecast_cells(domain, params.cells, noise, region="cell", alike=True)


MECHANISM = Mechanism(
    key="contours",
    title="Contours",
    summary="Lines of equal density on equal squares, from which tasks can be planned.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=CONTOURS,
    subjects=(subjects.DENSITY,),
    regions=usual_regions,
    counted=counted_cells,
)
