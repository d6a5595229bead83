"""Sparse grid: very fine cells, listed if their noisy counts reach a threshold.

Idea. Nearly all cells of a grid with a billion cells are empty, and drawing noise for each of them
is neither possible nor useful. List the cells whose noisy counts reach a threshold T that few empty
cells reach. Of the empty cells, draw only those that reach it.

Privacy argument. The cells are public and disjoint, and a privacy unit adds at most l in total to
their counts (bounded by the view): the vector of all counts, zeros included, has L1 sensitivity l.
Adding discrete Laplace noise of rate epsilon/l to every one of them is epsilon-differentially
private, and keeping those that reach the public threshold T is post-processing. `measure_sparse`
draws exactly that distribution (`privacy.sparse_threshold`). Its time and memory grow with the
number of cells that are occupied or listed. Cells outside the study area are empty by its public
declaration and left out. The expected number of empty cells that are listed is known beforehand; if
it is too large, the request is refused before any epsilon is spent.

Under zCDP. The squared sensitivity of the vector of all counts is l if distinct people are counted,
and l^2 if visits are. `Meter.measure_sparse` draws exactly the cells that would reach T if
all got discrete Gaussian noise (`privacy.gaussian_threshold`). With n cells and the parameter eta,
T is the smallest number that an empty cell reaches with a probability of at most n^(-eta) / 2, so
as many empty cells are expected to be listed as with Laplace noise.

Utility. T = max(1, ceil(eta l ln(n)/epsilon)) for n cells. With eta = 1, fewer than one empty cell
in the whole grid is expected to be listed. A cell whose count is clearly above T is almost surely
listed. A cell that is not listed tells only that its noisy count is below T. Sums over regions miss
sparsely populated cells.

References. Cormode, Procopiuc, Srivastava and Tran 2012 (arXiv 1103.0825); the threshold is the one
of that paper for noisy histograms, with the contribution bound l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import CountNoise
from dpgeo.core.parameters import param
from dpgeo.core.released import SparseRelease
from dpgeo.core.spend import Spend
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, single_sample
from dpgeo.privacy.meter import MAX_PASSING, Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

LABEL = "cell counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of the sparse grid."""

    cells: int = param(4096, "Cells along each side.", low=1, high=32768)
    strictness: int = param(
        100,
        "How strict the threshold is, in percent: at 100 less than one empty cell of the whole "
        "grid is expected to be listed, at 50 about the square root of their number.",
        low=10,
        high=400,
    )
    threshold: int = param(
        0,
        "List cells from this noisy count on; 0 chooses it by the strictness.",
        low=0,
        high=1_000_000_000,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare one measurement, of the cells' counts, with the whole epsilon."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> SparseRelease:
    """Measure every cell once, and list those whose noisy counts reach the threshold."""
    grid = Grid.over(view.domain.area, params.cells)
    inside = grid.inside_runs(view.domain.area)
    cells = view.sparse_histogram(grid).within(inside)
    noise = meter.noise(LABEL, cells)
    threshold = keep_threshold(params, noise, grid.most_inside(view.domain.area))
    ranks, counts = meter.measure_sparse(LABEL, cells, threshold)
    return SparseRelease(
        grid=grid,
        cells=inside.numbers(ranks),
        counts=counts,
        threshold=threshold,
        noise=noise,
    )


def keep_threshold(params: Params, noise: CountNoise, cells: int) -> int:
    """Return the threshold T that a noisy count must reach to be listed.

    Raises InvalidInput if too many empty cells would be listed.

    T depends on public facts alone. `cells` is the number of cells that intersect the bounds of the
    study area.
    """
    threshold = params.threshold or noise.list_threshold(cells, params.strictness)
    expected = cells * noise.above(threshold)
    if expected > MAX_PASSING:
        raise InvalidInput(
            "About {expected:,.0f} empty cells would be listed, and {most:,} fit in memory. "
            "Raise epsilon, the threshold or the strictness, or choose fewer cells.",
            expected=expected,
            most=MAX_PASSING,
            field="threshold" if params.threshold else "strictness",
        )
    return threshold


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a cell's count, measured with the whole epsilon.

    Raises InvalidInput if too many empty cells would be listed.
    """
    grid = Grid.over(domain.area, params.cells)
    noise = law.counts(epsilon, bound)
    keep_threshold(params, noise, grid.most_inside(domain.area))
    return Forecast(
        region="cell",
        regions=grid.most_inside(domain.area),
        noise=noise,
        ground_metres=grid.ground_cell_metres,
    )


MECHANISM = Mechanism(
    key="sparse-grid",
    title="Sparse grid",
    summary="Very fine cells, of which only the crowded ones are listed: a country at 50 m.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    regions=usual_regions,
    counted=counted_cells,
    serial=single_sample,
)
