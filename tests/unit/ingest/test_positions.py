"""Coordinates: which positions are valid, and why others are refused."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import shapely

from dpgeo.ingest.coordinates import NUMBER, plain_numbers
from dpgeo.ingest.schema import Columns
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import to_degrees, to_mercator
from tests.unit.ingest.helpers import AREA, bits, csv_of, parquet_of, refused, schema

WORLD = schema(area=StudyArea.from_bounds(-180, -85, 180, 85))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("anna,400.17,5,0", "the latitude is outside -90 to 90 degrees"),
        ("anna,-90.0001,5,0", "the latitude is outside -90 to 90 degrees"),
        ("anna,45,180.0001,0", "the longitude is outside -180 to 180 degrees"),
        ("anna,1e999,5,0", "the latitude is NaN or infinite"),
        ("anna,NaN,5,0", "the latitude is NaN or infinite"),
        ("anna,45,-Infinity,0", "the longitude is NaN or infinite"),
        ("anna,45,inf,0", "the longitude is NaN or infinite"),
        ("anna,,5,0", "the latitude is missing"),
        ("anna,45,  ,0", "the longitude is missing"),
        ('anna,"45,5",5,0', "the latitude has a decimal comma; write it as 40.72"),
        ('anna,45,"-5,25",0', "the longitude has a decimal comma; write it as -73.99"),
        ("anna,north,5,0", "the latitude is not a number"),
        ("anna,45,5E,0", "the longitude is not a number"),
        ("anna,0x2D,5,0", "the latitude is not a number"),
        ("anna,4_5,5,0", "the latitude is not a number"),
        ("anna,4\x005,5,0", "the latitude is not a number"),
        ("anna,\u0664\u0665,5,0", "the latitude is not a number"),
        ("anna,29.99,5,0", "the position is outside the study area"),
        ("anna,45,10.0001,0", "the position is outside the study area"),
    ],
)
def test_it_says_why_a_position_is_refused(tmp_path: Path, row: str, reason: str) -> None:
    assert refused(tmp_path, row) == {reason: 1}


@pytest.mark.parametrize("text", ["45.5", "+45.5", " 45.5\t", "4.55e1", "45.50", "455E-1", "045.5"])
def test_the_ways_of_writing_a_number_agree(tmp_path: Path, text: str) -> None:
    rows_read, _ = csv_of(tmp_path, f"who,lat,lon\nanna,{text},.5\n")
    assert rows_read["y"].to_pylist() == [to_mercator(0.5, 45.5)[1]]


def test_the_edge_of_the_area_belongs_to_it(tmp_path: Path) -> None:
    rows_read, _ = csv_of(tmp_path, "who,lat,lon\na,30,-10\na,60,10\n")
    assert rows_read.num_rows == 2


def test_positions_come_out_in_web_mercator_metres(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    lat, lon = random.uniform(-84, 84, 500), random.uniform(-180, 180, 500)
    rows = "".join(f"p,{y!r},{x!r}\n" for y, x in zip(lat.tolist(), lon.tolist(), strict=True))
    rows_read, report = csv_of(tmp_path, "who,lat,lon\n" + rows, WORLD)
    assert report.accepted == 500
    back_lon, back_lat = to_degrees(rows_read["x"].to_numpy(), rows_read["y"].to_numpy())
    np.testing.assert_allclose(back_lat, lat, atol=1e-10)
    np.testing.assert_allclose(back_lon, lon, atol=1e-10)


def test_numbers_and_their_text_give_the_same_position(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    lat, lon = random.uniform(30, 60, 300), random.uniform(-10, 10, 300)
    stored, _ = parquet_of(tmp_path, {"who": ["a"] * 300, "lat": lat, "lon": lon})
    as_text = {"lat": [repr(float(y)) for y in lat], "lon": [repr(float(x)) for x in lon]}
    text, _ = parquet_of(tmp_path, {"who": ["a"] * 300, **as_text})
    assert bits(stored) == bits(text)


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(), pa.int64(), pa.uint32(), pa.float16(), pa.float32(), pa.decimal128(6, 2),
        pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.float64()),
        pa.dictionary(pa.int16(), pa.string()),
    ],
)  # fmt: skip
def test_coordinates_may_be_stored_as_any_number_or_text(tmp_path: Path, kind: pa.DataType) -> None:
    textual = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    values = pa.array(["45", None, "46"])
    if textual or pa.types.is_binary(kind):
        column = values.cast(kind)
    elif pa.types.is_dictionary(kind):
        column = values.cast(kind.value_type).dictionary_encode().cast(kind)
    elif pa.types.is_decimal(kind):
        column = pa.array([Decimal(45), None, Decimal(46)], kind)
    else:
        column = values.cast(pa.float64()).cast(kind)
    rows_read, report = parquet_of(tmp_path, {"who": ["a"] * 3, "lat": column, "lon": [5, 5, 5]})
    assert report.refused == {"the latitude is missing": 1}
    assert rows_read["y"].to_pylist() == [to_mercator(5, 45)[1], to_mercator(5, 46)[1]]


def test_stored_nan_and_infinity_are_refused(tmp_path: Path) -> None:
    lat = [45.0, np.nan, np.inf, 400.17, -np.inf]
    _, report = parquet_of(tmp_path, {"who": ["a"] * 5, "lat": lat, "lon": [5.0] * 5})
    assert report.refused == {
        "the latitude is NaN or infinite": 3,
        "the latitude is outside -90 to 90 degrees": 1,
    }
    assert [(example.row, example.value) for example in report.examples] == [
        (2, "nan"), (3, "inf"), (5, "-inf"), (4, "400.17"),
    ]  # fmt: skip


GEOMETRY = schema(Columns(geometry="geometry", person="who"))


def test_wkb_points_and_columns_of_degrees_give_the_same_rows(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    lat, lon = random.uniform(29, 60, 300), random.uniform(-10, 10, 300)
    people = [f"p{i % 7}" for i in range(300)]
    plain, _ = parquet_of(tmp_path, {"who": people, "lat": lat, "lon": lon})
    wkb = shapely.to_wkb(shapely.points(lon, lat))
    points, report = parquet_of(tmp_path, {"who": people, "geometry": wkb}, GEOMETRY)
    assert bits(points) == bits(plain)
    assert 0 < report.refused["the position is outside the study area"] < 300


def test_it_says_why_a_geometry_is_refused(tmp_path: Path) -> None:
    good = shapely.Point(5, 45)
    line = shapely.LineString([(0, 45), (1, 46)])
    big = shapely.LineString(np.random.default_rng(1).uniform(0, 1, (100, 2)))
    high = shapely.to_wkb(shapely.Point(5, 45, 100), output_dimension=3)
    rows_read, report = parquet_of(
        tmp_path,
        {
            "who": ["a"] * 10,
            "geometry": [
                good.wkb, None, b"", b"\x01\x01", line.wkb, big.wkb, shapely.Point().wkb, high,
                shapely.Point(5, 400.17).wkb, shapely.Point(np.inf, 45).wkb,
            ],
        },
        GEOMETRY,
    )  # fmt: skip
    assert rows_read.num_rows == 2
    assert report.refused == {
        "the geometry is missing or empty": 2,
        "the geometry cannot be read": 2,
        "the geometry is not a point": 2,
        "the latitude is outside -90 to 90 degrees": 1,
        "the longitude is NaN or infinite": 1,
    }


def test_an_area_that_is_not_a_box_refuses_positions_outside_it(tmp_path: Path) -> None:
    triangle = StudyArea(shapely.Polygon([(0, 40), (10, 40), (0, 50)]))
    rows_read, _ = csv_of(tmp_path, "who,lat,lon\na,41,1\nb,49,9\n", schema(area=triangle))
    assert rows_read.num_rows == 1
    assert not triangle.is_box
    assert AREA.is_box


def test_plain_numbers_are_exactly_those_that_the_pattern_allows() -> None:
    for length in range(1, 6):
        for signs in itertools.product("1.+-", repeat=length):
            text = "".join(signs)
            plain = plain_numbers(pa.array([text]))
            assert (plain is not None) == (re.fullmatch(NUMBER, text) is not None), text
            assert plain is None or plain.to_pylist() == [float(text)]
    for text in ("1e3", "nan", "inf", "0x1", "1 ", "1,5", ""):
        assert plain_numbers(pa.array(["1", text])) is None
