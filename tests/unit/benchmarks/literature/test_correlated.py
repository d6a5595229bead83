"""Correlated sensitivity: known answers, and cases where the loss exceeds the epsilon paid."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks.literature.comparisons.correlated import compare
from benchmarks.literature.correlated import (
    Answer,
    correlated_sensitivity,
    degrees_of,
    group_loss,
    household_loss,
    loss,
    pearson_of_agreement,
)
from benchmarks.literature.runner import table
from benchmarks.literature.trials import Options

PAGE = Path(__file__).parents[4] / "docs" / "literature" / "book.md"


def test_independent_records_have_the_usual_sensitivity() -> None:
    assert correlated_sensitivity(np.eye(5), np.ones(5)) == 1


def test_record_sensitivities_add_up_the_degrees() -> None:
    degrees = np.array([[1, -0.5, 0.1], [-0.5, 1, 0], [0.1, 0, 1]])
    assert correlated_sensitivity(degrees, np.ones(3)) == pytest.approx(1.6)
    assert correlated_sensitivity(degrees, np.ones(3), least=0.2) == pytest.approx(1.5)
    assert correlated_sensitivity(degrees, np.array([0.0, 1, 1])) == pytest.approx(1)


def test_pearson_is_that_of_series_that_agree_four_times_in_five() -> None:
    one = np.tile([0, 1], 10)
    other = one.copy()
    other[[0, 1, 2, 3]] = 1 - other[[0, 1, 2, 3]]
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(pearson_of_agreement(0.8))


def test_only_fully_correlated_people_lose_what_was_promised() -> None:
    assert household_loss(4, 1, 0.5) == pytest.approx(0.5)
    assert household_loss(4, 0.6, 1) == pytest.approx(4 / 2.8)
    assert household_loss(4, 0.2, 1, least=0.5) == 4


def test_an_empty_place_is_told_exactly() -> None:
    scale = correlated_sensitivity(np.eye(3), np.zeros(3))
    assert scale == 0
    assert loss(Answer(0, scale), Answer(1, 1)) == math.inf


def test_the_scale_tells_who_is_in_the_data() -> None:
    scales = [correlated_sensitivity(degrees_of(k, 0.6), np.ones(k)) for k in (3, 4)]
    assert scales[0] != scales[1]
    assert loss(Answer(3, scales[0]), Answer(4, scales[1])) == math.inf


@pytest.mark.parametrize("people", range(1, 5))
def test_households_lose_at_most_what_was_promised_if_epsilon_is_divided(people: int) -> None:
    assert group_loss(people, most=4, epsilon=1) <= 1


def test_the_page_has_the_table() -> None:
    """The documentation's table equals the one computed now, since nothing in it is random."""
    options = Options(epsilon=Fraction(1), trials=1, seed=0)
    assert table(list(compare(options))) in PAGE.read_text()
