"""Positions of 300 people with 30 records each, perturbed one by one, in a square of 16 km.

`moved_metres` is the mean distance from a true position to the published one, and `map_metres` the
earth mover's distance between the maps of all true and all published positions (64 x 64 cells, by
sliced projection). For systems marked "geo", which promise geo-indistinguishability, the guarantee
is ln 4 within 500 m, that is, epsilon = 0.00277 per metre and record. Only for the system "plain"
is the requested epsilon used; it is the epsilon of one record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.distributions import earth_movers
from benchmarks.generated import generated
from benchmarks.literature.comparisons.own import MAP_SEED
from benchmarks.literature.locations import (
    exponential,
    exponential_weights,
    k_anonymous,
    nearest_points,
    per_coordinate,
    planar,
)
from benchmarks.literature.trials import Line, Options, line
from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.postprocess.deconvolution import recover
from dpgeo.privacy.planar_laplace_sampler import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid, grid_step, input_step
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS, Truncation
from tests.randomness import SeededWords

Floats = NDArray[np.float64]

SIDE = 16_000.0
CELLS = 64
POINTS = 40
"""Number of points along each side of the output grid of planar noise and the exponential
mechanism.
"""

PEOPLE, RECORDS = 300, 30
LEVEL = make_level("ln 4", 500)
CROWDS = (10, 50)
DEGREES = math.degrees(1 / EARTH_RADIUS_METRES)
"""Degrees per metre. The square lies at the equator, where this is the same along both axes."""


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    x, y, persons = _positions()
    truth, step, epsilon = _map(x, y), SIDE / POINTS, float(LEVEL.epsilon)
    points = nearest_points(x, y, step, POINTS)
    weights = exponential_weights(step, POINTS, epsilon)

    def errors(east: Floats, north: Floats) -> Mapping[str, float]:
        return {
            "moved_metres": float(np.hypot(east - x, north - y).mean()),
            "map_metres": earth_movers(truth, _map(east, north), SIDE / CELLS),
        }

    def inside(moved: tuple[Floats, Floats]) -> Mapping[str, float]:
        return errors(np.clip(moved[0], 0, SIDE), np.clip(moved[1], 0, SIDE))

    def on_grid(drawn: NDArray[np.int64]) -> Mapping[str, float]:
        row, column = np.divmod(drawn, POINTS)
        return errors((column + 0.5) * step, (row + 0.5) * step)

    def crowded(crowd: int, random: Generator) -> Mapping[str, float]:
        return errors(*k_anonymous(x, y, persons, crowd))

    for crowd in CROWDS:
        yield line(
            f"k-anonymity, k = {crowd}",
            "LeFevre et al. 2006",
            partial(crowded, crowd),
            options,
            "none of this kind",
        )
    width = 2 * SIDE / options.budget
    yield line(
        "plain Laplace on coordinates",
        "Zhu et al. 2017",
        lambda r: inside(per_coordinate(x, y, (width, width), r)),
        options,
        "eps a record, in the whole square",
    )
    scale = math.sqrt(2) / epsilon
    yield line(
        "Laplace on coordinates",
        "Dewri 2012",
        lambda r: inside(per_coordinate(x, y, (scale, scale), r)),
        options,
        "geo",
    )
    yield line(
        "planar Laplace on a grid",
        "Andres et al. 2013",
        lambda r: on_grid(nearest_points(*planar(x, y, epsilon, r), step, POINTS)),
        options,
        "geo",
    )
    yield line(
        "exponential mechanism on a grid",
        "McSherry and Talwar 2007",
        lambda r: on_grid(exponential(points, weights, r)),
        options,
        "geo, from the grid's points",
    )
    own = _Own(x, y, truth)
    yield line("dpgeo, planar-laplace", "dpgeo", lambda r: errors(*own.moved(r)), options, "geo")
    yield line("dpgeo, the density recovered", "dpgeo", own.density, options, "geo")


class _Own:
    """dpgeo's own mechanism: planar Laplace noise, truncation to the square, and deconvolution."""

    def __init__(self, x: Floats, y: Floats, truth: Floats) -> None:
        self._x, self._y, self._truth = x, y, truth
        self._area = StudyArea.from_bounds(0.0, 0.0, SIDE * DEGREES, SIDE * DEGREES)
        radius = LEVEL.radius
        self._noise = PlanarLaplace(LEVEL.epsilon, 1, grid_step(radius), input_step(radius))

    def _published(self, random: Generator) -> tuple[Floats, Floats]:
        words = SeededWords(int(random.integers(1 << 32)))
        moved = move(self._x * DEGREES, self._y * DEGREES, self._noise, words)
        ground = GroundGrid(self._noise.step)
        lon, lat = (each / UNITS for each in Truncation(self._area, ground).apply(*moved))
        return lon, lat

    def moved(self, random: Generator) -> tuple[Floats, Floats]:
        """Return the published positions (n,) in metres."""
        lon, lat = self._published(random)
        return lon / DEGREES, lat / DEGREES

    def density(self, random: Generator) -> Mapping[str, float]:
        """Return `map_metres` of the map recovered from published positions by deconvolution."""
        grid = Grid.over(self._area, CELLS)
        recovered = recover(*self._published(random), self._noise, grid, self._area).density
        # Rows of the grid are in order from north to south, rows of the map from south to north.
        return {"map_metres": earth_movers(self._truth, recovered[::-1], SIDE / CELLS)}


def _positions() -> tuple[Floats, Floats, NDArray[np.int64]]:
    random = np.random.default_rng(MAP_SEED)
    chances = generated("city", CELLS, MAP_SEED).ravel()
    cells = random.choice(chances.size, PEOPLE * RECORDS, p=chances)
    rows, columns = np.divmod(cells, CELLS)
    x, y = (
        (each + random.random(each.size)) * SIDE / CELLS
        for each in (columns.astype(np.float64), rows.astype(np.float64))
    )
    return x, y, np.repeat(np.arange(PEOPLE), RECORDS)


def _map(x: Floats, y: Floats) -> Floats:
    points = nearest_points(x, y, SIDE / CELLS, CELLS)
    return np.bincount(points, minlength=CELLS**2).reshape(CELLS, CELLS).astype(np.float64)
