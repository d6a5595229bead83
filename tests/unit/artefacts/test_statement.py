"""The privacy statement, which must be complete and exact."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from datetime import date
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
from dpgeo.core.released import Released, ZoneAverages
from dpgeo.core.spend import Measured
from tests.unit.artefacts.releases import (
    asked_for,
    flows_release,
    grid_release,
    partition_release,
    places_release,
    sparse_release,
    zone_averages_release,
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


def test_the_sentence_speaks_of_the_whole_dataset() -> None:
    document = stated(grid_release())
    assert document["dataset_guarantee"]["epsilon"] == "2"
    assert document["dataset_guarantee"]["sentence"] == (
        "Moderate protection. Suppose someone knows the data of everyone else and has to guess: "
        "are you in these data, too? A coin toss gets it right 50 times in 100; a guess from all "
        "maps of these data together, at most 89 times."
    )
    assert document["guarantee"]["sentence"].endswith(
        "A coin toss gets it right 50 times in 100; a guess from this map, at most 63 times."
    )
    assert document["guarantee"]["right_guesses_in_100"] == 63


def test_a_statement_without_a_total_promises_none() -> None:
    released = dataclasses.replace(grid_release(), about={"title": "Walks"})
    assert stated(released)["dataset_guarantee"] is None


def test_records_are_not_called_people() -> None:
    released = dataclasses.replace(grid_release(), guarantee=PureDP(Fraction(1, 2), Unit.RECORD))
    document = stated(released)
    assert "for each row, not for each person" in document["dataset_guarantee"]["sentence"]
    assert "several records" in document["not_protected"][0]
    assert document["unit_of_privacy"]["unit"] == "record"


def test_the_statement_limits_the_total_guarantee() -> None:
    limits = " ".join(stated(grid_release())["not_protected"])
    assert "do not share this budget: theirs comes on top" in limits
    assert "a person here is one identifier" in limits


def test_trips_of_some_days_join_rows_of_these_days_alone() -> None:
    flows = flows_release(sparse=True)
    released = asked_for(flows, from_day=date(2026, 1, 1), to_day=date(2026, 1, 31))
    sentence = "Only rows of the days of this map are joined"
    assert sentence in " ".join(stated(released)["post_processing"])
    assert sentence not in " ".join(stated(flows)["post_processing"])


@pytest.mark.parametrize("sparse", [False, True])
def test_visits_of_flows_are_limited_in_trips(sparse: bool) -> None:
    flows = dataclasses.replace(flows_release(sparse=sparse), counting=Counting.VISITS)
    document = stated(flows)
    assert "One person adds to at most 3 trips;" in document["contribution_bound"]["meaning"]
    assert "nobody adds more than 3 trips" in " ".join(document["known_limits"])


def test_nothing_is_claimed_of_the_limits_of_a_measure() -> None:
    released = zone_averages_release()
    assert isinstance(released.content, ZoneAverages)
    words = stated(released)["not_protected"][-1]
    assert "whether they follow the data the software cannot know" in words
    answers = dataclasses.replace(released.content.measure, low=0, high=1, unit="", steps=1)
    shares = dataclasses.replace(released.content, measure=answers)
    sentences = stated(dataclasses.replace(released, content=shares))["not_protected"]
    assert not any("limits" in each for each in sentences)


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
        "dataset_points_input_step": "2000",
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


@pytest.mark.parametrize(
    "released",
    [flows_release(), zone_averages_release(), places_release()],
    ids=lambda each: each.mechanism,
)
def test_what_is_no_cell_is_not_called_one(released: Released) -> None:
    for unit in Unit:
        of_unit = dataclasses.replace(released.guarantee, unit=unit)
        document = stated(dataclasses.replace(released, guarantee=of_unit))
        said = [document["contribution_bound"]["meaning"], document["counts"]["meaning"]]
        said += document["known_limits"][:2]
        assert not any("cell" in each for each in said)
        # Of these releases, only that of places is said to list one of a thousand empty regions by
        # chance.
        assert any("thousand" in each for each in said) == (released.mechanism == "places")
