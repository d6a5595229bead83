"""Radii around tasks, compared with slow reference solutions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from dpgeo.postprocess.tasks.reach import Reach, accepting_area

WILLINGNESS = 20.0
NEEDED = -math.log(0.1)
EDGES = 5000 * (np.arange(25) / 24) ** 1.75


def field(density: np.ndarray) -> Reach:
    return Reach(willingness=WILLINGNESS, needed=NEEDED, edges=EDGES, density=density)


def some_field(tasks: int = 200) -> Reach:
    random = np.random.default_rng(4)
    towns = random.gamma(0.5, 2e-4, (tasks, 1))
    return field(towns * random.gamma(2, 0.5, (tasks, EDGES.size - 1)))


@pytest.mark.parametrize("radius", [0.0, 1e-3, 0.5, 3.0, 170.0, 4e3])
@pytest.mark.parametrize("pull", [1e-3, 0.7, 12.0, 1e4])
def test_the_accepting_area_equals_the_integral(radius: float, pull: float) -> None:
    with mp.workdps(30):
        parts = [x for x in (0, pull / 50, pull / 5, pull, 5 * pull) if x < radius]
        exact = mp.quad(lambda s: s * mp.tanh(pull / s), [*parts, radius]) if radius else mp.mpf(0)
    assert float(accepting_area(radius, pull)) == pytest.approx(float(exact), rel=1e-10)


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


def test_on_an_even_surface_the_field_has_a_closed_form() -> None:
    """On a uniform population density, `field` gives the radius that bisection finds.

    With d people per square metre, the expected number of people within r metres who accept a task
    is 2 pi d `accepting_area(r)`, which must reach NEEDED.
    """
    density = np.full((1, EDGES.size - 1), 3e-5)
    pull = WILLINGNESS * 6.0
    low, high = 0.0, 5000.0
    for _ in range(80):
        middle = (low + high) / 2
        accepting = 2 * math.pi * 3e-5 * float(accepting_area(middle, pull))
        low, high = (middle, high) if accepting < NEEDED else (low, middle)
    assert field(density).radius(np.array([6.0]))[0] == pytest.approx(low, rel=1e-9)
