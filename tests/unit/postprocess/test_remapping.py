"""Optimal remapping, which on average brings perturbed points closer to the true positions."""

from __future__ import annotations

import numpy as np
import pytest
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


def test_a_good_prior_brings_points_nearer_to_their_reports() -> None:
    prior = density(UNEVEN)
    remapped = reports(prior)
    noisy = moved(*remapped)
    put = Remapping(NOISE, prior, AREA).apply(*noisy)
    assert metres(put, remapped).mean() < 0.75 * metres(noisy, remapped).mean()


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


def test_an_empty_set_of_points_is_accepted() -> None:
    put = Remapping(NOISE, density(UNEVEN), AREA).apply(np.empty(0), np.empty(0))
    assert put[0].size == put[1].size == 0


@pytest.mark.parametrize("radius", [10, 5000])
def test_noise_of_any_scale_is_accepted(radius: int) -> None:
    step = max(1, radius // 100)
    noise = PlanarLaplace(make_level("ln 4", radius).epsilon, 1, step, 1000 * step)
    lon, lat = reports(density(UNEVEN))
    put = Remapping(noise, density(UNEVEN), AREA).apply(lon[:50], lat[:50])
    assert np.isfinite(put).all()


SQUARE = [[0, 40], [10, 40], [10, 50], [0, 50], [0, 40]]


@pytest.mark.parametrize("level", ["ln 4", "10"])
@pytest.mark.parametrize("ring", [SQUARE, [*SQUARE[:2], *SQUARE[3:]]])
def test_noise_finer_than_the_cells_leaves_points_unchanged(
    level: str, ring: list[list[float]]
) -> None:
    """If noise is finer than the prior's cells, points are left unchanged.

    The area is a square or a triangle of 1,000 km, with noise of a few metres.
    """
    shape = {"type": "Polygon", "coordinates": [ring]}
    area = StudyArea.from_geojson(shape)
    zones = Zones(keys=("a",), names=("a",), shapes=np.array([shapely.geometry.shape(shape)]))
    prior = Density(zones=zones, amounts=np.ones(1)).within(area)
    noise = PlanarLaplace(make_level(level, 10).epsilon, 1, 1, 1000)
    lon, lat = np.random.default_rng(3).uniform(0, 10, (2, 3000))
    lon, lat = lon[lon + lat < 10], lat[lon + lat < 10] + 40
    put = Remapping(noise, prior, area).apply(lon, lat)
    assert np.array_equal(put[0], lon)
    assert np.array_equal(put[1], lat)


def test_an_even_prior_moves_points_at_an_edge_less_than_the_noise() -> None:
    """With a uniform prior, points at an edge are moved by less than the noise.

    The cells have the largest allowed width: 28 m, twice the scale of this noise.
    """
    noise = PlanarLaplace(make_level("ln 4", 20).epsilon, 1, 1, 1000)
    prior = density(np.ones(GRID.size))
    side = np.random.default_rng(4).uniform(10.0, 10.2, 500)
    edge = np.full(500, 50.0)
    put = Remapping(noise, prior, AREA).apply(side, edge)
    apart = metres(put, (side, edge))
    assert 0 < apart.max() < noise.radius(0.75)
