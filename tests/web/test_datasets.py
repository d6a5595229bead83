"""Datasets, which are declared publicly and then frozen, and private, streamed uploads."""

from __future__ import annotations

import io
import re
import stat
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from dpgeo.accounts.models import Role
from dpgeo.accounts.selectors import may, role_in
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.services import ledger_promise
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Upload, UploadState
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.selectors import (
    canonical_path,
    ready_upload,
)
from dpgeo.datasets.services import dataset_discard, dataset_update
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import offered_columns, upload_confirm, upload_discard, upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import MAX_ATTEMPTS, jobs_reap
from dpgeo.releases.services import release_cancel
from tests.makers import (
    AREA,
    CSV,
    make_dataset,
    make_organisation,
    make_ready,
    make_received,
    make_release,
    make_request,
    make_user,
)

pytestmark = pytest.mark.django_db

COLUMNS = Columns(longitude="lon", latitude="lat", person="who")


def stored_uploads() -> set[str]:
    folder = Path(private_storage().path("uploads"))
    return set(map(str, folder.iterdir())) if folder.exists() else set()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("public_attributes", "app"),
        ("public_attributes", ["app"]),
        ("public_attributes", [{"column": "app"}]),
        ("public_attributes", [{"column": "app", "values": []}]),
        ("public_attributes", [{"column": "app", "values": "1.4"}]),
        ("public_attributes", [{"column": "app", "values": [1.4]}]),
        ("public_attributes", [{"column": "app", "values": ["other"]}]),
        ("public_attributes", [{"column": "app", "values": ["1", "1 "]}]),
        ("public_attributes", [{"column": "app", "values": ["e\u0301", "é"]}]),
        ("public_attributes", [{"column": "app", "values": ["a\nb"]}]),
        ("public_attributes", [{"column": "app", "values": ["x" * 101]}]),
        ("public_attributes", [{"column": "app", "values": [str(n) for n in range(1001)]}]),
        ("public_attributes", [{"column": "Time", "values": ["1"]}]),
        ("public_attributes", [{"column": "Lat", "values": ["45.001"]}]),
        ("public_attributes", [{"column": name, "values": ["1"]} for name in ("app", "APP")]),
        (
            "public_attributes",
            [{"column": f"c{n}", "values": [str(v) for v in range(999)]} for n in range(3)],
        ),
        ("measures", "speed"),
        ("measures", [{"column": "speed"}]),
        ("measures", [{"column": "speed", "low": 0, "high": 0}]),
        ("measures", [{"column": "speed", "low": "0", "high": 9}]),
        ("measures", [{"column": "speed", "low": 0, "high": float("inf")}]),
        ("measures", [{"column": "speed", "low": 0, "high": 1e13}]),
        ("measures", [{"column": "speed", "low": 0, "high": 9, "steps": 7}]),
        ("measures", [{"column": "speed", "low": 0, "high": 9, "highest": 9}]),
        ("measures", [{"column": "speed", "low": 0, "high": 9}] * 2),
        ("measures", [{"column": f"c{n}", "low": 0, "high": 9} for n in range(21)]),
        ("measures", [{"column": "by_bike", "answer": True, "high": 9}]),
        ("measures", [{"column": "Postcode", "low": 0, "high": 99999}]),
        ("measures", [{"column": "start_lat", "low": 0, "high": 9}]),
        ("measures", [{"column": "x", "low": 0, "high": 9}]),
        ("measures", [{"column": "tripId", "low": 0, "high": 9}]),
        ("categories", "mode"),
        ("categories", ["mode"]),
        ("categories", [{"column": "mode"}]),
        ("categories", [{"column": "mode", "values": []}]),
        ("categories", [{"column": "mode", "values": "walk"}]),
        ("categories", [{"column": "mode", "values": [1]}]),
        ("categories", [{"column": "mode", "values": ["walk", "Walk "]}]),
        ("categories", [{"column": "mode", "values": ["Other"]}]),
        ("categories", [{"column": "mode", "values": ["a\nb"]}]),
        ("categories", [{"column": "mode", "values": ["a, b"]}]),
        ("categories", [{"column": "mode", "values": [str(n) for n in range(24)]}]),
        ("categories", [{"column": "mode", "values": ["walk"], "public": True}]),
        ("categories", [{"column": "mode", "values": ["walk"]}] * 2),
        ("categories", [{"column": f"c{n}", "values": ["a"]} for n in range(11)]),
        ("categories", [{"column": "user_id", "values": ["a"]}]),
        ("budget", Fraction(1, 3)),
    ],
)
def test_an_invalid_declaration_is_refused_with_the_name_of_its_field(
    field: str, value: Any
) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_dataset(**{field: value})
    assert refused.value.field == field
    assert refused.value.message


def test_an_address_is_used_once() -> None:
    make_dataset(slug="city")
    with pytest.raises(InvalidInput) as refused:
        make_dataset(slug="city")
    assert refused.value.field == "slug"


def test_addresses_do_not_reveal_the_datasets_of_others() -> None:
    ours, theirs = make_organisation(), make_organisation()
    first = make_dataset(ours, slug="city", at_console=False)
    assert re.fullmatch(r"city-[a-z2-9]{6}", first.slug)
    other = make_dataset(theirs, slug="city", at_console=False)
    assert other.slug != first.slug
    with pytest.raises(InvalidInput, match=first.slug):
        make_dataset(ours, slug="city", at_console=False)
    named = [make_dataset(ours, title="Trips", at_console=False).slug for _ in range(2)]
    assert all(re.fullmatch(r"trips-[a-z2-9]{6}", slug) for slug in named)
    assert len(set(named)) == 2


def test_datasets_of_one_organisation_can_share_a_ledger() -> None:
    first = make_dataset()
    second = make_dataset(first.organisation, budget=None, ledger=first.ledger)
    assert second.ledger == first.ledger
    with pytest.raises(InvalidInput) as refused:
        make_dataset(budget=None, ledger=first.ledger)
    assert refused.value.field == "ledger"


def test_datasets_that_share_a_ledger_protect_the_same_unit() -> None:
    first = make_dataset()
    shared = {"budget": None, "ledger": first.ledger}
    with pytest.raises(InvalidInput, match="do not add up") as refused:
        make_dataset(first.organisation, unit="record", **shared)
    assert refused.value.field == "ledger"
    second = make_dataset(first.organisation, **shared)
    for dataset in (first, second):
        with pytest.raises(InvalidInput) as refused:
            dataset_update(dataset=dataset, changes={"unit": "record"})
        assert refused.value.field == "unit"
        dataset_update(dataset=dataset, changes={"unit": "person"})
    alone = make_dataset()
    assert dataset_update(dataset=alone, changes={"unit": "record"}).unit == "record"


def test_the_first_confirmed_upload_freezes_the_facts_that_releases_depend_on() -> None:
    dataset = make_dataset()
    dataset_update(dataset=dataset, changes={"time_zone": "Europe/Paris"})
    upload_confirm(upload=make_received(dataset), columns=COLUMNS)
    for field, value in (
        ("unit", "record"),
        ("time_zone", "UTC"),
        ("study_area", {**AREA, "coordinates": [[[9, 50], [10, 50], [10, 51], [9, 50]]]}),
    ):
        with pytest.raises(Conflict) as refused:
            dataset_update(dataset=dataset, changes={"title": "New", field: value})
        assert refused.value.field == field
    dataset.refresh_from_db()
    assert (dataset.time_zone, dataset.title != "New") == ("Europe/Paris", True)
    dataset_update(dataset=dataset, changes={"title": "New", "time_zone": "Europe/Paris"})
    assert dataset.title == "New"


def test_a_refused_budget_leaves_the_other_facts_as_they_were() -> None:
    dataset = make_dataset(title="Before")
    ledger_promise(ledger=dataset.ledger, total_units=4_000_000)
    with pytest.raises(Conflict):
        dataset_update(dataset=dataset, changes={"title": "After", "budget": Fraction(5)})
    dataset.refresh_from_db()
    assert dataset.title == "Before"


def test_a_fact_that_is_not_declared_cannot_be_set() -> None:
    with pytest.raises(InvalidInput) as refused:
        dataset_update(dataset=make_dataset(), changes={"person_key": b"known"})
    assert refused.value.field == "person_key"


def test_a_raw_upload_is_private_and_its_name_unguessable() -> None:
    dataset = make_dataset()
    upload = make_received(dataset, file_name="C:\\people\\..\\tri\x00ps.csv")
    assert upload.file_name == "trips.csv"
    assert upload.size == len(CSV)
    path = Path(private_storage().path(upload.raw_name))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.name) == 32
    assert path.read_bytes() == CSV


def test_a_file_over_the_limit_is_refused_and_not_stored(settings: Any) -> None:
    settings.DPGEO_MAX_UPLOAD_BYTES = 10
    dataset, before = make_dataset(), stored_uploads()
    with pytest.raises(InvalidInput) as refused:
        make_received(dataset)
    assert refused.value.field == "file"
    assert stored_uploads() == before
    assert not Upload.objects.exists()


def test_a_broken_transfer_leaves_nothing_behind() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise ConnectionError

    dataset, before = make_dataset(), stored_uploads()
    with pytest.raises(ConnectionError):
        upload_receive(dataset=dataset, file=Broken(), file_name="a.csv", created_by=None)
    assert stored_uploads() == before


def test_a_declaration_can_be_discarded_until_an_upload_is_confirmed() -> None:
    dataset, before = make_dataset(), stored_uploads()
    upload = make_received(dataset)
    dataset_discard(dataset=dataset)
    assert not Upload.objects.filter(pk=upload.pk).exists()
    assert not Ledger.objects.exists()
    assert stored_uploads() == before
    remaining = make_dataset()
    upload_confirm(upload=make_received(remaining), columns=COLUMNS)
    with pytest.raises(Conflict):
        dataset_discard(dataset=remaining)
    assert remaining.uploads.count() == 1


def test_a_confirmed_upload_becomes_a_canonical_file_and_a_private_report() -> None:
    dataset = make_dataset()
    upload = upload_confirm(upload=make_received(dataset), columns=COLUMNS)
    assert upload.state == UploadState.QUEUED
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY
    assert upload.report is not None
    assert (upload.report["read"], upload.report["accepted"]) == (4, 3)
    assert ready_upload(dataset) == upload
    with canonical_path(upload) as path:
        assert pq.read_metadata(path).num_rows == 3
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"ann" not in path.read_bytes()
    assert not upload_ingest(upload_id=upload.pk)


def test_later_uploads_have_the_columns_of_earlier_releases(tmp_path: Path) -> None:
    dataset = make_dataset()
    first = make_received(dataset)
    upload_confirm(upload=first, columns=COLUMNS)
    assert upload_ingest(upload_id=first.pk)
    make_request(dataset)
    other = make_received(dataset, CSV.replace(b"who,lat", b"id,lat"))
    with pytest.raises(Conflict, match="columns of the first upload"):
        upload_confirm(
            upload=other,
            columns=Columns(longitude="lon", latitude="lat", person="id"),
        )
    other.refresh_from_db()
    assert other.state == UploadState.RECEIVED


def test_a_later_file_may_name_and_write_its_positions_in_another_way() -> None:
    dataset = make_dataset()
    first = make_received(dataset)
    upload_confirm(upload=first, columns=COLUMNS)
    assert upload_ingest(upload_id=first.pk)
    make_request(dataset)
    text = CSV.decode().replace("lat,lon", "breite,laenge").replace(",", ";").replace(".", ",")
    other = make_received(dataset, text.encode())
    columns = offered_columns(other, upload_preview(upload=other))
    assert (columns.person, columns.latitude) == ("who", "breite")
    upload_confirm(upload=other, columns=columns)
    assert upload_ingest(upload_id=other.pk)
    other.refresh_from_db()
    first.refresh_from_db()
    dataset.refresh_from_db()
    assert (other.report or {})["accepted"] == (first.report or {})["accepted"]
    assert Columns.from_json(dataset.columns) == replace(COLUMNS, file_format="csv")
    assert first.canonical_name


def test_a_later_file_keeps_the_columns_that_it_has() -> None:
    dataset = make_dataset()
    first = make_received(dataset)
    upload_confirm(upload=first, columns=COLUMNS)
    assert upload_ingest(upload_id=first.pk)
    make_request(dataset)
    with pytest.raises(Conflict, match="columns of the first upload"):
        upload_confirm(
            upload=make_received(dataset),
            columns=Columns(longitude="lat", latitude="lon", person="who"),
        )


@pytest.mark.parametrize("keeps", [True, False])
def test_an_ingestion_interrupted_at_its_end_is_not_repeated(keeps: bool) -> None:
    """An ingestion that was interrupted at its end is completed, not repeated.

    The worker died after it had written the canonical file; the raw file may be deleted already.
    """
    upload = make_received(make_dataset(keep_raw=keeps))
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    Job.objects.filter(upload=upload).update(state=JobState.QUEUED)
    assert upload_ingest(upload_id=upload.pk)
    again = Upload.objects.get(pk=upload.pk)
    assert (again.state, again.canonical_name) == (UploadState.READY, upload.canonical_name)
    assert bool(again.raw_name) == keeps
    assert Job.objects.get(upload=upload).state == JobState.DONE


@pytest.mark.parametrize("keeps", [True, False])
def test_changed_columns_require_every_file_to_be_confirmed_again(keeps: bool) -> None:
    dataset = make_dataset(keep_raw=keeps)
    first = make_received(dataset)
    upload_confirm(upload=first, columns=COLUMNS)
    assert upload_ingest(upload_id=first.pk)
    first.refresh_from_db()
    other = make_received(dataset, CSV.replace(b"who,lat", b"id,lat"))
    columns = Columns(longitude="lon", latitude="lat", person="id")
    upload_confirm(upload=other, columns=columns)
    dataset.refresh_from_db()
    assert dataset.columns["person"] == "id"
    assert not private_storage().exists(first.canonical_name)
    first.refresh_from_db()
    assert first.state == (UploadState.RECEIVED if keeps else UploadState.FAILED)
    assert (first.canonical_name, first.report) == ("", None)
    assert ready_upload(dataset) is None


def test_columns_do_not_change_while_another_file_is_read() -> None:
    dataset = make_dataset()
    upload_confirm(upload=make_received(dataset), columns=COLUMNS)
    other = make_received(dataset, CSV.replace(b"who,lat", b"id,lat"))
    columns = Columns(longitude="lon", latitude="lat", person="id")
    with pytest.raises(Conflict, match="Another file is being read"):
        upload_confirm(upload=other, columns=columns)
    dataset.refresh_from_db()
    assert dataset.columns["person"] == "who"


def test_a_cancelled_release_does_not_fix_the_columns() -> None:
    dataset = make_dataset(keep_raw=True)
    upload = make_received(dataset)
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    release = make_request(dataset)
    upload.refresh_from_db()
    with pytest.raises(Conflict, match="confirmed already"):
        upload_confirm(upload=upload, columns=COLUMNS)
    release_cancel(release=release, by=None)
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    with pytest.raises(Conflict, match="on record"):
        upload_discard(upload=upload, by=None)


def test_an_upload_is_confirmed_once() -> None:
    upload = make_received(make_dataset())
    upload_confirm(upload=upload, columns=COLUMNS)
    with pytest.raises(Conflict):
        upload_confirm(upload=upload, columns=COLUMNS)
    assert Job.objects.count() == 1


def test_a_failed_ingestion_fails_the_upload_which_may_be_confirmed_again() -> None:
    upload = make_received(make_dataset())
    upload_confirm(upload=upload, columns=COLUMNS)
    Job.objects.update(attempts=MAX_ATTEMPTS)
    assert jobs_reap().failed == 1
    upload.refresh_from_db()
    assert upload.state == UploadState.FAILED
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    assert Upload.objects.get(pk=upload.pk).state == UploadState.READY


def test_a_new_upload_does_not_change_earlier_releases(tmp_path: Path) -> None:
    dataset = make_dataset()
    first = make_ready(dataset, tmp_path)
    release = make_release(dataset)
    second = make_ready(dataset, tmp_path)
    Upload.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(hours=1))
    assert ready_upload(dataset) == second
    assert release.upload == first


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (None, set()),
        (Role.STEWARD, {"view", "edit", "upload", "request", "see_private"}),
        (Role.APPROVER, {"view", "edit", "upload", "request", "see_private", "publish"}),
        (
            Role.ADMINISTRATOR,
            {"view", "edit", "upload", "request", "see_private", "publish", "set_budget"},
        ),
    ],
)
def test_each_role_allows_exactly_its_actions(role: Role | None, allowed: set[str]) -> None:
    dataset = make_dataset()
    user = make_user(dataset.organisation if role else None, role or Role.STEWARD)
    actions = {"view", "edit", "upload", "request", "see_private", "publish", "set_budget"}
    assert {action for action in actions if may(user, dataset, action)} == allowed
    assert role_in(user, dataset.organisation) == role
