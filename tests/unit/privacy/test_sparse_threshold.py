"""Sparse thresholds: empty cells pass with exactly the probability that dense noise gives."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.spend import Spend
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.sparse_threshold import (
    acceptance_bits,
    candidate_rate,
    sample_passing,
)
from dpgeo.spatial.cell_runs import CellRuns
from tests.randomness import CountingEntropy, CraftedWords, SeededEntropy, SeededWords, ZeroNoise

NOISES = [
    (DiscreteLaplace(Fraction(1, 2), 3), 1),
    (DiscreteLaplace(Fraction(1, 2), 3), 40),
    (DiscreteLaplace(Fraction(7), 1), 2),
    (DiscreteLaplace(Fraction(1, 10**6), 10_000), 3 * 10**11),
    (DiscreteLaplace(Fraction(1000), 1), 1),
]


@pytest.mark.parametrize(("noise", "threshold"), NOISES)
def test_candidates_times_acceptance_is_the_probability_to_pass(
    noise: DiscreteLaplace, threshold: int
) -> None:
    rate = candidate_rate(noise, threshold)
    with mpmath.workprec(4000):
        exponent = mpmath.mpf(noise.rate.numerator) / noise.rate.denominator
        a = mpmath.exp(-exponent)
        chance = mpmath.exp(-exponent * threshold) / (1 + a)
        candidate = 1 - mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        expected = int(mpmath.floor(chance / candidate * mpmath.mpf(2) ** 100))
    assert acceptance_bits(noise.rate, threshold, rate, 100) == expected
    assert expected < 2**100


def test_too_few_candidates_are_an_error() -> None:
    noise = DiscreteLaplace(Fraction(1, 2), 1)
    with pytest.raises(ArithmeticError, match="too few"):
        acceptance_bits(noise.rate, 3, Fraction(1, 100), 64)


@pytest.mark.parametrize(("noise", "threshold"), NOISES[:3])
def test_as_many_cells_pass_as_their_noise_would_let(
    noise: DiscreteLaplace, threshold: int
) -> None:
    chance = noise.above(threshold)
    size = int(20_000 / chance)
    words = SeededWords(4)

    passed = sample_passing(noise, threshold, size, words)

    assert abs(passed.size - size * chance) < 6 * math.sqrt(size * chance * (1 - chance))
    assert (np.diff(passed) > 0).all()
    assert passed[0] >= 0
    assert passed[-1] < size
    # The cells that pass the threshold are spread evenly, so the mean of their indices is about
    # size / 2.
    deviation = size / math.sqrt(12 * passed.size)
    assert abs(passed.mean() - size / 2) < 6 * deviation


def test_neighbouring_cells_pass_independently() -> None:
    noise, size = DiscreteLaplace(Fraction(1, 2), 1), 400_000
    passed = np.zeros(size, dtype=np.bool_)
    passed[sample_passing(noise, 2, size, SeededWords(5))] = True
    chance = noise.above(2)
    both = np.mean(passed[1:] & passed[:-1])
    assert abs(both - chance**2) < 6 * math.sqrt(chance**2 / size)


def test_a_tie_is_settled_by_further_bits() -> None:
    noise = DiscreteLaplace(Fraction(1), 1)
    rate = candidate_rate(noise, 1)
    boundary = acceptance_bits(noise.rate, 1, rate, 128)
    first, second = boundary >> 64, boundary & (2**64 - 1)

    def accepted(*strings: int) -> bool:
        from dpgeo.privacy.sparse_threshold import _accepted

        words = CraftedWords([2**64 - 1 - string for string in strings])
        return bool(_accepted(noise.rate, 1, rate, 1, words)[0])

    assert accepted(first - 1)
    assert not accepted(first + 1)
    assert accepted(first, second - 1)
    assert not accepted(first, second + 1)


def sparse_counts() -> PrivateSparseCounts:
    cells = np.array([3, 7, 500, 40_000])
    return PrivateSparseCounts(cells, np.array([9, 1, 30, 4]), size=50_000, sensitivity=2)


def dense_counts() -> PrivateCounts:
    values = np.zeros(50_000, dtype=np.int64)
    values[[3, 7, 500, 40_000]] = [9, 1, 30, 4]
    return PrivateCounts(values, sensitivity=2)


def test_the_release_has_the_distribution_of_dense_noise_and_a_threshold() -> None:
    """The release has the same distribution as dense noise followed by a threshold.

    The test compares occupied cells, their empty neighbours, and the number and size of the empty
    cells that pass.
    """
    plan = [Spend(label="cells", epsilon=Fraction(2))]
    facts: dict[str, list[list[float]]] = {"sparse": [], "dense": []}
    for seed in range(400):
        cells, values = Meter(plan, SeededEntropy(seed)).measure_sparse("cells", sparse_counts(), 5)
        noisy = Meter(plan, SeededEntropy(1000 + seed)).measure("cells", dense_counts())
        dense = np.flatnonzero(noisy >= 5)
        for name, places, counts in (("sparse", cells, values), ("dense", dense, noisy[dense])):
            assert (np.diff(places) > 0).all()
            facts[name].append(
                [
                    *(float(counts[places == cell].sum()) for cell in (3, 4, 7, 500, 40_000)),
                    float(places.size),
                    float(counts.mean()),
                    float((counts == 5).mean()),
                ]
            )
    sparse, dense_facts = (np.array(facts[name]) for name in ("sparse", "dense"))
    error = np.sqrt((sparse.var(axis=0) + dense_facts.var(axis=0)) / 400) + 1e-9
    assert (np.abs(sparse.mean(axis=0) - dense_facts.mean(axis=0)) < 5 * error).all()


def test_without_noise_occupied_cells_above_the_threshold_are_unchanged() -> None:
    meter = Meter([Spend(label="cells", epsilon=Fraction(1))], ZeroNoise())

    cells, values = meter.measure_sparse("cells", sparse_counts(), 5)

    assert cells.tolist() == [3, 500]
    assert values.tolist() == [9, 30]


@pytest.mark.parametrize("threshold", [0, -3, 1])
def test_listing_too_many_empty_cells_is_refused_before_any_draw(threshold: int) -> None:
    entropy = CountingEntropy()
    meter = Meter([Spend(label="cells", epsilon=Fraction(1))], entropy)
    none = np.zeros(0, dtype=np.int64)
    counts = PrivateSparseCounts(none, none, size=2**30, sensitivity=1)

    with pytest.raises(PrivacyError, match="threshold"):
        meter.measure_sparse("cells", counts, threshold)

    assert entropy.opened == 0
    assert meter.finish()[0].noise is None


def test_dense_counts_are_not_measured_as_sparse_ones() -> None:
    meter = Meter([Spend(label="cells", epsilon=Fraction(1))], CountingEntropy())
    with pytest.raises(PrivacyError, match="Sparse private counts"):
        meter.measure_sparse("cells", dense_counts(), 5)  # type: ignore[arg-type]


def test_only_cells_of_the_public_set_are_kept_and_numbered_by_rank() -> None:
    runs = CellRuns(np.array([5, 400]), np.array([8, 600]))

    within = sparse_counts().within(runs)

    cells, values = within._read_by_meter()
    assert (cells.tolist(), values.tolist()) == ([2, 103], [1, 30])
    assert (within.size, within.sensitivity) == (203, 2)


def test_sparse_counts_are_opaque() -> None:
    counts = sparse_counts()
    assert "30" not in repr(counts)
    for leak in (list, len, bool, np.asarray, hash):
        with pytest.raises(TypeError):
            leak(counts)
    with pytest.raises(TypeError, match="never changed"):
        counts._sensitivity = 1
    assert not hasattr(counts, "__dict__")
    with pytest.raises(TypeError, match="whole numbers"):
        PrivateSparseCounts(np.array([1]), np.array([0.5]), size=3, sensitivity=1)
    with pytest.raises(ValueError, match="at least 1"):
        PrivateSparseCounts(np.array([1]), np.array([1]), size=3, sensitivity=0)


@pytest.mark.parametrize(
    ("cells", "words"),
    [([-1, 2], "outside"), ([1, 3], "outside"), ([1, 1], "ascending"), ([2, 1], "ascending")],
)
def test_sparse_counts_of_invalid_or_repeated_cells_are_refused(
    cells: list[int], words: str
) -> None:
    """Sparse counts of invalid or repeated cells are refused.

    A cell outside the grid would get noise that belongs to no cell, and a repeated cell would get
    noise twice.
    """
    with pytest.raises(ValueError, match=words):
        PrivateSparseCounts(np.array(cells), np.array([1, 1]), size=3, sensitivity=1)
