"""Privacy statements of all mechanisms' releases.

They are compared with what the three tiers of OpenDP's Deployments Registry ask for.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dpgeo.artefacts.files import build_files
from dpgeo.artefacts.statement_schema import statement_schema
from dpgeo.core.parameters import parse_parameters, settle_layers
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy.mechanism import Mechanism
from tests.conformance.cases import LAYER, LAYERS, city, small
from tests.conformance.test_mechanisms import every_mechanism, release

PAGE = Path(__file__).resolve().parents[2] / "docs" / "statement.md"

SOURCE = {"name": "Census of 2021", "url": "https://example.org/census", "date": "2021-06-30"}

ABOUT = {
    "title": "Evening walks",
    "description": "Where people walk after six, in an invented city.",
    "requested_on": "2026-11-22",
    "dataset": "Walks",
    "dataset_slug": "walks",
    "publisher": "City of Example",
    "publisher_sector": "Government",
    "contact": "maps@example.org",
    "licence": "CC BY 4.0",
    "attribution": "City of Example",
    "dataset_total_epsilon": "2",
    "public_layers": json.dumps([LAYER, LAYER | {"public_source": SOURCE, "release": None}]),
    "study_area_exchange": json.dumps(
        {"place": "Vessby", "source": SOURCE, "on": "2026-11-22", "times": 1}
    ),
    "study_area_seen": json.dumps({"areas": 2, "on": "2026-11-22"}),
}
"""What a publisher tells about itself and its data, with every field filled in."""

"""Fields that the registry asks for, by tier and section (its schemas/deployments-schema.yaml,
autumn 2026).
"""


ROW = re.compile(r"^\| (\d) \| `([\w.]+)` \| (`.*`) \|$", re.MULTILINE)

ANSWERS = {
    (int(tier), field): [places.replace("`", "").split(" or ") for places in cell.split("; ")]
    for tier, field, cell in ROW.findall(PAGE.read_text())
}
"""Dotted paths in a statement whose values answer each registry field, by tier and field. Every
path listed must have a value; where a path has alternatives, one of them is enough.
"""

PLACES = [place for places in ANSWERS.values() for either in places for place in either]


def at(document: Any, place: str) -> Any:
    """Return the value at a dotted path in a document; None if there is none."""
    for name in place.split("."):
        document = (document or {}).get(name)
    return document


def unanswered(document: Any) -> set[str]:
    """Return the fields of ANSWERS that a statement does not fill in."""
    return {
        field
        for (_, field), places in ANSWERS.items()
        if not all(any(at(document, place) for place in either) for either in places)
    }


@pytest.fixture
def stated(mechanism: Mechanism) -> Any:
    """Return the published privacy statement of a release of `mechanism`, as parsed JSON."""
    return json.loads(statement_text(mechanism.key))


@cache
def statement_text(key: str) -> str:
    """Return the statement file of a release of the mechanism `key`, as text."""
    mechanism = MECHANISMS[key]
    params = settle_layers(parse_parameters(mechanism.params, small(mechanism.params)), LAYERS)
    released = dataclasses.replace(release(mechanism, params, city()), about=ABOUT)
    with tempfile.TemporaryDirectory() as folder:
        build_files(released, Path(folder))
        return (Path(folder) / "statement.json").read_text(encoding="utf-8")


@every_mechanism
def test_its_statement_answers_every_field_of_the_registry(stated: Any) -> None:
    assert unanswered(stated) == set()
    for name in {place.partition(".")[0] for place in PLACES}:
        assert unanswered({**stated, name: None}), name


@every_mechanism
def test_its_statement_has_the_schema_that_it_names(stated: Any) -> None:
    Draft202012Validator(statement_schema(stated["version"])).validate(stated)


@every_mechanism
def test_its_statement_does_not_reveal_the_number_of_people(stated: Any) -> None:
    assert stated["number_of_units"].startswith("Not stated")
    assert not re.search(r"\d", stated["number_of_units"])
