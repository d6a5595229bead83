"""Spreadsheets, shapefiles, GPX, KML, plain JSON, MDS, and archives of several files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import shapefile

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.context import Context
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.preview import Preview, preview
from dpgeo.ingest.report import Report, Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.xml_reader import KML_READER
from dpgeo.spatial.area import StudyArea
from fixtures.spreadsheet import spreadsheet
from tests.unit.ingest.helpers import KEY

BERLIN = StudyArea.from_bounds(13, 52, 14, 53)


def archive(*files: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files:
            zipped.writestr(name, content)
    return packed.getvalue()


def seen(folder: Path, content: bytes, name: str, columns: Columns | None = None) -> Preview:
    path = folder / name
    path.write_bytes(content)
    return preview(path, name, Context(Unit.PERSON, BERLIN, "Europe/Berlin"), columns=columns)


def read(folder: Path, content: bytes, name: str, columns: Columns | None = None) -> Report:
    """Read a file as the preview suggests, except for the given columns; return the report."""
    shown = seen(folder, content, name, columns)
    assert shown.understanding is not None
    declared = columns or shown.understanding.columns
    schema = Schema(declared, Unit.PERSON, BERLIN, "Europe/Berlin")
    return ingest(folder / name, name, schema, KEY, folder / "out", lambda *_: None)


def shapes(rows: list[tuple[float, float, str]], prj: str = "") -> bytes:
    parts = {"shp": io.BytesIO(), "shx": io.BytesIO(), "dbf": io.BytesIO()}
    with shapefile.Writer(**parts, shapeType=shapefile.POINT) as writer:
        writer.field("device", "C", 20)
        for x, y, who in rows:
            writer.point(x, y)
            writer.record(who)
    files = [(f"layer/a.{suffix}", part.getvalue()) for suffix, part in parts.items()]
    return archive(*files, *([("layer/a.prj", prj.encode())] if prj else []))


GPX = b"""<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1">
<metadata><time>2020-01-01T00:00:00Z</time></metadata>
<trk><name>anna</name><trkseg>
<trkpt lat="52.5" lon="13.4"><ele>30</ele><time>2024-03-31T07:00:00Z</time></trkpt>
<trkpt lat="52.6" lon="x"><time>2024-03-31T07:00:10Z</time></trkpt></trkseg></trk>
<trk><trkseg><trkpt lat="52.6" lon="13.5"><time>2024-03-31T07:00:10Z</time></trkpt></trkseg></trk>
</gpx>"""

KML = b"""<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>
<Placemark><name>a</name><TimeStamp><when>2024-03-31T07:00:00Z</when></TimeStamp>
<ExtendedData><Data name="device"><value>d1</value></Data></ExtendedData>
<Point><coordinates>13.4,52.5,0</coordinates></Point></Placemark>
<Placemark><ExtendedData><Data name="device"><value>d1</value></Data></ExtendedData>
<LineString><coordinates>13.4,52.5 13.5,52.6</coordinates></LineString></Placemark>
</Document></kml>"""

LINES = b"""{"user": {"id": "u1"}, "location": {"lat": 52.5, "lng": 13.4}, "time": 1719835200000}
{"user": {"id": "u2"}, "location": {"lat": 52.6, "lng": 13.5}, "time": 1719835200000}
{"user": {"id": "u2"}, "location": 7}
[1]
{
"""

TRIP = {
    "device_id": "d1",
    "start_location": {"lat": 52.5, "lng": 13.4},
    "end_location": {"lat": 52.6, "lng": 13.5},
    "start_time": 1719835200000,
    "end_time": 1719835300000,
}
ROUTE = {
    "device_id": "d2",
    "route": {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"timestamp": 1719835200000 + step},
                "geometry": {"type": "Point", "coordinates": [13.4, 52.5]},
            }
            for step in range(3)
        ],
    },
}


def sheets() -> bytes:
    days = [["d", 52.5, 13.4, f"{day}.3.24"] for day in range(9, 29)]
    notes = [["nothing here", "x"], ["a", "b"]]
    return spreadsheet({"Notes": notes, "Data": [["device", "lat", "lon", "when"], *days]})


PLACES = Columns(latitude="latitude", longitude="longitude", time="time", person="track")
SHEET = Columns("lon", "lat", "device", "when", time_format="dmy", sheet="Data")
TRIPS = {"version": "2.0", "data": {"trips": [TRIP, ROUTE, 7]}}
FOLDER = archive(
    ("f/a.csv", b"device,lat,lon\nd,52.5,13.4\n"),
    ("f/b.csv", b"lon,lat,device\n13.4,52.5,d\n13,x,d\n"),
    ("f/empty.csv", b""),
    ("f/README.txt", b"Hello"),
)

CASES: dict[str, tuple[str, bytes, Columns | None, int, int]] = {
    "a declared sheet": ("a.xlsx", sheets(), SHEET, 20, 20),
    "a shapefile": ("a.zip", shapes([(13.4, 52.5, "a"), (13.4, 99, "b")]), None, 2, 1),
    "GPX": ("a.gpx", GPX, PLACES, 3, 1),
    "KML": ("a.kml", KML, None, 2, 1),
    "KMZ": ("a.kmz", archive(("doc.kml", KML), ("files/icon.png", b"x")), None, 2, 1),
    "lines": ("a.jsonl", LINES, None, 5, 2),
    "text of points in a sheet": (
        "a.xlsx",
        spreadsheet({"s": [["who", "spot"], ["d", "POINT (13.4 52.5)"], ["d", 7], ["d", None]]}),
        Columns(geometry="spot", person="who"),
        3,
        1,
    ),
    "pairs in lines": (
        "a.jsonl",
        b'{"device": "d", "position": "52.5, 13.4"}\n{"device": "d", "position": [1]}\n',
        None,
        2,
        1,
    ),
    "a list": ("a.json", b"[" + b",".join(LINES.splitlines()[:4]) + b"]", None, 4, 2),
    "trips": ("a.json", json.dumps(TRIPS).encode(), None, 6, 5),
    "trips alone": ("a.json", json.dumps({"trips": [TRIP], "ttl": 0}).encode(), None, 2, 2),
    "a folder": ("a.zip", FOLDER, None, 3, 2),
}


@pytest.mark.parametrize("what", CASES)
def test_it_is_read_as_it_is_understood(tmp_path: Path, what: str) -> None:
    name, content, columns, rows, accepted = CASES[what]
    report = read(tmp_path, content, name, columns)
    assert (report.read, report.accepted) == (rows, accepted), report.refused


@pytest.mark.parametrize("first", [None, "x"])
def test_one_row_does_not_shift_the_columns_of_a_sheet(tmp_path: Path, first: str | None) -> None:
    rows = [[None, "d", 52.5, 13.4], [first, "d", 52.5, 13.4]]
    columns = Columns("column 4", "column 3", "column 2", unnamed="4")
    assert read(tmp_path, spreadsheet({"s": rows}), "a.xlsx", columns).accepted == 2


def open_document(rows: Sequence[Sequence[object]]) -> bytes:
    """Return an ods file with one sheet, whose numbers stay numbers."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )

    def cell(value: object) -> str:
        if isinstance(value, str):
            kind = 'office:value-type="string"'
        else:
            kind = f'office:value-type="float" office:value="{value}"'
        return f"<table:table-cell {kind}><text:p>{value}</text:p></table:table-cell>"

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="s">{lines}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    )
    return archive(
        ("mimetype", kind),
        ("META-INF/manifest.xml", manifest.encode()),
        ("content.xml", content.encode()),
    )


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_number_of_which_a_sheet_keeps_fifteen_digits_names_nobody(
    tmp_path: Path, kind: str
) -> None:
    """Sheets store 1234567890123456 and ...459 as 1234567890123450: two persons would be one."""
    names = [1234567890123450, 10**15, -(10**15), 10**15 - 1, str(10**15 - 1), "1234567890123456"]
    rows: list[list[object]] = [["who", "lat", "lon"], *([name, 52.5, 13.4] for name in names)]
    content = spreadsheet({"s": rows}) if kind == "xlsx" else open_document(rows)
    report = read(tmp_path, content, f"a.{kind}", Columns("lon", "lat", "who"))
    assert report.refused == {
        "the person is a number that is not whole or too large to be exact": 3
    }
    assert [example.row for example in report.examples] == [1, 2, 3]
    assert len(pq.read_table(tmp_path / "out")["person_high"].unique()) == 2


MIXED = [
    "p,52.5,13.4,31.3.24T14:05", "p,52.5,13.4,2024-03-31", "p,52.5,13.4,31/31/2024",
    "q,N 52.5,E 13.4,", 'p,"52,5","13,4",1.4.24', "r,x,y,3.4.24", "p,52.5", '"',
    "p,\xe9,13,1.1.24", "s,52.5,13.4,12/1/24", "t,52.5,13.4,12/31/24",
]  # fmt: skip
LAYOUTS = [
    ("who,lat,lon,t\n", {}),
    ("", {"unnamed": "4", "delimiter": "comma"}),
    ("who,lat,lon,t\n", {"encoding": "latin-1"}),
    ("who,lat,lon,t\n", {"encoding": "utf-16-le"}),
    ("who lat lon t\n", {"delimiter": "spaces"}),
]


@pytest.mark.parametrize(("header", "members"), LAYOUTS, ids=range(5))
def test_a_declared_format_reads_each_row_as_if_it_were_alone(
    tmp_path: Path, header: str, members: dict[str, str]
) -> None:
    names = ("column 3", "column 2", "column 1", "column 4")
    roles = names if "unnamed" in members else ("lon", "lat", "who", "t")
    columns = Columns(*roles, time_format="dmy iso mdy", position_format="degrees", **members)
    codec = {"latin-1": "latin-1", "utf-16-le": "utf-16-le"}.get(columns.encoding, "utf-8")
    blanks = members.get("delimiter") == "spaces"
    lines = [line.replace(",", " \t") if blanks else line for line in MIXED]

    def accepted(some: list[str]) -> int:
        text = header + "".join(line + "\n" for line in some)
        (tmp_path / "a.csv").write_bytes(text.encode(codec))
        schema = Schema(columns, Unit.PERSON, BERLIN, "Europe/Berlin")
        return ingest(
            tmp_path / "a.csv", "a.csv", schema, KEY, tmp_path / "out", lambda *_: None
        ).accepted

    alone = [accepted([line]) for line in lines]
    assert 1 <= sum(alone) < len(lines)
    for shift in range(len(lines)):
        turned = lines[shift:] + lines[:shift]
        assert accepted(turned[1:]) == sum(alone) - alone[shift]


def test_the_files_of_a_folder_may_tell_whose_rows_they_are(tmp_path: Path) -> None:
    files = [(f"{who}.gpx", GPX) for who in ("anna", "bert")]
    shown = seen(tmp_path, archive(*files), "a.zip")
    assert "file name" in shown.columns
    columns = Columns(person="file name", latitude="latitude", longitude="longitude")
    assert read(tmp_path, archive(*files), "a.zip", columns).accepted == 4


def test_files_of_a_folder_with_other_columns_are_refused(tmp_path: Path) -> None:
    content = archive(("a.csv", b"device,lat,lon\nd,52.5,13.4\n"), ("b.csv", b"x,y\n1,2\n"))
    columns = Columns(person="device", latitude="lat", longitude="lon")
    with pytest.raises(InvalidInput, match="no column"):
        read(tmp_path, content, "a.zip", columns)


def test_a_shapefile_states_its_system(tmp_path: Path) -> None:
    from pyproj import CRS

    wkt = CRS.from_epsg(25833).to_wkt("WKT1_ESRI")
    content = shapes([(392000.5, 5820000.2, "a")], wkt)
    assert read(tmp_path, content, "a.zip").accepted == 1
    with pytest.raises(InvalidInput, match="EPSG:25833"):
        read(tmp_path, content, "a.zip", Columns(geometry="geometry", person="device"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gpx", GPX[:300]),
        ("a.gpx", GPX.replace(b"<gpx", b'<!DOCTYPE gpx [<!ENTITY a "b">]><gpx', 1)),
        ("a.gpx", b"<gpx>" + b"<a>" * 100),
        ("a.json", b'[{"a": 1}, {"b"]'),
        ("a.json", b'{"trips": [{"device_id": 1}]'),
        ("a.xlsx", archive(("xl/workbook.xml", b"<a/>"), ("[Content_Types].xml", b""))),
        ("a.zip", archive(("a.shp", b"\x00\x00\x27\x0a" + bytes(96)), ("a.dbf", b"x" * 9))),
        ("a.zip", archive(("a.shp", b"\x00\x00\x27\x0a" + bytes(96)))),
    ],
    ids=range(8),
)
def test_a_damaged_document_is_refused_as_a_whole(
    tmp_path: Path, name: str, content: bytes
) -> None:
    columns = Columns(person="track", latitude="latitude", longitude="longitude")
    (tmp_path / name).write_bytes(content)
    schema = Schema(columns, Unit.PERSON, BERLIN)
    with pytest.raises(InvalidInput):
        ingest(tmp_path / name, name, schema, KEY, tmp_path / "out", lambda *_: None)
    assert not (tmp_path / "out").exists()


def times_of_track(tmp_path: Path, *positions: str) -> list[bytes | None]:
    """Return the times that are read for the positions of a KML track, in the track's order."""
    path = tmp_path / "track.kml"
    namespaces = (
        'xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"'
    )
    track = f"<gx:Track>{''.join(positions)}</gx:Track>"
    path.write_text(f"<kml {namespaces}><Placemark>{track}</Placemark></kml>")
    wanted = {"longitude": "longitude", "time": "time"}
    [batch] = KML_READER.read(path, wanted, Tally(), crs="EPSG:4326")
    return [each.as_py() for each in batch.fields["time"]]


def test_no_position_of_a_track_decides_about_the_time_of_another(tmp_path: Path) -> None:
    timed = [
        f"<when>2024-03-31T{hour:02}:00:00Z</when><gx:coord>13.4 52.5 0</gx:coord>"
        for hour in (1, 9, 17)
    ]
    alone = times_of_track(tmp_path, *timed)
    assert len(set(alone)) == 3
    assert times_of_track(tmp_path, *timed, "<gx:coord>13.5 52.6 0</gx:coord>") == [*alone, None]
    assert times_of_track(tmp_path, timed[0], timed[2]) == [alone[0], alone[2]]
