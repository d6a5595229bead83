"""Visits to 4,096 places by people with very different numbers of visits.

LPA (noise on every count), DFT (noise on Fourier coefficients) and GS (grouping and smoothing)
count all visits, so their noise depends on the largest number of visits of any
person. The three use that number without noise although it is private, so their errors are too
favourable. dpgeo keeps BOUND visits of each person: at random (SRA) or those to popular places
(HPA). `rmse` is the root mean square error of a place's count against all its visits, `kl` the
divergence in nats, and `precision` the share of the 50 busiest places that is found. If a file is
given, it is Parquet with columns user, lon and lat. Places are cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks import bounding
from benchmarks.evaluation.arrays import AREA
from benchmarks.evaluation.distributions import divergence, precision_at
from benchmarks.generated import generated
from benchmarks.literature.comparisons.own import MAP_SEED
from benchmarks.literature.contributions import fourier, grouped, laplace
from benchmarks.literature.trials import Line, Options, line
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees
from tests.views import ArrayView

Floats = NDArray[np.float64]

CELLS = 64
PEOPLE = 1_000
KEPT, GROUP = 20, 64
"""Number of Fourier coefficients that DFT keeps, and of places in a group of GS (grouping and
smoothing).
"""

BOUND = 10


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    view = _generated() if options.file is None else bounding.read(options.file, Counting.VISITS)
    grid = Grid.over(view.area, CELLS)
    truth = bounding.true_counts(view, grid)
    counts, epsilon = truth.ravel().astype(np.float64), options.budget
    visits = int(np.unique(np.asarray(view.persons), return_counts=True)[1].max())

    def errors(estimate: Floats) -> Mapping[str, float]:
        return {
            "rmse": float(np.sqrt(np.mean((estimate - counts) ** 2))),
            "kl": divergence(counts, estimate),
            "precision": precision_at(counts, estimate, bounding.TOP),
        }

    def similar(random: Generator) -> Mapping[str, float]:
        once = dataclasses.replace(view, bound=1, salt=int(random.integers(1, 1 << 31)))
        sample = bounding.true_counts(once, grid).ravel().astype(np.float64)
        return errors(grouped(counts, sample, visits, epsilon, random, size=GROUP))

    def own(way: Bounding, random: Generator) -> Mapping[str, float]:
        number = int(random.integers(1 << 31))
        return bounding.trial(view, truth, CELLS, str(epsilon), way, BOUND, number)

    yield line(
        "LPA",
        "Dwork et al. 2006",
        lambda r: errors(laplace(counts, visits, epsilon, r)),
        options,
        "eps, if told the most visits",
    )
    yield line(
        "DFT",
        "Rastogi and Nath 2010",
        lambda r: errors(fourier(counts, visits, epsilon, r, kept=KEPT)),
        options,
        "eps, if told the most visits",
    )
    yield line(
        "GS",
        "Kellaris and Papadopoulos 2013",
        similar,
        options,
        "eps, if told the most visits",
    )
    for name, way in (("SRA", Bounding.RANDOM), ("HPA", Bounding.POPULAR)):
        yield line(f"dpgeo, {way} ({name})", "Fan and Jin 2015", partial(own, way), options)


def _generated() -> ArrayView:
    """Return visits of people to cells of a generated city, with heavy-tailed numbers of visits."""
    random = np.random.default_rng(MAP_SEED)
    grid = Grid.over(AREA, CELLS)
    chances = generated("city", CELLS, MAP_SEED).ravel()
    visits = np.minimum(random.pareto(1.0, PEOPLE) * 20 + 1, 2_000).astype(np.int64)
    persons = np.repeat(np.arange(PEOPLE), visits)
    cells = random.choice(chances.size, persons.size, p=chances)
    rows, columns = np.divmod(cells, CELLS)
    lon, lat = to_degrees(
        grid.west + (columns + 0.5) * grid.cell, grid.north - (rows + 0.5) * grid.cell
    )
    return ArrayView(
        area=AREA,
        longitude=lon,
        latitude=lat,
        persons=persons,
        counting=Counting.VISITS,
        bound=bounding.EVERYTHING,
    )
