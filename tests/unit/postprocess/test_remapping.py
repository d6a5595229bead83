"""Points put where their reports were likeliest made: nearer on average, and by the prior alone."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.postprocess.remapping import remap
from dpgeo.privacy.perturbing import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_degrees
from dpgeo.spatial.zones import Zones
from tests.randomness import SeededWords

Floats = NDArray[np.float64]

AREA = StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1)
GRID = Grid.over(AREA, 64)
NOISE = PlanarLaplace(make_level("ln 4", 200).epsilon, 1, 2)
POINTS = 5000


def density(amounts: Floats) -> Density:
    row, column = np.divmod(np.arange(GRID.size), GRID.columns)
    bounds = GRID.box_bounds(np.column_stack([row, row + 1, column, column + 1]))
    names = tuple(map(str, range(GRID.size)))
    zones = Zones(keys=names, names=names, shapes=shapely.box(*bounds.T))
    return Density(zones=zones, amounts=amounts).within(AREA)


def reports(prior: Density) -> tuple[Floats, Floats]:
    """Reports made where a density says, evenly within its cells."""
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
    made = reports(prior)
    noisy = moved(*made)
    put = remap(*noisy, NOISE, prior, AREA)
    assert metres(put, made).mean() < 0.75 * metres(noisy, made).mean()


def test_hardly_any_cell_is_expected_nearer_than_where_a_point_is_put() -> None:
    """Against every cell's centre, for a few points, by the posterior itself on other cells."""
    prior = density(UNEVEN)
    east, north = (each[:20] for each in moved(*reports(prior)))
    put = remap(east, north, NOISE, prior, AREA)
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


def test_a_prior_that_knows_nothing_leaves_points_where_they_are() -> None:
    prior = density(np.ones(GRID.size))
    noisy = moved(*reports(prior))
    put = remap(*noisy, NOISE, prior, AREA)
    inner = AREA.shape.buffer(-0.02)
    far = shapely.contains_xy(inner, *noisy)
    # Cells of the prior hold one fine cell more or less of the posterior.
    assert metres(put, noisy)[far].max() < 30
    assert metres(put, noisy)[far].mean() < 10


def test_no_points_stay_no_points() -> None:
    put = remap(np.empty(0), np.empty(0), NOISE, density(UNEVEN), AREA)
    assert put[0].size == put[1].size == 0


@pytest.mark.parametrize("radius", [10, 5000])
def test_noise_of_any_size_is_within_reach(radius: int) -> None:
    noise = PlanarLaplace(make_level("ln 4", radius).epsilon, 1, max(1, radius // 100))
    lon, lat = reports(density(UNEVEN))
    put = remap(lon[:50], lat[:50], noise, density(UNEVEN), AREA)
    assert np.isfinite(put).all()
