"""Responses and examples, checked against the OpenAPI schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.http import HttpResponseBase
from django.test import Client

from dpgeo.accounts.models import Scope
from dpgeo.api.documentation import schema
from dpgeo.api.ogc.description import description
from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG
from dpgeo.artefacts.statement_schema import VERSION
from dpgeo.jobs.disk_space import Reading
from dpgeo.releases.models import Release
from tests.makers import ask_for
from tests.tus import announcement, piece_at
from tests.unit.artefacts.releases import grid_release, partition_release
from tests.web.api import REQUEST, Program, program_of
from tests.web.described import check, operation
from tests.web.desk import Desk, make_desk
from tests.web.example_city import AREA, STUDY_AREA
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db


def test_every_file_and_every_part_of_one_is_as_described(client: Client) -> None:
    release = install(make_dataset(), partition_release())
    check("release_file", client.get(f"/api/v1/releases/{release.pk}/files/estimate.csv"))
    for file in ask_for(release).files.all():
        address = f"/api/v1/releases/{release.pk}/files/{file.name}"
        asked: tuple[dict[str, str], ...] = (
            {},
            {"range": "bytes=5-20"},
            {"if-none-match": "*"},
            {"range": "bytes=99999999-"},
        )
        answers = [client.get(address, headers=headers) for headers in asked]
        assert [each.status_code for each in answers] == [200, 206, 304, 416]
        for answer in answers:
            check("release_file", answer)


def test_answers_without_a_serializer_are_as_described(client: Client) -> None:
    release = install(make_dataset(), grid_release())
    tiles = f"/api/v1/releases/{release.pk}/tiles/cells"
    check("tile", client.get(f"{tiles}/0/0/0.pbf"))
    check("tilejson", client.get(f"{tiles}.json"))
    check("catalogue", client.get("/api/v1/catalogue"))
    check("statement_schema", client.get(f"/api/schemas/privacy-statement-{VERSION}.json"))


def parameters(name: str) -> set[str]:
    return {each["name"] for each in operation(name)["parameters"] if each["in"] == "path"}


def found_at(pointer: str, document: Any) -> Any:
    for part in pointer.split("/")[1:]:
        document = document[int(part) if isinstance(document, list) else part]
    return document


def linked() -> Iterator[tuple[str, dict[str, Any], str, dict[str, Any]]]:
    """Yield each link between operations.

    A link is given as its operation, its response, the target operation and the link's fields.
    """
    for methods in schema()["paths"].values():
        for described in methods.values():
            for answer in described["responses"].values():
                for following, facts in answer.get("links", {}).items():
                    yield described["operationId"], answer, following, facts


def test_every_link_works_with_values_of_its_answer() -> None:
    for name, answer, following, facts in linked():
        (content,) = answer["content"].values()
        assert facts["operationId"] == following
        assert set(facts["parameters"]) == parameters(following), (name, following)
        for expression in facts["parameters"].values():
            kind, _, pointer = expression.partition("#")
            if kind == "$response.body":
                for example in content["examples"].values():
                    assert isinstance(found_at(pointer, example["value"]), str)
            else:
                assert kind.removeprefix("$request.path.") in parameters(name)
    assert len([*linked()]) >= 27


def test_refusals_by_the_web_server_are_described_for_every_operation() -> None:
    for described in (schema(), description("http://testserver/ogc")):
        for methods in described["paths"].values():
            for each in methods.values():
                assert [*each["responses"]["414"]["content"]] == ["application/problem+json"]


@pytest.fixture
def desk(settings: Any, tmp_path: Any) -> Desk:
    """Make an organisation with a dataset that has data."""
    settings.INCOMING_DIR = tmp_path
    new = make_desk()
    new.declare(ready=True, slug="walks", study_area=STUDY_AREA)
    return new


@pytest.fixture
def release(desk: Desk) -> Release:
    """Make a published map of the dataset."""
    return install(make_dataset(desk.organisation, AREA), grid_release(16, area=AREA))


@pytest.fixture
def throttled(settings: Any) -> Iterator[Any]:
    """Yield the settings, with request limits whose counters start at zero."""
    caches["throttle"].clear()
    yield settings
    caches["throttle"].clear()


def problems(described: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the types and titles of the problems in an operation's examples."""
    return {
        (example["value"]["type"], example["value"]["title"])
        for answer in described["responses"].values()
        for example in answer.get("content", {})
        .get("application/problem+json", {})
        .get("examples", {})
        .values()
    }


def test_every_example_of_a_problem_occurs(desk: Desk, release: Release, throttled: Any) -> None:
    program, reader = program_of(desk), program_of(desk, Scope.RELEASES_REQUEST)
    gone = install(make_dataset(desk.organisation), grid_release(2), withdrawn=True)
    releases, uploads = "/api/v1/releases", "/api/v1/datasets/walks/uploads"
    files = f"{releases}/{release.pk}/files"
    begun = program.announce("walks", size=9)
    chunked = {**piece_at(0), "Transfer_Encoding": "chunked", "Content_Length": ""}
    whole = REQUEST | {"dataset": "walks", "title": "All", "epsilon": "1000"}
    response = program.send("POST", releases, whole, Idempotency_Key="all")
    met: list[tuple[str, int, HttpResponseBase]] = [
        ("releases", 400, Client().get(f"{releases}?bbox=1,2,3")),
        ("release_request", 401, Program().send("POST", releases, {})),
        ("tus_create", 403, reader.send("POST", f"{uploads}/tus", **announcement("a.csv", 9))),
        ("release", 404, Client().get(f"{releases}/none")),
        ("release_publish", 409, program.send("POST", f"{releases}/{release.pk}/publish")),
        ("release_request", 409, response),
        ("release_file", 202, Client().get(f"{files}/cells.gpkg")),
        ("release_file", 410, Client().get(f"{releases}/{gone.pk}/files/cells.csv")),
        ("tus_append", 411, program.send("PATCH", f"{begun}/tus", b"x", **chunked)),
        ("tus_create", 412, program.send("POST", f"{uploads}/tus", Upload_Length="9")),
        (
            "tus_create",
            413,
            program.send("POST", f"{uploads}/tus", **announcement("a.csv", 10**14)),
        ),
        ("release_query", 415, program.send("POST", f"{releases}/{release.pk}/query", b"text")),
        (
            "release_file",
            416,
            Client().get(f"{files}/map.bin", headers={"range": "bytes=9999999-"}),
        ),
    ]
    with pytest.MonkeyPatch.context() as patched:
        full = Reading(-1, low=True, writable=True)
        patched.setattr("dpgeo.api.outages.read_disk_space", lambda: full)
        announced = program.send("POST", f"{uploads}/tus", **announcement("a.csv", 9))
        met.append(("tus_create", 507, announced))
        met.append(("dataset_create", 503, program.send("POST", "/api/v1/datasets", {})))
    throttled.DPGEO_REQUESTS_A_MINUTE = 1
    asks = [Client().get(releases, REMOTE_ADDR="192.0.2.9") for _ in range(2)]
    met.append(("releases", 429, asks[1]))
    seen = set()
    for name, status, answer in met:
        assert answer.status_code == status, name
        check(name, answer)
        document = json.loads(answer.getvalue())
        assert (document["type"], document["title"]) in problems(operation(name))
        seen.add((document["type"], document["title"]))
    every = [each for methods in schema()["paths"].values() for each in methods.values()]
    # Only the web server gives this response, so it is tested in services/test_web_workers.py.
    by_the_web_server = ADDRESS_TOO_LONG.document()
    seen.add((by_the_web_server["type"], by_the_web_server["title"]))
    assert seen == set().union(*map(problems, every))
