"""Uploads by the tus protocol, version 1.0.0, tested requirement by requirement."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponseBase

from dpgeo.accounts.models import Scope
from dpgeo.datasets.models import Transfer, Upload
from dpgeo.datasets.resumable_uploads import transfer_append
from tests.web.api import CONTENT, Program, program_of
from tests.web.desk import Desk, make_desk

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
