"""Writes by API: permissions, refusals and repeated requests."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone

from dpgeo.accounts.models import ApiKey, Role, Scope
from dpgeo.api.idempotency import id_named
from dpgeo.core.errors import Conflict
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Transfer, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.resumable_uploads import transfer_append
from dpgeo.datasets.storage import private_storage
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_run
from dpgeo.releases.states import ReleaseState
from tests.makers import make_received
from tests.tus import VERSION, announcement, piece_at
from tests.web.api import (
    COLUMNS,
    CONTENT,
    DECLARATION,
    REQUEST,
    Program,
    program_of,
)
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

NAMED = {"Idempotency_Key": "monday"}


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Return the folder of unfinished uploads for one test."""
    settings.INCOMING_DIR = tmp_path
    return tmp_path


def asked(dataset: Dataset, **changes: Any) -> dict[str, Any]:
    return {"dataset": dataset.slug, "title": "A map", **REQUEST, **changes}


def do_job(answer: dict[str, Any]) -> None:
    """Run the job of a release, as a worker would."""
    release_run(release_id=answer["release_url"].rpartition("/")[2])


# The next tests are about who may write.


def writes(desk: Desk) -> dict[str, tuple[Scope, str, str, Any, dict[str, str]]]:
    """Return the scope and a sample request of each operation, by name.

    The operations are those that write or that only members may use.
    """
    dataset = desk.declare(ready=True, title="Own")
    waiting = desk.declare(title="Waiting")
    upload = program_of(desk).upload(waiting.slug)
    part = program_of(desk).announce(waiting.slug)
    release = desk.request(dataset)
    home = f"/api/v1/datasets/{dataset.slug}"
    map_ = f"/api/v1/releases/{release.pk}"
    announced = announcement("a.csv", 5)
    return {
        "declare": (Scope.DATASETS_WRITE, "POST", "/api/v1/datasets", DECLARATION, {}),
        "change": (Scope.DATASETS_WRITE, "PATCH", home, {"title": "New"}, {}),
        "begin": (Scope.UPLOADS_WRITE, "POST", f"{home}/uploads/tus", None, announced),
        "offset": (Scope.UPLOADS_WRITE, "GET", part, None, {}),
        "append": (Scope.UPLOADS_WRITE, "PATCH", f"{part}/tus", CONTENT, piece_at(0)),
        "preview": (Scope.UPLOADS_WRITE, "GET", f"{upload}/preview", None, {}),
        "confirm": (Scope.UPLOADS_WRITE, "POST", f"{upload}/confirm", {"columns": COLUMNS}, {}),
        "quote": (Scope.RELEASES_REQUEST, "POST", f"{home}/quote", REQUEST, {}),
        "request": (Scope.RELEASES_REQUEST, "POST", "/api/v1/releases", asked(dataset), NAMED),
        "job": (Scope.JOBS_READ, "GET", f"/api/v1/jobs/{release.job_id}", None, {}),
        "budgets": (Scope.BUDGETS_READ, "GET", "/api/v1/budgets", None, {}),
        "notes": (Scope.RELEASES_REQUEST, "PUT", f"{map_}/notes", {"notes": []}, {}),
        "publish": (Scope.RELEASES_PUBLISH, "POST", f"{map_}/publish", None, {}),
        "reject": (Scope.RELEASES_PUBLISH, "POST", f"{map_}/reject", {"reason": "Noisy."}, {}),
        "withdraw": (Scope.RELEASES_PUBLISH, "POST", f"{map_}/withdraw", None, {}),
        "cancel": (Scope.RELEASES_REQUEST, "POST", f"{map_}/cancel", None, {}),
    }


def things() -> list[Any]:
    """Return all database objects that a write could have changed."""
    return [
        list(Dataset.objects.order_by("pk").values("declaration", "frozen_at")),
        list(Upload.objects.order_by("pk").values("state")),
        list(Release.objects.order_by("pk").values("state", "job__state")),
        sorted(
            (path.name, path.stat().st_size)
            for path in Path(django_settings.INCOMING_DIR).glob("transfer-*")
        ),
    ]


def test_every_write_needs_a_key(desk: Desk) -> None:
    requests = writes(desk)
    before = things()
    for _, method, address, body, headers in requests.values():
        answer = Program().send(method, address, body, **headers)
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == 'Bearer realm="dpgeo"'
    assert things() == before


@pytest.mark.parametrize(
    "shown", ["Bearer dpg_wrong", "Bearer", "Bearer \xff", "bearer dpg_" + "x" * 5000]
)
def test_a_wrong_key_is_refused_even_for_public_reads(desk: Desk, shown: str) -> None:
    for method, address in (("POST", "/api/v1/datasets"), ("GET", "/api/v1/releases")):
        Program({"Authorization": shown}).ask(method, address, status=401)


def test_each_write_needs_its_own_scope(desk: Desk) -> None:
    requests = writes(desk)
    before = things()
    for name, (scope, method, address, body, headers) in requests.items():
        others = [other for other in Scope.values if other != scope]
        problem = program_of(desk, *others).ask(method, address, body, 403, **headers)
        assert scope in problem["detail"], name
    assert things() == before


OF_DRAWN = {"publish", "reject", "withdraw"}
"""Operations that are allowed only if the release's noise has been drawn."""


def test_the_scope_of_a_write_suffices(desk: Desk) -> None:
    for name, (scope, method, address, body, headers) in writes(desk).items():
        scopes = {scope, Scope.BUDGETS_GRANT} if name == "declare" else {scope}
        program = program_of(desk, *scopes)
        for files in (Upload.objects, Transfer.objects):
            # A key may use only files that it sent itself.
            files.update(key=ApiKey.objects.latest("pk"))
        answer = program.send(method, address, body, **headers)
        # A request that is allowed but comes at the wrong time is a conflict.
        assert answer.status_code in {200, 201, 202, 204, 409}, name
        assert (answer.status_code == 409) == (name in OF_DRAWN), name


def test_another_organisations_key_finds_nothing(desk: Desk) -> None:
    requests = writes(desk)
    stranger = program_of(make_desk("Other house", "other"))
    requests.pop("declare")
    budgets = requests.pop("budgets")
    assert stranger.ask(*budgets[1:3])["results"] == []
    before = things()
    for _, method, address, body, headers in requests.values():
        stranger.ask(method, address, body, 404, **headers)
    assert things() == before


def test_a_key_writes_nothing_on_what_another_organisation_published(desk: Desk) -> None:
    dataset = desk.declare(ready=True)
    release = desk.request(dataset, publish_when_done=True)
    release_run(release_id=release.pk)
    stranger = program_of(make_desk("Other house", "other"))
    assert stranger.ask("GET", f"/api/v1/releases/{release.pk}")["state"] == "published"
    for action in ("publish", "withdraw", "cancel"):
        stranger.ask("POST", f"/api/v1/releases/{release.pk}/{action}", status=404)
    stranger.ask("PATCH", f"/api/v1/datasets/{dataset.slug}", {"title": "x"}, 404)


def test_a_session_without_a_role_does_nothing(desk: Desk) -> None:
    requests = writes(desk)
    budgets = requests.pop("budgets")
    program = Program(client=desk.signed_in("nobody", role=None))
    assert program.ask(*budgets[1:3])["results"] == []
    before = things()
    for name, (_, method, address, body, headers) in requests.items():
        program.ask(method, address, body, 403 if name == "declare" else 404, **headers)
    assert things() == before


def test_a_stewards_session_requests_and_does_not_publish(desk: Desk) -> None:
    program = Program(client=desk.signed_in("steward", role=Role.STEWARD))
    dataset = desk.declare(ready=True)
    job = program.ask("POST", "/api/v1/releases", asked(dataset), 202, **NAMED)
    do_job(job)
    program.ask("POST", f"{job['release_url']}/publish", status=403)
    body = asked(dataset, publish_when_done=True)
    refused = program.ask("POST", "/api/v1/releases", body, 403, Idempotency_Key="other")
    assert refused["field"] == "publish_when_done"
    assert Release.objects.get().state == ReleaseState.DRAFT


def test_a_session_needs_the_token_against_forged_requests(desk: Desk) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(desk.user)
    Program(client=client).ask("POST", "/api/v1/datasets", DECLARATION, 403)
    assert not Dataset.objects.exists()
    key = program_of(desk)
    key.client = Client(enforce_csrf_checks=True)
    key.ask("POST", "/api/v1/datasets", DECLARATION, 201)


def test_a_key_without_a_scope_for_releases_sees_no_draft(desk: Desk) -> None:
    release = desk.request(desk.declare(ready=True))
    release_run(release_id=release.pk)
    address = f"/api/v1/releases/{release.pk}"
    for scope in Scope.values:
        sees = scope in {Scope.RELEASES_REQUEST, Scope.RELEASES_PUBLISH}
        program = program_of(desk, scope)
        program.ask("GET", address, status=200 if sees else 404)
        assert len(program.ask("GET", "/api/v1/releases")["results"]) == sees
        file = program.send("GET", f"{address}/files/statement.json")
        assert file.status_code == (200 if sees else 404)


def test_private_answers_to_a_key_are_stored_in_no_cache(desk: Desk) -> None:
    program = program_of(desk)
    release = desk.request(desk.declare(ready=True))
    release_run(release_id=release.pk)
    for address in (
        "/api/v1/releases",
        f"/api/v1/releases/{release.pk}",
        f"/api/v1/releases/{release.pk}/files/map.bin",
        f"/api/v1/jobs/{release.job_id}",
        f"/api/v1/datasets/{release.dataset.slug}",
        "/api/v1/budgets",
    ):
        assert program.send("GET", address)["Cache-Control"] == "private, no-store"


# The next tests are about invalid input.


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"unit": "dog"}, "unit"),
        ({"study_area": {}}, "study_area"),
        ({"study_area": {"type": "Polygon", "coordinates": "abc"}}, "study_area"),
        ({"study_area": {"type": "Polygon", "coordinates": [[[400.17, 50]]]}}, "study_area"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"budget": "0"}, "budget"),
        ({"budget": "1e-7"}, "budget"),
        ({"budget": "1e999999999"}, "budget"),
        ({"budget": "NaN"}, "budget"),
        ({"budget": None}, "budget"),
        ({"slug": "a b"}, "slug"),
        ({"slug": "x" * 81}, "slug"),
        ({"accounting": "rho"}, "accounting"),
        ({"accounting": "zcdp"}, "population"),
        ({"accounting": "zcdp", "population": 0}, "population"),
        ({"accounting": "zcdp", "population": 10**9}, "delta"),
        ({"accounting": "zcdp", "population": 10**6, "delta": "1e-5"}, "delta"),
        ({"accounting": "zcdp", "population": 10**6, "delta": "2e-9"}, "delta"),
        ({"delta": "1e-9"}, "delta"),
        ({"population": 10**6}, "population"),
        ({"shares_budget_with": "none"}, "shares_budget_with"),
        ({"organisation": "none"}, "organisation"),
        ({"ledger": 1}, "ledger"),
        ({"seed": 1}, "seed"),
        ({"person_key": "x"}, "person_key"),
    ],
)
def test_each_fault_of_a_declaration_is_named(
    desk: Desk, change: dict[str, Any], field: str
) -> None:
    program = program_of(desk)
    problem = program.ask("POST", "/api/v1/datasets", {**DECLARATION, **change}, 400)
    assert problem["field"] == field
    assert not Dataset.objects.exists()


def test_forms_are_refused_with_the_header_to_send(desk: Desk) -> None:
    for media_type in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        problem = program_of(desk).ask(
            "POST", "/api/v1/datasets", b"title=a", 415, Content_Type=media_type
        )
        assert "Content-Type: application/json" in problem["detail"]
    session = Program(client=desk.client)
    for media_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        for size in (5, 3_000_000):
            answer = session.send("POST", "/api/v1/datasets", b"x" * size, Content_Type=media_type)
            assert answer.status_code in {400, 415}


def test_an_invalid_content_length_is_refused(desk: Desk) -> None:
    program = program_of(desk)
    for length, status in (("abc", 400), ("-5", 400), ("\u0663", 400)):
        answer = program.client.generic(
            "POST",
            "/api/v1/datasets",
            b"{}",
            content_type="application/json",
            headers=program.headers,
            CONTENT_LENGTH=length,
        )
        assert answer.status_code == status
    answer = program.client.generic(
        "POST",
        "/api/v1/datasets",
        headers=program.headers,
        CONTENT_LENGTH="",
        HTTP_TRANSFER_ENCODING="chunked",
    )
    assert answer.status_code == 411


def test_a_key_creates_a_budget_only_with_that_scope(desk: Desk) -> None:
    """A key needs a separate scope to create a budget.

    Each separate budget allows further releases about people who may also be in other datasets.
    """
    every = {*Scope.values} - {Scope.BUDGETS_GRANT}
    refused = program_of(desk, *every).ask("POST", "/api/v1/datasets", DECLARATION, 403)
    assert "budgets:grant" in refused["detail"]
    assert not Dataset.objects.exists()
    first = program_of(desk).ask("POST", "/api/v1/datasets", DECLARATION, 201)
    shared = {name: value for name, value in DECLARATION.items() if name != "budget"}
    shared["shares_budget_with"] = first["slug"]
    program_of(desk, *every).ask("POST", "/api/v1/datasets", shared, 201)


def test_fixed_facts_stay_and_texts_may_change(desk: Desk) -> None:
    program = program_of(desk)
    open_, frozen = desk.declare(), desk.declare(ready=True)
    changed = program.ask("PATCH", f"/api/v1/datasets/{open_.slug}", {"unit": "record"})
    assert changed["unit"] == "record"
    address = f"/api/v1/datasets/{frozen.slug}"
    assert program.ask("PATCH", address, {"unit": "record"}, 409)["field"] == "unit"
    assert program.ask("PATCH", address, {"title": "Other words"})["title"] == "Other words"
    program.ask("PATCH", address, {}, 400)
    assert program.ask("PATCH", address, {"budget": "1"}, 403)["field"] == "budget"
    administrator = Program(client=desk.client)
    administrator.ask("PATCH", address, {"budget": "1.5"})
    frozen.ledger.refresh_from_db()
    assert frozen.ledger.total_units == 1_500_000


@pytest.mark.parametrize("method", ["PUT", "DELETE", "TRACE"])
def test_other_methods_are_refused_by_name(desk: Desk, method: str) -> None:
    answer = program_of(desk).send(method, "/api/v1/datasets", {})
    assert answer.status_code == 405
    assert "POST" in answer["Allow"]


def test_a_query_on_a_write_is_refused(desk: Desk) -> None:
    problem = program_of(desk).ask("POST", "/api/v1/datasets?dry_run=1", DECLARATION, 400)
    assert problem["field"] == "dry_run"


# The next tests are about uploads.


def pieces(address: str) -> list[str]:
    """Return the names of the stored parts of an unfinished upload."""
    begins = f"incoming/{UUID(address.rpartition('/')[2]).hex}"
    return [name for name in stored_names(private_storage(), "incoming") if name.startswith(begins)]


class Broken:
    """A request body whose sender disconnects after some bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, size: int = -1) -> bytes:
        if not self._content:
            raise ConnectionResetError
        piece, self._content = self._content[:size], self._content[size:]
        return piece

    readline = read


def send_broken(program: Program, upload: str, body: Any, size: int = len(CONTENT)) -> Any:
    """Send a piece of a file of which the server may read no more than `body`."""
    named = {name.replace("_", "-"): value for name, value in piece_at(0).items()}
    media_type = named.pop("Content-Type")
    headers, environment = {**program.headers, **named}, {"wsgi.input": body}
    return program.client.generic(
        "PATCH",
        f"{upload}/tus",
        b"x" * size,
        content_type=media_type,
        headers=headers,
        **environment,
    )


def test_an_interrupted_upload_continues_where_it_stopped(desk: Desk, folder: Path) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.announce(dataset.slug)
    send_broken(program, address, Broken(CONTENT[:100]))
    offset = program.send("HEAD", f"{address}/tus", **VERSION)["Upload-Offset"]
    assert offset == "100"
    assert program.ask("GET", address)["state"] == "receiving"
    problem = program.append(address, CONTENT, status=409)
    assert problem["field"] == "Upload-Offset"
    assert "100 bytes" in problem["detail"]
    half = len(CONTENT) // 2
    program.append(address, CONTENT[100:half], 100)
    assert program.ask("GET", address)["offset"] == half
    program.append(address, CONTENT[half:], half)
    done = program.ask("GET", address)
    assert (done["state"], done["offset"]) == ("received", len(CONTENT))
    upload = Upload.objects.get(pk=done["id"])
    assert (upload.size, upload.file_name) == (len(CONTENT), "trips.csv")
    program.append(address, b"more", status=409)
    assert Upload.objects.count() == 1
    assert not list(folder.iterdir())
    assert not Transfer.objects.exists()
    program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 202)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.report is not None
    assert upload.report["accepted"] == 40


def test_a_file_over_the_limit_is_refused_before_it_is_sent(
    desk: Desk, folder: Path, settings: Any
) -> None:
    settings.DPGEO_MAX_UPLOAD_BYTES = 1000
    dataset = desk.declare()
    address = f"/api/v1/datasets/{dataset.slug}/uploads/tus"
    problem = program_of(desk).ask("POST", address, None, 413, **announcement("a.csv", 1001))
    assert problem["field"] == "Upload-Length"
    assert "1,000 bytes" in problem["detail"]
    assert not Transfer.objects.exists()


class Unread:
    """A request body that makes the test fail if it is read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError

    readline = read


def test_more_than_was_announced_is_refused_before_it_is_read(desk: Desk) -> None:
    program = program_of(desk)
    address = program.announce(desk.declare().slug, size=10)
    assert send_broken(program, address, Unread(), 11).status_code == 400
    assert program.ask("GET", address)["offset"] == 0


def test_two_requests_do_not_write_one_file_at_once(desk: Desk) -> None:
    program = program_of(desk)
    address = program.announce(desk.declare().slug)
    transfer = Transfer.objects.get()

    class Slow(io.BytesIO):
        """A request body during whose reading another request sends the same bytes."""

        def read(self, size: int | None = -1) -> bytes:
            if not self.tell():
                program.append(address, b"x")
            return super().read(size)

    with pytest.raises(Conflict, match="ask for the offset"):
        transfer_append(transfer=transfer, offset=0, stream=Slow(b"y"), length=1)
    assert program.ask("GET", address)["offset"] == 1
    assert len(pieces(address)) == 1


def test_a_key_lists_its_own_datasets_beside_the_public_ones(desk: Desk) -> None:
    program = program_of(desk)
    mine, other = desk.declare(), make_desk(name="Other house", owner="other").declare()
    assert [one["slug"] for one in program.ask("GET", "/api/v1/datasets")["results"]] == [mine.slug]
    assert "no-store" in program.send("GET", "/api/v1/datasets")["Cache-Control"]
    assert Program().ask("GET", "/api/v1/datasets")["results"] == []
    assert other.slug != mine.slug


def test_each_piece_may_go_to_another_host(
    desk: Desk, settings: Any, tmp_path: Path, folder: Path
) -> None:
    program = program_of(desk)
    address = program.announce(desk.declare().slug)
    for start in range(0, len(CONTENT), 500):
        settings.INCOMING_DIR = tmp_path / f"host {start}"
        settings.INCOMING_DIR.mkdir()
        program.append(address, CONTENT[start : start + 500], start)
    assert program.ask("GET", address)["state"] == "received"
    assert Upload.objects.get().size == len(CONTENT)
    with private_storage().open(Upload.objects.get().raw_name) as file:
        assert file.read() == CONTENT
    assert not pieces(address)


def test_the_number_of_unfinished_transfers_of_a_key_is_limited(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgeo.datasets.resumable_uploads.MAX_OPEN", 2)
    program, other, dataset = program_of(desk), program_of(desk), desk.declare()
    first = program.announce(dataset.slug)
    program.announce(dataset.slug)
    address = f"/api/v1/datasets/{dataset.slug}/uploads/tus"
    problem = program.ask("POST", address, None, 409, **announcement("c.csv", 5))
    assert "DELETE" in problem["detail"]
    other.announce(dataset.slug)
    program.ask("DELETE", first, status=204)
    program.announce(dataset.slug)


def test_the_name_of_a_file_is_never_used_as_a_path(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, name="../../etc/passwd\0.csv")
    assert program.ask("GET", address)["file_name"] == "passwd.csv"


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"longitude": "lon"}, "columns.latitude"),
        ({**COLUMNS, "person": ""}, "columns.person"),
        ({**COLUMNS, "time": "when"}, "columns.time"),
        ({**COLUMNS, "latitude": 5}, "columns.latitude"),
        ({**COLUMNS, "speed": "v"}, "columns"),
        ("lon", "columns"),
    ],
)
def test_columns_that_do_not_fit_are_named(desk: Desk, columns: Any, field: str) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug)
    problem = program.ask("POST", f"{address}/confirm", {"columns": columns}, 400)
    assert problem["field"] == field
    dataset.refresh_from_db()
    assert dataset.frozen_at is None


def test_no_row_is_shown_to_a_key(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    preview = program.ask("GET", f"{program.upload(dataset.slug)}/preview")
    assert set(preview) == {"columns", "suggested"}
    assert preview["columns"] == ["device", "lon", "lat", "seen"]


# The next tests are about releases.


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"epsilon": "0.25"},
        {"bound": 4},
        {"parameters": {"cells": 16}},
        {"counting": "visits"},
        {"mechanism": "dpcube"},
        {"publish_when_done": True},
        {"all_files": True},
        {"description": "Other words"},
    ],
)
def test_a_name_identifies_one_request(desk: Desk, change: dict[str, Any]) -> None:
    program, dataset = program_of(desk), desk.declare(ready=True)
    program.ask("POST", "/api/v1/releases", asked(dataset), 202, **NAMED)
    problem = program.ask("POST", "/api/v1/releases", asked(dataset, **change), 409, **NAMED)
    assert problem["field"] == "Idempotency-Key"
    assert Release.objects.count() == 1


def test_a_name_is_separate_in_each_dataset(desk: Desk) -> None:
    other = make_desk("Other house", "other")
    own, others = desk.declare(ready=True), other.declare(ready=True)
    jobs = {
        program.ask("POST", "/api/v1/releases", asked(dataset), 202, **NAMED)["id"]
        for program, dataset in ((program_of(desk), own), (program_of(other), others))
    }
    assert len(jobs) == 2


def test_a_dataset_with_the_id_of_a_lost_one_has_other_jobs(desk: Desk) -> None:
    dataset = desk.declare()
    lost = Dataset(pk=dataset.pk, created_at=dataset.created_at - timedelta(days=1))
    assert id_named(dataset, "release", "monday") == id_named(
        Dataset.objects.get(), "release", "monday"
    )
    assert id_named(dataset, "release", "monday") != id_named(lost, "release", "monday")
    assert id_named(dataset, "release", "monday") != id_named(dataset, "release", "tuesday")


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"mechanism": "laplace"}, 400, "mechanism"),
        ({"parameters": {"cell": 8}}, 400, "cell"),
        ({"parameters": {"cells": 0}}, 400, "cells"),
        ({"parameters": {"cells": [8]}}, 400, "cells"),
        ({"parameters": {"seed": 1}}, 400, "seed"),
        ({"parameters": []}, 400, "parameters"),
        ({"epsilon": "0"}, 400, "epsilon"),
        ({"epsilon": -1}, 400, "epsilon"),
        ({"epsilon": 1e400}, 400, ""),
        ({"epsilon": 0.1234567}, 400, "epsilon"),
        ({"epsilon": {"a": 1}}, 400, "epsilon"),
        ({"epsilon": "2.000001"}, 409, "epsilon"),
        ({"bound": 0}, 400, "bound"),
        ({"bound": 10**30}, 400, "bound"),
        ({"bound": "3"}, 400, "bound"),
        ({"bound": True}, 400, "bound"),
        ({"counting": "dogs"}, 400, "counting"),
    ],
)
def test_each_fault_of_a_request_is_named(
    desk: Desk, change: dict[str, Any], status: int, field: str
) -> None:
    program, dataset = program_of(desk), desk.declare(ready=True)
    quote = program.ask(
        "POST", f"/api/v1/datasets/{dataset.slug}/quote", {**REQUEST, **change}, status
    )
    request = program.ask("POST", "/api/v1/releases", asked(dataset, **change), status, **NAMED)
    assert quote.get("field", "") == request.get("field", "") == field
    assert quote["detail"] == request["detail"]
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 0


def test_a_release_that_is_not_drawn_is_not_published(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare(ready=True)
    job = program.ask("POST", "/api/v1/releases", asked(dataset), 202, **NAMED)
    for action in ("publish", "withdraw"):
        program.ask("POST", f"{job['release_url']}/{action}", status=409)
    problem = program.ask("POST", f"{job['release_url']}/publish", {"force": True}, 400)
    assert problem["field"] == "force"


def test_failed_and_cancelled_releases_look_alike_without_a_reason(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare(ready=True)
    job = program.ask("POST", "/api/v1/releases", asked(dataset), 202, **NAMED)
    seen = set()
    for state in (JobState.FAILED, JobState.CANCELLED):
        Job.objects.filter(pk=job["id"]).update(
            state=state,
            failure="4711 rows are too many",
            step="Counting",
            attempts=5,
            finished_at=timezone.now(),
        )
        answer = program.send("GET", job["url"])
        seen.add(answer.content)  # type: ignore[attr-defined]
        document = json.loads(next(iter(seen)))
        assert (document["state"], document["has_result"]) == ("done", False)
    assert len(seen) == 1
    assert b"4711" not in seen.pop()
    problem = program.ask("POST", f"{job['release_url']}/publish", status=409)
    assert "4711" not in problem["detail"]


def test_an_unreadable_file_is_done_and_not_usable(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug)
    confirmed = program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 202)
    Upload.objects.filter(pk=confirmed["id"]).update(state=UploadState.FAILED)
    Job.objects.update(state=JobState.FAILED, failure="row 4711", finished_at=timezone.now())
    upload = program.ask("GET", address)
    assert (upload["state"], upload["usable"]) == ("done", False)
    assert program.ask("GET", confirmed["job_url"])["has_result"] is False


# The next tests are about open transfers.


def test_a_key_is_shown_the_open_files_that_it_announced_and_no_others(desk: Desk) -> None:
    """A key can list the unfinished uploads that it registered, but no others.

    The exact sizes and names of files that members send are private.
    """
    program, other, dataset = program_of(desk), program_of(desk), desk.declare()
    member = Program(client=desk.client)
    home = f"/api/v1/datasets/{dataset.slug}/uploads"
    by_member = member.announce(dataset.slug, "members.csv").rpartition("/")[2]
    of_members = {by_member, str(make_received(dataset).pk)}
    mine = {program.announce(dataset.slug), program.upload(dataset.slug)}
    announced_by_key = {url.rpartition("/")[2] for url in mine}

    def listed(by: Program) -> set[str]:
        return {each["url"].rpartition("/")[2] for each in by.ask("GET", home)["results"]}

    assert listed(program) == announced_by_key
    assert listed(other) == set()
    assert listed(member) == announced_by_key | of_members
    for one in of_members:
        program.ask("GET", f"/api/v1/uploads/{one}", status=404)


def test_an_announcement_sent_twice_is_one_transfer(desk: Desk) -> None:
    program, dataset, march = program_of(desk), desk.declare(), {"Idempotency_Key": "march"}
    first = program.announce(dataset.slug, key="march")
    assert program.announce(dataset.slug, key="march") == first
    program.append(first, CONTENT)
    assert program.announce(dataset.slug, key="march") == first
    assert program.ask("GET", first)["offset"] == len(CONTENT)
    address = f"/api/v1/datasets/{dataset.slug}/uploads/tus"
    program.ask("POST", address, None, 409, **announcement("trips.csv", 5), **march)
    odd = {"Idempotency_Key": "with space"}
    program.ask("POST", address, None, 400, **announcement("trips.csv", len(CONTENT)), **odd)
    assert program.announce(dataset.slug) != first
    assert program.announce(desk.declare(title="Other").slug, key="march") != first
