"""API keys and the files that they send: what a key can see does not depend on any row."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dpgeo.accounts.models import Scope
from dpgeo.core.errors import Conflict
from dpgeo.datasets import previews, uploads
from dpgeo.datasets.models import Upload, UploadState
from dpgeo.datasets.previews import upload_look
from dpgeo.datasets.resumable_uploads import transfer_begin
from dpgeo.datasets.uploads import upload_confirm, upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.lease import JobLease, job_run
from tests.tus import announcement
from tests.web.api import COLUMNS, CONTENT, Program, program_of
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

ALICE = b'{"device": "alice@example.org", "lon": 10.01234, "lat": 50.0567}\n'
FEATURE = (
    b'{"type": "Feature", "properties": {"device": "alice@example.org"},'
    b' "geometry": {"type": "Point", "coordinates": [10.01234, 50.0567]}}'
)
TABLE = b"alice@example.org,home address Main Street 5,ill\nbob,10.02,50.06\n"
WAYPOINT = b'<wpt lat="50.0567" lon="10.01234"><name>alice@example.org</name></wpt>'
PLACEMARK = (
    b"<Placemark><name>alice@example.org</name>"
    b"<Point><coordinates>10.01234,50.0567</coordinates></Point></Placemark>"
)

ROWS = {
    "rows.ndjson": ALICE + b'{"device": "bob", "lon": 10.02, "lat": 50.06}\n',
    "rows.geojson": b'{"type": "FeatureCollection", "features": [' + FEATURE + b"]}",
    "rows.dat": TABLE,
    "rows": ALICE,
}
"""Contents of files by name. Column names, if there are any, are only in rows about persons."""

PAIRS = {
    "only.jsonl": (b"\n", ALICE),
    "garbage.jsonl": (b"garbage\n" * 5, b"garbage\n" * 5 + ALICE),
    "list.json": (b"[]", b"[" + ALICE + b"]"),
    "features.geojson": (
        b'{"type": "FeatureCollection", "features": []}',
        b'{"type": "FeatureCollection", "features": [' + FEATURE + b"]}",
    ),
    "features.geojsonl": (b"\n", FEATURE + b"\n"),
    "header.csv": (b"device,lon,lat\n", b"device,lon,lat\nalice@example.org,10.01234,50.0567\n"),
    "rows.dat": (b"\n", TABLE),
    "points.gpx": (
        b'<gpx xmlns="http://www.topografix.com/GPX/1/1"></gpx>',
        b'<gpx xmlns="http://www.topografix.com/GPX/1/1">' + WAYPOINT + b"</gpx>",
    ),
    "points.kml": (
        b'<kml xmlns="http://www.opengis.net/kml/2.2"><Document></Document></kml>',
        b'<kml xmlns="http://www.opengis.net/kml/2.2"><Document>'
        + PLACEMARK
        + b"</Document></kml>",
    ),
}
"""Pairs of files by name: one without and one with the rows of a person."""


@pytest.fixture
def desk(settings: Any, tmp_path: Path) -> Desk:
    settings.INCOMING_DIR = tmp_path
    return make_desk()


def sent_by_member(desk: Desk, name: str = "rows.csv", content: bytes = CONTENT) -> Upload:
    """Return a file that a member has uploaded through the owners' pages."""
    dataset = desk.declare(title="Waiting")
    file = io.BytesIO(content)
    return upload_look(
        upload=upload_receive(dataset=dataset, file=file, file_name=name, created_by=desk.user)
    )


def answer(program: Program, method: str, address: str, body: Any = None) -> tuple[int, str]:
    """Return the status and the body of a response, without random ids."""
    response = program.send(method, address, body)
    text = b"".join(response).decode()
    return response.status_code, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", text)


def test_a_key_reaches_only_the_files_that_it_sent(desk: Desk) -> None:
    waiting = sent_by_member(desk)
    transfer = transfer_begin(
        dataset=waiting.dataset, file_name="b.csv", size=len(CONTENT), by=desk.user
    )
    other = program_of(desk).upload(desk.declare(title="Of another key").slug)
    program = program_of(desk)
    for address in (f"/api/v1/uploads/{waiting.pk}", f"/api/v1/uploads/{transfer.pk}", other):
        program.ask("GET", address, status=404)
        program.ask("GET", f"{address}/preview", status=404)
        program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 404)
        program.ask("POST", f"{address}/retry", status=404)
        program.append(address, CONTENT, status=404)
        program.ask("DELETE", address, status=404)
    assert desk.client.get(f"/api/v1/uploads/{waiting.pk}/preview").status_code == 200


def test_a_key_learns_no_name_and_size_by_announcing_the_same_file(desk: Desk) -> None:
    slug, monday = desk.declare().slug, {"Idempotency_Key": "monday"}
    address = f"/api/v1/datasets/{slug}/uploads/tus"
    first, other = program_of(desk), program_of(desk)
    begun = first.announce(slug, size=77, key="monday")
    assert first.announce(slug, size=77, key="monday") == begun
    one, another = (
        other.ask("POST", address, None, 409, **announcement("trips.csv", size), **monday)
        for size in (77, 78)
    )
    assert one == another


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("file_format", ["", "csv", "geojson", "ndjson", "excel", "parquet"])
def test_no_format_that_a_key_declares_shows_it_a_row(
    desk: Desk, name: str, file_format: str
) -> None:
    program, dataset = program_of(desk, Scope.UPLOADS_WRITE), desk.declare()
    address = program.upload(dataset.slug, ROWS[name], name)
    columns = {"longitude": "zz", "latitude": "zy", "person": "zx", "file_format": file_format}
    for method, path, body in (
        ("GET", "/preview", None),
        ("POST", "/confirm", {"columns": columns}),
        ("POST", "/confirm", {"columns": columns}),
        ("GET", "/preview", None),
        ("POST", "/retry", None),
    ):
        _, text = answer(program, method, f"{address}{path}", body)
        assert not re.search(r"alice|10\.01|50\.05|Main Street|ill\b|device", text), (path, text)


@pytest.mark.parametrize("name", ["rows.csv", "rows.txt"])
def test_an_error_lists_no_row_that_was_taken_for_a_header(desk: Desk, name: str) -> None:
    """An error does not list the first row of a file without a header as column names.

    The first row is mostly numbers, so it is not taken for the header that the declaration expects.
    """
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, b"alice,10.01,50.05\nbob,10.02,50.06\n", name)
    assert program.ask("GET", f"{address}/preview")["columns"] == []
    problem = program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 400)
    assert problem["detail"] == "The file has no column 'lon'."


def test_the_first_row_of_a_file_without_a_header_is_not_parsed_as_names(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, b"alice,alice,10,x\n1.0,10.01,50.05\n", "twice.csv")
    columns = {
        "longitude": "column 2",
        "latitude": "column 3",
        "person": "column 1",
        "unnamed": "3",
    }
    program.ask("POST", f"{address}/confirm", {"columns": columns}, 202)


@pytest.mark.parametrize("name", PAIRS)
def test_a_key_sees_the_same_with_and_without_one_person(desk: Desk, name: str) -> None:
    columns = {"longitude": "lon", "latitude": "lat", "person": "device"}
    if name == "rows.dat":
        columns["file_format"] = "csv"
    seen = []
    for content in PAIRS[name]:
        program, dataset = program_of(desk), desk.declare(title="Same")
        address = program.upload(dataset.slug, content, name)
        home = f"/api/v1/datasets/{dataset.slug}/uploads"
        requests = [
            ("GET", address, None),
            ("GET", home, None),
            ("GET", f"{address}/preview", None),
            ("POST", f"{address}/retry", None),
            ("POST", f"{address}/confirm", {"columns": columns}),
            ("GET", address, None),
            ("GET", home, None),
        ]
        answers = [answer(program, method, path, body) for method, path, body in requests]
        plain = json.dumps(answers).replace(dataset.slug, "SLUG")
        plain = re.sub(r'(\\"(size|offset)\\":) ?\d+', r"\1 N", plain)
        # A key may have only one job at a time, so the first file's upload is separated from its
        # job.
        Upload.objects.update(job=None)
        seen.append(plain)
    assert seen[0] == seen[1]
    assert "[202, " in seen[0]


def test_retrying_tells_a_key_nothing_of_an_unreadable_file(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, b"garbage\n" * 5, "rows.ndjson")
    program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 202)

    def refuse(lease: JobLease) -> None:
        raise Conflict("Something is in the way.")

    job_id = Upload.objects.get().job_id
    assert job_id is not None
    assert job_run(job_id=job_id, work=refuse)
    program.ask("POST", f"{address}/retry", status=202)


@pytest.mark.parametrize(
    ("name", "file_format"),
    [
        ("rows.ndjson", "csv"),
        ("rows.geojson", "excel"),
        ("rows.csv", "geojson"),
        ("rows.csv", "csv.gz"),
        ("rows.ndjson.gz", "ndjson"),
    ],
)
def test_a_key_declares_no_format_that_the_name_contradicts(
    desk: Desk, name: str, file_format: str
) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, CONTENT, name)
    columns = {**COLUMNS, "file_format": file_format}
    problem = program.ask("POST", f"{address}/confirm", {"columns": columns}, 400)
    assert problem["field"] == "columns.file_format"
    assert name in problem["detail"]
    dataset.refresh_from_db()
    assert dataset.frozen_at is None


@pytest.mark.parametrize("file_format", ["json", "mds", "ndjson", "geojson"])
def test_a_key_says_what_a_file_with_an_ambiguous_name_is(desk: Desk, file_format: str) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, b"[" + ALICE + b"]", "rows.json")
    columns = {**COLUMNS, "file_format": file_format}
    if file_format == "mds":
        columns["person"] = "device_id"
    program.ask("POST", f"{address}/confirm", {"columns": columns}, 202)


def test_a_file_that_was_confirmed_is_not_looked_at_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = sent_by_member(desk)
    upload_confirm(upload=upload, columns=Columns.from_json(COLUMNS))
    Upload.objects.update(preview="")
    upload.refresh_from_db()
    assert upload.state == UploadState.QUEUED
    monkeypatch.setattr(previews, "preview", None)
    with pytest.raises(Conflict, match="confirmed already"):
        upload_confirm(upload=upload, columns=Columns.from_json({**COLUMNS, "time": "zz"}))


def test_a_file_that_nobody_confirmed_in_time_is_done_for_a_key(desk: Desk, settings: Any) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug)
    settings.DPGEO_RAW_DAYS = 0
    assert uploads.uploads_forget_old_raw() == 1
    assert program.ask("GET", address)["state"] == "done"
    program.ask("GET", f"{address}/preview", status=400)
    program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 400)
    home = f"/api/v1/datasets/{dataset.slug}/uploads"
    assert program.ask("GET", home)["results"] == []


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_no_row_decides_how_a_header_is_decoded(desk: Desk, encoding: str) -> None:
    content = "gerät,lon,lat\n".encode() + "zoé,10.01,50.05\n".encode(encoding)
    program, dataset = program_of(desk), desk.declare()
    preview = program.ask("GET", f"{program.upload(dataset.slug, content)}/preview")
    assert preview["columns"] == ["gerät", "lon", "lat"]


def test_the_name_of_a_packed_file_tells_nothing_of_its_rows(desk: Desk) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("rows.ndjson", ALICE)
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug, packed.getvalue(), "rows.zip")
    preview = program.ask("GET", f"{address}/preview")
    assert (preview["columns"], preview["suggested"]["file_format"]) == ([], "")
    program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 400)
    columns = {**COLUMNS, "file_format": "ndjson.zip"}
    program.ask("POST", f"{address}/confirm", {"columns": columns}, 202)
