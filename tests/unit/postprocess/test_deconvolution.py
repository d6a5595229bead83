from __future__ import annotations

import numpy as np
import pytest
import shapely

from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.postprocess.deconvolution import Channel, recover, update
from dpgeo.privacy.planar_laplace_sampler import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.projection import to_mercator
from dpgeo.spatial.truncation import UNITS, Truncation
from tests.randomness import SeededWords

AREA = StudyArea(
    shapely.Polygon(
        [(10, 50), (10.1, 50), (10.1, 50.06), (10, 50.06)],
        [[(10.04, 50.02), (10.06, 50.02), (10.06, 50.04), (10.04, 50.04)]],
    )
)
NOISE = PlanarLaplace(make_level("ln 4", 200).epsilon, 1, 2, 1000)
GRID = Grid.over(AREA, 32)


def published(lon: np.ndarray, lat: np.ndarray, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    moved = move(lon, lat, NOISE, SeededWords(seed))
    east, north = Truncation(AREA, GroundGrid(NOISE.step)).apply(*moved)
    return east / UNITS, north / UNITS


def histogram(grid: Grid, lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    cells = grid.locate(*to_mercator(lon, lat))
    return np.bincount(cells, minlength=grid.size).reshape(grid.shape)


@pytest.mark.parametrize(("lon", "lat"), [(10.02, 50.03), (10.0005, 50.0005), (10.0385, 50.03)])
def test_the_kernel_matches_the_sampler_also_at_edges_and_holes(lon: float, lat: float) -> None:
    channel = Channel(GRID, AREA, NOISE)
    size = 200_000
    cell = int(channel.fine.locate(*to_mercator(lon, lat))[()])
    row, column = divmod(cell, channel.fine.columns)
    west, south, east, north = channel.fine.box_bounds(
        np.array([[row, row + 1, column, column + 1]], dtype=np.int32)
    )[0]
    generator = np.random.default_rng(2)
    drawn = histogram(
        channel.fine,
        *published(generator.uniform(west, east, size), generator.uniform(south, north, size)),
    )
    start = np.zeros(channel.fine.shape)
    start[row, column] = 1.0
    expected = channel.forward(start) * size
    assert expected.sum() == pytest.approx(size, rel=1e-9)
    # Besides chance, differences by cell may add up to 0.06 of the points, because of cells at the
    # area's edge and because the kernel of the noise is truncated.
    assert np.abs(drawn - expected).sum() / size < 0.06 + np.sqrt(expected).sum() / size


def test_backward_is_the_transpose_of_forward() -> None:
    channel = Channel(GRID, AREA, NOISE)
    generator = np.random.default_rng(1)
    p, r = generator.random(channel.fine.shape), generator.random(channel.fine.shape)
    assert (channel.forward(p) * r).sum() == pytest.approx((p * channel.backward(r)).sum())


def test_an_update_never_lowers_the_likelihood_or_leaves_the_area() -> None:
    generator = np.random.default_rng(3)
    lon, lat = generator.normal(10.02, 0.004, 5_000), generator.normal(50.03, 0.003, 5_000)
    channel = Channel(GRID, AREA, NOISE)
    observed = histogram(channel.fine, *published(lon, lat)).astype(float)
    density = channel.inside / channel.inside.sum()
    last = -np.inf
    for _ in range(5):
        density = update(channel, density, observed)
        expected = channel.forward(density)
        likelihood = (observed * np.log(np.maximum(expected, 1e-300))).sum()
        assert likelihood >= last - 1e-6
        last = likelihood
    assert density.sum() == pytest.approx(1)
    assert not density[~channel.inside].any()


def test_the_recovered_density_is_nearer_to_the_truth_than_the_points() -> None:
    generator = np.random.default_rng(4)
    centres = generator.uniform((10.005, 50.005), (10.035, 50.055), (12, 2))
    lon, lat = (
        centres[generator.integers(0, 12, 30_000)] + generator.normal(0, 3e-4, (30_000, 2))
    ).T
    truth = histogram(GRID, lon, lat)
    raw = published(lon, lat)
    recovered = recover(*raw, NOISE, GRID, AREA)
    assert recovered.density.sum() == pytest.approx(30_000)
    error = np.abs(recovered.density - truth).sum()
    assert error < 0.5 * np.abs(histogram(GRID, *raw) - truth).sum()
