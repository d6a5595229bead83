"""The API's schema and its examples, compared with committed files.

The examples are responses to a city that uses every operation; each response is checked against
the schema. After an intended change, regenerate the files; their diff shows what changes for
clients: DPGEO_WRITE_CONTRACT=1 python -m pytest tests/web/test_api_contract.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from dpgeo.api import openapi
from dpgeo.api.documentation import schema
from dpgeo.api.ogc.description import description
from dpgeo.api.openapi import EXAMPLES
from dpgeo.core.kinds import KINDS
from dpgeo.mechanisms.registry import MECHANISMS
from tests.web import example_city

HERE = Path(__file__).parent

SCHEMA = HERE / "api_schema.json"
OGC_SCHEMA = HERE / "ogc_schema.json"

FILES = {"schema", "statement_schema", "release_file", "style"}
"""Operations that return a JSON file, not a document of the API's own: they need no examples."""

PROSE = {"description", "summary", "examples"}


REGISTERED = {"every mechanism": list(MECHANISMS), "every kind": sorted(KINDS)}
"""Lists of all registered names, each by the text that replaces it in the committed schema.

So the committed schema does not change with every new mechanism or kind.
"""


def structure(described: Any, *, names: bool = False) -> Any:
    """Return a schema without its prose; a list of all mechanisms or kinds is replaced by its name.

    If `names`, the object's keys are names of fields, not keywords of JSON Schema.
    """
    for name, registered in REGISTERED.items():
        if described == registered:
            return name
    if isinstance(described, list):
        return [structure(each) for each in described]
    if not isinstance(described, dict):
        return described
    return {
        key: structure(each, names=key in {"properties", "schemas"} and not names)
        for key, each in described.items()
        if names or key not in PROSE
    }


def hold(path: Path, document: Any, *, sort_keys: bool) -> None:
    """Check that a document equals a committed file.

    The order of object members is compared, too, unless `sort_keys` is set or the database does not
    preserve this order.
    """
    text = json.dumps(document, indent=1, sort_keys=sort_keys, ensure_ascii=False) + "\n"
    if os.environ.get("DPGEO_WRITE_CONTRACT"):
        path.write_text(text)
    committed = path.read_text()
    # PostgreSQL does not keep the order of members in stored JSON.
    if connection.vendor != "sqlite":
        text, committed = (
            json.dumps(json.loads(each), sort_keys=True) for each in (text, committed)
        )
    assert text == committed, (
        f"The API is no longer as in {path.name}. If that is on purpose: "
        "DPGEO_WRITE_CONTRACT=1 .venv/bin/python -m pytest tests/web/test_api_contract.py"
    )


def test_the_schema_is_the_committed_one() -> None:
    hold(SCHEMA, structure(schema()), sort_keys=True)
    ogc = description("https://maps.example.org/ogc")
    hold(OGC_SCHEMA, structure(ogc["components"]), sort_keys=True)


@pytest.mark.django_db
def test_the_examples_are_answers_of_the_api(settings: Any, tmp_path: Path) -> None:
    settings.INCOMING_DIR = tmp_path
    answers = example_city.play()
    assert [each["key"] for each in answers["mechanisms"]["results"]] == list(MECHANISMS)
    hold(EXAMPLES, examples(answers), sort_keys=False)
    openapi.examples.cache_clear()
    schema.cache_clear()
    operations = [each for methods in schema()["paths"].values() for each in methods.values()]
    bodies = {each["operationId"] for each in operations if takes_json(each)}
    assert bodies == example_city.BODIES.keys()
    assert {each["operationId"] for each in operations if lacks_an_example(each)} == FILES


def lacks_an_example(operation: dict[str, Any]) -> bool:
    """Return whether a request or a successful response lacks an example."""
    good = [answer for status, answer in operation["responses"].items() if status < "3"]
    documents = [each.get("content", {}) for each in (operation.get("requestBody", {}), *good)]
    contents = [each["application/json"] for each in documents if "application/json" in each]
    return any("examples" not in each for each in contents)


def takes_json(operation: dict[str, Any]) -> bool:
    """Return whether an operation takes a JSON body."""
    return "application/json" in operation.get("requestBody", {}).get("content", {})


def examples(answers: dict[str, Any]) -> dict[str, Any]:
    """Return the schema's examples: request bodies, and responses with long lists cut short."""
    return {
        name: {
            **({"sent": sent} if (sent := example_city.BODIES.get(name)) else {}),
            "answer": beginning(answer),
        }
        for name, answer in answers.items()
        if not name.startswith(("ogc", "catalogue"))
    }


def beginning(answer: Any) -> Any:
    """Return a response with only the first of its results and files."""
    if not isinstance(answer, dict):
        return answer
    lengths = {"results": 1, "files": 2}
    return {
        name: [beginning(each) for each in value[: lengths[name]]] if name in lengths else value
        for name, value in answer.items()
    }
