from __future__ import annotations

import numpy as np
import pytest
import shapely

from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.postprocess.deconvolution import LEAST_SHARE, Channel, Smoothing, recover, update
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


def test_deconvolution_of_no_point_and_of_one_point_works() -> None:
    assert not recover(np.empty(0), np.empty(0), NOISE, GRID, AREA).density.any()
    one = recover(np.array([10.02]), np.array([50.03]), NOISE, GRID, AREA)
    assert one.density.sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cells_have_no_share_that_a_legend_cannot_state(seed: int) -> None:
    # All twenty reports are from one place. Expectation maximisation alone would leave other cells
    # shares below 1e-30; such shares have to become 0.
    points = published(np.full(20, 10.02), np.full(20, 50.03), seed)
    density = recover(*points, NOISE, Grid.over(AREA, 16), AREA).density
    assert density.sum() == pytest.approx(20)
    assert density[density > 0].min() >= 20 * LEAST_SHARE


def test_a_true_prior_is_kept_where_points_add_nothing() -> None:
    prior = np.zeros(GRID.shape)
    prior[16, 8] = 1.0
    lon, lat = published(np.full(50, 10.02), np.full(50, 50.03))
    with_prior = recover(lon, lat, NOISE, GRID, AREA, prior=prior)
    without = recover(lon, lat, NOISE, GRID, AREA)
    assert with_prior.density[16, 8] > without.density[16, 8]


def test_smoothing_goes_from_the_points_to_the_base() -> None:
    random = np.random.default_rng(2)
    density, base = (random.gamma(1.0, size=(12, 12)) for _ in range(2))
    base[0] = density[0] = 0
    density, base = density / density.sum(), base / base.sum()
    weak, strong = (Smoothing(base, strength) for strength in (1e-9, 1e12))
    np.testing.assert_allclose(weak.apply(density, 100, 0), density, atol=1e-8)
    smoothed = strong.apply(density, 100, 3)
    assert smoothed.sum() == pytest.approx(1)
    assert not smoothed[0].any()
    # Strong smoothing keeps the sum of every square of its coarsest grid, but divides it among the
    # square's cells almost in proportion to `base`.
    assert np.abs(smoothed - base).sum() < np.abs(density - base).sum() / 2


def test_smoothing_spreads_a_point_over_its_neighbours() -> None:
    base = np.full((16, 16), 1 / 256)
    density = np.zeros((16, 16))
    density[8, 8] = 1
    few, many = (Smoothing(base, 1.0).apply(density, points, 1) for points in (1, 1000))
    assert 1 / 256 < few[8, 8] < 0.5 < 0.9 < many[8, 8] < 1


def test_a_wrong_prior_is_not_used() -> None:
    random = np.random.default_rng(4)
    lon, lat = 10.02 + 0.002 * random.standard_normal((2, 3000)) * [[1], [0.5]]
    lat = lat + 40.01
    east, north = published(lon, lat)
    prior = np.zeros(GRID.shape)
    prior[16, 28] = 1.0
    with_prior = recover(east, north, NOISE, GRID, AREA, prior=prior)
    without = recover(east, north, NOISE, GRID, AREA)
    np.testing.assert_array_equal(with_prior.density, without.density)
