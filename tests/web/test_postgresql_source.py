"""Registered tables of PostgreSQL, from the declaration to a map."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from django.core.management import call_command

from dpgeo.core.domain import Domain
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.levels import make_level
from dpgeo.core.released import GridRelease
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.locations import locations
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.postgresql import DEGREES, PERSONS, Column, _named, connected, quoted_table
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.snapshots import Snapshot, SourceRows, rows_in_place
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.engine.in_place import EVERYBODY, InPlaceView
from dpgeo.engine.pushed_view import PushedView
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from dpgeo.releases.selectors import released_of
from dpgeo.releases.services import release_run
from dpgeo.spatial.grid import Grid
from tests.makers import make_dataset, make_organisation, make_release, make_request
from tests.requirements import need
from tests.servers import postgresql_installed, running_postgresql
from tests.storages import use_empty_storages
from tests.web.desk import make_desk

pytestmark = pytest.mark.django_db

COLUMNS = Columns(longitude="lon", latitude="lat", person="who", time="seen")
EXACT: dict[str, Any] = {"epsilon": "100", "bound": 1, "counting": "visits"}
"""A request with an epsilon so large that noise is 0, except with probability e^-99 per cell."""

LOGGED = (
    "log_statement=all",
    "session_preload_libraries=auto_explain",
    "auto_explain.log_min_duration=0",
    "auto_explain.log_verbose=on",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    need(postgresql_installed(), "PostgreSQL: apt-get install postgresql")
    with running_postgresql(*LOGGED) as running:
        yield running


@pytest.fixture
def sql(server: tuple[str, Path], tmp_path: Path, settings: Any) -> Iterator[psycopg.Connection]:
    """Return a connection to an empty database, which the settings name for `office`."""
    use_empty_storages(settings, tmp_path)
    address = f"{server[0]}/postgres"
    settings.DPGEO_SOURCES = [f"office/warehouse={address}"]
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


def declared(**changes: Any) -> Dataset:
    organisation = make_organisation()
    organisation.slug = "office"
    organisation.save()
    return make_dataset(organisation, budget=1000, **changes)


def fill(sql: psycopg.Connection, people: range, kind: str = "text") -> None:
    sql.execute(
        f"CREATE TABLE IF NOT EXISTS trips (id bigserial, who {kind}, lon float8, lat float8,"
        " seen timestamptz)"
    )
    prefix = "p" if kind == "text" else ""
    with sql.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO trips (who, lon, lat, seen) VALUES (%s, 10.01, 50.01, %s)",
            [(f"{prefix}{who}", "2026-01-15T12:00:00Z") for who in people],
        )


def registered(dataset: Dataset, as_of: str = "") -> Upload:
    upload = source_register(
        dataset=dataset, location="warehouse", folder="trips", as_of=as_of, by=None
    )
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    dataset.refresh_from_db()
    assert upload.state == UploadState.READY, upload.job and upload.job.failure
    return upload


def exactly(dataset: Dataset, **changes: Any) -> int:
    release = make_release(dataset, **{**EXACT, **changes})
    assert release.job.state == JobState.DONE, release.job.failure
    content = released_of(release).content
    assert isinstance(content, GridRelease)
    return int(content.counts.sum())


@pytest.mark.parametrize("kind", ["text", "bigint"])
def test_a_table_is_registered_and_counted_at_its_source(
    sql: psycopg.Connection, kind: str
) -> None:
    fill(sql, range(30), kind)
    fill(sql, range(20, 50), kind)
    dataset = declared()
    upload = source_register(dataset=dataset, location="warehouse", folder="trips", by=None)
    assert upload_preview(upload=upload).columns == ["id", "who", "lon", "lat", "seen"]
    upload = registered(dataset)
    assert upload.file_name == "warehouse/trips"
    assert upload.report is not None
    assert (upload.report["accepted"], Snapshot.of(upload).people) == (60, 50)
    assert rows_in_place(upload).counter() is not None
    assert exactly(dataset) == 50
    assert exactly(dataset, bound=2) == 60
    assert exactly(dataset, bound=2, counting="people") == 50
    window = {"from_day": "2026-02-01", "to_day": "2026-02-28"}
    assert exactly(dataset, **window) == 0


def test_a_page_does_not_wait_for_a_slow_view(
    sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgeo.datasets.postgresql.PREVIEW_SECONDS", 1)
    sql.execute("CREATE VIEW trips AS SELECT pg_sleep(120)::text AS who, 10.01 AS lon")
    upload = source_register(dataset=declared(), location="warehouse", folder="trips", by=None)
    with pytest.raises(Conflict, match="57014"):
        upload_preview(upload=upload)


ODD = """
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE TABLE trips (who text COLLATE blind, lon float8, lat float8, seen timestamptz);
INSERT INTO trips
SELECT who, lon, lat, seen FROM
    unnest(ARRAY['p1', 'P1', ' p1 ', 'p1.0', '7', '7.0', '007', 'é', U&'e\\0301', 'null', 'N/A',
        '', '1.5E+11', repeat('x', 1000), repeat('x', 1001), NULL]) AS who,
    unnest(ARRAY[10.01, 'NaN', 'Infinity', 1e308, NULL, 170, 10.02]) AS lon,
    unnest(ARRAY[50.01, '-Infinity', 'NaN', NULL, 89.9]) AS lat,
    unnest(ARRAY['2026-01-15', 'infinity', '0999-01-01', '4000-01-01', NULL]::timestamptz[]) AS seen
"""


@pytest.mark.parametrize(("counting", "bound"), [("visits", 10**6), ("people", 10**6)])
def test_the_source_accepts_and_groups_exactly_the_rows_that_are_accepted_here(
    sql: psycopg.Connection, counting: str, bound: int
) -> None:
    sql.execute(ODD)
    upload = registered(declared())
    rows = rows_in_place(upload)
    counter = rows.counter()
    assert counter is not None
    grid = Grid.over(upload.dataset.area, 64)
    counts = view(rows, counting, bound).histogram(grid)._read_by_meter()
    pushed = view(rows, counting, bound, counter).histogram(grid)._read_by_meter()
    assert counts.sum() == (14 if counting == "people" else 20)
    np.testing.assert_array_equal(counts, pushed)


def view(rows: SourceRows, counting: str, bound: int, counter: Any = None) -> Any:
    settings: dict[str, Any] = {
        "domain": Domain(rows.readers[0].schema.area),
        "unit": Unit.PERSON,
        "counting": Counting(counting),
        "bound": bound,
        "salt": bytes(range(16)),
    }
    return PushedView(rows, counter, **settings) if counter else InPlaceView(rows, **settings)


def test_no_value_of_a_row_ends_a_query_with_an_error(sql: psycopg.Connection) -> None:
    tiny = DEGREES["decimal"].format("degrees")
    query = f"SELECT {tiny} FROM unnest(ARRAY[1e-400, -1e-400, 'NaN', '-Infinity', 7.5]) AS degrees"
    assert [number for (number,) in sql.execute(query)] == [0, 0, None, None, 7.5]
    conditions = " AND ".join(_named(PERSONS["text"].format("who"), Column("who", "text", "text")))
    query = "SELECT count(*) FROM (SELECT repeat('x', 270000000) AS who OFFSET 0) AS rows"
    assert sql.execute(f"{query} WHERE {conditions}").fetchone() == (0,)


def test_records_of_a_table_always_come_in_the_same_order(sql: psycopg.Connection) -> None:
    fill(sql, range(3))
    sql.execute("UPDATE trips SET lon = 10 + id / 1000.0")
    dataset = declared(unit="record")
    upload = source_register(dataset=dataset, location="warehouse", folder="trips", by=None)
    upload_confirm(upload=upload, columns=replace(COLUMNS, person=""))
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    rows = rows_in_place(upload)
    before = [batch["x"].to_pylist() for batch in rows.batches(*EVERYBODY)]
    sql.execute("UPDATE trips SET lon = lon WHERE id = 1")
    assert sql.execute("SELECT id FROM trips").fetchone() != (1,)
    assert [batch["x"].to_pylist() for batch in rows.batches(*EVERYBODY)] == before


def test_an_erased_person_is_not_counted_at_the_source(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    fill(sql, range(10))
    dataset = declared()
    registered(dataset)
    version = person_erase(dataset=dataset, person="p3", by=None)
    assert exactly(dataset, bound=2) == 38
    assert upload_ingest(upload_id=version.pk)
    version.refresh_from_db()
    assert version.report is not None
    assert version.report["accepted"] == 38
    assert exactly(dataset, bound=2) == 38


def test_a_changed_table_is_noticed_before_noise(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    dataset = declared()
    registered(dataset)
    for change, back in (
        ("UPDATE trips SET lat = 50.02 WHERE who = 'p3'", "UPDATE trips SET lat = 50.01"),
        ("INSERT INTO trips (who) VALUES ('p1')", "DELETE FROM trips WHERE lat IS NULL"),
    ):
        sql.execute(change.encode())
        release = make_release(dataset, **EXACT)
        assert "does not have the rows that were recorded" in str(release.job.failure)
        assert not release.job.drawing
        sql.execute(back.encode())
    assert exactly(dataset) == 30


def test_a_column_that_only_grows_keeps_a_snapshot_as_it_was(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    dataset = declared()
    registered(dataset, "id")
    waiting = make_request(dataset, **EXACT)
    fill(sql, range(30, 50))
    assert exactly(dataset) == 30
    registered(dataset)  # the column need not be named again
    fill(sql, range(90))
    assert exactly(dataset) == 50
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert int(released_of(waiting).content.counts.sum()) == 30  # type: ignore[attr-defined]


@pytest.mark.parametrize("as_of", ["none", "who", "lat"])
def test_only_whole_numbers_and_times_can_grow(sql: psycopg.Connection, as_of: str) -> None:
    fill(sql, range(3))
    upload = source_register(
        dataset=declared(), location="warehouse", folder="trips", as_of=as_of, by=None
    )
    upload_confirm(upload=upload, columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.job is not None
    assert "cannot say which rows are new" in str(upload.job.failure)


def test_a_column_that_grows_has_a_name_that_can_be_stored(sql: psycopg.Connection) -> None:
    fill(sql, range(3))
    with pytest.raises(Conflict, match="cannot say which rows are new"):
        source_register(
            dataset=declared(), location="warehouse", folder="trips", as_of="i\0d", by=None
        )
    assert not Upload.objects.exists()


@pytest.mark.parametrize("name", ["none", "pg_catalog.pg_class", "a.b.c", "information_schema.x"])
def test_only_tables_outside_the_catalogue_are_read(sql: psycopg.Connection, name: str) -> None:
    with pytest.raises((InvalidInput, Conflict)):
        source_register(dataset=declared(), location="warehouse", folder=name, by=None)


def test_a_names_quotes_do_not_end_it() -> None:
    assert quoted_table('a"; DROP TABLE b; --') == '"public"."a""; DROP TABLE b; --"'


def test_errors_of_the_database_are_passed_on_by_their_code(
    sql: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    fill(sql, range(3))
    sql.execute(
        "ALTER TABLE trips RENAME TO facts; CREATE VIEW trips AS"
        " SELECT who, lon, lat, seen, (who || 'secret')::bigint AS id FROM facts"
    )
    upload = source_register(dataset=declared(), location="warehouse", folder="trips", by=None)
    with pytest.raises(Conflict) as raised:
        upload_preview(upload=upload)
    assert "22P02" in str(raised.value)
    assert "secret" not in str(raised.value) + caplog.text


def test_tables_are_read_here_for_what_their_source_cannot_count(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    dataset = declared(points_budget=make_level("ln 16", 200))
    registered(dataset)
    release = make_release(
        dataset,
        mechanism="planar-laplace",
        parameters={"level": "ln(2)", "radius": 200, "cells": 16},
        epsilon=None,
        bound=1,
    )
    content = released_of(release).content
    assert len(content.longitude) == 30  # type: ignore[attr-defined]


def test_no_secret_stands_in_the_databases_log(
    sql: psycopg.Connection, server: tuple[str, Path]
) -> None:
    fill(sql, range(30))
    dataset = declared()
    upload = registered(dataset)
    person_erase(dataset=dataset, person="p3", by=None)
    release = make_release(dataset, **EXACT)
    salt, key = bytes(release.salt), hashing_key(dataset)
    log = server[1].read_text(errors="replace")
    assert "width_bucket" in log
    assert "Window" in log  # plans are logged, too
    for start in range(0, 16, 8):
        for secret in (salt, key, key[16:], *(bytes(each.person) for each in erased(dataset))):
            half = secret[start : start + 8]
            assert str(int.from_bytes(half)) not in log
            assert str(int.from_bytes(half, "little")) not in log
            assert half.hex() not in log.lower()
    assert upload.source["suppressed"] == []
    assert "warehouse" not in log
    assert server[0] not in str(upload.source)


def erased(dataset: Dataset) -> Any:
    return dataset.suppressions.all()


def test_addresses_and_passwords_are_in_no_text_of_a_location(settings: Any) -> None:
    settings.DPGEO_SOURCES = ["office/warehouse=postgresql://reader:secret@db.example/trips"]
    (place,) = locations()
    assert "secret" not in repr(place) + str(place)
    for wrong in (
        ["warehouse=postgresql://reader:secret@db.example/trips"],
        ["office/warehouse=postgresql://reader:very", "secret@db.example/trips"],
    ):
        settings.DPGEO_SOURCES = wrong
        with pytest.raises(ValueError, match=f"DPGEO_SOURCES: entry {len(wrong)} ") as raised:
            locations()
        assert "secret" not in str(raised.value)


def test_other_machines_are_connected_to_with_verified_certificates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def connect(**given: Any) -> Any:
        seen.append(given.get("sslmode"))
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    remote = ("db.example", "/?hostaddr=192.0.2.1", "/?service=db")
    for host in (*remote, "127.0.0.1", "db.example/?sslmode=require"):
        with pytest.raises(psycopg.OperationalError), connected(f"postgresql://{host}"):
            pass
    monkeypatch.setenv("PGHOST", "db.example")
    with pytest.raises(psycopg.OperationalError), connected("postgresql:///trips"):
        pass
    assert seen == ["verify-full"] * 3 + [None, "require", "verify-full"]


def test_a_table_is_registered_at_the_console(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    output, dataset = io.StringIO(), declared()
    named = {"person": "who", "longitude": "lon", "latitude": "lat", "time": "seen"}
    call_command("register", dataset.slug, "warehouse", "trips", as_of="id", stdout=output, **named)
    assert "30 of 30 rows accepted" in output.getvalue()
    fill(sql, range(5))
    call_command("register", dataset.slug, "warehouse", "public.trips", stdout=output)
    assert "35 of 35 rows accepted" in output.getvalue()


def test_a_table_is_registered_at_the_desk(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    desk = make_desk("office")
    dataset = desk.declare()
    assert "<option>warehouse</option>" in desk.page(f"/desk/datasets/{dataset.slug}/upload/")
    address = f"/desk/datasets/{dataset.slug}/register/"
    fields = {"location": "warehouse", "folder": "public.trips", "as_of": "id"}
    found = desk.client.post(address, fields, follow=True).content.decode()
    assert "warehouse/public.trips" in found
    assert "<code>who</code>" in found
    (upload,) = dataset.uploads.all()
    assert Snapshot.of(upload).as_of == "id"


def test_a_table_replaces_what_was_there(sql: psycopg.Connection) -> None:
    fill(sql, range(3))
    dataset = declared(new_files="append")
    with pytest.raises(Conflict, match="declare that new data replace the old"):
        registered(dataset)
