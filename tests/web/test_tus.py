"""Uploads by the tus protocol, version 1.0.0, tested requirement by requirement."""

from __future__ import annotations

import base64
import io
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponseBase
from django.utils import timezone

from dpgeo.accounts.models import Scope
from dpgeo.datasets.models import Transfer, Upload, UploadState
from dpgeo.datasets.resumable_uploads import transfer_append
from tests.web.api import COLUMNS, CONTENT, Program, program_of
from tests.web.desk import Desk, make_desk
from tests.web.test_api_writes import Broken

pytestmark = pytest.mark.django_db

SPOKEN = {"Tus-Resumable": "1.0.0"}
BYTES = "application/offset+octet-stream"
NAME = f"filename {base64.b64encode(b'trips.csv').decode()}"


@pytest.fixture
def desk(settings: Any, tmp_path: Path) -> Desk:
    settings.INCOMING_DIR = tmp_path
    return make_desk()


def create(
    program: Program, slug: str, size: str = str(len(CONTENT)), **headers: str
) -> HttpResponseBase:
    named = {"Upload-Length": size, "Upload-Metadata": NAME, **SPOKEN, **headers}
    return program.send("POST", f"/api/v1/datasets/{slug}/uploads/tus", **named)


def begun(program: Program, slug: str) -> str:
    answer = create(program, slug)
    assert (answer.status_code, answer["Tus-Resumable"]) == (201, "1.0.0")
    address: str = answer["Location"]
    return address


def append(program: Program, address: str, body: bytes, at: int, **headers: str) -> Any:
    named = {"Content-Type": BYTES, "Upload-Offset": str(at), **SPOKEN, **headers}
    return program.send("PATCH", address, body, **named)


def test_the_server_announces_its_capabilities_to_anybody(desk: Desk, settings: Any) -> None:
    answer = Program().send("OPTIONS", f"/api/v1/datasets/{desk.declare().slug}/uploads/tus")
    assert (answer.status_code, answer["Tus-Version"]) == (204, "1.0.0")
    assert answer["Tus-Extension"] == "creation,expiration,termination"
    assert answer["Tus-Max-Size"] == str(settings.DPGEO_MAX_UPLOAD_BYTES)


def test_a_file_is_complete_with_its_last_byte_and_can_be_confirmed(desk: Desk) -> None:
    program = program_of(desk)
    address = begun(program, desk.declare().slug)
    half = len(CONTENT) // 2
    answer = append(program, address, CONTENT[:half], 0)
    assert (answer.status_code, answer["Upload-Offset"]) == (204, str(half))
    left = parsedate_to_datetime(answer["Upload-Expires"]) - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    answer = append(program, address, CONTENT[half:], half)
    assert (answer.status_code, answer["Upload-Offset"]) == (204, str(len(CONTENT)))
    assert not answer.has_header("Upload-Expires")
    upload = Upload.objects.get()
    assert (upload.file_name, upload.size, upload.state) == (
        "trips.csv",
        len(CONTENT),
        UploadState.RECEIVED,
    )
    assert not Transfer.objects.exists()
    confirmed = f"{address.removesuffix('/tus')}/confirm"
    assert program.ask("POST", confirmed, {"columns": COLUMNS}, 202)["state"] == "working"


def test_head_returns_the_offset_of_a_file(desk: Desk) -> None:
    program = program_of(desk)
    address = begun(program, desk.declare().slug)
    broken: Any = {"wsgi.input": Broken(CONTENT[:100])}
    headers = {**program.headers, **SPOKEN, "Upload-Offset": "0"}
    program.client.generic("PATCH", address, CONTENT, content_type=BYTES, headers=headers, **broken)
    answer = program.send("HEAD", address, **SPOKEN)
    assert (answer.status_code, answer["Upload-Offset"]) == (200, "100")
    assert (answer["Upload-Length"], answer["Upload-Metadata"]) == (str(len(CONTENT)), NAME)
    assert answer["Cache-Control"] == "no-store"


def test_head_completes_a_file_that_arrived_whole_before_a_crash(desk: Desk) -> None:
    program = program_of(desk)
    address = begun(program, desk.declare().slug)
    transfer = Transfer.objects.get()
    transfer_append(transfer=transfer, offset=0, stream=io.BytesIO(CONTENT), length=len(CONTENT))
    for _ in range(2):
        answer = program.send("HEAD", address, **SPOKEN)
        assert answer["Upload-Offset"] == answer["Upload-Length"] == str(len(CONTENT))
        assert Upload.objects.get().size == len(CONTENT)


def test_bytes_are_accepted_only_at_the_right_offset(desk: Desk) -> None:
    program = program_of(desk)
    address = begun(program, desk.declare().slug)
    assert append(program, address, CONTENT[5:9], 5).status_code == 409
    assert append(program, address, CONTENT[:9], 0).status_code == 204
    assert append(program, address, CONTENT[:9], 0).status_code == 409
    assert append(program, address, CONTENT + b"!", 9).status_code == 400
    assert append(program, address, CONTENT[9:], 9).status_code == 204
    assert append(program, address, b"more", len(CONTENT)).status_code == 409


@pytest.mark.parametrize("version", ["", "0.2.2", "1.0.1"])
def test_another_version_is_refused_without_effect(desk: Desk, version: str) -> None:
    program = program_of(desk)
    slug = desk.declare().slug
    answer = create(program, slug, **{"Tus-Resumable": version})
    assert (answer.status_code, answer["Tus-Version"]) == (412, "1.0.0")
    assert not Transfer.objects.exists()
    address = begun(program, slug)
    answer = append(program, address, CONTENT, 0, **{"Tus-Resumable": version})
    assert answer.status_code == 412
    assert Transfer.objects.get().offset == 0


@pytest.mark.parametrize(
    ("headers", "status", "field"),
    [
        ({"Upload-Length": ""}, 400, "Upload-Length"),
        ({"Upload-Length": "0"}, 400, "size"),
        ({"Upload-Length": "-1"}, 400, "Upload-Length"),
        ({"Upload-Length": "1000000000000"}, 413, "Upload-Length"),
        ({"Upload-Length": "", "Upload-Defer-Length": "1"}, 400, "Upload-Length"),
        ({"Upload-Metadata": ""}, 400, "Upload-Metadata"),
        ({"Upload-Metadata": "filename"}, 400, "Upload-Metadata"),
        ({"Upload-Metadata": "filename not base64"}, 400, "Upload-Metadata"),
        ({"Upload-Metadata": "filename /w=="}, 400, "Upload-Metadata"),
    ],
)
def test_an_invalid_announcement_is_refused(
    desk: Desk, headers: dict[str, str], status: int, field: str
) -> None:
    answer: Any = create(program_of(desk), desk.declare().slug, **headers)
    assert (answer.status_code, answer["Tus-Resumable"]) == (status, "1.0.0")
    assert answer.json()["field"] == field
    assert not Transfer.objects.exists()


def test_a_cancelled_transfer_is_deleted_with_its_bytes(desk: Desk) -> None:
    program = program_of(desk)
    address = begun(program, desk.declare().slug)
    append(program, address, CONTENT[:9], 0)
    assert program.send("DELETE", address, **SPOKEN).status_code == 204
    assert not Transfer.objects.exists()
    assert program.send("HEAD", address, **SPOKEN).status_code == 404
    assert append(program, address, CONTENT[9:], 9).status_code == 404


def test_nobody_else_sends_sees_or_deletes_a_file(desk: Desk) -> None:
    slug = desk.declare().slug
    address = begun(program_of(desk), slug)
    strangers = [(Program(), 401), (program_of(desk, Scope.JOBS_READ), 403)]
    strangers.append((program_of(make_desk("Other house", "stranger")), 404))
    for stranger, status in strangers:
        assert create(stranger, slug).status_code == status
        assert append(stranger, address, CONTENT, 0).status_code == status
        for method in ("HEAD", "DELETE"):
            assert stranger.send(method, address, **SPOKEN).status_code == status
    assert Transfer.objects.get().offset == 0
