"""The benchmark of advised contribution bounds: exact errors of the counts, and its output."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import bound_advice
from benchmarks.__main__ import main
from benchmarks.bound_advice import People, alike
from dpgeo.core.advice import Guess
from dpgeo.core.noise import DiscreteLaplace


def test_errors_are_those_of_a_random_choice_of_contributions() -> None:
    """Errors are those of a random choice of contributions.

    One person has four visits, and with a bound of 2, every choice of two visits is equally likely.
    """
    pairs = np.array([[7, 0], [7, 0], [7, 0], [7, 2]])
    people = People.of(pairs, 3)
    choices = np.array([[2, 0, 0]] * 3 + [[1, 0, 1]] * 3)
    exact = ((choices - [3, 0, 1]) ** 2).mean(axis=0)
    noise = DiscreteLaplace(Fraction(2), 2).variance
    np.testing.assert_allclose(people.squares(2, Fraction(2)), exact + noise)
    np.testing.assert_allclose(
        people.squares(4, Fraction(2)), DiscreteLaplace(Fraction(2), 4).variance
    )


def test_with_everybody_alike_no_bound_above_the_mean_is_advised() -> None:
    guess = Guess(people=10_000, records=20, share=0.1)
    assert alike(guess, 100.0, 1) == 20
    assert alike(guess, 1e-6, 1) == 1


def test_a_line_is_printed_for_each_row_and_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_advice, "BOUNDS", np.array([1, 5, 50]))
    given = ["bound-advice", "--invented", "60", "--cells", "8", "--epsilon", "1", "--json"]
    assert main(given) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in lines if "best_bound" in line]
    summaries = {(line["error"], line["rule"]): line for line in lines if "rule" in line}
    # each error, of all cells and of the busiest one, has a line for people and one for visits
    assert len(rows) == 4
    assert len(summaries) == 6
    worst = max(row["one"] for row in rows if row["error"] == "all cells")
    assert summaries["all cells", "one"]["largest"] == worst
    assert all(summary["rows"] == 2 for summary in summaries.values())
