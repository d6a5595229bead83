"""Registered folders of Parquet files, which become canonical files."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from dpgeo.accounts.models import Role
from dpgeo.commands import console
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.levels import make_level
from dpgeo.core.released import GridRelease, PointsRelease
from dpgeo.datasets.erasure import person_erase, person_readmit
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.previews import upload_preview, upload_understand
from dpgeo.datasets.quotas import stored_bytes
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.same_people import Comparison
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.snapshots import Snapshot
from dpgeo.datasets.sources import Location
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.datasets.versions import rows_of
from dpgeo.ingest import source_rows
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_run
from tests.makers import (
    make_dataset,
    make_organisation,
    make_received,
    make_release,
    make_request,
    make_user,
)
from tests.web.desk import make_desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

COLUMNS = Columns(longitude="lon", latitude="lat", person="who", time="seen")

EXACT: dict[str, Any] = {"epsilon": "100", "bound": 1, "counting": "visits"}
"""A request with an epsilon so large that noise is 0, except with probability e^-99 per cell."""


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """Return a folder that the settings name for the organisation `office`."""
    path = tmp_path / "lake"
    path.mkdir()
    settings.DPGEO_SOURCES = [f"office/lake={path}"]
    return path


@pytest.fixture
def unkept(folder: Path, settings: Any) -> None:
    """Let no copy of the folder's rows be kept."""
    settings.DPGEO_SOURCES = [f"office/lake=nocopy:{folder}"]


@pytest.fixture
def dataset(folder: Path) -> Dataset:
    return declared()


def declared(**changes: Any) -> Dataset:
    organisation = make_organisation()
    organisation.slug = "office"
    organisation.save()
    return make_dataset(organisation, budget=1000, **changes)


def write(path: Path, people: Iterable[int], month: int = 1, **columns: Any) -> Path:
    """Write a file with one row of each person."""
    names = [f"p{who}" for who in people]
    rows: dict[str, Any] = {
        "who": names,
        "lat": [50.01] * len(names),
        "lon": [10.01] * len(names),
        "seen": [f"2026-{month:02}-15T12:00:00Z"] * len(names),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({**rows, **columns}), path)
    return path


def register(dataset: Dataset, folder: str = "", columns: Columns = COLUMNS) -> Upload:
    upload = source_register(dataset=dataset, location="lake", folder=folder, by=None)
    upload_confirm(upload=upload, columns=columns)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    dataset.refresh_from_db()
    return upload


def registered(dataset: Dataset, folder: str = "", columns: Columns = COLUMNS) -> Upload:
    upload = register(dataset, folder, columns)
    assert upload.state == UploadState.READY, upload.job and upload.job.failure
    return upload


def exactly(dataset: Dataset, **changes: Any) -> int:
    release = make_release(dataset, **{**EXACT, **changes})
    assert release.job.state == JobState.DONE, release.job.failure
    return counted(release)


def counted(release: Release) -> int:
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    return int(content.counts.sum())


def test_a_folder_is_declared_and_read_like_an_upload(dataset: Dataset, folder: Path) -> None:
    write(folder / "trips/a.parquet", range(30))
    write(folder / "trips/b.parquet", range(20, 50))
    write(folder / "trips/_temporary/c.parquet", range(90))
    (folder / "trips/_SUCCESS").touch()
    upload = source_register(dataset=dataset, location="lake", folder="trips", by=None)
    assert upload_preview(upload=upload).columns == ["who", "lat", "lon", "seen"]
    assert upload_understand(upload=upload, columns=COLUMNS) is not None
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.file_name) == (UploadState.READY, "lake/trips/*.parquet")
    assert [file.path for file in Snapshot.of(upload).files] == ["a.parquet", "b.parquet"]
    assert rows_of(upload) == 60
    (name,) = stored_names(private_storage(), "canonical")
    assert upload.canonical_name == name
    assert list(work()) == []
    dataset.refresh_from_db()
    assert exactly(dataset) == 50
    assert exactly(dataset, bound=2) == 60
    assert stored_bytes(dataset.organisation_id) == 0


def work() -> Iterable[Path]:
    """Return the files that are left in the work folders."""
    return Path(settings.VAR_DIR, "work").rglob("*")


def test_a_folder_counts_as_an_upload_of_the_same_rows(dataset: Dataset, folder: Path) -> None:
    """Rows of a folder are accepted, located and grouped exactly as those of an upload."""
    random = np.random.default_rng(5)
    names = ["p1", "P1", " p1 ", "p1.0", "7", "7.0", "007", "\xe9", "e\u0301", "null", "", None]
    who = [names[one] for one in random.integers(0, len(names), 500)]
    lat, lon = (random.uniform(low, low + 0.12, 500).round(2) for low in (49.99, 9.99))
    lon[:3] = np.nan, np.inf, 170
    path = write(folder / "a.parquet", range(500), who=who, lat=lat, lon=lon)
    content = path.read_bytes()
    registered(dataset)
    same_as_an_upload(ready_upload(dataset), content, "a.parquet")


def same_as_an_upload(registered: Upload | None, content: bytes, name: str) -> None:
    """Check that a registered source gives the report, and each person the rows, of an upload."""
    assert registered is not None
    other = make_dataset(
        budget=1000, unit=registered.dataset.unit, categories=registered.dataset.categories
    )
    file = make_received(other, content, name)
    columns = Columns.from_json({**registered.columns, "file_format": name.rpartition(".")[2]})
    upload_confirm(upload=file, columns=columns)
    assert upload_ingest(upload_id=file.pk)
    file.refresh_from_db()
    assert file.report is not None
    assert registered.report is not None
    for fact in ("read", "accepted", "refused"):
        assert registered.report[fact] == file.report[fact]
    assert people_in(registered) == people_in(file)
    assert len(people_in(file)) > 4


def people_in(upload: Upload) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each person in a canonical file, without the person's hash."""
    with private_storage().open(upload.canonical_name) as file:
        table = pq.read_table(file)
    rows: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
    for high, low, *row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        rows.setdefault((high, low), []).append(tuple(str(each) for each in row))
    return sorted(map(sorted, rows.values()))


def test_a_folder_is_registered_on_a_terminal(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "PATIENCE_SECONDS", 0.0)
    write(folder / "trips/a.parquet", range(30))
    output = io.StringIO()
    columns = ("--person", "who", "--longitude", "lon", "--latitude", "lat", "--time", "seen")
    call_command("register", dataset.slug, "lake", "trips", *columns, stdout=output)
    assert "30 of 30 rows accepted" in output.getvalue()
    dataset.refresh_from_db()
    assert exactly(dataset) == 30
    with pytest.raises(CommandError, match="NAME"):
        call_command("register", dataset.slug, "sea", "trips", *columns, stdout=output)


@pytest.mark.parametrize(("copied", "said"), [("", "copied when"), ("nocopy:", "not copied; read")])
def test_a_folder_is_registered_and_read_again_at_the_desk(
    folder: Path, settings: Any, copied: str, said: str
) -> None:
    desk = make_desk("Office")
    settings.DPGEO_SOURCES = [f"office/lake={copied}{folder}"]
    dataset = desk.declare(new_files="append")
    write(folder / "trips/a.parquet", range(30))
    page = desk.page(f"/desk/datasets/{dataset.slug}/upload/")
    assert "Or read a folder or a table" in page
    address = f"/desk/datasets/{dataset.slug}/register/"
    wrong = desk.client.post(address, {"location": "lake", "folder": "none"})
    assert "There is no such folder." in wrong.content.decode()
    for number in (1, 2):
        answer = desk.client.post(address, {"location": "lake", "folder": "trips", "as_of": ""})
        upload = Upload.objects.latest("created_at")
        assert answer["Location"] == f"/desk/uploads/{upload.pk}/"
        upload_confirm(upload=upload, columns=COLUMNS)
        assert upload_ingest(upload_id=upload.pk)
        page = desk.page(f"/desk/datasets/{dataset.slug}/")
        assert said in page
        assert "adds what is new" in page
        write(folder / f"trips/b{number}.parquet", range(5))
    page = desk.page(f"/desk/datasets/{dataset.slug}/upload/")
    assert "Read the data again" in page
    assert "rows that are new in the table, are added" in page
    assert "Choose your file" not in page


@pytest.mark.usefixtures("unkept")
def test_rows_that_are_not_to_be_copied_are_read_for_every_map(
    dataset: Dataset, folder: Path
) -> None:
    write(folder / "a.parquet", range(30))
    upload = registered(dataset)
    assert (upload.canonical_name, rows_of(upload)) == ("", 30)
    assert exactly(dataset) == 30
    assert exactly(dataset, bound=2) == 30
    version = person_erase(dataset=dataset, person="p3", by=None)
    assert exactly(dataset) == 29
    assert upload_ingest(upload_id=version.pk)
    version.refresh_from_db()
    assert version.report is not None
    assert (version.report["accepted"], version.report["erased"]) == (29, 1)
    assert exactly(dataset) == 29
    assert list(stored_names(private_storage(), "canonical")) == []
    assert list(work()) == []


def test_points_of_a_folder_are_perturbed(folder: Path) -> None:
    dataset = declared(points_budget=make_level("ln 16", 200))
    write(folder / "a.parquet", range(30))
    registered(dataset)
    release = make_release(
        dataset,
        mechanism="planar-laplace",
        parameters={"level": "ln(2)", "radius": 200, "cells": 16},
        epsilon=None,
        bound=1,
    )
    assert release.job.state == JobState.DONE, release.job.failure
    content = load_released(release).content
    assert isinstance(content, PointsRelease)
    assert len(content.longitude) == 30


def test_a_map_needs_the_folder_no_more_once_it_was_read(
    dataset: Dataset, folder: Path, settings: Any
) -> None:
    write(folder / "a.parquet", range(30)).rename(folder / "b.parquet")
    registered(dataset)
    (folder / "b.parquet").unlink()
    settings.DPGEO_SOURCES = []
    assert exactly(dataset) == 30


@pytest.mark.usefixtures("unkept")
def test_a_changed_file_that_is_not_copied_is_named_and_nothing_is_counted(
    dataset: Dataset, folder: Path
) -> None:
    path = write(folder / "a.parquet", range(30))
    before = path.read_bytes(), path.stat().st_mtime_ns
    registered(dataset)
    waiting = make_request(dataset, **EXACT)
    write(path, range(40))
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert waiting.job.state == JobState.FAILED
    assert "'a.parquet' of the registered folder was changed" in str(waiting.job.failure)
    assert not waiting.job.drawing
    assert dataset.ledger.spent_units == 0
    path.write_bytes(before[0])
    os.utime(path, ns=(before[1], before[1]))
    assert exactly(dataset) == 30


@pytest.mark.usefixtures("unkept")
def test_a_key_is_not_refunded_for_a_source_that_cannot_be_read(
    dataset: Dataset, folder: Path
) -> None:
    """Otherwise a key could learn for free, as often as it likes, whether the data changed."""
    path = write(folder / "a.parquet", range(30))
    registered(dataset)
    waiting = make_request(dataset, **EXACT)
    Release.objects.filter(pk=waiting.pk).update(by_key=True)
    path.unlink()
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    dataset.ledger.refresh_from_db()
    assert (waiting.job.state, waiting.job.drawing) == (JobState.FAILED, True)
    assert dataset.ledger.spent_units == 100_000_000


def test_a_file_that_changes_while_it_is_read_is_named_and_nothing_is_stored(
    dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder / "a.parquet", range(30))
    read = source_rows.source_batches

    def changing(*given: Any) -> Any:
        yield from read(*given)
        write(path, range(40))

    monkeypatch.setattr(source_rows, "source_batches", changing)
    upload = register(dataset)
    assert upload.state == UploadState.FAILED
    assert "changed or removed" in str(upload.job.failure)  # type: ignore[union-attr]
    assert list(stored_names(private_storage(), "canonical")) == []
    assert list(work()) == []


@pytest.mark.usefixtures("unkept")
def test_a_footer_that_differs_is_noticed_though_size_and_time_agree(
    dataset: Dataset, folder: Path
) -> None:
    path = write(folder / "a.parquet", range(30))
    time = path.stat().st_mtime_ns
    registered(dataset)
    content = bytearray(path.read_bytes())
    content[-12] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(time, time))
    release = make_release(dataset, **EXACT)
    assert "was changed" in str(release.job.failure)


@pytest.mark.parametrize("copied", ["", "nocopy:"])
def test_a_redo_reads_the_files_of_its_snapshot(
    dataset: Dataset, folder: Path, settings: Any, copied: str
) -> None:
    settings.DPGEO_SOURCES = [f"office/lake={copied}{folder}"]
    write(folder / "a.parquet", range(30))
    registered(dataset)
    waiting = make_request(dataset, **EXACT)
    write(folder / "b.parquet", range(30, 50))
    registered(dataset)
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert counted(waiting) == 30
    assert exactly(dataset) == 50


def test_an_erased_person_is_refused_whenever_the_folder_is_read(
    dataset: Dataset, folder: Path
) -> None:
    write(folder / "a.parquet", range(30))
    write(folder / "b.parquet", range(10))
    first = registered(dataset)
    version = person_erase(dataset=dataset, person="p3", by=None)
    assert upload_ingest(upload_id=version.pk)
    first.refresh_from_db()
    version.refresh_from_db()
    assert (first.state, first.source) == (UploadState.ERASED, {})
    assert version.state == UploadState.READY
    assert version.report is not None
    assert version.report["accepted"] == 38
    assert ready_upload(dataset) == version
    assert exactly(dataset, bound=2) == 38
    assert list(stored_names(private_storage(), "canonical")) == [version.canonical_name]
    assert registered(dataset).report["accepted"] == 38  # type: ignore[index]
    assert person_readmit(dataset=dataset, person="p3", by=None)
    assert exactly(dataset, bound=2) == 38
    assert registered(dataset).report["accepted"] == 40  # type: ignore[index]


@pytest.mark.parametrize("copied", ["", "nocopy:"])
def test_files_are_added_to_data_that_grow(folder: Path, settings: Any, copied: str) -> None:
    settings.DPGEO_SOURCES = [f"office/lake={copied}{folder}"]
    dataset = declared(new_files="append")
    write(folder / "1.parquet", range(30))
    registered(dataset)
    second = write(folder / "2.parquet", range(20, 50), month=2)
    upload = registered(dataset)
    assert [file.path for file in Snapshot.of(upload).files] == ["2.parquet"]
    assert exactly(dataset) == 50
    assert exactly(dataset, bound=2) == 60
    again = register(dataset)
    assert again.job is not None
    assert "no new files" in str(again.job.failure)
    second.unlink()
    write(folder / "3.parquet", range(5))
    gone = register(dataset)
    assert gone.job is not None
    assert "'2.parquet'" in str(gone.job.failure)


def test_files_that_were_read_before_an_erasure_are_not_new(folder: Path) -> None:
    dataset = declared(new_files="append")
    for number in (1, 2):
        write(folder / f"{number}.parquet", range(20 * number, 30 * number))
        registered(dataset)
    version = person_erase(dataset=dataset, person="p42", by=None)
    assert upload_ingest(upload_id=version.pk)
    assert exactly(dataset, bound=2) == 29
    write(folder / "3.parquet", range(42, 47))
    upload = registered(dataset)
    assert [file.path for file in Snapshot.of(upload).files] == ["3.parquet"]
    assert exactly(dataset, bound=2) == 33


def test_two_readings_at_once_do_not_add_the_same_files(folder: Path) -> None:
    dataset = declared(new_files="append")
    write(folder / "1.parquet", range(30))
    registered(dataset)
    write(folder / "2.parquet", range(30, 40))
    slow = source_register(dataset=dataset, location="lake", folder="", by=None)
    upload_confirm(upload=slow, columns=COLUMNS)
    compare = Comparison.compare

    def overtaken(self: Comparison, *given: Any) -> None:
        compare(self, *given)
        if not overtaking:
            overtaking.append(True)
            write(folder / "3.parquet", range(40, 45))
            registered(dataset)

    overtaking: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Comparison, "compare", overtaken)
        assert upload_ingest(upload_id=slow.pk)
    slow.refresh_from_db()
    assert slow.state == UploadState.FAILED
    assert "added while these were read" in str(slow.job.failure)  # type: ignore[union-attr]
    assert exactly(dataset) == 45


def test_names_of_folders_are_columns(folder: Path) -> None:
    mode = {"column": "mode", "title": "Mode", "values": ["bus", "tram"]}
    dataset = declared(categories=[mode])
    write(folder / "day=2026-01-02/mode=bus/a.parquet", range(30))
    write(folder / "day=2026-02-02/mode=tram/a.parquet", range(10))
    columns = Columns(longitude="lon", latitude="lat", person="who", time="day")
    upload = source_register(dataset=dataset, location="lake", folder="", by=None)
    assert upload_preview(upload=upload).columns[-2:] == ["day", "mode"]
    upload_confirm(upload=upload, columns=columns)
    assert upload_ingest(upload_id=upload.pk)
    dataset.refresh_from_db()
    upload.refresh_from_db()
    with private_storage().open(upload.canonical_name) as file:
        codes = pq.read_table(file)["category_0"].to_pylist()
    assert sorted(codes) == [0] * 30 + [1] * 10
    window = {"from_day": "2026-02-01", "to_day": "2026-02-28"}
    assert exactly(dataset, **window) == 10


def test_a_file_without_a_declared_column_is_named(dataset: Dataset, folder: Path) -> None:
    write(folder / "a.parquet", range(3))
    pq.write_table(pa.table({"lat": [50.0]}), folder / "b.parquet")
    upload = register(dataset)
    assert upload.job is not None
    assert "'b.parquet' of the registered folder cannot be read" in str(upload.job.failure)


def test_uploads_and_folders_are_not_mixed(dataset: Dataset, folder: Path) -> None:
    write(folder / "a.parquet", range(3))
    registered(dataset)
    file = make_received(dataset, b"who,lat,lon,seen\na,50,10,2026-01-01\n")
    with pytest.raises(Conflict, match="either uploaded or a registered folder"):
        upload_confirm(upload=file, columns=COLUMNS)


def test_only_folders_that_the_settings_name_for_the_organisation_are_read(
    dataset: Dataset, folder: Path, tmp_path: Path, settings: Any
) -> None:
    secret = write(tmp_path / "secret/a.parquet", range(3))
    (folder / "link").symlink_to(secret.parent)
    write(folder / "mixed/a.parquet", range(3))
    (folder / "mixed/b.parquet").symlink_to(secret)
    (folder / "mixed/c.parquet").symlink_to("nowhere")
    (folder / "mixed/d.parquet").symlink_to("d.parquet")
    os.mkfifo(folder / "mixed/e.parquet")
    for below in ("link", "../secret", "a/../../secret", "/etc", ".", "_x", "a\\b", "a\nb", "none"):
        with pytest.raises(InvalidInput):
            source_register(dataset=dataset, location="lake", folder=below, by=None)
    found = Location("office", "lake", str(folder)).files("mixed")
    assert [file.path for file in found] == ["a.parquet"]
    settings.DPGEO_SOURCES = [f"others/lake={folder}"]
    with pytest.raises(InvalidInput, match="name no folder"):
        source_register(dataset=dataset, location="lake", folder="mixed", by=None)


@pytest.mark.usefixtures("unkept")
def test_people_of_rows_that_are_not_copied_are_compared_as_well(
    dataset: Dataset, folder: Path
) -> None:
    write(folder / "a.parquet", range(120))
    registered(dataset)
    other = make_dataset(dataset.organisation, budget=1000)
    content = write(folder / "other/b.parquet", range(100, 220)).read_bytes()
    file = make_received(other, content, "b.parquet")
    upload_confirm(upload=file, columns=COLUMNS)
    assert upload_ingest(upload_id=file.pk)
    assert [each.other for each in other.people_warnings.all()] == [dataset]


@pytest.mark.usefixtures("unkept")
def test_a_folder_that_left_the_settings_is_not_read(
    dataset: Dataset, folder: Path, settings: Any
) -> None:
    write(folder / "a.parquet", range(3))
    registered(dataset)
    settings.DPGEO_SOURCES = []
    release = make_release(dataset, **EXACT)
    assert "name no folder" in str(release.job.failure)


def test_a_folder_has_no_column_that_only_grows(dataset: Dataset, folder: Path) -> None:
    write(folder / "a.parquet", range(3))
    with pytest.raises(InvalidInput, match="Only a table") as refused:
        source_register(dataset=dataset, location="lake", folder="", as_of="seen", by=None)
    assert refused.value.field == "as_of"


def test_administrators_register_and_stewards_have_the_folder_read_again(
    dataset: Dataset, folder: Path
) -> None:
    write(folder / "a.parquet", range(3))
    write(folder / "more/a.parquet", range(3))
    steward = make_user(dataset.organisation)
    manager = make_user(dataset.organisation, Role.ADMINISTRATOR)
    stranger = make_user(make_organisation(), Role.ADMINISTRATOR)
    register_as: dict[str, Any] = {"dataset": dataset, "location": "lake", "folder": "more"}
    for user in (steward, stranger):
        with pytest.raises(NotAllowed):
            source_register(**register_as, by=user)
    source_register(**register_as, by=manager)
    source_register(**register_as, by=steward)
    with pytest.raises(NotAllowed):
        source_register(dataset=dataset, location="lake", folder="", by=steward)


@pytest.mark.skipif(not importlib.util.find_spec("moto"), reason="moto: make .venv/done/full")
def test_objects_are_read_and_their_change_is_noticed(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3
    from moto import mock_aws

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nothing")
    settings.DPGEO_S3_REGION = "us-east-1"
    settings.DPGEO_SOURCES = ["office/lake=nocopy:s3://bucket/trips"]
    dataset = declared()
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bucket")
        for name, people in (("day=1/a", range(30)), ("day=2/a", range(10)), ("_x/a", range(9))):
            content = write(tmp_path / "a.parquet", people).read_bytes()
            client.put_object(Bucket="bucket", Key=f"trips/2026/{name}.parquet", Body=content)
        client.put_object(Bucket="bucket", Key="trips/2026x/a.parquet", Body=content)
        upload = registered(dataset, "2026")
        assert upload.file_name == "lake/2026/*.parquet"
        assert exactly(dataset, bound=2) == 40
        other = write(tmp_path / "a.parquet", range(4)).read_bytes()
        client.put_object(Bucket="bucket", Key="trips/2026/day=2/a.parquet", Body=other)
        release = make_release(dataset, **EXACT)
        assert "'day=2/a.parquet'" in str(release.job.failure)
