"""Optimal remapping, which on average brings perturbed points closer to the true positions."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.postprocess.remapping import Remapping
from dpgeo.privacy.planar_laplace_sampler import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_degrees
from dpgeo.spatial.zones import Zones
from tests.randomness import SeededWords

Floats = NDArray[np.float64]

AREA = StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1)
GRID = Grid.over(AREA, 64)
NOISE = PlanarLaplace(make_level("ln 4", 200).epsilon, 1, 2, 1000)
POINTS = 5000


def density(amounts: Floats) -> Density:
    row, column = np.divmod(np.arange(GRID.size), GRID.columns)
    bounds = GRID.box_bounds(np.column_stack([row, row + 1, column, column + 1]))
    names = tuple(map(str, range(GRID.size)))
    zones = Zones(keys=names, names=names, shapes=shapely.box(*bounds.T))
    return Density(zones=zones, amounts=amounts).within(AREA)


def reports(prior: Density) -> tuple[Floats, Floats]:
    """Return report positions, drawn from a density that is uniform within each of its cells."""
    generator = np.random.default_rng(1)
    laid = prior.on(GRID).ravel()
    row, column = np.divmod(generator.choice(GRID.size, POINTS, p=laid / laid.sum()), GRID.columns)
    lon, lat = to_degrees(
        GRID.west + (column + generator.random(POINTS)) * GRID.cell,
        GRID.north - (row + generator.random(POINTS)) * GRID.cell,
    )
    return np.clip(lon, 10.0, 10.2), np.clip(lat, 50.0, 50.1)


def moved(lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
    east, north = move(lon, lat, NOISE, SeededWords(1))
    return np.clip(east, 10.0, 10.2), np.clip(north, 50.0, 50.1)


def metres(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    across = np.radians(first[0] - second[0]) * np.cos(np.radians(first[1]))
    apart = np.hypot(across, np.radians(first[1] - second[1]))
    return np.asarray(EARTH_RADIUS_METRES * apart, dtype=np.float64)


UNEVEN = np.random.default_rng(2).exponential(size=GRID.size) ** 5


def test_remapped_points_have_nearly_the_least_expected_distance() -> None:
    """A point is moved to where the expected distance to the true place is nearly smallest.

    For 20 points, that distance is compared with the smallest one among the centres of a fine grid.
    """
    prior = density(UNEVEN)
    east, north = (each[:20] for each in moved(*reports(prior)))
    put = Remapping(NOISE, prior, AREA).apply(east, north)
    fine = Grid.over(AREA, 256)
    row, column = np.divmod(np.arange(fine.size), fine.columns)
    centres = to_degrees(
        fine.west + (column + 0.5) * fine.cell, fine.north - (row + 0.5) * fine.cell
    )
    inside = AREA.covers(*centres)
    centres = centres[0][inside], centres[1][inside]
    laid = prior.on(fine).ravel()[inside]
    ours, best = np.empty(20), np.empty(20)
    for place in range(20):
        at = east[place : place + 1], north[place : place + 1]
        near = metres(centres, at) < 1200
        cells = centres[0][near], centres[1][near]
        weight = laid[near] * np.exp(-NOISE.rate * metres(cells, at))
        weight /= weight.sum()
        ours[place] = weight @ metres(cells, (put[0][place : place + 1], put[1][place : place + 1]))
        best[place] = min(weight @ metres(cells, each) for each in zip(*cells, strict=True))
    assert (ours < 1.1 * best).all()
    assert ours.sum() < 1.02 * best.sum()


def test_an_even_prior_leaves_points_unchanged() -> None:
    prior = density(np.ones(GRID.size))
    noisy = moved(*reports(prior))
    put = Remapping(NOISE, prior, AREA).apply(*noisy)
    inner = AREA.shape.buffer(-0.02)
    far = shapely.contains_xy(inner, *noisy)
    # Small differences are allowed: the fine grid does not have equally many cells in each of the
    # prior's cells.
    assert metres(put, noisy)[far].max() < 30
    assert metres(put, noisy)[far].mean() < 10
