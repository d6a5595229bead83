"""Uploads on the owners' pages, with and without scripts: preview, confirmation and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from dpgeo.core.errors import Conflict
from dpgeo.datasets import preview_slots, previews
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Upload, UploadState
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.storage import private_storage
from dpgeo.ingest.preview import preview
from tests.makers import redeclare
from tests.web.desk import Desk, invented_rows, make_desk

pytestmark = pytest.mark.django_db

JSON = {"Accept": "application/json"}
COLUMNS = {"longitude": "lon", "latitude": "lat", "person": "device", "time": "seen"}


def csv(text: str, name: str = "trips.csv") -> SimpleUploadedFile:
    """Return a file as a browser sends it."""
    return SimpleUploadedFile(name, text.encode())


def send(desk: Desk, text: str | None = None, name: str = "trips.csv") -> Upload:
    """Upload a file, and return the upload, whose columns are not confirmed yet."""
    dataset = desk.declare()
    file = csv(invented_rows() if text is None else text, name)
    desk.client.post(f"/desk/datasets/{dataset.slug}/upload/", {"file": file})
    return Upload.objects.get()


def test_it_refuses_a_file_above_the_limit_before_reading_it(
    desk: Desk, settings: Settings
) -> None:
    settings.DPGEO_MAX_UPLOAD_BYTES = 100
    address = f"/desk/datasets/{desk.declare().slug}/upload/"
    answer = desk.client.post(address, {"file": csv(invented_rows())}, headers=JSON)
    assert answer.status_code == 413
    assert "larger" in answer.json()["errors"][0]


def test_it_requires_a_token_with_the_file(desk: Desk) -> None:
    address = f"/desk/datasets/{desk.declare().slug}/upload/"
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(desk.user)
    assert strict.post(address, {"file": csv(invented_rows())}).status_code == 403
    assert not Upload.objects.exists()


def test_it_refuses_strangers_without_reading_their_file(desk: Desk) -> None:
    address = f"/desk/datasets/{desk.declare().slug}/upload/"
    assert Client().post(address, {"file": csv("x")})["Location"].startswith("/accounts/login/")
    stranger = make_desk(name="Other house", owner="other").client
    assert stranger.post(address, {"file": csv("x")}).status_code == 404


@pytest.mark.parametrize(
    ("field", "column"),
    [("longitude", "lat"), ("longitude", ""), ("person", ""), ("latitude", "nowhere")],
)
def test_it_refuses_impossible_columns(desk: Desk, field: str, column: str) -> None:
    upload = send(desk)
    answer = desk.client.post(f"/desk/uploads/{upload.pk}/", COLUMNS | {field: column})
    assert answer.status_code == 422
    assert answer.context["form"].errors
    upload.dataset.refresh_from_db()
    assert upload.dataset.frozen_at is None


def test_it_reads_the_file_once_confirmed_and_reports_privately(desk: Desk) -> None:
    upload = send(desk, invented_rows() + "p1,400.17,50,\np2,,50.02,\n")
    address = f"/desk/uploads/{upload.pk}/"
    assert desk.client.post(address, COLUMNS)["Location"] == address
    assert "Waiting for a worker" in desk.page(address)
    assert upload_ingest(upload_id=upload.pk)
    page = desk.page(address)
    assert "Private" in page
    assert "400.17" in page
    assert "of all" in page
    assert "The longitude is missing" in page
    assert "Make a map" in page


def test_the_report_is_hidden_while_a_draft_waits_for_a_decision(desk: Desk) -> None:
    dataset = desk.declare(ready=True)
    address = f"/desk/uploads/{dataset.uploads.get().pk}/"
    assert "Rows read" in desk.page(address)
    desk.request(dataset)
    page = desk.page(address)
    assert "until it is published or rejected, the report is not shown" in page
    assert "Rows read" not in page
    assert "can be used" not in page
    assert "Can be used" not in page


def test_a_file_that_cannot_be_read_has_failed_and_can_be_removed(desk: Desk) -> None:
    upload = send(desk, "%PDF-1.7 not a table", "report.pdf")
    upload.refresh_from_db()
    assert upload.state == UploadState.FAILED
    page = desk.page(f"/desk/uploads/{upload.pk}/")
    assert "The file cannot be read." in page
    assert "Waiting" not in desk.page(f"/desk/datasets/{upload.dataset.slug}/")
    answer = desk.client.post(f"/desk/uploads/{upload.pk}/remove/")
    assert answer["Location"] == f"/desk/datasets/{upload.dataset.slug}/"
    assert not Upload.objects.exists()
    assert not private_storage().exists(upload.raw_name)


def test_read_files_cannot_be_removed_and_strangers_remove_nothing(desk: Desk) -> None:
    dataset = desk.declare(ready=True)
    upload = dataset.uploads.get()
    stranger = make_desk(name="Other house", owner="other").client
    assert stranger.post(f"/desk/uploads/{upload.pk}/remove/").status_code == 404
    desk.client.post(f"/desk/uploads/{upload.pk}/remove/")
    assert "stays on record" in desk.page(f"/desk/uploads/{upload.pk}/")
    assert Upload.objects.get().state == UploadState.READY


def test_the_preview_of_a_file_is_stored_until_it_is_read(desk: Desk) -> None:
    upload = send(desk)
    upload.refresh_from_db()
    assert "p1" in upload.preview
    desk.client.post(f"/desk/uploads/{upload.pk}/", COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    assert Upload.objects.get().preview == ""


def test_it_shows_an_upload_only_to_members(desk: Desk) -> None:
    upload = send(desk)
    stranger = make_desk(name="Other house", owner="other").client
    assert stranger.get(f"/desk/uploads/{upload.pk}/").status_code == 404
    assert stranger.post(f"/desk/uploads/{upload.pk}/", COLUMNS).status_code == 404


def test_only_two_previews_are_made_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = send(desk)
    Upload.objects.update(preview="")
    upload.refresh_from_db()
    monkeypatch.setattr(preview_slots, "MAX_WAIT_SECONDS", 0.2)
    with preview_slots.preview_slot(), preview_slots.preview_slot():
        with pytest.raises(Conflict, match="too busy to look"):
            upload_preview(upload=upload)
        assert "too busy to look" in desk.page(f"/desk/uploads/{upload.pk}/")
    assert upload_preview(upload=upload).columns


def test_a_preview_that_was_made_while_this_one_waited_is_used(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = send(desk)
    upload.refresh_from_db()
    stored_preview, upload.preview = upload.preview, ""
    monkeypatch.setattr(previews, "preview", None)
    assert upload_preview(upload=upload).to_json() == json.loads(stored_preview)


@pytest.mark.parametrize("what", ["removed", "altered", "exchanged", "exchanged and back"])
def test_a_file_that_changes_while_it_is_tried_leaves_no_preview(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    upload = send(desk)
    Upload.objects.update(preview="")
    upload.refresh_from_db()
    path = Path(private_storage().path(upload.raw_name))
    usual = preview

    def change(source: Path, *arguments: Any, **options: Any) -> Any:
        if what == "removed":
            path.unlink()
        elif what == "altered":
            path.write_text(path.read_text().replace("p1", "p9"))
        else:
            path.rename(path.with_suffix(".aside"))
            path.write_text("device,lat,lon\nx,50,10\n")
        seen = usual(source, *arguments, **options)
        if what == "exchanged and back":
            path.with_suffix(".aside").rename(path)
        return seen

    monkeypatch.setattr(previews, "preview", change)
    with pytest.raises(Conflict, match="changed or removed while it was read"):
        upload_preview(upload=upload)
    upload.refresh_from_db()
    assert upload.preview == ""
    assert not upload.failure


def test_a_trial_under_an_area_that_was_changed_meanwhile_is_not_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = send(desk)
    Upload.objects.update(preview="")
    upload.refresh_from_db()
    usual = preview

    def change(*arguments: Any, **options: Any) -> Any:
        area = {**upload.dataset.study_area, "bbox": [9, 49, 11, 51]}
        redeclare(upload.dataset, study_area=area, time_zone="Asia/Tokyo")
        return usual(*arguments, **options)

    monkeypatch.setattr(previews, "preview", change)
    with pytest.raises(Conflict, match="changed while the file was read"):
        upload_preview(upload=upload)
    upload.refresh_from_db()
    assert upload.preview == ""
