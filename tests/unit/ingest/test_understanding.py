"""What the preview detects in messy files, which are then read accordingly."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.context import Context
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.preview import preview
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.understanding import Understanding
from dpgeo.spatial.area import StudyArea
from tests.unit.ingest.helpers import KEY

BERLIN = StudyArea.from_bounds(13, 52, 14, 53)


def understood(
    folder: Path,
    content: str | bytes,
    name: str = "a.csv",
    columns: Columns | None = None,
    unit: Unit = Unit.PERSON,
) -> Understanding:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    context = Context(unit, BERLIN, "Europe/Berlin")
    result = preview(path, name, context, columns=columns).understanding
    assert result is not None
    assert Understanding.from_json(json.loads(json.dumps(result.to_json()))) == result
    return result


def rows(line: str, times: int = 40) -> str:
    """Return `times` copies of a line, with # replaced by 10, 11... and @ by the days 1 to 28."""
    return "".join(
        line.replace("#", str(10 + i)).replace("@", str(i % 28 + 1)) for i in range(times)
    )


MESSY: dict[str, tuple[str | bytes, dict[str, str]]] = {
    "decimal commas in Latin-1": (
        "Gerät;Breite;Länge;Zeit\n".encode("latin-1")
        + rows("Jö;52,5#;13,4#;@.3.24 13:05\n").encode("latin-1"),
        {"position_format": "comma", "time_format": "dmy", "encoding": "latin-1"},
    ),
    "Latin-1 in the rows alone": (
        b"person,lat,lon\n" + rows("Jö#,52.5,13.4\n").encode("latin-1"),
        {"encoding": "latin-1"},
    ),
    "twelve-hour clocks in UTF-16": (
        ("user\tlat\tlon\ttime\n" + rows("p\t52.5#\t13.4#\t3/@/2024 1:05 PM\n")).encode("utf-16"),
        {"time_format": "mdy", "encoding": "utf-16-le"},
    ),
    "no header": (
        rows("p,2024-03-31T14:05:00Z,52.5#,13.4#\n"),
        {
            "unnamed": "4", "delimiter": "comma", "person": "column 1", "time": "column 2",
            "latitude": "column 3", "longitude": "column 4",
        },
    ),
    "milliseconds and Chinese names": (
        "\u7528\u6237,\u7ecf\u5ea6,\u7eac\u5ea6,\u65f6\u95f4\n"
        + rows("p,13.4#,52.5#,17198352000#\n"),
        {"time_format": "ms", "longitude": "\u7ecf\u5ea6", "person": "\u7528\u6237"},
    ),
    "Japanese names": (
        "\u7aef\u672b,\u7def\u5ea6,\u7d4c\u5ea6\n" + rows("p,52.5#,13.4#\n"),
        {"person": "\u7aef\u672b", "latitude": "\u7def\u5ea6"},
    ),
    "spaces": ("device  lat     lon\n" + rows("p   52.5#  13.4#\n"), {"delimiter": "spaces"}),
    "degrees, minutes and seconds": (
        "device;lat;lon\n" + rows('p;"52\u00b030\'#""N";"13\u00b024\'#""E"\n'),
        {"position_format": "degrees"},
    ),
    "letters before": (
        "device;lat;lon\n" + rows("p;N 52.5#;E 13.4#\n"), {"position_format": "degrees"},
    ),
    "ten millionths": (
        "device,lat,lon\n" + rows("p,525#0000,134#0000\n"), {"position_format": "e7"},
    ),
    "both in one column": (
        'device,position\n' + rows('p,"52.5#, 13.4#"\n'),
        {"geometry": "position", "position_format": "lat-lon"},
    ),
    "EWKT": (
        "device,geom\n" + rows("p,SRID=4326;POINT(13.4# 52.5#)\n"), {"geometry": "geom"},
    ),
    "days of a spreadsheet": (
        "device,lat,lon,date\n" + rows("p,52.5#,13.4#,45383.#\n"), {"time_format": "excel"},
    ),
    "several formats": (
        "device,lat,lon,date\n" + rows("p,52.5#,13.4#,@.3.2024\n")
        + rows("p,52.5,13.4,2024-03-31 07:00\n", 9),
        {"time_format": "dmy iso"},
    ),
    "months as words": (
        "device,lat,lon,date\n" + rows("p,52.5#,13.4#,Tue Apr 03 18:00:# +0000 2012\n"),
        {"time_format": "words"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MESSY)
def test_a_messy_file_is_understood_and_read_as_understood(tmp_path: Path, what: str) -> None:
    content, expected = MESSY[what]
    understanding = understood(tmp_path, content)
    declared = understanding.columns.to_json()
    assert declared == {**declared, **expected}
    assert understanding.verdict == "good", (understanding.questions, understanding.left_out)
    assert understanding.accepted == understanding.rows > 39
    schema = Schema(understanding.columns, Unit.PERSON, BERLIN, "Europe/Berlin")
    target = tmp_path / "out.parquet"
    report = ingest(tmp_path / "a.csv", "a.csv", schema, KEY, target, lambda *_: None)
    assert (report.read, report.accepted) == (understanding.rows, understanding.accepted)


def test_dates_that_fit_two_orders_are_asked_about(tmp_path: Path) -> None:
    content = "device,lat,lon,date\n" + rows("p,52.5,13.4,03/04/2024\n")
    understanding = understood(tmp_path, content)
    (question,) = understanding.questions
    assert question.kind == "day_or_month"
    assert [(each.columns.time_format, str(each.example)) for each in question.answers] == [
        ("dmy", "03/04/2024 is 2024-04-03"),
        ("mdy", "03/04/2024 is 2024-03-04"),
    ]
    assert understanding.verdict == "ask"
    answered = understood(tmp_path, content, columns=question.answers[1].columns)
    assert (answered.verdict, answered.questions) == ("good", [])


def test_one_row_settles_the_order_of_dates(tmp_path: Path) -> None:
    content = (
        "device,lat,lon,date\n" + rows("p,52.5,13.4,03/04/2024\n") + "p,52.5,13.4,31/04/2024\n"
    )
    understanding = understood(tmp_path, content.replace("31/04", "30/04"))
    assert (understanding.columns.time_format, understanding.questions) == ("dmy", [])


def test_swapped_columns_are_noticed(tmp_path: Path) -> None:
    understanding = understood(tmp_path, "device,lat,lon\n" + rows("p,13.4#,52.5#\n"))
    assert understanding.verdict == "stop"
    (question,) = understanding.questions
    assert question.kind == "swapped"
    assert question.answers[0].accepted == understanding.rows
    assert question.answers[0].columns.latitude == "lon"


def test_it_says_what_leaves_rows_out_and_which_reading_saves_them(tmp_path: Path) -> None:
    content = (
        "device,lat,lon,date\n" + rows("p,52.5,13.4,2024-04-30\n", 10) + rows("p,52.5,13.4,?\n", 5)
    )
    understanding = understood(tmp_path, content)
    assert (understanding.rows, understanding.accepted, understanding.verdict) == (15, 10, "ask")
    (left,) = understanding.left_out
    assert (left.rows, left.example) == (5, "?")
    assert [(str(each.label), each.accepted) for each in understanding.alternatives] == [
        ("Without times", 15)
    ]


def test_projected_coordinates_are_recognised_by_the_declared_area(tmp_path: Path) -> None:
    understanding = understood(
        tmp_path, "device,x,y\n" + rows("p,3920#.5,58200#.2\n").replace(",58200", ",58200")
    )
    assert understanding.accepted == 0
    understanding = understood(tmp_path, "device,x,y\n" + rows("p,3920#.5,58200#.2\n"))
    assert understanding.verdict == "stop"
    assert "EPSG:25833" in [each.columns.crs for each in understanding.alternatives]


def test_a_missing_person_is_asked_for(tmp_path: Path) -> None:
    content = "a,lat,lon\n" + rows("p,52.5,13.4\n")
    assert [each.field for each in understood(tmp_path, content).questions] == ["person"]
    assert understood(tmp_path, content, unit=Unit.RECORD).verdict == "good"


def test_a_long_file_is_tried_in_all_its_parts(tmp_path: Path) -> None:
    content = "device,lat,lon\n" + "p,52.5,13.4\n" * 60_000 + "p,52.5,x\n" * 60_000
    understanding = understood(tmp_path, content)
    assert not understanding.whole
    assert 0.2 < understanding.share < 0.9
    table = pa.table(
        {"device": ["p"] * 60_000, "lat": [52.5] * 60_000, "lon": [13.4] * 30_000 + [99.0] * 30_000}
    )
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=6_000)
    understanding = understood(tmp_path, (tmp_path / "b.parquet").read_bytes(), "a.parquet")
    assert not understanding.whole
    assert 0.4 < understanding.share < 0.6


@pytest.mark.parametrize("form", ["csv", "one row group", "many row groups"])
@pytest.mark.parametrize("begin", [0.03, 0.41, 0.77])
def test_a_bad_stretch_anywhere_in_a_long_file_is_noticed(
    tmp_path: Path, form: str, begin: float
) -> None:
    """A tenth of the rows lies outside the area, all in one stretch of the file."""
    number = 200_000
    latitudes = [52.5] * number
    first = int(begin * number)
    latitudes[first : first + number // 10] = [48.0] * (number // 10)
    path = tmp_path / "a"
    if form == "csv":
        path.write_text("device,lat,lon\n" + "".join(f"p,{lat},13.4\n" for lat in latitudes))
    else:
        table = pa.table({"device": ["p"] * number, "lat": latitudes, "lon": [13.4] * number})
        size = number if form == "one row group" else 1_000
        pq.write_table(table, path, row_group_size=size)
    name = "b.csv" if form == "csv" else "b.parquet"
    understanding = understood(tmp_path, path.read_bytes(), name)
    assert not understanding.whole
    assert understanding.rows <= 30_000
    assert 0.85 < understanding.share < 0.95


def test_a_declaration_that_cannot_be_tried_is_refused(tmp_path: Path) -> None:
    columns = Columns(longitude="lon", latitude="lat", time="no")
    with pytest.raises(InvalidInput):
        understood(tmp_path, "device,lat,lon\np,52,13\n", columns=columns)


@pytest.mark.parametrize(
    ("header", "row", "formats"),
    [
        ("Kundennr;Datum;Uhrzeit;lat;lon", "k{n};{d}.3.24;14:0{n};52.5{n};13.4{n}", "dmy"),
        ("klantnummer,date,time,lat,lon", "k{n},2024-03-{d},2:05 PM,52.5{n},13.4{n}", "ymd"),
        ("Ger\u00e4tenummer,day,time,lat,lon", "{n},2024-03-{d},10:00:30,52.5{n},13.4{n}", ""),
    ],
)
def test_a_date_and_its_clock_may_stand_in_two_columns(
    tmp_path: Path, header: str, row: str, formats: str
) -> None:
    path = tmp_path / "a.csv"
    lines = [header, *(row.format(n=n, d=n + 12) for n in range(1, 10))]
    path.write_text("\n".join(lines), encoding="utf-8")
    understanding = preview(path, "a.csv", Context(Unit.PERSON)).understanding
    assert understanding is not None
    who, date, clock, *_ = header.replace(";", ",").split(",")
    columns = understanding.columns
    assert (columns.person, columns.time, columns.clock) == (who, date, clock)
    assert (columns.time_format, understanding.accepted) == (formats, 9)


TRACK_POINT = '<trkpt lat="52.{}" lon="13.{}"><time>2026-05-01T12:00:00Z</time></trkpt>'


def test_each_file_of_an_archive_is_offered_as_one_person(tmp_path: Path) -> None:
    packed = tmp_path / "tracks.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for who in ("anna", "ben"):
            points = "".join(map(TRACK_POINT.format, range(1, 5), range(1, 5)))
            track = f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>"
            archive.writestr(f"{who}.gpx", track)
    understanding = preview(packed, "tracks.zip", Context(Unit.PERSON)).understanding
    assert understanding is not None
    (question,) = understanding.questions
    (answer,) = question.answers
    assert str(answer.label) == "Each file is one person"
    assert (answer.columns.person, answer.columns.file_format) == ("file name", "gpx.zip")
    assert answer.accepted == 8
