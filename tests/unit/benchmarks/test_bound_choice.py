"""The benchmark of bounds: who contributes what, and the private choice's distribution."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import bound_choice
from benchmarks.__main__ import main


def test_the_choice_favours_the_bound_at_the_quantile() -> None:
    """Candidates are chosen with probabilities proportional to exp(epsilon u/(2 D))."""
    each = np.repeat([1, 4, 30], [50, 30, 20])
    epsilon, quantile = 0.1, 0.75
    utility = [-abs(np.count_nonzero(each <= c) - 75) for c in bound_choice.CANDIDATES]
    weight = np.exp(epsilon * np.array(utility) / (2 * 0.75))
    random = np.random.default_rng(3)
    drawn = [bound_choice.choose(each, quantile, epsilon, random) for _ in range(4000)]
    found = np.array([np.mean(np.array(drawn) == c) for c in bound_choice.CANDIDATES])
    np.testing.assert_allclose(found, weight / weight.sum(), atol=0.04)


def test_a_line_is_printed_for_every_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_choice, "CANDIDATES", (1, 5))
    monkeypatch.setattr(bound_choice, "QUANTILES", (0.5,))
    given = ["bound-choice", "--invented", "60", "--cells", "8", "--trials", "2", "--json"]
    assert main([*given, "--mechanism", "uniform-grid", "--epsilon", "20"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rules = {line["rule"].split()[0]: line["error"] for line in lines}
    assert rules.keys() == {"best", "one", "advised", "quantile"}
    # With hardly any noise, a larger bound has less error because it drops fewer records.
    assert rules["best"] < rules["one"]
    assert next(line["bounds"] for line in lines if line["rule"] == "best") == 5
