"""Every declared format of times and positions: what is read, and that each row is read by
itself.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyproj import Transformer

from dpgeo.ingest.schema import Columns, Schema
from dpgeo.spatial.projection import to_mercator
from tests.unit.ingest.helpers import bits, concatenated, csv_of, schema

NOON = int(datetime(2024, 7, 1, 12, 30, tzinfo=UTC).timestamp())

TIMES = {
    "iso": ("2024-07-01T12:30:00Z", "2024-07-01 12:30", "2024-07-01T14:30:00+02:00"),
    "ymd": ("2024/7/1 12:30", "24/07/01 12:30", "2024.07.01 12:30:00"),
    "dmy": ("01/07/2024 12:30", "1.7.24 12:30", "1-7-2024 12:30 PM"),
    "mdy": ("07/01/2024 12:30", "7/1/24 12:30 PM", "7-1-2024 12:30:00"),
    "words": ("1 July 2024 12:30", "Mon Jul 01 12:30:00 +0000 2024", "1. Juli 2024 12:30"),
    "compact": ("20240701T123000", "20240701123000", "20240701 1230"),
    "s": (str(NOON), f"{NOON}.25", f" {NOON} "),
    "ms": (f"{NOON}000", f"{NOON}999", f"{NOON}000.5"),
    "us": (f"{NOON}000000", f"{NOON}999999", f" {NOON}000001"),
    "ns": (f"{NOON}000000000", f"{NOON}500000000", f" {NOON}000000001"),
    "excel": ("45474.520833333336", "45474.5208333334", " 45474.52083334 "),
}
"""Three ways to write the same moment in each format of times."""

STRANGE_TIMES = ("", "yesterday", "31/31/2024", "2024-02-30", "1e99", "99999999999999999999", '"')

UTM = "EPSG:32631"
EAST, NORTH = 450_000.5, 5_000_000.0

POSITIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "": (("5.25", "45.5"), ("+5.25", "4.55e1")),
    "comma": (("5,25", "45,5"), ("+5,250", " 45,50")),
    "grouped": (("450,000.5", "5,000,000"), ("450'000.5", "5 000 000.0"), ("450000.5", "5000000")),
    "degrees": (("5\u00b015'E", "N 45.5"), ("E 5 15 0", "45\u00b030'0\"N"), ("5.25", "45.5")),
    "e7": (("52500000", "455000000"), ("52500000.0", "+455000000")),
    "e6": (("5250000", "45500000"), (" 5250000", "45500000 ")),
    "lat-lon": (("45.5, 5.25", ""), ("45.5;5.25", ""), ("(45,5; 5,25)", ""), ("N45.5 E5.25", "")),
    "lon-lat": (("5.25, 45.5", ""), ("5.25 45.5", ""), ("[5.25,45.5]", "")),
}
"""Ways to write one position in each format: longitude and latitude, or both in the first text."""

STRANGE_POSITIONS = (("", ""), ("x", "45"), ("5,25,5", "45,5"), ("999", "1"), ("1e999", "nan"))


def times_of(folder: Path, code: str, *texts: str) -> pa.Table:
    columns = Columns("lon", "lat", "who", "t", time_format=code)
    lines = "".join('a,45.5,5.25,"{}"\n'.format(text.replace('"', '""')) for text in texts)
    return csv_of(folder, "who,lat,lon,t\n" + lines, schema(columns))[0]


def declared(code: str) -> Schema:
    if code in {"lat-lon", "lon-lat"}:
        return schema(Columns(geometry="lon", person="who", position_format=code))
    crs = UTM if code == "grouped" else "EPSG:4326"
    return schema(Columns("lon", "lat", "who", position_format=code, crs=crs))


def positions_of(folder: Path, code: str, *pairs: tuple[str, str]) -> pa.Table:
    quoted = ["|".join(f'"{text.replace(chr(34), chr(34) * 2)}"' for text in p) for p in pairs]
    lines = "".join(f"a|{pair}\n" for pair in quoted)
    return csv_of(folder, "who|lon|lat\n" + lines, declared(code))[0]


@pytest.mark.parametrize("code", TIMES)
def test_each_way_of_writing_a_time_gives_the_same_moment(tmp_path: Path, code: str) -> None:
    assert times_of(tmp_path, code, *TIMES[code])["time"].to_pylist() == [NOON] * 3


@pytest.mark.parametrize("code", TIMES)
def test_no_time_decides_how_another_is_read(tmp_path: Path, code: str) -> None:
    texts = [*TIMES[code], *STRANGE_TIMES, *(ways[0] for ways in TIMES.values())]
    alone = {text: times_of(tmp_path, code, text) for text in texts}
    for shift in range(0, len(texts), 3):
        turned = texts[shift:] + texts[:shift]
        expected = concatenated([alone[text] for text in turned])
        assert bits(times_of(tmp_path, code, *turned)) == bits(expected)


@pytest.mark.parametrize("code", POSITIONS)
def test_each_way_of_writing_a_position_gives_the_same_place(tmp_path: Path, code: str) -> None:
    rows = positions_of(tmp_path, code, *POSITIONS[code])
    x, y = to_mercator([5.25], [45.5])
    if code == "grouped":
        degrees = Transformer.from_crs(UTM, "EPSG:4326", always_xy=True).transform(EAST, NORTH)
        x, y = to_mercator(*([each] for each in degrees))
    count = len(POSITIONS[code])
    assert rows["x"].to_pylist() == pytest.approx([x[0]] * count, abs=0.01)
    assert rows["y"].to_pylist() == pytest.approx([y[0]] * count, abs=0.01)


@pytest.mark.parametrize("code", POSITIONS)
def test_no_position_decides_how_another_is_read(tmp_path: Path, code: str) -> None:
    ways = itertools.chain(*POSITIONS.values())
    pairs = list(dict.fromkeys([*POSITIONS[code], *STRANGE_POSITIONS, *ways]))
    alone = {pair: positions_of(tmp_path, code, pair) for pair in pairs}
    for shift in range(0, len(pairs), 4):
        turned = pairs[shift:] + pairs[:shift]
        expected = concatenated([alone[pair] for pair in turned])
        assert bits(positions_of(tmp_path, code, *turned)) == bits(expected)
