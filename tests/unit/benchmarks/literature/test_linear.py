"""Mechanisms that add noise to linear transformations of counts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.literature import contributions, refining, strategies, streams
from benchmarks.literature.wavelets import privelet, shrunken
from tests.unit.benchmarks.literature.noise import WithoutNoise

COUNTS = np.random.default_rng(0).poisson(5, 16).astype(np.float64)


@pytest.mark.parametrize("shape", [(16,), (4, 4)])
def test_wavelets_restore_counts(shape: tuple[int, ...]) -> None:
    counts = COUNTS.reshape(shape)
    assert np.allclose(privelet(counts, 1.0, WithoutNoise()), counts)


def test_privelet_is_the_matrix_mechanism_with_haars_strategy() -> None:
    """Privelet is the matrix mechanism whose strategy is Haar's wavelets.

    Privelet's error over all ranges is that of the strategy, and the strategy's matrix has
    Privelet's sensitivity, 1 + log2 n for n bins.
    """
    haar, ranges = strategies.haar(8), strategies.all_ranges(8)
    assert strategies.sensitivity(haar) == 4
    random = np.random.default_rng(4)
    errors = [ranges @ privelet(np.zeros(8), 1.0, random) for _ in range(4000)]
    expected = strategies.expected_error(ranges, haar, 1.0)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.03)


def test_privelet_in_two_dimensions_has_the_product_of_both_sensitivities() -> None:
    haar = np.kron(strategies.haar(4), strategies.haar(4)).astype(np.float64)
    assert strategies.sensitivity(haar) == 9
    random = np.random.default_rng(5)
    errors = [privelet(np.zeros((4, 4)), 1.0, random) for _ in range(4000)]
    expected = strategies.expected_error(np.eye(16), haar, 1.0)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.03)


def test_shrunken_wavelets_keep_counts_without_noise_and_their_sum_with_it() -> None:
    assert np.allclose(shrunken(COUNTS, 0.0), COUNTS)
    assert np.allclose(shrunken(COUNTS, 1e9), COUNTS.mean())
    step = np.repeat([0.0, 8.0], 8)
    # A step from 0 to 8 has a single wavelet coefficient, (0 - 8)/2 = -4, with the square 16. The
    # variance of its noise is that of a cell, 32, divided by the number of cells, 16. So shrinking
    # keeps (16 - 2)/16 of the coefficient.
    assert np.allclose(shrunken(step, 32.0), np.repeat([4 - 4 * 14 / 16, 4 + 4 * 14 / 16], 8))
    noisy = step + np.random.default_rng(7).laplace(0, 4, 16)
    assert shrunken(noisy, 32.0).sum() == pytest.approx(noisy.sum())


def test_the_book_counts_six_ranges_over_a_bin_and_three_wavelets() -> None:
    """Zhu et al. 2017, section 5.1: for four bins, all ranges have sensitivity 6, Haar wavelets 3.

    The book's formula for x2 + x3 has a wrong sign: it gives x2 + x4.
    """
    assert strategies.sensitivity(strategies.all_ranges(4)) == 6
    haar = strategies.haar(4)
    assert strategies.sensitivity(haar) == 3
    assert ([0.5, 0, -0.5, -0.5] @ haar).tolist() == [0, 1, 0, 1]
    assert ([0.5, 0, -0.5, 0.5] @ haar).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("name", strategies.STRATEGIES)
def test_strategies_restore_counts_and_have_their_expected_error(name: str) -> None:
    strategy = strategies.STRATEGIES[name](8)
    counts = COUNTS[:8]
    assert np.allclose(strategies.answered(counts, strategy, 1.0, WithoutNoise()), counts)
    random = np.random.default_rng(6)
    ranges = strategies.all_ranges(8)
    errors = [
        ranges @ (strategies.answered(counts, strategy, 2.0, random) - counts) for _ in range(2000)
    ]
    expected = strategies.expected_error(ranges, strategy, 2.0)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.05)


def test_the_sensitivity_of_a_binary_tree_is_its_number_of_levels() -> None:
    assert strategies.sensitivity(strategies.binary_tree(16)) == 5


@pytest.mark.parametrize(
    "mechanism", [streams.running_sums, streams.single_steps, streams.partial_sums]
)
def test_running_counts_without_noise_are_exact(mechanism: streams.Mechanism) -> None:
    assert np.allclose(mechanism(COUNTS[:13], 1.0, WithoutNoise()), np.cumsum(COUNTS[:13]))


def test_a_running_count_has_the_noise_of_as_many_p_sums_as_its_number_has_ones() -> None:
    """The running count of step t sums as many noisy partial sums as t has ones in binary.

    15 steps have sums over 1, 2, 4 and 8 steps, so their noise scale is 4: the count of step 8 is
    one of them, that of step 15 the total of four.
    """
    random = np.random.default_rng(7)
    noise = np.array([streams.partial_sums(np.zeros(15), 1.0, random) for _ in range(6000)])
    variance = (noise**2).mean(axis=0)
    ones = np.array([step.bit_count() for step in range(1, 16)])
    assert variance == pytest.approx(ones * 2 * 4.0**2, rel=0.15)
    asked = WithoutNoise()
    streams.partial_sums(np.zeros(15), 1.0, asked)
    assert asked.scales == [4.0] * 15


def test_every_event_is_in_at_most_as_many_p_sums_as_are_paid_for() -> None:
    levels = 5
    closed = [(step - (step & -step), step) for step in range(1, 17)]
    in_sums = [sum(first < event <= last for first, last in closed) for event in range(1, 17)]
    assert max(in_sums) == levels
    noise = WithoutNoise()
    streams.partial_sums(np.zeros(16), 1.0, noise)
    assert set(noise.scales) == {float(levels)}


def test_the_fourier_basis_is_orthonormal() -> None:
    basis = contributions.real_fourier(15, 15)
    assert np.allclose(basis @ basis.T, np.eye(15))
    assert np.allclose(
        contributions.fourier(COUNTS[:15], 3, 1.0, WithoutNoise(), kept=15), COUNTS[:15]
    )


def test_no_person_moves_kept_coefficients_further_than_is_paid_for() -> None:
    """A person with 3 visits changes the 4 kept Fourier coefficients by at most 3 sqrt(4) in L1."""
    basis = contributions.real_fourier(15, 4)
    farthest = max(np.abs(basis @ (3 * place)).sum() for place in np.eye(15))
    noise = WithoutNoise()
    contributions.fourier(COUNTS[:15], 3, 1.0, noise, kept=4)
    assert noise.asked == [(6.0, 4)]
    assert farthest <= 6.0


def test_groups_hold_places_that_are_alike() -> None:
    counts = np.array([9.0, 1, 9, 1, 5, 5])
    noise = WithoutNoise()
    estimate = contributions.grouped(counts, counts, 4, 1.0, noise, size=2)
    assert np.allclose(estimate, counts)
    assert noise.asked == [(2.0, 6), (8.0, 3)]


def test_laplace_noise_grows_with_the_most_visits() -> None:
    noise = WithoutNoise()
    contributions.laplace(COUNTS, 7, 0.5, noise)
    assert noise.asked == [(14.0, 16)]


def test_refining_spends_epsilon_and_no_more_and_favours_small_counts() -> None:
    groups = [np.full(4, 10_000.0), np.full(4, 20.0)]
    answers, scales = refining.refined(groups, 0.5, np.random.default_rng(8), sanity=1.0)
    assert scales[1] < scales[0]
    assert 0.9 * 0.5 <= (1 / scales).sum() <= 0.5
    assert all(len(answer) == 4 for answer in answers)


def test_coarser_answers_of_a_chain_have_laplace_noise_of_their_own_scale() -> None:
    """In a chain of ever more accurate answers, each has Laplace noise of the scale meant for it.

    An answer is the next more accurate one with noise added, but its variance and tail are those of
    a single Laplace variable.
    """
    chain = refining._chain(np.zeros(40_000), 10.0, 2.0, np.random.default_rng(9))
    scales = 10.0 * refining.STEP ** np.arange(len(chain))
    assert scales[-1] >= 2.0
    for answer, scale in zip(chain, scales, strict=True):
        assert np.mean(answer**2) == pytest.approx(2 * scale**2, rel=0.06)
        assert np.mean(np.abs(answer) > 3 * scale) == pytest.approx(np.exp(-3), rel=0.12)
