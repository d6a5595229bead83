"""GeoPackages, and SQLite databases that look like GeoPackages."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.preview import preview
from dpgeo.ingest.schema import Columns
from tests.unit.ingest.files import (
    BY_GEOM,
    CATALOGUE,
    POINTS,
    geopackage,
    gpkg_point,
    read_layer,
)
from tests.unit.ingest.helpers import KEY, bits, people, schema

SPOT = gpkg_point(5, 45)


def refusal(path: Path, declared: Any = BY_GEOM) -> InvalidInput:
    """Return the error for a file; check that this process and the sandbox raise the same one."""
    with pytest.raises(InvalidInput) as caught:
        read_layer(path, declared)
    with pytest.raises(InvalidInput) as again:
        ingest(path, "a.gpkg", declared, KEY, path.parent / "out", lambda done, total: None)
    assert again.value.message == caught.value.message
    return caught.value


def test_it_reads_the_layer_of_points(tmp_path: Path) -> None:
    declared = schema(Columns(geometry="geom", person="who", time="t"))
    rows = [(SPOT, "anna", "2024-07-01"), (gpkg_point(6, 46), 7, 1_719_792_000), (SPOT, 7.0, 0)]
    path = geopackage(tmp_path / "a.gpkg", rows)
    for batch_rows in (1, 2, 20_000):
        rows_read, report = read_layer(path, declared, batch_rows)
        assert report.accepted == 3
        assert rows_read["time"].to_pylist() == [1_719_792_000, 1_719_792_000, 0]
        assert people(rows_read)[1] == people(rows_read)[2] != people(rows_read)[0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((None, "a", 0), "the geometry is missing or empty"),
        (("POINT (5 45)", "a", 0), "the geometry cannot be read"),
        ((b"GP", "a", 0), "the geometry cannot be read"),
        ((SPOT[:20], "a", 0), "the geometry cannot be read"),
        ((gpkg_point(5, 45, flags=1 | 5 << 1), "a", 0), "the geometry cannot be read"),
        ((gpkg_point(5, 45, flags=1 | 1 << 5), "a", 0), "the geometry cannot be read"),
        ((gpkg_point(5, 45, flags=1 | 1 << 4), "a", 0), "the geometry is missing or empty"),
        ((SPOT[:8] + shapely.Point().wkb, "a", 0), "the geometry is missing or empty"),
        ((SPOT[:8] + shapely.LineString([(5, 45), (6, 46)]).wkb, "a", 0), "the geometry is not a "
                                                                         "point"),
        ((gpkg_point(5, 400.17), "a", 0), "the latitude is outside -90 to 90 degrees"),
        ((SPOT, None, 0), "the person is missing"),
        ((SPOT, 7.5, 0), "the person is a number that is not whole or too large to be exact"),
        ((SPOT, b"\xff", 0), "the text is not UTF-8; save the file with that encoding"),
        ((SPOT, "x" * 2_000, 0), "a declared field is longer than 1,000 bytes"),
        ((SPOT, "x" * 3_000_000, 0), "a declared field is longer than 1,000 bytes"),
        ((SPOT + bytes(3_000_000), "a", 0), "a declared field is longer than 1,000 bytes"),
    ],
)  # fmt: skip
def test_a_bad_row_is_refused_by_itself(tmp_path: Path, row: tuple[Any, ...], reason: str) -> None:
    good = (SPOT, "anna", 0)
    for rows in ([good, row, good], [row, good, good], [good, good, row]):
        path = geopackage(tmp_path / "a.gpkg", rows)
        for batch_rows in (1, 20_000):
            rows_read, report = read_layer(path, batch_rows=batch_rows)
            assert (rows_read.num_rows, report.read, report.refused) == (2, 3, {reason: 1})


def test_an_envelope_before_the_point_is_skipped(tmp_path: Path) -> None:
    rows = [
        (gpkg_point(5, 45, 1 | code << 1, bytes(size)), "a", 0)
        for code, size in ((0, 0), (1, 32), (2, 48), (3, 48), (4, 64))
    ]
    rows_read, report = read_layer(geopackage(tmp_path / "a.gpkg", rows))
    assert report.refused == {}
    assert len(set(rows_read["x"].to_pylist())) == 1


def test_columns_named_as_the_row_id_do_not_confuse_it(tmp_path: Path) -> None:
    script = (CATALOGUE + POINTS).replace("who, t", "who, t, rowid, OID")
    path = geopackage(tmp_path / "a.gpkg", [(SPOT, "a", 0), (SPOT, "b", 0)], script)
    assert read_layer(path)[0].num_rows == 2


VIEW = "CREATE VIEW v AS SELECT * FROM points;"
OTHER_LAYER = "INSERT INTO gpkg_geometry_columns VALUES ('other', 'geom', 'POINT', 4326);"
ELSEWHERE = "".join(
    [
        CATALOGUE,
        "INSERT INTO gpkg_geometry_columns VALUES ('{name}', 'geom', 'POINT', 4326);"
        "CREATE TABLE points (fid INTEGER PRIMARY KEY, geom BLOB, who, t);",
    ]
)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (ELSEWHERE.format(name="/vsicurl/http://127.0.0.1/a.gpkg"), "not in the file"),
        (ELSEWHERE.format(name="/etc/passwd"), "not in the file"),
        (ELSEWHERE.format(name="v") + VIEW, "is a view"),
        (ELSEWHERE.format(name="f") + "CREATE VIRTUAL TABLE f USING fts5(geom, who);", "is a view"),
        (ELSEWHERE.format(name="sqlite_master"), "is a view or refers"),
        (CATALOGUE, "no layer of points"),
        (CATALOGUE + POINTS + OTHER_LAYER, "several layers of points ('points', 'other')"),
        (CATALOGUE + POINTS.replace("4326", "2056"), "'EPSG:2056', but EPSG:4326 is declared"),
        (CATALOGUE + POINTS.replace("4326", "9"), "'NONE:9', but EPSG:4326 is declared; reproject"),
        (CATALOGUE + POINTS.replace("4326", "77"), "a system that is not described"),
        ("CREATE TABLE points (geom, who, t);", "no GeoPackage"),
        ("CREATE TABLE points (geom, who, t); CREATE TABLE t (a); CREATE VIEW gpkg_geometry_columns"
         " AS SELECT * FROM t; CREATE VIEW gpkg_spatial_ref_sys AS SELECT * FROM t;",
         "no GeoPackage"),
        (CATALOGUE + POINTS.replace("who, t", "t, w, who AS (hex(zeroblob(900000000)))"),
         "no column 'who' for the person"),
        (CATALOGUE + POINTS.replace("fid INTEGER PRIMARY KEY", "fid PRIMARY KEY").replace(
            "who, t)", "who, t) WITHOUT ROWID"), "damaged, cut short or not a plain GeoPackage"),
    ],
)  # fmt: skip
def test_geopackages_without_one_plain_layer_of_points_are_refused(
    tmp_path: Path, script: str, words: str
) -> None:
    path = geopackage(tmp_path / "a.gpkg", script=script)
    error = refusal(path)
    assert words in error.message
    assert list(tmp_path.iterdir()) == [path]


def test_the_schema_can_call_no_function_and_reach_no_other_table(tmp_path: Path) -> None:
    """The authorizer blocks functions and access to other tables.

    This holds even if a file finds a way to run queries of its own.
    """
    from dpgeo.ingest.geopackage_reader import find_layer, opened

    other = tmp_path / "other.sqlite"
    sqlite3.connect(other).close()
    script = CATALOGUE + POINTS + VIEW
    path = geopackage(tmp_path / "a.gpkg", [(SPOT, "a", 0)], script)
    with opened(path) as connection:
        find_layer(connection)
        assert len(connection.execute("SELECT * FROM points").fetchall()) == 1
        for query in (
            "SELECT * FROM v",
            "SELECT load_extension('x')",
            "SELECT readfile('/etc/passwd')",
            "SELECT zeroblob(10)",
            f"ATTACH '{other}' AS other",
            "PRAGMA trusted_schema=ON",
            "DELETE FROM points",
            "CREATE TABLE t (a)",
            "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT * FROM r",
        ):
            with pytest.raises(sqlite3.Error):
                connection.execute(query).fetchone()


@pytest.mark.parametrize("keep", [16, 100, 3_000, 9_000, -1])
def test_a_file_cut_short_is_refused(tmp_path: Path, keep: int) -> None:
    path = geopackage(tmp_path / "a.gpkg", [(SPOT, f"person {i}", 0) for i in range(500)])
    path.write_bytes(path.read_bytes()[:keep])
    assert "damaged" in refusal(path).message


def test_a_journal_beside_the_file_is_ignored(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "a.gpkg", [(SPOT, "a", 0)])
    before = bits(read_layer(path)[0])
    for name in ("a.gpkg-journal", "a.gpkg-wal"):
        (tmp_path / name).write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(1_000))
    assert bits(read_layer(path)[0]) == before


def test_the_geometry_must_be_the_layers_own(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "a.gpkg", [(SPOT, "a", 0)])
    error = refusal(path, schema(Columns(geometry="t", person="who")))
    assert error.field == "columns.geometry"
    error = refusal(path, schema(Columns(geometry="geom", person="whose")))
    assert "did you mean 'who'?" in error.message


def test_the_preview_shows_points_as_text(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "a.gpkg", [(SPOT, "a", 0), (SPOT, "x" * 3_000_000, 0)])
    shown = preview(path, "a.gpkg")
    assert shown.columns == ["fid", "geom", "who", "t"]
    assert shown.rows == [["1", "POINT (5 45)", "a", "0"], ["", "", "", ""]]
    assert shown.complete
