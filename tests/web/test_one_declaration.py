"""One declaration of a dataset: the API, both forms and the command judge it alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpgeo.commands.console import plain_errors
from dpgeo.commands.management.commands import ingest
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.declaration import Declaration, NewFiles
from dpgeo.datasets.models import Dataset
from tests.makers import AREA
from tests.web.api import Program, program_of
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

DAY = st.sampled_from(["2026-01-01", "2026-01-31", "2026-02-30", "yesterday", "0999-01-01"])

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["Trips", "x" * 200, "x" * 201, "bell\x07"]),
    "description": st.sampled_from(["", "Invented.", "x" * 20_001]),
    "licence": st.sampled_from(["CC0 1.0", "x" * 101]),
    "attribution": st.sampled_from(["", "The town", "x" * 301]),
    "contact": st.sampled_from(["", "maps@example.org", "maps"]),
    "keywords": st.lists(st.sampled_from(["bus", "Bus", "x" * 51, "tram"]), max_size=3),
    "themes": st.lists(st.sampled_from(["TRAN", "ENVI", "MOON"]), max_size=2),
    "covers_from": DAY,
    "covers_until": DAY,
    "unit": st.sampled_from([*(each.value for each in Unit), "household"]),
    "row_noun": st.sampled_from(["", "trip", "car"]),
    "new_files": st.sampled_from([*(each.value for each in NewFiles), "merge"]),
    "time_zone": st.sampled_from(["UTC", "Europe/Berlin", "localtime", "Moon/Crater"]),
}
"""Values of fields of a declaration, of which some are not valid."""

COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "measures": st.sampled_from(
        [
            ("speed: 0 to 120 km/h", {"column": "speed", "low": 0, "high": 120, "unit": "km/h"}),
            ("by_bike: yes or no", {"column": "by_bike", "answer": True}),
            ("speed: 120 to 0", {"column": "speed", "low": 120, "high": 0}),
            ("plz: 0 to 99999", {"column": "plz", "low": 0, "high": 99_999}),
        ]
    ),
    "categories": st.sampled_from(
        [
            ("mode: walk, bike", {"column": "mode", "values": ["walk", "bike"]}),
            ("mode: walk, Walk", {"column": "mode", "values": ["walk", "Walk"]}),
            ("user_id: a", {"column": "user_id", "values": ["a"]}),
        ]
    ),
    "public_attributes": st.sampled_from(
        [
            ("app: 1.4, 2.0", {"column": "app", "values": ["1.4", "2.0"]}),
            ("geom: a", {"column": "geom", "values": ["a"]}),
        ]
    ),
}
"""Columns as lines of text, and as objects."""


def declarations() -> st.SearchStrategy[tuple[dict[str, Any], dict[str, Any]]]:
    """Return a strategy for declarations, as people type them and as programs send them."""
    names = st.lists(st.sampled_from([*VALUES, *COLUMNS]), max_size=4, unique=True)

    def both(few: list[str]) -> st.SearchStrategy[tuple[dict[str, Any], dict[str, Any]]]:
        facts = st.fixed_dictionaries({name: VALUES[name] for name in few if name in VALUES})
        columns = st.fixed_dictionaries({name: COLUMNS[name] for name in few if name in COLUMNS})
        usual = {"title": "Trips", "licence": "CC0 1.0", "unit": "person"}
        return st.tuples(facts, columns).map(
            lambda drawn: (
                usual | drawn[0] | {name: [each[0]] for name, each in drawn[1].items()},
                usual | drawn[0] | {name: [each[1]] for name, each in drawn[1].items()},
            )
        )

    return names.flatmap(both)


def judged_by_api(program: Program, facts: dict[str, Any]) -> str | None:
    """Return the field that the API refuses, or None if it declares the dataset."""
    answer = program.send("POST", "/api/v1/datasets", {**facts, "study_area": AREA, "budget": "2"})
    assert answer.status_code in (201, 400)
    return None if answer.status_code == 201 else answer.json().get("field", "")  # type: ignore[attr-defined]


def judged_by_form(client: Client, address: str, desk: Desk, typed: dict[str, Any]) -> set[str]:
    """Return the fields at which a form shows errors."""
    texts = {
        name: ("\n" if name in COLUMNS else ", ").join(value)
        if isinstance(value, list) and name != "themes"
        else value
        for name, value in typed.items()
    }
    sent = {
        "time_zone": "UTC",
        "new_files": "replace",
        "organisation": desk.organisation.pk,
        "outline": json.dumps(AREA),
        "budget": "2",
        **texts,
    }
    answer = client.post(address, sent)
    assert answer.status_code in (302, 422)
    if answer.status_code == 302:
        return set()
    form = answer.context.get("form") or answer.context["adminform"].form
    return set(form.errors)


def judged_by_command(typed: dict[str, Any]) -> str | None:
    """Return the field that the command refuses, or None if it declares the dataset."""
    listed = [(name, value) for name, value in typed.items() if not isinstance(value, list)]
    lists = {name: value for name, value in typed.items() if isinstance(value, list)}
    listed += [(name, each) for name, value in lists.items() for each in value]
    words = [f"--{name.replace('_', '-')}={value}" for name, value in listed]
    usual = ["--create", "--organisation=Invented house", "--area=10,50,10.1,50.1", "--budget=2"]
    parser = ingest.Command().create_parser("manage.py", "ingest")
    options = vars(parser.parse_args(["trips.csv", "--dataset=typed", *usual, *words]))
    try:
        with plain_errors(ingest.OPTIONS):
            ingest.declare(options, None)
    except CommandError as error:
        return str(error).partition(":")[0].removeprefix("--").replace("-", "_")
    return None


def test_a_declaration_has_the_same_verdict_wherever_it_is_made() -> None:
    desk = make_desk()
    program = program_of(desk)
    desk.user.is_staff = True
    desk.user.save()
    forms = ("/desk/datasets/new/", "/admin/datasets/dataset/add/")

    @settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
    @given(declarations())
    def judged_alike(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
        typed, sent = both
        field = judged_by_api(program, sent)
        assert judged_by_command(typed) == field
        for address in forms:
            errors = judged_by_form(desk.client, address, desk, typed)
            assert field in errors if field is not None else not errors, (address, errors)
        Dataset.objects.all().delete()

    judged_alike()


def test_a_stored_declaration_is_read_as_it_was_written() -> None:
    desk = make_desk()
    dataset = desk.declare(
        keywords=["bus"], themes=["TRAN"], covers_from="2026-01-01", row_noun="trip",
        measures=["speed = Speed: 0 to 120 km/h"], categories=["mode: walk, bike"],
        public_attributes=["app: 1.4"], keep_raw=True,
    )  # fmt: skip
    stored = Dataset.objects.get(declaration__unit="person")
    assert stored.declaration == dataset.declaration
    assert type(stored.declaration) is Declaration
    assert stored.bounds == stored.area.bounds
