"""The OpenAPI schema and its page: valid, complete, and without third-party content."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command
from django.test import Client

from dpgeo.api import problems
from dpgeo.api.documentation import schema
from dpgeo.core import errors
from dpgeo.core.errors import DpgeoError
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.one_database


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return a validator for the schema with this name in the OpenAPI description."""
    root = {"$ref": f"#/components/schemas/{name}", "components": schema()["components"]}
    return jsonschema.Draft202012Validator(
        root, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in schema()["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_schema_is_valid_openapi_without_a_warning() -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=io.StringIO())


def test_writes_are_described_as_needing_a_key() -> None:
    for name, operation in operations():
        reading = {"release_query", "series_query", "plan", "plan_radius"}
        changes_nothing = operation["operationId"] in reading
        if not name.startswith("get ") and not changes_nothing:
            assert {"key": []} in operation["security"], name
            assert {"401", "403", "429"} <= set(operation["responses"]), name


@pytest.mark.django_db
@pytest.mark.parametrize("withdrawn", [False, True])
def test_answers_fit_the_schema(client: Client, withdrawn: bool) -> None:
    release = install(make_dataset(), withdrawn=withdrawn)
    answers = {
        "ReleaseList": "/api/v1/releases",
        "Release": f"/api/v1/releases/{release.pk}",
        "DatasetList": "/api/v1/datasets",
        "MechanismList": "/api/v1/mechanisms",
        "Mechanism": "/api/v1/mechanisms/dpcube",
    }
    if not withdrawn:
        answers["TileJson"] = f"/api/v1/releases/{release.pk}/tiles/cells.json"
        answers["Dataset"] = "/api/v1/datasets/walks"
    for name, address in answers.items():
        validator(name).validate(json.loads(client.get(address).content))
    for address in ("/api/v1/releases?limit=0", "/api/v1/none", "/api/v1/releases/none"):
        validator("Problem").validate(json.loads(client.get(address).content))


@pytest.mark.django_db
def test_the_page_loads_nothing_from_other_places(client: Client) -> None:
    text = client.get("/api/docs").content.decode()
    loaded = re.findall(r"(?:src|srcset|<link[^>]*href)=[\"']([^\"']+)", text)
    assert loaded
    assert all(address.startswith("/") and not address.startswith("//") for address in loaded)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidInput("Give 1.", field="bound"), 400),
        (errors.NotAllowed("Ask an approver."), 403),
        (errors.BudgetExceeded("Asked 2, left 1."), 409),
        (errors.Conflict("Not yet."), 409),
    ],
)
def test_errors_that_a_person_can_fix_keep_their_message(error: DpgeoError, status: int) -> None:
    answer = problems.problem_response(error, {})
    assert answer is not None
    document = json.loads(answer.content)
    assert answer.status_code == document["status"] == status
    assert document["detail"] == error.message
    assert document.get("field", "") == error.field


@pytest.mark.parametrize("error", [errors.PrivacyError("label x"), ValueError("secret")])
def test_the_messages_of_other_errors_are_not_sent(error: Exception) -> None:
    answer = problems.problem_response(error, {})
    assert answer is not None
    assert answer.status_code == 500
    assert str(error).encode() not in answer.content
