"""API documents about releases and datasets: content, access and format."""

from __future__ import annotations

import datetime
import json
import re
from fractions import Fraction
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.crypto import get_random_string

from dpgeo.accounts.models import Role, User
from dpgeo.budgets.models import Entry, Ledger
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.unit.artefacts.releases import grid_release, partition_release
from tests.web.published import REASON, install, make_dataset, make_member, make_organisation

pytestmark = pytest.mark.django_db

ACCEPTS = ["*/*", "application/json", "text/html", "text/csv", "application/pdf;q=0.1", ""]


def lasting(answer: Any) -> dict[str, str]:
    """Return a response's headers except the random request id."""
    return {name: value for name, value in answer.items() if name != "X-Request-ID"}


def get(client: Client, address: str, status: int = 200, **headers: str) -> Any:
    """Return the JSON of a response; check that it has the expected status."""
    answer = client.get(address, headers=headers)
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def member() -> Client:
    """Return a browser in which a steward of the publisher is signed in."""
    return signed_in(make_member(make_organisation(), get_random_string(8)))


def stranger() -> Client:
    """Return a browser in which another publisher's administrator is signed in."""
    other = make_organisation("other-town")
    return signed_in(make_member(other, get_random_string(8), Role.ADMINISTRATOR))


def test_a_release_has_its_facts(client: Client) -> None:
    release = install(make_dataset(), partition_release())
    document = get(client, f"/api/v1/releases/{release.pk}")
    assert document["id"] == release.pk
    assert document["mechanism"] == "dpcube"
    assert document["parameters"] == {"answers": "least-squares", "cells": 8}
    assert (document["epsilon"], document["bound"]) == ("0.5", 3)
    assert (document["counting"], document["unit"]) == ("people", "person")
    assert document["dataset"] == {"slug": "walks", "title": "Walks"}
    assert document["publisher"]["name"] == "Example City"
    assert (
        "a guess from all maps of these data together, at most 89 times."
        in (document["privacy"]["sentence"])
    )
    assert document["privacy"]["right_guesses_in_100"] == 89
    assert document["promise"]["right_guesses_in_100"] == 63
    assert document["promise"]["verdict"] == "strong"
    assert document["privacy"]["total_epsilon"] == "2"
    names = {file["name"] for file in document["files"]}
    assert {"partitions.parquet", "estimate.csv", "map.bin", "statement.json"} <= names
    assert document["statement_url"].endswith(f"/{release.pk}/files/statement.json")
    assert document["published_on"] == timezone.now().date().isoformat()


def test_a_release_states_what_its_dataset_declares_now(client: Client) -> None:
    dataset = make_dataset()
    address = f"/api/v1/releases/{install(dataset, partition_release()).pk}"
    before = get(client, address)["privacy"]
    Ledger.objects.filter(pk=dataset.ledger_id).update(total_units=1_000_000)
    after = get(client, address)["privacy"]
    assert (before["total_epsilon"], after["total_epsilon"]) == ("2", "1")
    assert after["right_guesses_in_100"] < before["right_guesses_in_100"]
    changed = dataset.declaration.model_copy(update={"unit": Unit.RECORD, "row_noun": "trip"})
    Dataset.objects.filter(pk=dataset.pk).update(declaration=changed)
    document = get(client, address)
    assert "trip" in document["promise"]["sentence"]
    assert "trip" in document["privacy"]["sentence"]


@pytest.mark.parametrize("accept", ACCEPTS)
@pytest.mark.parametrize("who", [Client, stranger])
def test_for_strangers_a_draft_does_not_exist(who: Any, accept: str) -> None:
    draft = install(make_dataset(), published=False)
    client = who()
    never = f"/api/v1/releases/{'A' * 22}"
    hidden = f"/api/v1/releases/{draft.pk}"
    for tail in ("", *(f"/files/{file.name}" for file in draft.files.all()), "/files/none.csv"):
        for method in (client.get, client.head):
            answer = method(hidden + tail, headers={"accept": accept})
            nothing = method(never + tail, headers={"accept": accept})
            assert answer.status_code == nothing.status_code == 404
            assert answer.content == nothing.content
            assert lasting(answer) == lasting(nothing)
    assert get(client, "/api/v1/releases", accept=accept)["results"] == []
    assert get(client, "/api/v1/datasets", accept=accept)["results"] == []
    assert get(client, "/api/v1/datasets/walks", 404, accept=accept)["status"] == 404


def test_a_withdrawn_release_leaves_a_tombstone(client: Client) -> None:
    release = install(make_dataset(), withdrawn=True)
    document = get(client, f"/api/v1/releases/{release.pk}")
    assert document["state"] == "withdrawn"
    assert document["withdrawn_on"]
    assert (document["files"], document["statement_url"]) == ([], None)
    assert document["epsilon"] == "0.5"
    assert get(client, "/api/v1/releases")["results"] == []


def test_strangers_learn_only_that_a_draft_was_rejected(client: Client) -> None:
    release = install(make_dataset(title="Secret walks"), rejected=True)
    address = f"/api/v1/releases/{release.pk}"
    answer = client.get(address)
    assert answer.status_code == 410
    assert answer.json() == {
        "type": "/api/docs#not-published",
        "title": "This release was not published",
        "status": 410,
        "detail": "Nothing of it is served, and nothing will be; other releases are at "
        "/api/v1/releases.",
    }
    assert get(client, "/api/v1/releases")["results"] == []
    assert get(client, "/api/v1/datasets")["results"] == []
    document = get(member(), address)
    assert (document["state"], document["files"]) == ("rejected", [])
    assert (document["statement_url"], document["published_on"]) == (None, None)
    assert REASON not in str(document)


def test_the_stated_guarantee_is_the_whole_budget_and_never_the_rest(client: Client) -> None:
    dataset = make_dataset()
    release = install(dataset)
    addresses = [f"/api/v1/releases/{release.pk}", "/api/v1/releases", "/api/v1/datasets"]
    before = [client.get(address).content for address in addresses]
    Ledger.objects.filter(pk=dataset.ledger_id).update(spent_units=1_234_567)
    Entry.objects.create(
        ledger=dataset.ledger, job=uuid4(), kind="debit", units=1_234_567, what="a secret"
    )
    assert [client.get(address).content for address in addresses] == before


def test_private_facts_change_no_public_answer() -> None:
    """Private facts do not affect public responses.

    The responses for two datasets with the same content differ only in ids and publication dates.
    """
    answers = []
    for rows, budget_spent in ((1, 0), (999_999, 1_000_000)):
        dataset = make_dataset()
        Ledger.objects.filter(pk=dataset.ledger_id).update(spent_units=budget_spent)
        release = install(
            dataset,
            partition_release(),
            size=rows * 40,
            file_name=f"{rows}.csv",
            report={"read": rows, "accepted": rows // 2},
        )
        job = release.job
        job.started_at = timezone.now() - datetime.timedelta(hours=rows % 7)
        job.attempts, job.progress_total = rows % 5, rows
        job.save()
        answers.append(public_answers(release))
        Release.objects.all().delete()
        Dataset.objects.all().delete()
    assert len(answers[0]) >= 13
    assert answers[0] == answers[1]


def public_answers(release: Release) -> dict[str, bytes]:
    """Return everything a stranger can fetch about a release, without ids and dates."""
    client = Client()
    base = f"/api/v1/releases/{release.pk}"
    addresses = ["/api/v1/releases", "/api/v1/datasets", "/api/v1/datasets/walks", base]
    addresses += [f"{base}/files/{file.name}" for file in release.files.all()]
    addresses += [f"{base}/files/nothing.csv"]
    bodies = {}
    for address in addresses:
        answer = client.get(address)
        headers = sorted(
            f"{key}: {value}" for key, value in lasting(answer).items() if key != "ETag"
        )
        body = answer.getvalue()
        raw = "\n".join([str(answer.status_code), *headers]).encode() + body
        raw = re.sub(rb'"published_on":"[^"]*"', b"", raw)
        bodies[address.replace(release.pk, "ID")] = raw.replace(release.pk.encode(), b"ID")
    return bodies


def test_documents_have_an_etag(client: Client) -> None:
    install(make_dataset())
    answer = client.get("/api/v1/releases")
    assert answer["Cache-Control"] == "public, no-cache"
    again = client.get("/api/v1/releases", headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_other_sites_may_read_what_is_public(client: Client) -> None:
    release = install(make_dataset())
    for address in ("/api/v1/releases", f"/api/v1/releases/{release.pk}/files/map.bin"):
        assert client.get(address)["Access-Control-Allow-Origin"] == "*"
        response = client.options(address)
        assert response.status_code == 204
        assert "Range" in response["Access-Control-Allow-Headers"]
        assert "Access-Control-Allow-Credentials" not in response


# The next tests are about pages and filters of lists.


def test_no_public_answer_reveals_the_hour_of_publication() -> None:
    """No public response reveals the hour of publication.

    A release that is published automatically is published when its job ends, and run times are
    private.
    """
    dataset = make_dataset()
    releases = [install(dataset) for _ in range(3)]
    stranger_sees = []
    for order in (releases, releases[::-1]):
        for hour, release in enumerate(order, 1):
            at = datetime.datetime(2026, 3, 1, hour, 7, 31, 123, tzinfo=datetime.UTC)
            Release.objects.filter(pk=release.pk).update(published_at=at, day=at.date())
        addresses = ["/", "/api/v1/releases", "/api/v1/releases?limit=1"]
        for release in releases:
            addresses += [f"/maps/{release.pk}/", f"/maps/{release.pk}/privacy/"]
            addresses += [f"/api/v1/releases/{release.pk}"]
        answers = [Client().get(address) for address in addresses]
        stranger_sees.append([(lasting(answer), answer.content) for answer in answers])
    assert stranger_sees[0] == stranger_sees[1]


def test_pages_follow_each_other_newest_day_first(client: Client) -> None:
    dataset = make_dataset(budget=Fraction(8))
    releases = [install(dataset) for _ in range(5)]
    moment = timezone.now()
    for index, release in enumerate(releases):
        # Two releases are published on the first day, two on the second, and one on the third.
        at = moment + datetime.timedelta(days=index // 2)
        Release.objects.filter(pk=release.pk).update(published_at=at, day=at.date())
    ids: list[str] = []
    address = "/api/v1/releases?limit=2&dataset=walks"
    for size in (2, 2, 1):
        page = get(client, address)
        assert len(page["results"]) == size
        ids += [each["id"] for each in page["results"]]
        address = page["next"]
    assert address is None
    expected = Release.objects.order_by("-published_at", "-pk").values_list("pk", flat=True)
    assert ids == list(expected)


FILTERS = [
    ("dataset=walks", {"here"}),
    ("dataset=none", set()),
    ("organisation=example-city", {"here"}),
    ("mechanism=uniform-grid", {"here"}),
    ("mechanism=dpcube", {"there"}),
    ("kind=heatmap", {"here", "there"}),
    ("bbox=4.4,52,4.5,52.1", {"here"}),
    ("bbox=-10,-10,-9.5,-9.5", {"there"}),
    ("bbox=100,0,101,1", set()),
    ("published_from=2026-03-02", {"there"}),
    ("published_to=2026-03-01", {"here"}),
    ("published_from=2026-03-01&published_to=2026-03-02", {"here", "there"}),
]


@pytest.mark.parametrize(("query", "expected"), FILTERS)
def test_releases_can_be_filtered(client: Client, query: str, expected: set[str]) -> None:
    far = StudyArea.from_bounds(-10, -10, -9, -9)
    there = make_dataset(make_organisation("other-town"), far, title="Cars")
    releases = {
        "here": install(make_dataset()),
        "there": install(there, partition_release(area=far)),
    }
    for day, release in enumerate(releases.values(), 1):
        at = datetime.datetime(2026, 3, day, 23, 59, tzinfo=datetime.UTC)
        Release.objects.filter(pk=release.pk).update(published_at=at)
    ids = {each["id"] for each in get(client, f"/api/v1/releases?{query}")["results"]}
    assert ids == {releases[name].pk for name in expected}


BAD_QUERIES = [
    ("releases?limit=0", "limit", "from 1 to 100"),
    ("releases?limit=1000000000", "limit", "follow `next`"),
    ("releases?limit=%C2%B2", "limit", "from 1 to 100"),
    ("releases?limit=5&limit=6", "limit", "give it once"),
    ("releases?cursor=xyz", "cursor", "start without one"),
    ("releases?cursor=WyIyMDI2LTAxLTAxIiwgIlx1MDAwMCJd", "cursor", "start without one"),
    ("releases?cursor=WyIyMDI2LTAxLTAxIiwgIlx1ZDgwMCJd", "cursor", "start without one"),
    ("releases?bbox=a,b,c,d", "bbox", "four numbers"),
    ("releases?bbox=0,0,nan,1", "bbox", "not a finite number"),
    ("releases?bbox=0,0,10,400.17", "bbox", "longitude first"),
    ("releases?bbox=170,0,-170,1", "bbox", "send two requests"),
    ("releases?bbox=0,2,1,1", "bbox", "swap them"),
    ("releases?bbox=0,0,%D9%A1,1", "bbox", "four numbers"),
    ("releases?published_from=yesterday", "published_from", "such as 2026-03-31"),
    ("releases?published_to=%D9%A2026-03-31", "published_to", "such as 2026-03-31"),
    ("releases?mechanism=magic", "mechanism", "choose from auto"),
    ("releases?kind=magic", "kind", "choose from averages, clusters, contours, flows, heatmap"),
    ("releases?dataset=%00", "dataset", "letters, digits"),
    ("releases?mecanism=dpcube", "mecanism", "did you mean 'mechanism'?"),
    ("releases?format=csv", "format", "choose from"),
    ("datasets?zzz=1", "zzz", "choose from limit, cursor, organisation, bbox"),
    ("mechanisms?limit=1", "limit", "takes none"),
]


@pytest.mark.parametrize(("address", "field", "remedy"), BAD_QUERIES)
def test_a_bad_query_is_refused_with_a_remedy(
    client: Client, address: str, field: str, remedy: str
) -> None:
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    document = json.loads(answer.content)
    assert document["status"] == 400
    assert document["field"] == field
    assert remedy in document["detail"]


def test_an_unexpected_error_reveals_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("person 42 at 52.1, 4.3")

    monkeypatch.setattr("dpgeo.api.releases.releases_visible_to", fail)
    answer = client.get("/api/v1/releases")
    assert answer.status_code == 500
    assert answer["Content-Type"] == "application/problem+json"
    assert b"person 42" not in answer.content


# The next tests are about readiness and guarantees.


def test_mechanisms_have_a_json_schema(client: Client) -> None:
    listed = get(client, "/api/v1/mechanisms")["results"]
    assert {"uniform-grid", "dpcube"} <= {each["key"] for each in listed}
    for each in listed:
        assert get(client, f"/api/v1/mechanisms/{each['key']}") == each
        assert each["parameters"]["additionalProperties"] is False
        assert each["title"]
        assert each["summary"]


def test_a_dataset_has_its_publishers_declaration(client: Client) -> None:
    install(make_dataset(budget=Fraction(1)), grid_release())
    document = get(client, "/api/v1/datasets/walks")
    assert document == get(client, "/api/v1/datasets")["results"][0]
    assert document["privacy"]["total_epsilon"] == "1"
    assert document["study_area"]["type"] == "Polygon"
    assert set(document) == {
        "slug",
        "row_noun",
        "url",
        "title",
        "description",
        "publisher",
        "licence",
        "licence_url",
        "attribution",
        "contact",
        "data_protection",
        "keywords",
        "themes",
        "covers_from",
        "covers_until",
        "unit",
        "time_zone",
        "public_attributes",
        "measures",
        "categories",
        "new_files",
        "bbox",
        "study_area",
        "privacy",
        "releases_url",
    }


def test_the_odds_of_presence_have_a_name_of_their_own(client: Client) -> None:
    dataset = make_dataset()
    install(dataset)
    privacy = get(client, f"/api/v1/datasets/{dataset.slug}")["privacy"]
    assert privacy["presence_odds_factor"] == pytest.approx(7.389056)
