"""The privacy statement, which must be complete and exact."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgeo.artefacts.files import build_files
from dpgeo.artefacts.statement import statement
from dpgeo.artefacts.wording import format_odds
from dpgeo.core.guarantees import Counting, PureDP, Unit
from dpgeo.core.released import Released
from dpgeo.core.spend import Measured
from tests.unit.artefacts.releases import (
    grid_release,
    partition_release,
    sparse_release,
)


def stated(released: Released) -> Any:
    """Return the parsed JSON of a release's privacy statement."""
    return statement(released)


def test_the_spends_add_up_to_epsilon_exactly() -> None:
    document = stated(partition_release())
    total = sum(Fraction(spend["epsilon"]) for spend in document["spends"])
    assert total == Fraction(document["guarantee"]["epsilon"]) == Fraction(1, 2)


def test_every_spend_names_its_noise() -> None:
    for spend in stated(partition_release())["spends"]:
        assert spend["noise"]["distribution"] == "discrete Laplace"
        assert spend["sensitivity"] == 3
        assert spend["noise"]["scale"] == 12.0


def test_a_spend_charged_unused_is_listed_as_undrawn() -> None:
    released = grid_release()
    waived = Measured(label="look", epsilon=Fraction(1, 4), noise=None)
    document = stated(dataclasses.replace(released, trace=(*released.trace, waived)))
    assert document["spends"][-1]["epsilon"] == "0.25"
    assert document["spends"][-1]["drawn"] is False


def test_splits_are_listed_as_drawn_without_counts() -> None:
    released = grid_release()
    splits = Measured(label="splits", epsilon=Fraction(1, 4), noise=None, splits=True)
    line = stated(dataclasses.replace(released, trace=(*released.trace, splits)))["spends"][-1]
    assert (line["epsilon"], line["drawn"], line["noise"]) == ("0.25", True, None)
    assert "decide where boxes are cut" in line["meaning"]


@pytest.mark.parametrize("listed", [0, 5])
def test_a_thresholded_list_states_its_threshold(listed: int) -> None:
    (error,) = stated(sparse_release(listed=listed))["expected_error"]
    assert (error["listed_from"], error["values"]) == (40, listed)
    assert (error["margin_95"] is None) == (listed == 0)
    assert stated(grid_release())["expected_error"][0]["listed_from"] is None


@pytest.mark.parametrize("counting", list(Counting))
def test_the_bias_of_bounding_is_among_the_limits(counting: Counting) -> None:
    released = dataclasses.replace(grid_release(), counting=counting)
    limits = " ".join(stated(released)["known_limits"])
    assert "nobody adds more than 3" in limits
    assert "This bias is in no margin." in limits


def test_the_file_names_the_checksum_of_every_other(tmp_path: Path) -> None:
    built = build_files(partition_release(), tmp_path)
    document = json.loads((tmp_path / "statement.json").read_text(encoding="utf-8"))
    listed = {entry["name"]: entry["sha256"] for entry in document["files"]}
    assert listed == {
        file.name: hashlib.sha256(file.path.read_bytes()).hexdigest()
        for file in built
        if file.name in listed
    }
    further = {entry["name"] for entry in document["files_on_request"]}
    assert {*listed, *further, "statement.json"} == {file.name for file in built}
    assert {"map.bin", "preview.png", "estimate.parquet"} <= listed.keys()
    assert {"estimate.csv", "estimate.geojson", "points-synthetic.parquet"} <= further


def test_a_huge_epsilon_is_still_valid_json() -> None:
    released = dataclasses.replace(
        grid_release(),
        about={"dataset_total_epsilon": "1000"},
        guarantee=PureDP(Fraction(900), Unit.PERSON),
    )
    document = json.loads(json.dumps(stated(released), allow_nan=False))
    assert document["guarantee"]["odds_factor"] is None
    assert document["dataset_guarantee"]["right_guesses_in_100"] is None
    assert "in the worst case almost always." in document["dataset_guarantee"]["sentence"]


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6))
def test_the_factor_is_never_understated(epsilon: Fraction) -> None:
    factor = float(Decimal(format_odds(epsilon).replace(",", "")))
    exact = math.exp(epsilon)
    assert exact * (1 - 1e-12) <= factor <= exact * 1.011


def test_a_budget_for_points_leaves_the_promise_of_counts_as_it_is() -> None:
    released = grid_release()
    about = {
        **released.about,
        "dataset_points_epsilon": "0.013862943611",
        "dataset_points_level": "ln 16",
        "dataset_points_radius": "200",
    }
    promise = stated(dataclasses.replace(released, about=about))["dataset_guarantee"]
    assert promise["points"] == {
        "level": "ln 16",
        "radius": 200,
        "epsilon_per_metre": "0.013862943611",
        "verdict": "weak",
        "right_guesses_in_100": None,
    }
    assert promise["right_guesses_in_100"] == 89
    assert "odds_factor" not in promise
    assert promise["presence_odds_factor"] == pytest.approx(math.exp(2))
    assert (
        "a guess from all maps of counts from these data together, at most 89 times."
        in promise["sentence"]
    )
    assert "Moved points from these data show that reports were made." in promise["sentence"]
    assert "Where you were, from all maps and points of these data" in promise["sentence"]
