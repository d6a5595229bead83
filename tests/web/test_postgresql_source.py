"""Registered tables of PostgreSQL, from the declaration to a map."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest
import shapely
from dpgeo.engine.in_place import EVERYBODY, InPlaceView
from dpgeo.engine.pushed_view import Asked, PushedView
from dpgeo.engine.source_sql import Wanted
from dpgeo.engine.source_zones import Ground
from numpy.typing import NDArray
from psycopg.conninfo import conninfo_to_dict

from dpgeo.blanks import BLANKS
from dpgeo.core.domain import Domain
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.released import GridRelease
from dpgeo.core.slices import SlicedGrid, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.locations import locations
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.postgresql.columns import DEGREES, PERSONS, Column, accepted_names
from dpgeo.datasets.postgresql.session import connected, quoted_table
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.snapshots import Snapshot, SourceRows, rows_in_place
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.persons import hash_persons
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from dpgeo.releases.selectors import released_of
from dpgeo.releases.services import release_run
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.makers import make_dataset, make_organisation, make_release, make_request
from tests.requirements import need
from tests.servers import postgresql_installed, running_postgresql
from tests.storages import use_empty_storages

pytestmark = [pytest.mark.django_db, pytest.mark.on_servers]

COLUMNS = Columns(longitude="lon", latitude="lat", person="who", time="seen")
EXACT: dict[str, Any] = {"epsilon": "100", "bound": 1, "counting": "visits"}
"""A request whose noise is 0 in each cell, except with probability e^-99."""

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
    """Yield a connection to an empty database, from which the organisation `office` may register
    data.
    """
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


def identifiers() -> list[str]:
    """Return names with every character of the basic plane around them, and with others.

    The others are the first and last characters of every block of 4,096 beyond that plane, two
    different blanks in a row, and what is a blank only at the ends of a name.
    """
    beyond = [first + step for first in range(0x10000, 0x110000, 0x1000) for step in (0, 1, 0xFFF)]
    codes = [code for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    signs = [chr(code) for code in codes + beyond]
    around = [text for sign in signs for text in (f"{sign}ann", f"ann{sign}", f"{sign}{sign}")]
    pairs = [f"{one}{other}v{other}{one}" for one in BLANKS for other in BLANKS]
    inside = [f"v{one}12{one}.0" for one in BLANKS]
    numbers = [
        f"{one}{text}{one}"
        for one in BLANKS
        for text in ("12.0", "-7.00", "1.5E+11", "NaN", "-1234567890123456.0")
    ]
    words = [
        "valerie",
        "v12",
        "12",
        "v",
        "tnrvf",
        "\\",
        "'",
        "UNDEF\u0130NED",
        "\u212a",
        "\u1e9b\u0323",
    ]
    return [*around, *pairs, *inside, *numbers, *words]


def test_a_name_is_the_same_person_at_the_source_as_here(sql: psycopg.Connection) -> None:
    """PostgreSQL reads every identifier as `hash_persons` does, and refuses the same ones.

    A person under two names would count twice, and could not be erased.
    """
    names = identifiers()
    assert len(names) > 190_000
    sql.execute("CREATE TABLE names (number integer, who text)")
    with sql.cursor().copy("COPY names FROM STDIN") as copy:
        for row in enumerate(names):
            copy.write_row(row)
    who = PERSONS["text"].format("who")
    accepted = " AND ".join(accepted_names(who, Column("who", "text", "text")))
    query = f"SELECT CASE WHEN {accepted} THEN {who} END FROM names ORDER BY number"
    found = [name for (name,) in sql.execute(query.encode())]

    key, sieve = bytes(range(32)), Sieve(np.arange(len(names)), Tally())
    halves = zip(*hash_persons(pa.array(names), key, sieve), strict=True)
    here = [
        int(high).to_bytes(8) + int(low).to_bytes(8) if kept else None
        for (high, low), kept in zip(halves, sieve.kept.tolist(), strict=True)
    ]
    there = [
        None if name is None else hashlib.blake2b(name.encode(), key=key, digest_size=16).digest()
        for name in found
    ]
    different = [
        repr(name) for name, *two in zip(names, here, there, strict=True) if two[0] != two[1]
    ]
    assert different[:20] == []


def test_rows_are_divided_by_hour_at_the_source_as_here(sql: psycopg.Connection) -> None:
    """PostgreSQL assigns rows to the same local hours as counting in this process does.

    The test includes hours in which clocks change, and times that are not usable.
    """
    sql.execute(
        "CREATE TABLE trips AS SELECT who::text, 10.01 AS lon, 50.01 AS lat, seen FROM"
        " generate_series(1, 3) AS who, (SELECT generate_series('2026-03-27'::timestamptz,"
        " '2026-03-31', '47 minutes') AS seen UNION ALL SELECT generate_series("
        "'2026-10-23'::timestamptz, '2026-10-27', '47 minutes') UNION ALL SELECT unnest(ARRAY["
        "'infinity', '-infinity', '4713-01-01 BC', '294000-01-01', NULL]::timestamptz[])) AS times"
    )
    upload = registered(declared())
    rows = rows_in_place(upload)
    counter = rows.counter()
    assert counter is not None
    grid = Grid.over(upload.dataset.area, 4)
    for times in (TIME_SLICES["12 hours"], TIME_SLICES["days of the week"]):
        sliced = SlicedGrid(grid, Slicing(times, "Europe/Berlin"))
        for counting in Counting:
            counts = view(rows, counting, 10**6).sliced_histogram(sliced)._read_by_meter()
            pushed = view(rows, counting, 10**6, counter).sliced_histogram(sliced)
            np.testing.assert_array_equal(pushed._read_by_meter(), counts)
            assert (counts.sum(axis=(1, 2)) > 0).sum() >= 2
            few = view(rows, counting, 3, counter).sliced_histogram(sliced)._read_by_meter()
            items = 3 if counting is Counting.VISITS else min(3, len(sliced.slices))
            assert few.sum() == 3 * items  # of three people
    asked = Asked(
        wanted=Wanted.COUNTS,
        regions=SlicedGrid(grid, Slicing(TIME_SLICES["12 hours"], "Nowhere/Here")),
        counting=Counting.VISITS,
        bound=1,
        draw=1,
        domain=Domain(upload.dataset.area),
    )
    with pytest.raises(Conflict, match="22023"):
        list(counter.answer(asked))


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
    who = PERSONS["text"].format("who")
    conditions = " AND ".join(accepted_names(who, Column("who", "text", "text")))
    query = "SELECT count(*) FROM (SELECT repeat('x', 270000000) AS who OFFSET 0) AS rows"
    assert sql.execute(f"{query} WHERE {conditions}").fetchone() == (0,)


def test_no_position_is_too_near_the_corner_of_a_coarse_raster(sql: psycopg.Connection) -> None:
    area = Zones(keys=("a",), names=("a",), shapes=np.array([shapely.box(10, 50, 11, 51)]))
    ground = Ground.of(area)
    assert ground
    coarse = replace(ground, low=(0.0, 0.0), scale=(0.08, 0.08))

    def give(numbers: NDArray[Any]) -> str:
        kind = "float8" if numbers.dtype.kind == "f" else "bigint"
        return f"ARRAY{numbers.tolist()}::{kind}[]"

    rows = "SELECT 5e-324::float8 AS longitude, -1e-310::float8 AS latitude"
    assert sql.execute(coarse.open_query(rows, give, " OFFSET 0")).fetchall() == []


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


@pytest.mark.parametrize("name", ["valerie", "\u00a0ann\u200b"])
def test_a_person_is_erased_whatever_the_name_begins_with(
    sql: psycopg.Connection, name: str
) -> None:
    fill(sql, range(30))
    for who in (name, "alerie", f" {name}\ufeff"):
        sql.execute("INSERT INTO trips (who, lon, lat) VALUES (%s, 10.01, 50.01)", [who])
    sql.execute("UPDATE trips SET seen = '2026-01-15T12:00:00Z'")
    dataset = declared()
    assert Snapshot.of(registered(dataset)).people == 32
    assert exactly(dataset, bound=5) == 33
    person_erase(dataset=dataset, person=name.strip(), by=None)
    assert exactly(dataset, bound=5) == 31


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
    # the column was named at the first declaration, so it need not be named again
    registered(dataset)
    fill(sql, range(90))
    assert exactly(dataset) == 50
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert int(released_of(waiting).content.counts.sum()) == 30  # type: ignore[attr-defined]


def test_rows_that_are_committed_late_with_a_smaller_number_are_noticed(
    sql: psycopg.Connection,
) -> None:
    fill(sql, range(30))
    dataset = declared()
    registered(dataset, "id")
    sql.execute("INSERT INTO trips VALUES (0, 'late', 10.01, 50.01, '2026-01-15T12:00:00Z')")
    release = make_release(dataset, **EXACT)
    assert "does not have the rows that were recorded" in str(release.job.failure)
    registered(dataset)
    assert exactly(dataset) == 31


@pytest.mark.parametrize("name", ["none", "pg_catalog.pg_class", "a.b.c", "information_schema.x"])
def test_only_tables_outside_the_catalogue_are_read(sql: psycopg.Connection, name: str) -> None:
    with pytest.raises((InvalidInput, Conflict)):
        source_register(dataset=declared(), location="warehouse", folder=name, by=None)


def test_a_names_quotes_do_not_end_it() -> None:
    assert quoted_table('a"; DROP TABLE b; --') == '"public"."a""; DROP TABLE b; --"'


@pytest.mark.parametrize(
    ("role", "port", "more", "said"),
    [
        ("reader:wrong", None, "trips", "refused the role or its password"),
        ("reader", None, "trips", "refused the role or its password"),
        ("reader:right", None, "none", "no database of that name"),
        ("reader:right", None, "trips?sslmode=require", "no encrypted connection"),
        ("reader:right", 1, "trips", "Nothing answers there"),
    ],
)
def test_a_failed_connection_says_what_helps_without_its_address(
    sql: psycopg.Connection,
    server: tuple[str, Path],
    settings: Any,
    role: str,
    port: int | None,
    more: str,
    said: str,
) -> None:
    number = port or int(server[0].rpartition(":")[2])
    more = more.replace("trips", "postgres")
    settings.DPGEO_SOURCES = [f"office/warehouse=postgresql://{role}@127.0.0.1:{number}/{more}"]
    sql.execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD 'right'")
    with pytest.raises(Conflict, match=said) as raised:
        source_register(dataset=declared(), location="warehouse", folder="trips", by=None)
    shown = str(raised.value)
    assert not [word for word in ("127.0.0.1", str(number), "wrong", "right") if word in shown]
    assert "reader" not in shown


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
    assert "Window" in log  # a word from query plans, which this database also logs
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
    settings.DPGEO_SOURCES = ["office/two=postgresql://r:a%2Cb@a.example%2Cb.example/x?port=1%2C2"]
    found = conninfo_to_dict(locations()[0].root)
    assert [found[name] for name in ("host", "port", "password")] == [
        "a.example,b.example",
        "1,2",
        "a,b",
    ]
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
