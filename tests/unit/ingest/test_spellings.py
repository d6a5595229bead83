"""Files as programs and people write them: each is read right by the defaults, or asked about."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapefile
import shapely

from dpgeo.core.guarantees import Unit
from dpgeo.ingest.context import Context
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.layout import ENCODINGS, SEPARATORS
from dpgeo.ingest.preview import Preview, preview
from dpgeo.ingest.schema import Schema
from dpgeo.spatial.area import StudyArea
from tests.unit.ingest.helpers import KEY

BERLIN = StudyArea.from_bounds(13, 52, 14, 53)
ZONE = "Europe/Berlin"
MOMENT = int(datetime(2024, 3, 13, 7, 15, 9, tzinfo=UTC).timestamp())
ROWS = 12


def read(
    folder: Path, content: str | bytes, name: str = "a.csv", unit: Unit = Unit.PERSON
) -> tuple[Preview, pa.Table]:
    """Preview a file, and ingest it as the preview understands it."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    seen = preview(path, name, Context(unit, BERLIN, ZONE))
    assert seen.understanding is not None
    target = folder / "rows.parquet"
    schema = Schema(seen.understanding.columns, unit, BERLIN, ZONE)
    report = ingest(path, name, schema, KEY, target, lambda *_: None)
    assert report.accepted == seen.understanding.accepted
    return seen, pq.read_table(target)


def table(header: str, row: str, rows: int = ROWS) -> str:
    """Return a header and rows, in which # is the number of the row, of two digits."""
    return header + "\n" + "".join(row.replace("#", str(10 + n)) + "\n" for n in range(rows))


NARROW, NO_BREAK = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"

TIMES = (
    f"3/13/2024, 8:15:09{NARROW}AM",
    f"3/13/2024 8:15:09{NO_BREAK}AM",
    "13/03/2024 8:15:09 a. m.",
    f"13/3/2024, 8:15:09{NARROW}a.{NO_BREAK}m.",
    "13.03.2024 08:15:09 CET",
    "2024-03-13 08:15:09 MEZ",
    "2024-03-13T08:15:09+01:00[Europe/Berlin]",
    "2024-03-13T07:15:09Z[UTC]",
    "Wed Mar 13 2024 08:15:09 GMT+0100 (Central European Standard Time)",
    "Wed, 13 Mar 2024 07:15:09 GMT",
    "2024-03-13 08:15:09,250",
    "2024-03-13 07:15:09+00",
    "2024-03-12 32:15:09",
)


@pytest.mark.parametrize("text", TIMES)
def test_a_time_is_read_however_it_is_written(tmp_path: Path, text: str) -> None:
    seen, rows = read(tmp_path, table("device;lat;lon;time", f"p#;52.5#;13.4#;{text}"))
    assert seen.understanding is not None
    assert seen.understanding.verdict == "good"
    assert rows["time"].to_pylist() == [MOMENT] * ROWS


def test_an_abbreviation_that_the_declared_zone_does_not_use_is_no_guess(tmp_path: Path) -> None:
    seen, _ = read(tmp_path, table("device;lat;lon;time", "p#;52.5#;13.4#;2024-03-13 08:15:09 IST"))
    assert seen.understanding is not None
    assert seen.understanding.verdict == "stop"


def test_an_invisible_blank_is_shown_by_its_code_point(tmp_path: Path) -> None:
    seen, _ = read(tmp_path, table("device;lat;lon;time", f"p#;52.5#;13.4#;noon{NARROW}sharp"))
    assert seen.understanding is not None
    assert [each.example for each in seen.understanding.left_out] == ["noon[U+202F]sharp"]


@pytest.mark.parametrize(
    ("date", "clock", "local"),
    [
        ("2024-03-13", "815", (13, 8, 15)),
        ("2024-03-13", "1651", (13, 16, 51)),
        ("20240313", "23:15:00", (13, 23, 15)),
        ("20240313", "24:15:00", (14, 0, 15)),
        ("20240313", "25:40:00", (14, 1, 40)),
        ("2024-03-13", "24:00:00", (14, 0, 0)),
    ],
)
def test_a_date_with_a_clock_of_any_kind(
    tmp_path: Path, date: str, clock: str, local: tuple[int, int, int]
) -> None:
    _, rows = read(tmp_path, table("device,lat,lon,date,time", f"p#,52.5#,13.4#,{date},{clock}"))
    day, hour, minute = local
    expected = (
        datetime(2024, 3, day, hour - 1, minute, tzinfo=UTC).timestamp()
        if hour
        else (datetime(2024, 3, day - 1, 23, minute, tzinfo=UTC).timestamp())
    )
    assert rows["time"].to_pylist() == [expected] * ROWS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("elapsed_time", "3#"), ("travel_time_s", "6#"), ("time_accuracy", "5"),
        ("time_zone", "+01:00"), ("timezone", "CET"), ("waiting_time", "0.#"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("other", ["start_date", "started_at", "recorded_at"])
def test_a_column_about_time_is_not_mistaken_for_the_time(
    tmp_path: Path, name: str, value: str, other: str
) -> None:
    content = table(
        f"user_id,{name},{other},lat,lon", f"p#,{value},2024-03-13T08:15:09,52.5#,13.4#"
    )
    seen, rows = read(tmp_path, content)
    assert seen.understanding is not None
    assert seen.understanding.columns.time == other
    assert rows["time"].to_pylist() == [MOMENT] * ROWS


def test_numbers_that_would_be_times_before_1980_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table("user,time,lat,lon", "p#,3#,52.5#,13.4#"))
    understanding = preview(path, "a.csv", Context(Unit.PERSON, BERLIN, ZONE)).understanding
    assert understanding is not None
    assert understanding.verdict == "ask"
    assert [each.kind for each in understanding.questions] == ["early_times"]
    without, _ = understanding.questions[0].answers
    assert (without.columns.time, without.accepted) == ("", ROWS)


def test_a_tracker_is_told_from_a_time_in_another_language(tmp_path: Path) -> None:
    seen, _ = read(tmp_path, table("tid,tst,lat,lon,user", f"p#,{MOMENT},52.5#,13.4#,u"))
    assert seen.understanding is not None
    assert seen.understanding.columns.time == "tst"
    seen, _ = read(tmp_path, table("bruker,tid,lat,lon", "p#,2024-03-13 08:15,52.5#,13.4#"))
    assert seen.understanding is not None
    assert (seen.understanding.columns.person, seen.understanding.columns.time) == ("bruker", "tid")


ABOVE = {
    "Excel's separator": ["sep={0}"],
    "comments": ["# exported by a logger, version 2", "# three stations"],
    "a title": ["Positions of the fleet"],
    "a title and a blank line": ["Positions of the fleet", ""],
    "names of groups": ["Vehicle{0}Position{0}{0}When"],
}


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize(
    "separator", [mark for mark in SEPARATORS.values() if mark and mark != " "]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_lines_above_the_header_are_skipped(
    tmp_path: Path, above: str, separator: str, encoding: str
) -> None:
    lines = [line.format(separator) for line in ABOVE[above]]
    body = table("ger\xe4t|lat|lon|zeit", "p#|52.5#|13.4#|2024-03-13 08:15:09")
    text = "\n".join([*lines, body.replace("|", separator)])
    seen, rows = read(tmp_path, text.encode(encoding))
    assert seen.columns == ["ger\xe4t", "lat", "lon", "zeit"]
    assert rows["time"].to_pylist() == [MOMENT] * ROWS


def test_rows_may_end_with_a_separator_or_begin_with_their_names(tmp_path: Path) -> None:
    _, trailing = read(tmp_path, table("device,lat,lon", "p#,52.5#,13.4#,"))
    _, named = read(tmp_path, table('"device","lat","lon"', '"#","p#",52.5#,13.4#'))
    _, plain = read(tmp_path, table("device,lat,lon", "p#,52.5#,13.4#"))
    assert trailing.equals(plain)
    assert named.equals(plain)


def test_a_row_with_a_further_value_is_refused_alone(tmp_path: Path) -> None:
    content = table("device,lat,lon", "p#,52.5#,13.4#") + "q,52.5,13.4,\nq,52.5,13.4,x\n"
    seen, rows = read(tmp_path, content)
    assert seen.understanding is not None
    assert [each.rows for each in seen.understanding.left_out] == [1]
    assert len(rows) == ROWS + 1


TEXTS = {
    "latin-1": ("Ger\xe4t;Breite;L\xe4nge", "J\xf6rg M\xfcller #"),
    "windows-1250": (
        "u\u017cytkownik;szeroko\u015b\u0107;d\u0142ugo\u015b\u0107",
        "\u0141ukasz \u015awi\u0119to #",
    ),
    "windows-1251": (
        "\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\u044c;"
        "\u0448\u0438\u0440\u043e\u0442\u0430;\u0434\u043e\u043b\u0433\u043e\u0442\u0430",
        "\u0418\u0432\u0430\u043d \u041b\u0435\u043d\u0438\u043d\u0430 #",
    ),
    "gb18030": ("\u7528\u6237;\u7eac\u5ea6;\u7ecf\u5ea6", "\u5317\u4eac\u5e02\u671d\u9633 #"),
    "big5": ("\u7528\u6236;\u7def\u5ea6;\u7d93\u5ea6", "\u81fa\u5317\u5e02\u4fe1\u7fa9 #"),
    "shift_jis": (
        "\u30e6\u30fc\u30b6\u30fc;\u7def\u5ea6;\u7d4c\u5ea6",
        "\u6771\u4eac\u90fd\u6e0b\u8c37\u533a #",
    ),
    "euc-kr": ("\uc0ac\uc6a9\uc790;\uc704\ub3c4;\uacbd\ub3c4", "\uc11c\uc6b8\uc2dc \uac15\ub0a8 #"),
}  # fmt: skip


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_encoding_is_found_or_asked_about(tmp_path: Path, encoding: str) -> None:
    header, who = TEXTS[encoding]
    text = table(header, f"{who};52.5#;13.4#")
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(ENCODINGS[encoding]))
    seen = preview(path, "a.csv", Context(Unit.PERSON, BERLIN, ZONE))
    assert seen.understanding is not None
    asked = [each for each in seen.understanding.questions if each.kind == "encoding"]
    offered = [answer.columns for each in asked for answer in each.answers]
    right = [each for each in (seen.understanding.columns, *offered) if each.encoding == encoding]
    assert right
    _, plain = read(tmp_path, text, "b.csv")
    report_target = tmp_path / "c.parquet"
    schema = Schema(right[0], Unit.PERSON, BERLIN, ZONE)
    ingest(path, "a.csv", schema, KEY, report_target, lambda *_: None)
    assert pq.read_table(report_target).equals(plain)


def test_a_faulty_character_stays_in_its_line() -> None:
    """No multi-byte character may swallow a line break or a separator after it."""
    for codec in ENCODINGS.values():
        if codec.startswith("utf-16"):
            continue
        for lead, mark in itertools.product(range(128, 256), b"\n\r,;\t"):
            text = bytes([lead, mark]).decode(codec, "replace")
            assert text.endswith(chr(mark)), (codec, lead)


POSITIONS = {
    "curly marks": (
        "lat;lon", "52\xba 30\u2019 #.7\u2019\u2019N;013\xba 15\u2019 #.6\u2019\u2019E",
    ),
    "primes": ("lat;lon", "52\xb030\u2032#.7\u2033N;13\xb015\u2032#.6\u2033E"),
    "degrees and minutes of a receiver": ("lat;lon", "5230.1#;01324.1#"),
    "degrees and minutes with letters": ("lat;lon", "5230.1#N;1324.1#E"),
    "east in German": ("lat;lon", "52\xb030'#\"N;13\xb015'#\"O"),
    "degrees in one text": ("LatLng", "52.5#\xb0, 13.4#\xb0"),
    "a geo URI": ("position", '"geo:52.5#,13.4#;u=10"'),
    "GeoJSON": ("geometry", '{{"type":"Point","coordinates":[13.4#,52.5#]}}'),
    "MultiPoint": ("geometry", "MULTIPOINT ((13.4# 52.5#))"),
    "blanks of every kind": ("lat;lon", f"{NO_BREAK}52.5#;\u200913.4#{NARROW}"),
}  # fmt: skip


@pytest.mark.parametrize("what", POSITIONS)
def test_a_position_is_read_however_it_is_written(tmp_path: Path, what: str) -> None:
    header, row = POSITIONS[what]
    seen, rows = read(
        tmp_path, table(f"device;{header}", "p#;" + row.replace("{{", "{").replace("}}", "}"))
    )
    assert seen.understanding is not None
    assert seen.understanding.verdict == "good"
    assert len(rows) == ROWS


def test_the_letter_o_is_east_or_west_as_the_file_says(tmp_path: Path) -> None:
    france = Context(Unit.PERSON, StudyArea.from_bounds(-5, 42, 8, 51), "Europe/Paris")
    path = tmp_path / "a.csv"
    path.write_text(table("device;lat;lon", "p#;48\xb051'#\"N;2\xb021'#\"O"))
    understanding = preview(path, "a.csv", france).understanding
    assert understanding is not None
    assert [each.kind for each in understanding.questions] == ["east_or_west"]
    path.write_text(path.read_text() + "q;48\xb051'10\"N;2\xb021'10\"E\n")
    understanding = preview(path, "a.csv", france).understanding
    assert understanding is not None
    assert understanding.columns.position_format == "degrees-ouest"
    longitudes = [longitude for longitude, _ in understanding.points]
    assert (min(longitudes) < 0, longitudes[-1] > 0) == (True, True)


def test_hemispheres_in_columns_of_their_own_are_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table("device,lat,ns,lon,ew", "p#,0030.1#,S,1324.1#,E"))
    area = StudyArea.from_bounds(13, -1, 14, 1)
    understanding = preview(path, "a.csv", Context(Unit.PERSON, area, ZONE)).understanding
    assert understanding is not None
    assert understanding.verdict == "ask"
    assert [each.kind for each in understanding.questions] == ["hemisphere"]


def test_a_column_of_hexadecimal_wkb_is_read(tmp_path: Path) -> None:
    points = [shapely.set_srid(shapely.Point(13.41 + n / 1000, 52.51), 4326) for n in range(ROWS)]
    lines = [
        f"p{n},{shapely.to_wkb(each, hex=True, include_srid=True)}" for n, each in enumerate(points)
    ]
    _, rows = read(tmp_path, "\n".join(["device,geom", *lines]) + "\n")
    assert len(rows) == ROWS


def test_points_that_are_stored_as_multipoints_of_one_are_points(tmp_path: Path) -> None:
    features = [
        {
            "type": "Feature",
            "properties": {"device": f"p{n}"},
            "geometry": {"type": "MultiPoint", "coordinates": [[13.41, 52.51]] * (1 + (n == 0))},
        }
        for n in range(ROWS)
    ]
    document = json.dumps({"type": "FeatureCollection", "features": features})
    _, rows = read(tmp_path, document, "a.geojson")
    assert len(rows) == ROWS - 1
    shapes, places, index = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with shapefile.Writer(shp=shapes, shx=index, dbf=places, shapeType=shapefile.MULTIPOINT) as out:
        out.field("device", "C")
        for n in range(ROWS):
            out.multipoint([(13.41, 52.51)] * (1 + (n == 0)))
            out.record(f"p{n}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for suffix, part in (("shp", shapes), ("shx", index), ("dbf", places)):
            archive.writestr(f"a.{suffix}", part.getvalue())
    _, rows = read(tmp_path, packed.getvalue(), "a.zip")
    assert len(rows) == ROWS - 1


def test_points_without_times_need_no_answer(tmp_path: Path) -> None:
    seen, rows = read(tmp_path, table("device,time,lat,lon", "p#,,52.5#,13.4#"))
    assert seen.understanding is not None
    assert (seen.understanding.verdict, seen.understanding.columns.time) == ("good", "")
    assert len(rows) == ROWS
    waypoints = "".join(
        f'<wpt lat="52.5{n}" lon="13.4{n}"><name>w</name></wpt>' for n in range(ROWS)
    )
    seen, rows = read(tmp_path, f"<gpx>{waypoints}</gpx>", "a.gpx", Unit.RECORD)
    assert len(rows) == ROWS


def segment(hour: int) -> dict[str, object]:
    start, end = (
        f"2024-03-10T{hour:02}:00:00.000+01:00",
        f"2024-03-10T{hour + 1:02}:00:00.000+01:00",
    )
    return {"startTime": start, "endTime": end}


def test_a_timeline_of_android_is_read(tmp_path: Path) -> None:
    path = {
        "timelinePath": [{"point": "52.51\xb0, 13.41\xb0", "time": "2024-03-10T08:30:00.000+01:00"}]
    }
    visit = {"visit": {"topCandidate": {"placeLocation": {"latLng": "52.52\xb0, 13.42\xb0"}}}}
    activity = {
        "activity": {
            "start": {"latLng": "52.5\xb0, 13.4\xb0"},
            "end": {"latLng": "52.6\xb0, 13.5\xb0"},
        }
    }
    segments = [segment(8) | path, segment(9) | visit, segment(10) | activity, segment(11)]
    seen, rows = read(
        tmp_path, json.dumps({"semanticSegments": segments}), "Timeline.json", Unit.RECORD
    )
    assert seen.file_format == "timeline"
    hours = [(each - 7 * 3600) % 86_400 / 3600 for each in rows["time"].to_pylist()]
    assert hours == [0.5, 1, 2, 3]


def test_a_timeline_of_ios_is_read(tmp_path: Path) -> None:
    visit = {"visit": {"topCandidate": {"placeLocation": "geo:52.520000,13.420000"}}}
    activity = {"activity": {"start": "geo:52.5,13.4", "end": "geo:52.6,13.5"}}
    document = json.dumps([segment(9) | visit, segment(10) | activity])
    seen, rows = read(tmp_path, document, "location-history.json", Unit.RECORD)
    assert (seen.file_format, len(rows)) == ("timeline", 3)


def test_googles_older_location_history_is_read(tmp_path: Path) -> None:
    locations = [
        {
            "latitudeE7": 525100000 + n,
            "longitudeE7": 134100000,
            "timestamp": "2024-03-13T07:15:09.123Z",
        }
        for n in range(ROWS)
    ]
    seen, rows = read(tmp_path, json.dumps({"locations": locations}), "Records.json", Unit.RECORD)
    assert seen.file_format == "locations"
    assert rows["time"].to_pylist() == [MOMENT] * ROWS


def test_recordings_of_owntracks_are_read(tmp_path: Path) -> None:
    place = '"_type": "location", "lat": 52.5#, "lon": 13.4#, "tid": "p#"'
    message = f'{{{place}, "tst": {MOMENT}}}'
    line = f"2024-03-13T07:15:09Z\t*                 \t{message}"
    seen, rows = read(tmp_path, table(line.replace("#", "10"), line), "2024-03.rec", Unit.RECORD)
    assert (seen.file_format, len(rows)) == ("owntracks", ROWS + 1)
    assert set(rows["time"].to_pylist()) == {MOMENT}


def test_a_tcx_activity_is_read(tmp_path: Path) -> None:
    point = (
        "<Trackpoint><Time>2024-03-13T07:15:09Z</Time><Position>"
        "<LatitudeDegrees>52.5</LatitudeDegrees><LongitudeDegrees>13.4</LongitudeDegrees>"
        "</Position></Trackpoint>"
    )
    lost = "<Trackpoint><Time>2024-03-13T07:15:10Z</Time></Trackpoint>"
    document = (
        "<TrainingCenterDatabase><Activities><Activity><Id>2024-03-13T07:00:00Z</Id><Lap><Track>"
        f"{point * ROWS}{lost}</Track></Lap></Activity></Activities></TrainingCenterDatabase>"
    )
    seen, rows = read(tmp_path, document, "ride.tcx", Unit.RECORD)
    assert (seen.file_format, len(rows)) == ("tcx", ROWS)
    assert rows["time"].to_pylist() == [MOMENT] * ROWS
