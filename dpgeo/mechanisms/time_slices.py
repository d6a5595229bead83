"""Time slices: one noisy count for every cell in every slice of the local week.

Idea. Divide the map into equal squares and local time into public slices, such as parts of the day.
Count the records in each square for each slice.

Privacy argument. Pairs of a cell and a slice are public and disjoint. The slice of a record depends
on its own time alone, and a record without a time is in no slice. A privacy unit adds at most l in
total to the counts of all slices together (bounded by the view), so the L1 sensitivity of the whole
array is l, and one `measure` with epsilon is epsilon-differentially private. Since the slices are
disjoint, they do not spend like repeated releases: more slices cost no more. Cells outside the
study area are empty by the public declaration of the area; setting them to 0 is post-processing.

Under zCDP. If distinct people are counted, a privacy unit changes at most l counts of all slices
together, each by at most 1, so the squares of the changes add up to at most l. Discrete Gaussian
noise with s = l/(2 rho) is therefore rho-zCDP (`privacy.meter`). If visits are counted,
all l may be in one cell of one slice, and the squared sensitivity is l^2.

Utility. Every cell of every slice carries noise of scale about l/epsilon, as in a map of all times.
But the people of a cell are divided among its slices, so use coarser cells than for a single map.
The contribution bound applies to all slices together, so people who are in many places or at many
times lose more of their contributions. If people are counted, a person who is in a cell during two
slices is counted in both.

References. Dwork, McSherry, Nissim and Smith 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.parameters import param
from dpgeo.core.released import SlicesRelease
from dpgeo.core.slices import SlicedGrid, slices_param
from dpgeo.core.spend import Spend
from dpgeo.mechanisms.sliced_survey import cells_by_time, slices_fact
from dpgeo.privacy.bounding import usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView

LABEL = "cell counts of all slices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of time slices."""

    cells: int = param(
        32,
        "Cells along each side, of each slice.",
        low=1,
        high=512,
        beyond="For finer cells choose auto, which counts all times together.",
    )
    slices: str = slices_param()


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare the whole epsilon for all slices together."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> SlicesRelease:
    """Measure every cell of every slice once."""
    sliced = counted(params, view.domain)
    grid, names = sliced.grid, sliced.slices.names
    cells = view.sliced_histogram(sliced)
    noise = meter.noise(LABEL, cells)
    counts = meter.measure(LABEL, cells)
    return SlicesRelease(
        grid=grid,
        keys=names.keys,
        titles=names.titles,
        time_zone=names.time_zone,
        counts=np.where(grid.inside(view.domain.area), counts, 0),
        noise=noise,
    )


def counted(params: Params, domain: Domain) -> SlicedGrid:
    """Return the cells of all slices. Raises InvalidInput for data without times."""
    return cells_by_time(domain, params.cells, params.slices)


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a cell's count. Raises InvalidInput for data without times."""
    sliced = counted(params, domain)
    grid = sliced.grid
    return Forecast(
        region="cell",
        regions=len(sliced.slices) * int(np.count_nonzero(grid.inside(domain.area))),
        noise=law.counts(epsilon, bound),
        ground_metres=grid.ground_cell_metres,
        facts=(slices_fact(sliced.slices),),
        alike=True,
    )


MECHANISM = Mechanism(
    key="time-slices",
    title="Heatmap by time",
    summary="A map for each part of the day or day of the week, with a slider to go through them.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    subjects=(subjects.TIMES,),
    by_time=True,
    regions=usual_regions,
    counted=counted,
)
