"""Radii around tasks, compared with slow reference solutions and published values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from dpgeo.postprocess.tasks.acceptance import Acceptance, accepting_area
from dpgeo.postprocess.tasks.radius import CircleReach, FieldReach, circle_radius

MODEL = Acceptance(willingness=20.0, least_reward=1.0, travel_metres=5000.0)
NEEDED = -math.log(0.1)
EDGES = 5000 * (np.arange(25) / 24) ** 1.75


def field(density: np.ndarray) -> FieldReach:
    return FieldReach(acceptance_model=MODEL, needed=NEEDED, edges=EDGES, density=density)


def some_field(tasks: int = 200) -> FieldReach:
    random = np.random.default_rng(4)
    towns = random.gamma(0.5, 2e-4, (tasks, 1))
    return field(towns * random.gamma(2, 0.5, (tasks, EDGES.size - 1)))


def test_acceptance_decreases_with_distance_and_increases_with_reward() -> None:
    assert MODEL.chance(10.0, 100.0) > MODEL.chance(10.0, 200.0)
    assert MODEL.chance(11.0, 100.0) > MODEL.chance(10.0, 100.0)
    assert MODEL.chance(10.0, 200.0) == pytest.approx(math.tanh(1))
    assert MODEL.chance(10.0, 0.0) == 1


def test_nobody_accepts_below_the_least_reward_or_beyond_the_travel_limit() -> None:
    assert MODEL.chance(0.999, 10.0) == 0
    assert MODEL.chance(1.0, 10.0) > 0
    assert MODEL.chance(50.0, 5001.0) == 0


@pytest.mark.parametrize("radius", [0.0, 1e-3, 0.5, 3.0, 170.0, 4e3])
@pytest.mark.parametrize("pull", [1e-3, 0.7, 12.0, 1e4])
def test_the_accepting_area_equals_the_integral(radius: float, pull: float) -> None:
    with mp.workdps(30):
        parts = [x for x in (0, pull / 50, pull / 5, pull, 5 * pull) if x < radius]
        exact = mp.quad(lambda s: s * mp.tanh(pull / s), [*parts, radius]) if radius else mp.mpf(0)
    assert float(accepting_area(radius, pull)) == pytest.approx(float(exact), rel=1e-10)


def test_nobody_accepts_without_a_reward() -> None:
    assert float(accepting_area(100.0, 0.0)) == 0


def test_the_field_radius_reaches_the_target_exactly() -> None:
    reach, reward = some_field(), np.full(200, 4.0)
    expected = reach.expect(reward)
    met = np.isfinite(expected.radius)
    assert 0 < np.count_nonzero(met) < 200
    reached = -np.expm1(-reach.accepting(np.where(met, expected.radius, EDGES[-1]), reward))
    assert np.allclose(reached[met], 0.9, atol=1e-12)
    assert (reached[~met] < 0.9).all()
    assert np.allclose(expected.success, reached, atol=1e-12)
    accepting = -np.log1p(-reached) / expected.notified
    assert np.allclose(expected.acceptance, accepting, rtol=1e-9)


def test_tasks_solved_one_by_one_or_together_agree() -> None:
    reach, reward = some_field(), np.linspace(1, 9, 200)
    together = reach.radius(reward)
    for task in range(0, 200, 17):
        alone = field(reach.density[task : task + 1]).radius(reward[task : task + 1])
        assert alone[0] == pytest.approx(together[task], rel=1e-10)


def test_on_an_even_surface_the_field_has_a_closed_form() -> None:
    """On a uniform population density, `field` gives the radius that bisection finds.

    With d people per square metre, the expected number of people within r metres who accept a task
    is 2 pi d `accepting_area(r)`, which must reach NEEDED.
    """
    density = np.full((1, EDGES.size - 1), 3e-5)
    pull = MODEL.willingness * 6.0
    low, high = 0.0, 5000.0
    for _ in range(80):
        middle = (low + high) / 2
        accepting = 2 * math.pi * 3e-5 * float(accepting_area(middle, pull))
        low, high = (middle, high) if accepting < NEEDED else (low, middle)
    assert field(density).radius(np.array([6.0]))[0] == pytest.approx(low, rel=1e-9)


def test_empty_rings_are_crossed() -> None:
    density = np.zeros((2, EDGES.size - 1))
    density[0, -3:] = 1e-3
    radius = field(density).radius(np.array([30.0, 30.0]))
    assert EDGES[-4] < radius[0] < EDGES[-1]
    assert np.isinf(radius[1])


def test_curves_equal_the_people_notified_by_the_radii() -> None:
    reach, rewards = some_field(), np.array([1.0, 4.0, 40.0])
    curves = reach.curves(rewards)
    for column, reward in enumerate(rewards):
        radius = reach.radius(np.full(200, reward))
        met = np.isfinite(radius)
        people = reach.notified(np.where(met, radius, 0.0))
        assert (np.isfinite(curves[:, column]) == met).all()
        assert np.allclose(curves[met, column], people[met], rtol=2e-3)


def taylor_radius(density: Any, pull: Any) -> Any:
    """Return the approximate radius of equation 13.16 in Zhu et al. 2017.

    It is a first-order expansion about r = 1, which is the unit of length.
    """
    log = np.log((np.exp(3 * pull) + 1) / 2)
    bend = 3 * pull / (1 + np.exp(-3 * pull))
    return (NEEDED / (math.pi * density) + log - bend) / (2 * log - bend)


def test_the_circle_model_includes_the_factor_missing_in_the_source() -> None:
    """The circle model includes a factor that is missing in the publication.

    At density 0.5 the right radius is 0.56; the published approximation (13.16) gives 0.52.
    """
    density, pull = np.array([0.5, 1.46, 3.0]), np.ones(3)
    radius = circle_radius(NEEDED, density, pull)
    left = radius**2 * np.log((np.exp(3 / radius) + 1) / 2)
    assert np.allclose(left, NEEDED / (math.pi * density), rtol=1e-12)
    assert radius[0] == pytest.approx(0.5608, abs=1e-4)
    taylor = taylor_radius(density, pull)
    assert taylor[0] == pytest.approx(0.52, abs=5e-3)
    assert (taylor[1:] < 0).all()


def test_the_circle_model_is_solved_over_many_orders_of_magnitude() -> None:
    density = np.geomspace(1e-12, 1e3, 60)
    radius = circle_radius(NEEDED, density, np.full(60, 3.0))
    assert (np.diff(radius) < 0).all()
    reach = CircleReach(acceptance_model=MODEL, needed=NEEDED, density=density)
    assert np.allclose(reach.success(radius, np.full(60, 3.0 / 20)), 0.9, atol=1e-9)


def test_the_circle_model_is_certain_with_fewer_than_one_worker() -> None:
    """The published circle model may state success as certain with fewer than one worker expected.

    This is why the field model, in which the number of workers is random, is the default: it does
    not treat a tenth of a worker as a whole one.
    """
    circle = CircleReach(acceptance_model=MODEL, needed=NEEDED, density=np.array([1e-4]))
    radius, reward = circle.radius(np.array([50.0])), np.array([50.0])
    assert circle.notified(radius)[0] < 0.1
    even = field(np.full((1, EDGES.size - 1), 1e-4))
    assert -np.expm1(-even.accepting(radius, reward)[0]) < 0.1


def test_the_circle_model_refuses_mean_distances_beyond_the_travel_limit() -> None:
    circle = CircleReach(acceptance_model=MODEL, needed=NEEDED, density=np.array([1e-9, 1e-2]))
    expected = circle.expect(np.array([1.0, 1.0]))
    assert np.isinf(expected.radius[0])
    assert 0 < expected.success[0] < 0.9
    assert np.isfinite(expected.radius[1])
    assert expected.success[1] == pytest.approx(0.9)
