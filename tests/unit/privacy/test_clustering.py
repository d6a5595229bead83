"""Private sums, and k-means clustering built on them."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.spend import Spend
from dpgeo.privacy.clustering import run_kmeans, update_centres
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.law import GAUSSIAN
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.randomness import Entropy
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.vector_sums import PrivateSums
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, nearest, spread_evenly
from dpgeo.spatial.grid import Grid
from tests.randomness import CountingEntropy, SeededEntropy, ZeroNoise

AREA = StudyArea.from_bounds(10, 50, 10.5, 50.3)
GRID = Grid.over(AREA, 128)
LABELS = ["first", "second", "third"]


def counts(cells: list[int] | np.ndarray, sensitivity: int = 1) -> PrivateSparseCounts:
    distinct, amounts = np.unique(np.asarray(cells, dtype=np.int64), return_counts=True)
    return PrivateSparseCounts(distinct, amounts, size=GRID.size, sensitivity=sensitivity)


def meter(entropy: Entropy, epsilon: Fraction = Fraction(1)) -> Meter:
    return Meter([Spend(label=label, epsilon=epsilon) for label in LABELS], entropy)


def town(seed: int = 1, people: int = 3000) -> np.ndarray:
    random = np.random.default_rng(seed)
    hearts = np.array([[30, 30], [80, 90], [60, 40]])[random.integers(0, 3, people)]
    row, column = np.clip(np.rint(random.normal(hearts, 4)), 0, 127).astype(np.int64).T
    return np.asarray(row * GRID.columns + column)


def test_sums_count_records_and_add_their_coordinates_up() -> None:
    centres = spread_evenly(AREA, 4)
    cells = town()
    cluster = nearest(GRID, cells, centres)
    row, column = np.divmod(cells, GRID.columns)

    sums = counts(cells).cluster_sums(GRID, centres)._read_by_meter()

    for number in range(4):
        own = cluster == number
        x, y = 2 * column[own] - 127, 2 * row[own] - 127
        assert sums[number].tolist() == [own.sum(), x.sum(), y.sum()]


@pytest.mark.parametrize("bound", [1, 10])
def test_a_person_changes_sums_by_at_most_three_times_the_bound(bound: int) -> None:
    centres = spread_evenly(AREA, 7)
    others = town()
    corner = [0] * bound
    random = np.random.default_rng(2)
    for extra in [corner, *(random.integers(0, GRID.size, bound) for _ in range(50))]:
        without = counts(others, bound).cluster_sums(GRID, centres)
        with_person = counts(np.concatenate([others, extra]), bound).cluster_sums(GRID, centres)
        change = np.abs(with_person._read_by_meter() - without._read_by_meter()).sum(axis=0)
        joint = (change / np.array(with_person.reach)).sum()
        assert joint <= with_person.sensitivity == 3 * bound
        each = with_person._read_by_meter() - without._read_by_meter()
        squares = ((each / np.array(with_person.reach)) ** 2).sum()
        assert squares <= with_person.squared_sensitivity == 3 * bound**2
        if extra is corner:
            # Some change is exactly as large as the sensitivity, so the sensitivity is not
            # overstated.
            assert (joint, squares) == (3 * bound, 3 * bound**2)


def test_each_column_has_noise_for_its_sensitivity() -> None:
    sums = PrivateSums(np.zeros((40_000, 3), dtype=np.int64), reach=(1, 50, 200), sensitivity=2)
    drawn = Meter([Spend(label="sums", epsilon=Fraction(1, 2))], SeededEntropy(3)).measure_sums(
        "sums", sums
    )

    for column, reach in enumerate((1, 50, 200)):
        expected = DiscreteLaplace(Fraction(1, 2), 3 * 2 * reach).variance
        assert np.var(drawn[:, column]) == pytest.approx(expected, rel=0.06)
    correlation = np.corrcoef(drawn.T) - np.eye(3)
    assert np.abs(correlation).max() < 0.03


def test_each_column_has_gaussian_noise_for_its_squared_sensitivity() -> None:
    sums = PrivateSums(np.zeros((40_000, 3), dtype=np.int64), reach=(1, 50, 200), sensitivity=2)
    meter = Meter([Spend(label="sums", epsilon=Fraction(1, 2))], SeededEntropy(3), GAUSSIAN)
    drawn = meter.measure_sums("sums", sums)

    # Each of 2 contributions may change all 3 columns, each by at most its `reach`. With every
    # column divided by its `reach`, the squared sensitivity is 3 * 2^2, and the variance of the
    # noise 12/(2 rho) = 12.
    assert meter.finish()[0].noise == DiscreteGaussian(Fraction(1, 2), 12)
    assert np.std(drawn, axis=0) == pytest.approx(np.sqrt(12) * np.array([1, 50, 200]), rel=0.03)
    correlation = np.corrcoef(drawn.T) - np.eye(3)
    assert np.abs(correlation).max() < 0.03


def test_only_private_sums_are_measured_as_sums() -> None:
    entropy = CountingEntropy()
    plain = PrivateCounts(np.zeros((2, 3), int), sensitivity=1)
    gaussian = Meter([Spend(label="first", epsilon=Fraction(1))], entropy, GAUSSIAN)
    with pytest.raises(PrivacyError):
        gaussian.measure_sums("first", plain)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError):
        meter(entropy).measure_sums("first", plain)  # type: ignore[arg-type]
    sums = PrivateSums(np.zeros((2, 1), int), reach=[1], sensitivity=1)
    with pytest.raises(PrivacyError):
        meter(entropy).measure("first", sums)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError):
        meter(entropy).measure_sums("other", counts([1]).cluster_sums(GRID, spread_evenly(AREA, 2)))
    assert entropy.opened == 0


@pytest.mark.parametrize(
    ("values", "reach", "sensitivity"),
    [
        (np.zeros((2, 2)), (1, 1), 1),
        (np.zeros((2, 2), int), (1,), 1),
        (np.zeros((2, 2), int), (1, 0), 1),
        (np.zeros(2, int), (1, 1), 1),
        (np.zeros((2, 2), int), (1, 1), 0),
    ],
)
def test_sums_without_a_sensitivity_are_refused(
    values: np.ndarray, reach: tuple[int, ...], sensitivity: int
) -> None:
    with pytest.raises((TypeError, ValueError)):
        PrivateSums(values, reach=reach, sensitivity=sensitivity)


def test_sums_cannot_be_read_past_the_meter() -> None:
    sums = PrivateSums(np.array([[123, 456, 789]]), reach=(1, 1, 1), sensitivity=1)

    assert "123" not in repr(sums)
    for read in (np.asarray, list, copy.copy, hash, bool):
        with pytest.raises(TypeError):
            read(sums)


def test_counts_around_centres_are_a_histogram_of_the_same_sensitivity() -> None:
    centres = spread_evenly(AREA, 5)
    around = counts(town(), 7).nearest_counts(GRID, centres)

    assert around.sensitivity == 7
    expected = np.bincount(nearest(GRID, town(), centres), minlength=5)
    assert around._read_by_meter().tolist() == expected.tolist()


def test_without_noise_rounds_equal_plain_k_means() -> None:
    everywhere = np.random.default_rng(8).integers(0, GRID.size, 500)
    cells, start = np.concatenate([town(), everywhere]), spread_evenly(AREA, 3)
    row, column = np.divmod(cells, GRID.columns)
    x, y = GRID.west + (column + 0.5) * GRID.cell, GRID.north - (row + 0.5) * GRID.cell
    expected = start
    for _ in LABELS:
        cluster = nearest(GRID, cells, expected)
        expected = Centres(
            np.array([x[cluster == number].mean() for number in range(3)]),
            np.array([y[cluster == number].mean() for number in range(3)]),
        )

    # At this epsilon the expected noise is so small that centres move the whole way to the mean.
    centres = run_kmeans(meter(ZeroNoise(), Fraction(1000)), LABELS, counts(cells), GRID, start)

    np.testing.assert_allclose(centres.x, expected.x, atol=1)
    np.testing.assert_allclose(centres.y, expected.y, atol=1)


def test_noise_never_moves_a_centre_out_of_its_cluster_or_the_frame() -> None:
    start = spread_evenly(AREA, 9)
    random = np.random.default_rng(5)
    west, south, east, north = GRID.mercator_bounds
    for _ in range(200):
        sums = random.laplace(0, [10, 1000, 1000], (9, 3)).astype(np.int64)
        centres = update_centres(start, sums, DiscreteLaplace(Fraction(1), 10), GRID)
        assert ((west <= centres.x) & (centres.x <= east)).all()
        assert ((south <= centres.y) & (centres.y <= north)).all()
        gap = np.hypot(centres.x[:, None] - start.x, centres.y[:, None] - start.y)
        assert (np.diag(gap) <= gap.min(axis=1) + 1).all()
