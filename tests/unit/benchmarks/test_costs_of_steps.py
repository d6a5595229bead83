"""The benchmarks of speed and memory: other libraries, growth with rows, and large files."""

from __future__ import annotations

import json

import pytest

from benchmarks import peer_speed
from benchmarks.__main__ import main


def test_it_says_what_to_install_for_a_peer_that_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = ["--rows", "2000", "--people", "50", "--cells", "16", "--peer", "pipelinedp"]
    assert main(["peer-speed", "--json", *small]) == 0
    ours, peer = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ours["name"] == "dpgeo"
    assert ours["rows"] == 2000
    assert peer["name"] == "pipelinedp"
    assert "ratio" in peer or peer["install"] == f"pip install {peer_speed.INSTALL['pipelinedp']}"


def test_growth_says_what_each_step_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["growth", "--json", "--csv", "--rows", "1000", "2000"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    steps = ["canonical file", "CSV to canonical file", "counts of people", "counts of visits"]
    assert [line["what"] for line in lines] == 2 * steps
    for before, line in zip(lines[:4], lines[4:], strict=True):
        assert "of_linear" not in before
        linear = line["processor_s"] / before["processor_s"] / 2
        assert line["of_linear"] == pytest.approx(linear)


def test_large_files_are_compared_with_reading_the_release_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["large-files", "--json", "--cells", "64"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["file"] for line in lines] == ["none", "cells.csv", "cells.gpkg"]
    assert all(line["features"] == 4096 for line in lines)
    assert lines[1]["megabytes"] > 0.1
