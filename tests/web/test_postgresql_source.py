"""Registered tables of PostgreSQL, from the declaration to a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import shapely
from psycopg.conninfo import conninfo_to_dict

from dpgeo.blanks import BLANKS
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.released import GridRelease
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.locations import find_location, locations
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.postgresql import location
from dpgeo.datasets.postgresql.session import connected, quoted_table
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.row_schema import schema_of
from dpgeo.datasets.snapshots import Snapshot
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns, Role
from dpgeo.jobs.models import JobState
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_run
from tests.makers import make_dataset, make_organisation, make_release, make_request
from tests.requirements import need
from tests.servers import postgresql_installed, running_postgresql
from tests.storages import use_empty_storages
from tests.web.test_sources import people_in, same_as_an_upload

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


@pytest.fixture
def unkept(sql: psycopg.Connection, settings: Any) -> None:
    """Let no copy of the tables' rows be kept."""
    settings.DPGEO_SOURCES = [settings.DPGEO_SOURCES[0].replace("=", "=nocopy:", 1)]


def fill(sql: psycopg.Connection, people: range, kind: str = "text") -> None:
    sql.execute(
        f"CREATE TABLE IF NOT EXISTS trips (id bigserial, who {kind}, lon float8, lat float8,"
        " seen timestamptz)"
    )
    prefix = "p" if kind == "text" else ""
    sql.execute(
        f"INSERT INTO trips (who, lon, lat, seen) SELECT ('{prefix}' || who)::{kind}, 10.01, 50.01,"
        f" '2026-01-15T12:00:00Z' FROM generate_series({people.start}, {people.stop - 1}) AS who"
    )


def confirmed(
    dataset: Dataset, *, as_of: str = "", columns: Columns = COLUMNS, table: str = "trips"
) -> Upload:
    upload = source_register(
        dataset=dataset, location="warehouse", folder=table, as_of=as_of, by=None
    )
    return upload_confirm(upload=upload, columns=columns)


def read(upload: Upload) -> Upload:
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    upload.dataset.refresh_from_db()
    return upload


def registered(dataset: Dataset, **named: Any) -> Upload:
    upload = read(confirmed(dataset, **named))
    dataset.refresh_from_db()
    assert upload.state == UploadState.READY, upload.job and upload.job.failure
    return upload


def failure(upload: Upload) -> str:
    """Return why an upload's job failed, having left nothing behind."""
    assert upload.state == UploadState.FAILED
    assert list(stored_names(private_storage(), "canonical")) == []
    assert upload.job is not None
    return str(upload.job.failure)


def accepted(upload: Upload) -> int:
    assert upload.report is not None
    return int(upload.report["accepted"])


def exactly(dataset: Dataset, **changes: Any) -> int:
    return counted(make_release(dataset, **{**EXACT, **changes}))


def counted(release: Release) -> int:
    assert release.job.state == JobState.DONE, release.job.failure
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    return int(content.counts.sum())


def csv_of(sql: psycopg.Connection, query: str) -> bytes:
    """Return the rows of a query as PostgreSQL writes them to a CSV file."""
    with sql.cursor().copy(f"COPY ({query}) TO STDOUT WITH (FORMAT csv, HEADER)".encode()) as copy:
        return b"".join(map(bytes, copy))


@pytest.mark.parametrize("kind", ["text", "bigint"])
def test_a_table_is_registered_and_counted(sql: psycopg.Connection, kind: str) -> None:
    fill(sql, range(30), kind)
    fill(sql, range(20, 50), kind)
    dataset = declared()
    upload = source_register(dataset=dataset, location="warehouse", folder="trips", by=None)
    assert upload_preview(upload=upload).columns == ["id", "who", "lon", "lat", "seen"]
    upload = registered(dataset)
    assert upload.file_name == "warehouse/trips"
    assert accepted(upload) == 60
    assert list(stored_names(private_storage(), "canonical")) == [upload.canonical_name]
    sql.execute("DROP TABLE trips")
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


def test_a_table_counts_as_an_upload_of_the_same_rows(sql: psycopg.Connection) -> None:
    """Rows of a table are accepted, located and grouped exactly as those of an upload."""
    sql.execute(ODD)
    upload = registered(declared())
    assert accepted(upload) == 20
    assert len(people_in(upload)) == 7
    query = "SELECT who, lon, lat, CASE WHEN isfinite(seen) THEN seen END AS seen FROM trips"
    same_as_an_upload(upload, csv_of(sql, query), "trips.csv")


KINDS = """
CREATE TABLE trips AS
SELECT i % 7 AS whole, (i % 7)::smallint AS small, (i % 7)::numeric AS "number",
    ('00000000-0000-0000-0000-00000000000' || i % 7)::uuid AS uuid,
    'p' || i % 7 AS "text", ('p' || i % 7)::varchar(9) AS varying, ('p' || i % 7)::char(9) AS fixed,
    (i % 7)::float4 AS single,
    (10 + i / 997.0)::numeric(12, 7) AS lon, 50 + i / 997.0 AS lat, 10 + i / 997.0::float8 AS lon8,
    '2026-03-01'::date + i AS day, '2026-03-01'::timestamp + i * interval '7 hours 1.5 s' AS local,
    '2026-03-01'::timestamptz + i * interval '7 hours 1.5 s' AS moment,
    '00:00'::time + i * interval '7 hours 1.5 s' AS clock,
    1772323200 + i AS seconds, i % 2 = 0 AS bus
FROM generate_series(0, 89) AS i
"""


@pytest.mark.parametrize(
    "changes",
    [
        *({"person": name} for name in ("small", "number", "uuid", "text", "varying", "fixed")),
        *({"time": name} for name in ("day", "local", "seconds")),
        {"person": "single", "longitude": "lon8"},
        {"time": "day", "clock": "clock"},
    ],
    ids=str,
)
def test_every_kind_of_column_is_read_as_in_an_upload(
    sql: psycopg.Connection, changes: dict[str, str]
) -> None:
    sql.execute(KINDS)
    mode = {"column": "bus", "title": "Bus", "values": ["true", "false"]}
    dataset = declared(categories=[mode])
    columns = Columns(longitude="lon", latitude="lat", person="whole", time="moment")
    upload = registered(dataset, columns=replace(columns, **changes))
    assert accepted(upload) == 90
    sql.execute("ALTER TABLE trips ALTER bus TYPE text")
    same_as_an_upload(upload, csv_of(sql, "SELECT * FROM trips"), "trips.csv")


def test_points_in_wkb_are_read_as_in_an_upload(sql: psycopg.Connection) -> None:
    points = [shapely.Point(10 + one / 997, 50 + one / 991) for one in range(90)]
    sql.execute("CREATE TABLE trips (who integer, point bytea)")
    for number, point in enumerate(points):
        sql.execute("INSERT INTO trips VALUES (%s, %s)", [number % 7, shapely.to_wkb(point)])
    columns = Columns(geometry="point", person="who")
    upload = registered(declared(), columns=columns)
    assert accepted(upload) == 90
    lines = [f"{one % 7},POINT ({point.x} {point.y})" for one, point in enumerate(points)]
    same_as_an_upload(upload, "\n".join(["who,point", *lines, ""]).encode(), "trips.csv")


def identifiers() -> list[str]:
    """Return names with every character of the basic plane around them, and with others.

    The others are the first and last characters of every block of 4,096 beyond that plane, two
    different blanks in a row, and what is a blank only at the ends of a name.
    """
    beyond = [first + step for first in range(0x10000, 0x110000, 0x1000) for step in (0, 1, 0xFFF)]
    codes = [code for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    signs = [chr(code) for code in codes + beyond]
    around = [text for sign in signs for text in (f"{sign}ann", f"ann{sign}", f"{sign}{sign}")]
    blanks = BLANKS.strip("\0")  # a character that PostgreSQL's texts do not have
    pairs = [f"{one}{other}v{other}{one}" for one in blanks for other in blanks]
    inside = [f"v{one}12{one}.0" for one in blanks]
    numbers = [
        f"{one}{text}{one}"
        for one in blanks
        for text in ("12.0", "-7.00", "-0.0", "-0", "1.5E+11", "NaN", "-1234567890123456.0")
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


def test_a_name_comes_here_as_it_was_written(sql: psycopg.Connection) -> None:
    """Identifiers come unchanged, so that `hash_persons` reads them as those of an upload.

    A person under two names would count twice, and could not be erased.
    """
    names = identifiers()
    assert len(names) > 190_000
    sql.execute("CREATE TABLE trips (who text, lon float8, lat float8)")
    with sql.cursor().copy("COPY trips (who) FROM STDIN") as copy:
        for name in names:
            copy.write_row([name])
    dataset = declared()
    place = find_location("office", "warehouse")
    schema = schema_of(dataset, replace(COLUMNS, time=""))
    (file,) = place.files("trips")
    with place.reading("trips", file, schema, Tally()) as (_, batches):
        found = [name for batch in batches for name in batch.fields[Role.PERSON].to_pylist()]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize("name", ["valerie", "\u00a0ann\u200b"])
def test_a_person_is_erased_whatever_the_name_begins_with(
    sql: psycopg.Connection, name: str
) -> None:
    fill(sql, range(30))
    for who in (name, "alerie", f" {name}\ufeff"):
        sql.execute(
            "INSERT INTO trips (who, lon, lat, seen) VALUES (%s, 10.01, 50.01, '2026-01-15')", [who]
        )
    dataset = declared()
    assert len(people_in(registered(dataset))) == 32
    assert exactly(dataset, bound=5) == 33
    version = person_erase(dataset=dataset, person=name.strip(), by=None)
    assert accepted(read(version)) == 31
    assert exactly(dataset, bound=5) == 31
    assert accepted(registered(dataset)) == 31


def test_no_value_of_a_row_ends_the_reading(sql: psycopg.Connection) -> None:
    sql.execute(
        """
        CREATE TABLE trips AS
        SELECT repeat('x', 100000000) AS who, 10.01::numeric AS lon, 50.01 AS lat, now() AS seen;
        INSERT INTO trips
        SELECT 'p1', lon, 50.01, seen
        FROM unnest(ARRAY[1e-400, 'NaN', '-Infinity', 1e400, 10.01]) AS lon, unnest(ARRAY[
            'infinity', '-infinity', '4713-01-01 BC', '294000-01-01', '2026-01-15'
        ]::timestamptz[]) AS seen;
        """
    )
    upload = registered(declared())
    assert upload.report is not None
    assert (upload.report["read"], upload.report["accepted"]) == (26, 1)


@pytest.mark.usefixtures("unkept")
def test_a_table_that_is_not_to_be_copied_is_read_for_every_map(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    dataset = declared()
    upload = registered(dataset)
    assert (upload.canonical_name, accepted(upload)) == ("", 30)
    assert exactly(dataset) == 30
    fill(sql, range(30, 40))
    assert exactly(dataset) == 40
    person_erase(dataset=dataset, person="p3", by=None)
    assert exactly(dataset) == 39
    sql.execute("DROP TABLE trips")
    release = make_release(dataset, **EXACT)
    assert "42P01" in str(release.job.failure)
    assert not release.job.drawing
    release.refresh_from_db()
    assert release.blob_name == ""
    assert list(stored_names(private_storage(), "canonical")) == []


@pytest.mark.usefixtures("unkept")
def test_a_column_that_only_grows_keeps_a_snapshot_without_a_copy(sql: psycopg.Connection) -> None:
    fill(sql, range(30))
    dataset = declared()
    registered(dataset, as_of="id")
    waiting = make_request(dataset, **EXACT)
    fill(sql, range(30, 50))
    assert exactly(dataset) == 30
    # The column was named at the first declaration, so it need not be named again.
    registered(dataset)
    fill(sql, range(90))
    assert exactly(dataset) == 50
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert counted(waiting) == 30


@pytest.mark.parametrize("copied", ["", "nocopy:"])
@pytest.mark.parametrize("column", ["id", "arrived"])
def test_only_new_rows_are_read_and_added_to_data_that_grow(
    sql: psycopg.Connection, settings: Any, copied: str, column: str
) -> None:
    settings.DPGEO_SOURCES = [settings.DPGEO_SOURCES[0].replace("=", f"={copied}", 1)]
    fill(sql, range(30))
    sql.execute("ALTER TABLE trips ADD arrived timestamp DEFAULT clock_timestamp()")
    sql.execute("ALTER TABLE trips ALTER id DROP NOT NULL")
    sql.execute("INSERT INTO trips VALUES (NULL, 'p1', 10, 50, '2026-01-15', 'infinity')")
    dataset = declared(new_files="append")
    with pytest.raises(Conflict, match="name the column"):
        source_register(dataset=dataset, location="warehouse", folder="trips", by=None)
    first = registered(dataset, as_of=column)
    waiting = make_request(dataset, **EXACT)
    fill(sql, range(20, 50))
    second = registered(dataset)
    assert [accepted(each) for each in (first, second)] == [30, 30]
    assert exactly(dataset) == 50
    assert exactly(dataset, bound=2) == 60
    none = read(confirmed(dataset))
    assert "no new rows" in str(none.job.failure)  # type: ignore[union-attr]
    version = person_erase(dataset=dataset, person="p3", by=None)
    assert accepted(read(version)) == 59
    fill(sql, range(3, 5))
    assert accepted(registered(dataset)) == 1
    assert exactly(dataset, bound=5) == 60
    assert release_run(release_id=waiting.pk)
    waiting.refresh_from_db()
    assert counted(waiting) == 49  # of the version that the erasure made
    with pytest.raises(Conflict, match="cannot be another one"):
        confirmed(dataset, as_of="seen")
    sql.execute("UPDATE trips SET id = 0, arrived = '2020-01-01' WHERE who = 'p4'")
    sql.execute("INSERT INTO trips SELECT 0, who, lon, lat, seen, '2020-01-01' FROM trips LIMIT 9")
    late = read(confirmed(dataset))
    assert "Give these rows greater values" in str(late.job.failure)  # type: ignore[union-attr]


def test_rows_whose_columns_are_confirmed_again_are_read_again(sql: psycopg.Connection) -> None:
    dataset = declared(new_files="append")
    uploads = []
    for first in (0, 30, 50):
        fill(sql, range(first, first + 30))
        uploads.append(registered(dataset, as_of="id"))
    again = read(upload_confirm(upload=uploads[1], columns=COLUMNS))
    assert (again.state, accepted(again)) == (UploadState.READY, 30)
    fill(sql, range(5))
    assert accepted(registered(dataset)) == 5
    assert exactly(dataset, bound=3) == 95


@pytest.mark.parametrize("name", ["none", "who", "lon", "x\x00y"])
def test_a_column_that_cannot_grow_is_refused(sql: psycopg.Connection, name: str) -> None:
    fill(sql, range(3))
    with pytest.raises(Conflict, match="cannot say which rows are new"):
        confirmed(declared(), as_of=name)


def hooked(monkeypatch: pytest.MonkeyPatch, hook: Callable[[], object]) -> None:
    """Call `hook` once, after the first rows of a table came."""
    monkeypatch.setattr(location, "ROWS", 10)
    tables = location._batches

    def batches(*given: Any) -> Any:
        for number, batch in enumerate(tables(*given)):
            yield batch
            if not number:
                hook()

    monkeypatch.setattr(location, "_batches", batches)


def test_rows_are_those_of_one_moment(
    sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sql, range(50))
    hooked(monkeypatch, lambda: sql.execute("UPDATE trips SET lon = 170; DELETE FROM trips"))
    dataset = declared()
    assert accepted(registered(dataset, as_of="id")) == 50


def test_a_connection_that_is_cut_leaves_nothing(
    sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sql, range(50))
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpgeo'"
    hooked(monkeypatch, lambda: sql.execute(cut))
    upload = confirmed(declared())
    said = failure(read(upload))
    assert "'trips' could not be read" in said
    assert "57P01" in said or "no connection" in said


def test_a_view_that_fails_in_one_row_says_the_databases_code_and_no_value(
    sql: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    fill(sql, range(1000))
    sql.execute(
        "ALTER TABLE trips RENAME TO facts; CREATE VIEW trips AS SELECT who, lat, seen, lon + CASE"
        " WHEN who = 'p900' THEN (who || 'secret')::bigint ELSE 0 END AS lon FROM facts"
    )
    said = failure(read(confirmed(declared())))
    assert "22P02" in said
    assert "secret" not in said + caplog.text
    assert "p900" not in said + caplog.text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DROP TABLE trips", "42P01"),
        ("ALTER TABLE trips DROP lon", "no column 'lon' of a type that can be read"),
        ("ALTER TABLE trips ALTER who TYPE json USING to_json(who)", "no column 'who' of a type"),
        ("ALTER TABLE trips ALTER who TYPE boolean USING true", "cannot be read as"),
    ],
)
def test_a_table_that_changed_before_it_is_read_says_so(
    sql: psycopg.Connection, change: str, code: str
) -> None:
    fill(sql, range(30))
    upload = confirmed(declared())
    sql.execute(change.encode())
    assert code in failure(read(upload))


def test_errors_of_a_preview_are_passed_on_by_their_code(
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


@pytest.mark.usefixtures("unkept")
def test_nothing_secret_stands_in_the_databases_log(
    sql: psycopg.Connection, server: tuple[str, Path]
) -> None:
    fill(sql, range(30))
    dataset = declared(new_files="append")
    before = server[1].stat().st_size
    upload = registered(dataset, as_of="id")
    version = read(person_erase(dataset=dataset, person="p3", by=None))
    release = make_release(dataset, **EXACT)
    salt, key = bytes(release.salt), hashing_key(dataset)
    (erased,) = dataset.suppressions.all()
    log = server[1].read_bytes()[before:].decode(errors="replace")
    assert 'FROM "public"."trips" WHERE' in log
    assert "Seq Scan" in log  # words from query plans, which this database also logs
    for start in range(0, 16, 8):
        for secret in (salt, key, key[16:], bytes(erased.person)):
            half = secret[start : start + 8]
            assert str(int.from_bytes(half)) not in log
            assert str(int.from_bytes(half, "little")) not in log
            assert half.hex() not in log.lower()
    assert "p3" not in log
    assert "warehouse" not in log
    assert server[0] not in str(upload.source) + str(version.source)
    assert Snapshot.of(version).suppressed == (bytes(erased.person),)


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
