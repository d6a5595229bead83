"""Rows of records, sheets, shapes, tracks and archives are each read as if they were alone.

Each file is read through the sandbox, as uploads are, and compared with its rows read one by one.
Formats with property tests of their own are in test_person_local.py (CSV, Parquet) and
test_person_local_formats.py (GeoJSON, its sequences, GeoPackage); OTHERS lists these formats.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapefile

from dpgeo.core.guarantees import Unit
from dpgeo.ingest.decompress import unpack
from dpgeo.ingest.ingestion import ingest, ingest_parts
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.spatial.area import StudyArea
from fixtures.spreadsheet import spreadsheet
from tests.unit.ingest.helpers import KEY, bits, clustered, concatenated, schema

BERLIN = StudyArea.from_bounds(13, 52, 14, 53)
OTHERS = {"CSV", "(Geo)Parquet", "GeoJSON", "GeoJSONSeq", "GeoPackage"}

Row = tuple[Any, Any, Any, Any]
"""Person, longitude, latitude and time."""

DAY = "2024-07-01T12:00:00Z"
ROWS: tuple[Row, ...] = (
    ("u", 13.4, 52.5, DAY),
    ("v", 13.5, 52.6, "2024-07-02T09:00:00Z"),
    ("u", 99.0, 52.5, DAY),
    ("w" * 1_001, 13.4, 52.5, DAY),
    ("", 13.4, 52.5, "yesterday"),
    ("v", 13.6, 52.4, "31/12/2024"),
    ("u", 13.45, 52.55, "2024-03-31T02:30:00"),
    ("7", 13.41, 52.51, DAY),
)
"""Rows, some of which are outside the area, without a person, or without a usable time."""


def archive(files: Sequence[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files:
            zipped.writestr(name, content)
    return packed.getvalue()


def sheet(rows: Sequence[Row]) -> bytes:
    return spreadsheet({"s": [["who", "lon", "lat", "t"], *map(list, rows)]})


def shape(rows: Sequence[Row]) -> bytes:
    parts = {"shp": io.BytesIO(), "shx": io.BytesIO(), "dbf": io.BytesIO()}
    with shapefile.Writer(**parts, shapeType=shapefile.POINT) as writer:
        writer.field("who", "C", 250)
        writer.field("t", "C", 30)
        for who, x, y, when in rows:
            writer.point(x, y)
            writer.record(who[:250], when)
    return archive([(f"a.{suffix}", part.getvalue()) for suffix, part in parts.items()])


def gpx(rows: Sequence[Row]) -> bytes:
    tracks = "".join(
        f'<trk><name>{who}</name><trkseg><trkpt lat="{y}" lon="{x}"><time>{when}</time></trkpt>'
        "</trkseg></trk>"
        for who, x, y, when in rows
    )
    begin = '<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1">'
    return f"{begin}{tracks}</gpx>".encode()


def kml(rows: Sequence[Row]) -> bytes:
    marks = "".join(
        f"<Placemark><name>{who}</name><TimeStamp><when>{when}</when></TimeStamp>"
        f"<Point><coordinates>{x},{y},0</coordinates></Point></Placemark>"
        for who, x, y, when in rows
    )
    begin = '<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>'
    return f"{begin}{marks}</Document></kml>".encode()


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{"who": who, "lon": x, "lat": y, "t": when} for who, x, y, when in rows]


def lines(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in records(rows)).encode()


def recordings(rows: Sequence[Row]) -> bytes:
    return "".join(f"2024\t*\t{json.dumps(each)}\n" for each in records(rows)).encode()


def timeline(rows: Sequence[Row]) -> bytes:
    """Return a Timeline, which has no column for a person: `kind` is the same in all rows."""
    points = [({"point": f"{y}\xb0, {x}\xb0", "time": when}) for _, x, y, when in rows]
    segments = [{"startTime": DAY, "timelinePath": [each]} for each in points]
    return json.dumps({"semanticSegments": segments}).encode()


def old_history(rows: Sequence[Row]) -> bytes:
    return json.dumps({"locations": records(rows)}).encode()


def tcx(rows: Sequence[Row]) -> bytes:
    points = "".join(
        f"<Activity><Id>{who}</Id><Trackpoint><Time>{when}</Time><Position><LatitudeDegrees>{y}"
        f"</LatitudeDegrees><LongitudeDegrees>{x}</LongitudeDegrees></Position></Trackpoint>"
        "</Activity>"
        for who, x, y, when in rows
    )
    return f"<TrainingCenterDatabase>{points}</TrainingCenterDatabase>".encode()


def trips(rows: Sequence[Row]) -> bytes:
    listed = [
        {"device_id": who, "start_location": {"lat": y, "lng": x}, "start_time": when}
        for who, x, y, when in rows
    ]
    return json.dumps({"version": "2.0", "data": {"trips": listed}}).encode()


def folder(rows: Sequence[Row]) -> bytes:
    """Return a zip archive with the rows in two CSV files that have the same columns."""
    text = [f"{who},{x},{y},{when}\n" for who, x, y, when in rows]
    half = len(text) // 2
    files = [("f/a.csv", text[:half]), ("f/b.csv", text[half:])]
    return archive([(n, ("who,lon,lat,t\n" + "".join(some)).encode()) for n, some in files])


PLAIN = Columns("lon", "lat", "who", "t", time_format="iso dmy")
TRACK = Columns("longitude", "latitude", "track", "time", time_format="iso dmy")
PLACEMARK = Columns("longitude", "latitude", "name", "time")
CASES: dict[str, tuple[str, Callable[[Sequence[Row]], bytes], Columns]] = {
    "Excel": ("a.xlsx", sheet, PLAIN),
    "Shapefile": ("a.zip", shape, Columns(geometry="geometry", person="who", time="t")),
    "GPX": ("a.gpx", gpx, TRACK),
    "KML": ("a.kml", kml, PLACEMARK),
    "KMZ": ("a.kmz", lambda rows: archive([("doc.kml", kml(rows))]), PLACEMARK),
    "NDJSON": ("a.jsonl", lines, PLAIN),
    "NDJSON, gzipped": ("a.jsonl.gz", lambda rows: gzip.compress(lines(rows)), PLAIN),
    "JSON": ("a.json", lambda rows: json.dumps(records(rows)).encode(), PLAIN),
    "OwnTracks": ("a.rec", recordings, PLAIN),
    "TCX": ("a.tcx", tcx, Columns("longitude", "latitude", "activity", "time")),
    "Google Timeline": (
        "a.json",
        timeline,
        Columns(geometry="position", person="kind", time="time", position_format="lat-lon"),
    ),
    "Google Location History": ("a.json", old_history, PLAIN),
    "MDS": ("a.json", trips, Columns("longitude", "latitude", "device_id", "time")),
    "a folder": ("a.zip", folder, PLAIN),
}


def declared(what: str) -> Schema:
    codes = {"Google Timeline": "timeline", "Google Location History": "locations"}
    code = codes.get(what) or (what.lower() if what in {"MDS", "JSON"} else "")
    columns = Columns.from_json(CASES[what][2].to_json() | {"file_format": code})
    return Schema(columns, Unit.PERSON, BERLIN, "Europe/Berlin")


def canonical(tmp_path: Path, what: str, rows: Sequence[Row], sandboxed: bool = True) -> pa.Table:
    """Return the canonical rows of a file, read in the sandbox, as uploads are, or in this
    process.
    """
    name, write, _ = CASES[what]
    source, target = tmp_path / name, tmp_path / "out"
    source.write_bytes(write(rows))
    schema = declared(what)
    if sandboxed:
        ingest(source, name, schema, KEY, target, lambda *_: None)
    else:
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        parts = unpack(source, name, work, lambda: None)
        ingest_parts(parts, schema, KEY, target, lambda *_: None)
    return pq.read_table(target).combine_chunks()


@pytest.mark.parametrize("what", CASES)
def test_each_row_is_read_as_if_it_were_alone(tmp_path: Path, what: str) -> None:
    alone = {row: canonical(tmp_path, what, [row], sandboxed=False) for row in ROWS}
    assert 3 <= sum(table.num_rows for table in alone.values()) < len(ROWS)
    for shift in (0, 3, 6):
        turned = [*ROWS[shift:], *ROWS[:shift]]
        for some in (turned, turned[1:]):
            expected = clustered(concatenated([alone[row] for row in some]))
            assert bits(canonical(tmp_path, what, some)) == bits(expected)


def test_a_file_of_an_archive_may_have_no_row_at_all(tmp_path: Path) -> None:
    """Otherwise the only row of one file would decide whether the others are read."""
    path = tmp_path / "days.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "who,lat,lon\n")
        archive.writestr("b.csv", "who,lat,lon\nann,45,5\n")
    report = ingest(path, path.name, schema(), KEY, tmp_path / "canonical", lambda *_: None)
    assert (report.read, report.accepted) == (1, 1)
