"""The comparison on dense maps: its tuning and test maps, boxes of medium size, and output."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from benchmarks import dense, peers
from benchmarks.__main__ import main
from benchmarks.generated import DENSE_TEST, DENSE_TUNING, DenseMap, generated
from tests.requirements import need


def test_the_halves_share_no_map_and_are_alike() -> None:
    tuning, test = (
        {(each.kind, each.seed) for each in half} for half in (DENSE_TUNING, DENSE_TEST)
    )
    assert len(tuning) == len(test) == 12
    assert not tuning & test
    for half in (DENSE_TUNING, DENSE_TEST):
        assert sorted((each.kind, each.records) for each in half) == [
            (kind, records)
            for kind in ("country", "cropped city", "stations")
            for records in (10**4, 10**5, 10**6, 10**7)
        ]


def test_cropped_cities_have_people_everywhere_and_stations_much_in_single_cells() -> None:
    assert generated("cropped city", 64, 0).min() > 0
    assert generated("stations", 64, 0).max() > 10 * generated("cropped city", 64, 0).max()


def test_both_sides_of_a_box_of_medium_size_are_medium() -> None:
    boxes = np.array([[0, 33, 0, 96], [0, 32, 0, 96], [0, 40, 0, 97], [10, 90, 20, 60]])
    assert dense.middle(boxes, 128).tolist() == [True, False, False, True]


def test_a_line_is_printed_for_each_map_and_one_for_the_half(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    monkeypatch.setitem(dense.HALVES, "tuning", [DenseMap("country", 0, 2000)])
    monkeypatch.setattr(dense, "PEERS", {"Identity": peers.identity})
    given = ["dense", "--cells", "16", "--trials", "2", "--epsilon", "1", "--json"]
    assert main(given) == 0
    row, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (row["map"], row["records"], row["ratio_peer"]) == ("country", 2000, "Identity")
    assert summary["maps"] == 1
    assert summary["ratio"] == pytest.approx(row["ratio"])
    assert summary["cell_largest"] == pytest.approx(row["cell"])
