"""Public attributes: each row has a declared value or "other"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpgeo.core.attributes import Attribute, separate
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.schema import Columns, Schema
from tests.unit.ingest.files import feature, geopackage, gpkg_point, read_features, read_layer
from tests.unit.ingest.helpers import AREA, COLUMNS, csv_of, parquet_of

APP = Attribute("app", ("1.4", "2.0", "é"))
DEVICE = Attribute("time of day?", ("7", "true"))


def declared(*attributes: Attribute, columns: Columns = COLUMNS) -> Schema:
    return Schema(columns, Unit.PERSON, AREA, attributes=attributes)


def told(rows: Any, *attributes: Attribute) -> list[tuple[str, ...]]:
    numbers = rows["attributes"].to_numpy(zero_copy_only=False)
    assert numbers.dtype == np.int32
    columns = separate(numbers, attributes).values()
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_an_undeclared_value_becomes_other(tmp_path: Path) -> None:
    text = "who,lat,lon,app\na,45,5, 2.0 \nb,45,5,3.1\nc,45,5,\nd,45,5,e\u0301\ne,45,5,OTHER\n"
    rows, report = csv_of(tmp_path, text, declared(APP))
    assert report.accepted == 5
    assert told(rows, APP) == [("2.0",), ("other",), ("other",), ("é",), ("other",)]


def test_combinations_of_several_attributes_are_distinct(tmp_path: Path) -> None:
    text = "who,lat,lon,app,time of day?\na,45,5,1.4,7\nb,45,5,2.0,8\nc,45,5,x,true\n"
    rows, _ = csv_of(tmp_path, text, declared(APP, DEVICE))
    assert told(rows, APP, DEVICE) == [("1.4", "7"), ("2.0", "other"), ("other", "true")]


def test_a_refused_row_takes_its_attributes_with_it(tmp_path: Path) -> None:
    text = "who,lat,lon,app\na,45,5,1.4\nb,99,5,1.4\nc,45,5,2.0\n"
    rows, report = csv_of(tmp_path, text, declared(APP))
    assert report.accepted == 2
    assert told(rows, APP) == [("1.4",), ("2.0",)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array([7, 8, None]), ["7", "other", "other"]),
        (pa.array([7.0, 7.5, None]), ["7", "other", "other"]),
        (pa.array([True, False, None]), ["true", "other", "other"]),
        (pa.array(["7", "8", "true"]).dictionary_encode(), ["7", "other", "true"]),
        (pa.array([b"7", b"\xff", b"7" * 5000]), ["7", "other", "other"]),
    ],
)
def test_values_of_any_parquet_type_are_compared_as_text(
    tmp_path: Path, values: Any, words: list[str]
) -> None:
    place = {"who": ["a", "b", "c"], "lat": [45.0] * 3, "lon": [5.0] * 3}
    rows, report = parquet_of(tmp_path, {**place, "time of day?": values}, declared(DEVICE))
    assert report.accepted == 3
    assert [word for (word,) in told(rows, DEVICE)] == words


def test_a_type_that_has_no_text_is_refused_with_its_remedy(tmp_path: Path) -> None:
    columns = {"who": ["a"], "lat": [45.0], "lon": [5.0], "app": pa.array([["1.4"]])}
    with pytest.raises(InvalidInput, match="write it as text") as refused:
        parquet_of(tmp_path, columns, declared(APP))
    assert refused.value.field == "public_attributes"


def test_a_json_value_without_a_text_becomes_other(tmp_path: Path) -> None:
    values_given = [7, True, ["7"], {"7": 7}, None, "\ud800", "7"]
    lines = [
        feature(str(number), 5, 45, **{"time of day?": one})
        for number, one in enumerate(values_given)
    ]
    path = tmp_path / "rows.geojsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    schema = declared(DEVICE, columns=Columns(geometry="geometry", person="who"))
    rows, report = read_features(path, schema, lines=True)
    assert report.accepted == 7
    words = ["7", "true", "other", "other", "other", "other", "7"]
    assert [word for (word,) in told(rows, DEVICE)] == words


def test_attributes_are_read_from_a_geopackage(tmp_path: Path) -> None:
    rows = [
        (gpkg_point(5, 45), "a", 7),
        (gpkg_point(5, 45), "b", b"7"),
        (gpkg_point(5, 45), "c", 8),
    ]
    of_layer = Attribute("t", ("7",))
    schema = declared(of_layer, columns=Columns(geometry="geom", person="who"))
    rows_read, report = read_layer(geopackage(tmp_path / "rows.gpkg", rows), schema)
    assert report.accepted == 3
    assert told(rows_read, of_layer) == [("7",), ("7",), ("other",)]


def test_a_file_without_the_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no column 'app'") as refused:
        csv_of(tmp_path, "who,lat,lon\na,45,5\n", declared(APP))
    assert refused.value.field == "public_attributes"


@pytest.mark.parametrize("unit", Unit)
def test_the_person_column_cannot_be_a_public_attribute(unit: Unit) -> None:
    with pytest.raises(InvalidInput, match="declared both as") as refused:
        Schema(COLUMNS, unit, AREA, attributes=(Attribute("who", ("anna",)),))
    assert refused.value.field == "public_attributes"
