"""Runs of mechanisms: a mechanism's plan is checked before it gets any data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.released import Content, GridRelease
from dpgeo.core.spend import Spend
from dpgeo.mechanisms.uniform_grid import MECHANISM, Params
from dpgeo.privacy.mechanism import checked_plan, run
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.randomness import CountingEntropy, SeededEntropy
from tests.views import ArrayView

AREA = StudyArea.from_bounds(0, 0, 1, 1)
VIEW = ArrayView(area=AREA, longitude=[0.1], latitude=[0.9], persons=[1], bound=3)
ONE = Fraction(1)


def test_noise_reaches_every_cell_of_the_area() -> None:
    released = run(MECHANISM, VIEW, Params(cells=32), Fraction(1, 100), SeededEntropy(1), {})
    assert isinstance(released.content, GridRelease)
    inside = released.content.grid.inside(AREA)
    # With noise of scale 300, only one cell in 600 gets noise 0.
    assert np.count_nonzero(released.content.counts[inside]) > 0.98 * inside.sum()


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 2)])
def test_a_plan_that_does_not_cost_epsilon_is_refused_before_any_draw(share: Fraction) -> None:
    def plan(params: Any, epsilon: Fraction) -> Sequence[Spend]:
        return [Spend(label="cell counts", epsilon=epsilon * share)]

    entropy = CountingEntropy()
    with pytest.raises(PrivacyError, match="where 1 was asked"):
        run(dataclasses.replace(MECHANISM, plan=plan), VIEW, Params(), ONE, entropy, {})
    assert entropy.opened == 0


@pytest.mark.parametrize("epsilon", [0.5, 1, Fraction(0), Fraction(-1)])
def test_an_epsilon_that_is_not_exact_and_positive_is_refused(epsilon: Any) -> None:
    with pytest.raises(PrivacyError, match="exact fraction above 0"):
        checked_plan(MECHANISM, Params(), epsilon)


def test_undeclared_measurements_of_a_mechanism_are_refused_before_any_draw() -> None:
    def greedy(view: PrivateView, params: Params, meter: Meter) -> Content:
        content = MECHANISM.release(view, params, meter)
        meter.measure("again", view.histogram(Grid.over(view.domain.area, params.cells)))
        return content

    entropy = CountingEntropy()
    mechanism = dataclasses.replace(MECHANISM, release=greedy)
    with pytest.raises(PrivacyError, match="'again' was not declared"):
        run(mechanism, VIEW, Params(cells=2), ONE, entropy, {})
    assert entropy.opened == 1


def test_declared_but_unmeasured_epsilon_stays_charged() -> None:
    def plan(params: Any, epsilon: Fraction) -> Sequence[Spend]:
        return [*MECHANISM.plan(params, epsilon / 2), Spend(label="rest", epsilon=epsilon / 2)]

    mechanism = dataclasses.replace(MECHANISM, plan=plan)
    released = run(mechanism, VIEW, Params(cells=2), ONE, SeededEntropy(1), {})
    assert [(line.label, line.epsilon) for line in released.trace] == [
        ("cell counts", Fraction(1, 2)),
        ("rest", Fraction(1, 2)),
    ]
    assert released.trace[1].noise is None
    assert released.guarantee.epsilon == 1
