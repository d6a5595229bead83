"""The benchmark of rules that choose the contribution bound: a line with each rule's error."""

from __future__ import annotations

import json

import pytest

from benchmarks import bound_choice
from benchmarks.__main__ import main


def test_a_line_is_printed_for_every_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_choice, "CANDIDATES", (1, 5))
    monkeypatch.setattr(bound_choice, "LIMITS", (5,))
    given = ["bound-choice", "--invented", "60", "--cells", "8", "--trials", "2", "--json"]
    assert main([*given, "--mechanism", "uniform-grid", "--epsilon", "20"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rules = {line["rule"].split()[0]: line["error"] for line in lines}
    assert rules.keys() == {"best", "one", "advised", "private,"}
    # With hardly any noise, a larger bound has less error because it drops fewer records.
    assert rules["best"] < rules["one"]
    assert next(line["bounds"] for line in lines if line["rule"] == "best") == 5
