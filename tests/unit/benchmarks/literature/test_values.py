"""Published mechanisms for means, regression lines, positions and radii."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.literature import averages, circle, locations, regression
from tests.unit.benchmarks.literature.noise import WithoutNoise

# The data of table 4.2 of Srivastava 2016.
X = np.array([0.3, 0.4, 1.0, 0.6, 0.8, 0.25])
Y = np.array([0.50, 0.35, 0.9, 0.75, 0.9, 0.2])


def test_the_sources_objective_is_not_that_of_its_table() -> None:
    """The published objective function does not follow from the published table.

    The function's form is right, but 2 sum xy is 4.82 (printed 4.5), and 2 sum y is 7.2 (printed
    6.8). So the least-squares line is 0.905 x + 0.095, not 0.7951 x + 0.1228.
    """
    form, linear = regression.objective(X[:, None], Y)
    assert form == pytest.approx(np.array([[6, 3.35], [3.35, 2.3125]]))
    assert 2 * linear == pytest.approx(np.array([7.2, 4.82]))
    assert regression.least_squares(X[:, None], Y) == pytest.approx([0.0948, 0.9048], abs=1e-4)
    printed = np.linalg.solve(form, np.array([6.8, 4.5]) / 2)
    assert printed == pytest.approx([0.1228, 0.7951], abs=2e-2)


def test_the_functional_mechanism_without_noise_is_least_squares() -> None:
    random = WithoutNoise()
    weights = regression.functional_mechanism(X[:, None], Y, 1e9, random)
    assert weights == pytest.approx(regression.least_squares(X[:, None], Y))
    assert {round(scale * 1e9) for scale in random.scales} == {8}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_nobody_moves_the_coefficients_further_than_is_paid_for(size: int) -> None:
    """The noise covers the person who changes the coefficients of the objective function most.

    In d dimensions, this person's attributes and value are all 1, which changes the coefficients by
    (d + 1)(d + 3) in the L1 norm.
    """
    form, linear = regression.objective(np.ones((1, size)), np.ones(1))
    moved = np.abs(form).sum() + np.abs(2 * linear).sum()
    assert moved == (size + 1) * (size + 3)
    random = WithoutNoise()
    regression.functional_mechanism(np.ones((1, size)), np.ones(1), 1.0, random)
    assert set(random.scales) == {moved}
    assert sum(draws for _, draws in random.asked) == (size + 1) * (size + 2) / 2 + size + 1


def test_the_sums_of_a_simplex_without_noise_are_least_squares() -> None:
    random = WithoutNoise()
    line = regression.simplex_regression(X, Y, 1e9, random)
    assert line == pytest.approx(regression.least_squares(X[:, None], Y))
    assert random.asked == [(1e-9, 6)]


@pytest.mark.parametrize(("x", "y"), [(-1, -1), (-0.3, 0.7), (0, 0), (1, -1), (0.99, 1)])
def test_one_person_moves_the_sums_of_a_simplex_by_one(x: float, y: float) -> None:
    sums = regression.simplex_sums(np.array([x]), np.array([y]))
    assert (sums >= 0).all()
    assert sums.sum() == pytest.approx(1)


def test_a_concave_objective_still_has_a_finite_line() -> None:
    weights = regression.functional_mechanism(X[:, None], Y, 1e-3, np.random.default_rng(0))
    assert np.isfinite(weights).all()


def test_means_are_composed_of_sums_and_counts_that_cost_epsilon() -> None:
    """Means are made of sums and counts that cost epsilon together.

    The data are the first two regions of table 5.2 of Srivastava 2016, and one region without
    anybody.
    """
    sums, counts = np.array([14.4, 27.7, 0.0]), np.array([3.0, 5.0, 0.0])
    random = WithoutNoise()
    means = averages.perturb_then_compose(sums, counts, 10.0, 2.0, random, sum_share=0.75)
    assert means == pytest.approx([4.8, 5.54, 5.0])
    assert 10 / random.scales[0] + 1 / random.scales[1] == pytest.approx(2.0)


def test_the_errors_of_table_5_7_are_far_from_those_of_the_stated_noise() -> None:
    """The mean squared errors in table 5.7 cannot come from the noise that the source states.

    They are computed here from the printed means. With the stated noise, none of 20,000 runs has so
    small an error.
    """
    means = np.array([4.8, 5.54, 6.34, 7.5, 8.575, 9.367])
    printed = (
        ([4.4550, 5.0235, 6.2314, 7.4078, 8.7093, 9.6608], 0.085),
        ([4.837, 5.294, 6.374, 7.695, 8.270, 9.079], 0.046),
        ([4.209, 5.129, 6.15, 7.924, 8.8208, 9.804], 0.164),
        ([4.819, 5.345, 6.20, 7.41, 8.629, 9.308], 0.012),
        ([4.819, 5.345, 6.20, 36.309 / 4.4901, 8.629, 9.308], 0.068),
    )
    for noisy, error in printed:
        assert np.mean((noisy - means) ** 2) == pytest.approx(error, abs=5e-4)
    random, counts = np.random.default_rng(0), np.array([3, 5, 5, 4, 4, 3])
    for first, median in ((1.5, 63), (0.1, 1_100), (1.0, 22)):
        sums = means * counts + random.laplace(0, 10 / first, (20_000, 6))
        people = counts + random.laplace(0, 1 / (2 - first), (20_000, 6))
        errors = ((sums / people - means) ** 2).mean(axis=1)
        assert np.median(errors) == pytest.approx(median, rel=0.05)
        assert errors.min() > 0.17


def test_means_perturbed_at_the_end_need_noise_as_wide_as_the_values() -> None:
    random = WithoutNoise()
    means = averages.compose_then_perturb(np.array([8.0, 0]), np.array([2.0, 0]), 10, 2.0, random)
    assert means.tolist() == [4.0, 0.0]
    assert random.scales == [5.0]


def test_the_sources_printed_noise_is_not_of_the_printed_scale() -> None:
    """The noise printed by Srivastava 2016 was not drawn with the printed scale.

    Tested are table 5.3 (scale 5) and the objective function of section 4.3 (scale 16/8).
    """
    means = np.array([4.8, 5.54, 6.34, 7.5, 8.575, 9.367])
    printed = np.array([4.4550, 5.0235, 6.2314, 7.4078, 8.7093, 9.6608])
    assert averages.chance_of_less_noise(printed - means, 10 / 2) < 1e-6
    exact = np.array([2.3125, 6.7, -4.5, 6, -6.8, 2.275])
    noisy = np.array([2.4396, 6.802, -4.5731, 6.2961, -6.9984, 2.1652])
    assert averages.chance_of_less_noise(noisy - exact, 16 / 8) < 1e-5
    assert averages.chance_of_less_noise(np.array([1.0]), 1.0) == pytest.approx(1 - np.exp(-1))


def test_every_published_position_stands_for_a_crowd() -> None:
    random = np.random.default_rng(1)
    x, y, persons = random.random(400), random.random(400), np.repeat(np.arange(100), 4)
    moved = np.column_stack(locations.k_anonymous(x, y, persons, 10))
    assert moved.mean(axis=0) == pytest.approx([x.mean(), y.mean()])
    places, place = np.unique(moved.round(9), axis=0, return_inverse=True)
    assert len(places) > 5
    assert all(np.unique(persons[place == each]).size >= 10 for each in range(len(places)))


def test_planar_noise_has_its_mean_distance_and_tail() -> None:
    """The distance is Gamma(2, 1/epsilon): mean 2/epsilon, P(r > 3/epsilon) = 4 exp(-3)."""
    zeros = np.zeros(100_000)
    away = np.hypot(*locations.planar(zeros, zeros, 0.01, np.random.default_rng(2)))
    assert away.mean() == pytest.approx(200, rel=0.02)
    assert np.mean(away > 300) == pytest.approx(4 * np.exp(-3), rel=0.03)


def test_positions_go_to_the_nearest_point_of_the_grid() -> None:
    x, y = np.array([-50.0, 15, 39, 500]), np.array([5.0, 15, 31, 500])
    assert locations.nearest_points(x, y, 10.0, 4).tolist() == [0, 5, 15, 15]


def test_the_exponential_mechanism_keeps_its_promise_exactly() -> None:
    """The log-probabilities of an outcome for two cells d apart differ by at most epsilon d.

    For some pair of cells, they differ by more than 0.6 epsilon d.
    """
    cells, side, epsilon = 8, 10.0, 0.08
    log = np.log(locations.exponential_weights(side, cells, epsilon))
    row, column = (each.ravel() * side for each in np.mgrid[0:cells, 0:cells])
    away = np.hypot(row[:, None] - row, column[:, None] - column) + np.eye(cells**2)
    ratio = np.abs(log[:, None] - log[None]).max(axis=2) / away
    assert 0.6 * epsilon < ratio.max() <= epsilon


def test_points_are_drawn_by_their_weights() -> None:
    weights = np.array([[0.25, 0.75], [1.0, 0.0]])
    points = np.repeat([0, 1], 10_000)
    drawn = locations.exponential(points, weights, np.random.default_rng(3))
    assert drawn[:10_000].mean() == pytest.approx(0.75, abs=0.02)
    assert not drawn[10_000:].any()


def test_the_sources_expansion_is_short_of_the_radius_and_turns_negative() -> None:
    """The source's series expansion underestimates the radius, and becomes negative.

    If the success probability is 0.9 and willingness times reward is 1, it gives 0.52 at density
    0.5, where 0.56 is right, and a negative radius from density 1.46 on.
    """
    density, pull = np.array([0.5, 1.45, 1.47]), np.ones(3)
    radius = circle.expanded_radius(0.9, density, pull)
    assert radius[0] == pytest.approx(0.52, abs=5e-3)
    assert radius[1] > 0 > radius[2]
    right = np.array([0.5616])
    assert circle.circle_success(right, density[:1], pull[:1]) == pytest.approx([0.9], abs=1e-3)


def test_the_printed_equation_gives_larger_radii_where_there_are_more_workers() -> None:
    radius = circle.printed_radius(0.9, np.array([0.5, 5.0]), np.ones(2))
    log = np.log((np.exp(3 / radius) + 1) / 2)
    assert log == pytest.approx(-np.log(0.1) / (np.pi * np.array([0.5, 5.0])))
    assert radius[1] > radius[0]
