"""Coordinates in a declared projection, and points given as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyproj
import pytest

from dpgeo.ingest.crs import to_wgs84
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import to_degrees
from tests.unit.ingest.helpers import AREA, bits, csv_of, parquet_of, schema

UTM = Columns(longitude="x", latitude="y", person="who", crs="EPSG:25832")
TEXT = schema(Columns(geometry="at", person="who"))


def wkt(tmp_path: Path, text: str) -> dict[str, int]:
    """Return the reasons, with counts, for refusing a point given as text."""
    _, report = csv_of(tmp_path, f'who,at\nanna,"{text}"\n', TEXT)
    assert report.read == 1
    return report.refused


@pytest.mark.parametrize(
    ("crs", "x", "y"),
    [
        ("EPSG:25832", 184_917.5, 4_989_363.25),
        ("EPSG:3857", 556_597.5, 5_621_521.5),
        ("EPSG:2056", 2_600_000, 1_200_000),
        ("EPSG:4258", 5, 45),
        ("ESRI:54009", 450_000, 5_300_000),
    ],
)
def test_a_declared_projection_is_inverted(tmp_path: Path, crs: str, x: float, y: float) -> None:
    declared = schema(Columns(longitude="x", latitude="y", person="who", crs=crs))
    rows, report = csv_of(tmp_path, f"who,x,y\nanna,{x},{y}\n", declared)
    assert report.refused == {}
    expected = pyproj.Transformer.from_crs(crs, 4326, always_xy=True).transform(x, y)
    positions = to_degrees(rows["x"].to_numpy(), rows["y"].to_numpy())
    assert np.allclose(np.concatenate(positions), expected, atol=1e-9)


def test_degrees_are_unchanged(tmp_path: Path) -> None:
    for crs in ("EPSG:4326", "OGC:CRS84"):
        declared = schema(Columns(longitude="lon", latitude="lat", person="who", crs=crs))
        content = "who,lat,lon\nanna,45.123456789,5.987654321\n"
        assert bits(csv_of(tmp_path, content, declared)[0]) == bits(csv_of(tmp_path, content)[0])


def test_each_position_is_projected_as_if_it_were_alone() -> None:
    random = np.random.default_rng(5)
    x, y = random.uniform(-1e6, 2e6, 257), random.uniform(3e6, 7e6, 257)
    x[::40], y[::55] = np.inf, 1e30
    for crs in ("EPSG:25832", "EPSG:31287", "EPSG:27700"):
        together = np.array(to_wgs84(x, y, crs, AREA.bounds))
        for start in range(0, 257, 3):
            some = slice(start, start + 3)
            alone = np.array(to_wgs84(x[some], y[some], crs, AREA.bounds))
            assert alone.tobytes() == together[:, some].tobytes()


def test_a_position_that_cannot_be_in_the_projection_is_refused_by_itself(tmp_path: Path) -> None:
    content = "who,x,y\nanna,184917,4989363\nben,1e30,1e30\ncleo,nan,5\ndora,184917,0\n"
    rows, report = csv_of(tmp_path, content, schema(UTM))
    assert rows.num_rows == 1
    assert report.refused == {
        "the longitude is NaN or infinite": 1,
        "the position cannot be in the declared coordinate system": 1,
        "the position is outside the study area": 1,
    }


def test_a_schema_survives_json_to_the_last_bit() -> None:
    area = StudyArea.from_bounds(-10.000000000000002, 1 / 3, 10, 60)
    declared = schema(UTM, area=area, time_zone="Europe/Vienna")
    again = Schema.from_json(declared.to_json())
    assert again.area.shape.wkb == area.shape.wkb
    assert (again.columns, again.unit, again.time_zone) == (UTM, declared.unit, "Europe/Vienna")


@pytest.mark.parametrize(
    "text",
    [
        "POINT (5 45)",
        "POINT(5 45)",
        " point ( 5.0  4.5e1 ) ",
        "POINT Z (5 45 9)",
        "POINTZM(5 45 1 2)",
    ],
)
def test_points_are_read_from_text(tmp_path: Path, text: str) -> None:
    expected, _ = csv_of(tmp_path, "who,lat,lon\nanna,45,5\n")
    points, _ = csv_of(tmp_path, f'who,at\nanna,"{text}"\n', TEXT)
    assert bits(points) == bits(expected)
    assert bits(parquet_of(tmp_path, {"who": ["anna"], "at": [text]}, TEXT)[0]) == bits(expected)
    repeated = pa.array([text]).dictionary_encode()
    points, _ = parquet_of(tmp_path, {"who": ["anna"], "at": repeated}, TEXT)
    assert bits(points) == bits(expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the geometry is missing or empty"),
        ("POINT EMPTY", "the geometry is missing or empty"),
        ("LINESTRING (5 45, 6 46)", "the geometry is not a point"),
        ("MULTIPOINT ((5 45), (6 45))", "the geometry is not a point"),
        ("POINT (5)", "the geometry cannot be read"),
        ("POINT (5 45", "the geometry cannot be read"),
        ("(5 45)", "the geometry cannot be read"),
        ("POINT (5 45), POINT (6 46)", "the geometry cannot be read"),
        ("POINT (5,45)", "the geometry cannot be read"),
        ("POINT (5 45,5)", "the latitude has a decimal comma; write it as 40.72"),
        ("POINT (x 45)", "the longitude is not a number"),
        ("POINT (5 nan)", "the latitude is NaN or infinite"),
        ("POINT (5 400.17)", "the latitude is outside -90 to 90 degrees"),
        ("POINT (45 5)", "the position is outside the study area"),
        ("POINT (" + "5" * 2_000 + " 45)", "a declared field is longer than 1,000 bytes"),
    ],
)
def test_it_says_why_a_point_as_text_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    assert wkt(tmp_path, text) == {reason: 1}


def test_points_as_text_may_be_projected(tmp_path: Path) -> None:
    declared = schema(Columns(geometry="at", person="who", crs="EPSG:25832"))
    points, _ = csv_of(tmp_path, "who,at\nanna,POINT (184917 4989363)\n", declared)
    expected, _ = csv_of(tmp_path, "who,x,y\nanna,184917,4989363\n", schema(UTM))
    assert points.num_rows == 1
    assert bits(points) == bits(expected)
