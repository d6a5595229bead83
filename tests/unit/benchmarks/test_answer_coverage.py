"""The benchmark of how often intervals of range answers are right, by size of the box."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main


def test_a_line_is_printed_for_each_release_and_one_for_the_mechanism(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["answer-coverage", "--kind", "even", "--cells", "8", "--scale", "1e3", "--json"]
    assert main([*given, "--mechanism", "uniform-grid"]) == 0
    *rows, pooled = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [(row["map"], row["records"], row["epsilon"]) for row in rows] == [
        ("even", 1000, "0.1"),
        ("even", 1000, "1"),
    ]
    name = "answer_covered_to_64_64ths"
    assert pooled["releases"] == 2
    assert pooled[name] == pytest.approx((rows[0][name] + rows[1][name]) / 2)
    assert pooled["least"] <= pooled[name]


def test_arrays_take_the_place_of_generated_maps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "counts.npy"
    np.save(path, np.ones((8, 8), dtype=np.int64))
    given = ["answer-coverage", "--array", str(path), "--cells", "8", "--scale", "100", "--json"]
    assert main([*given, "--mechanism", "uniform-grid", "--epsilon", "1"]) == 0
    row, _ = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert row["map"] == "counts"
