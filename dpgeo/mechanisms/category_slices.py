"""Category slices: one noisy count for every cell and every value of a declared category.

Idea. Divide the map into equal squares, and records by the values of a declared category such as
the mode of transport, and by local time, too, if that is wanted. Count the records in each square
for each slice.

Privacy argument. The list of a category's values is declared and public, and every other value is
in the slice "other"; parts of the week are public. So pairs of a cell and a slice are public and
disjoint. The slice of a record depends on its own value and time alone, and a record without a time
is in no slice of time. A privacy unit adds at most l in total to the counts of all slices together
(bounded by the view), so the L1 sensitivity of the whole array is l, and one `measure` with epsilon
is epsilon-differentially private. Since the slices are disjoint, they do not spend like repeated
releases: more slices cost no more. Cells outside the study area are empty by the public declaration
of the area; setting them to 0 is post-processing.

Under zCDP. If distinct people are counted, a privacy unit changes at most l counts of all slices
together, each by at most 1, so the squares of the changes add up to at most l. Discrete Gaussian
noise with s = l/(2 rho) is therefore rho-zCDP (`privacy.meter`). If visits are counted,
all l may be in one cell of one slice, and the squared sensitivity is l^2.

Utility. Every cell of every slice carries noise of scale about l/epsilon, as in an undivided map.
But the people of a cell are divided among its slices, so use coarser cells than for a single map.
The contribution bound applies to all slices together, so people who are in many places, or with
many values, lose more of their contributions. If people are counted, a person who is in a cell with
two values is counted in both.

References. Dwork, McSherry, Nissim and Smith 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.categories import find_category
from dpgeo.core.domain import Domain
from dpgeo.core.parameters import param
from dpgeo.core.released import SlicesRelease
from dpgeo.core.slices import SlicedGrid, Slicing, slices_param, slicing
from dpgeo.core.spend import Spend
from dpgeo.phrases import Phrase
from dpgeo.privacy.bounding import usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

LABEL = "cell counts of all slices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of category slices."""

    cells: int = param(
        32,
        "Cells along each side, of each slice.",
        low=1,
        high=512,
        beyond="For finer cells choose auto, which counts all values together.",
    )
    category: str = param(
        "",
        "The declared category by whose values the map is divided; empty for the first.",
        category=True,
    )
    slices: str = slices_param(optional=True)


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
        values=names.values,
        times=names.times,
        category=names.category,
    )


def counted(params: Params, domain: Domain) -> SlicedGrid:
    """Return the grid cells and the slices by category and time in which the mechanism counts.

    Raises InvalidInput if the data cannot be divided in this way.
    """
    category = find_category(domain.categories, params.category)
    slices = slicing(params.slices, category, domain.time_zone) or Slicing(category=category)
    return SlicedGrid(Grid.over(domain.area, params.cells), slices)


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a cell's count.

    Raises InvalidInput for data without the category or the times, or for too many slices.
    """
    sliced = counted(params, domain)
    grid, names = sliced.grid, sliced.slices.names
    return Forecast(
        region="cell",
        regions=len(names) * int(np.count_nonzero(grid.inside(domain.area))),
        noise=law.counts(epsilon, bound),
        ground_metres=grid.ground_cell_metres,
        facts=(
            Phrase(
                "There are {count} maps, by {category}. The bound on what one person adds holds "
                "for all of them together.",
                count=len(names),
                category=names.category,
            ),
        ),
    )


MECHANISM = Mechanism(
    key="category-slices",
    title="Heatmap by category",
    summary="A map for each value of a declared category, such as the mode of transport, with a "
    "switch between them.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    subjects=(subjects.CATEGORIES,),
    by_time=True,
    regions=usual_regions,
    counted=counted,
)
