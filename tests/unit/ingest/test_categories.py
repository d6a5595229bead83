"""Categories: private values that are numbered by a public list, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dpgeo.core.categories import Category
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import Measure
from dpgeo.ingest.schema import Schema
from tests.unit.ingest.helpers import AREA, COLUMNS, bits, concatenated, csv_of, parquet_of

MODE = Category("mode", "Mode of transport", ("walk", "bike", "caf\u00e9"))
AGE = Category("age", "Age", ("1", "2"))
SPEED = Measure("speed", "Speed", "km/h", 0.0, 100.0)

WRITTEN = ["walk", "bike", " bike ", "Walk", "cafe\u0301", "plane", "", "other"]
CODES = [0, 1, 1, 3, 2, 3, 3, 3]


def declared(*categories: Category) -> Schema:
    return Schema(COLUMNS, Unit.PERSON, AREA, measures=(SPEED,), categories=categories)


def codes(rows: Any, index: int = 0) -> list[int]:
    assert rows.schema.field(f"category_{index}").type == pa.uint8()
    values: list[int] = rows[f"category_{index}"].to_pylist()
    return values


def lines_of(values: list[str]) -> list[str]:
    return [f'p{n},45,5,10,2,"{value}"' for n, value in enumerate(values)]


HEADER = "who,lat,lon,speed,age,mode"


def test_values_outside_the_list_and_missing_ones_are_other(tmp_path: Path) -> None:
    text = "\n".join([HEADER, *lines_of(WRITTEN), ""])
    rows, report = csv_of(tmp_path, text, declared(MODE, AGE))
    assert codes(rows) == CODES
    assert codes(rows, 1) == [1] * len(CODES)
    assert rows["measure_0"].to_pylist() == [100] * len(CODES)
    assert report.accepted == len(WRITTEN)  # no row is refused because of its category


def test_each_value_is_read_as_if_its_row_were_alone(tmp_path: Path) -> None:
    schema = declared(MODE)
    together, _ = csv_of(tmp_path, "\n".join([HEADER, *lines_of(WRITTEN), ""]), schema)
    alone = [csv_of(tmp_path, f"{HEADER}\n{line}\n", schema)[0] for line in lines_of(WRITTEN)]
    assert bits(together) == bits(concatenated(alone))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array(["1", "2", None]), [0, 1, 2]),
        (pa.array([1, 2, 3]), [0, 1, 2]),
        (pa.array(["2", "x", "1"]).dictionary_encode(), [1, 2, 0]),
        (pa.array([True, False, None]), [2, 2, 2]),
    ],
)
def test_values_of_any_plain_parquet_type_are_read(
    tmp_path: Path, values: Any, expected: list[int]
) -> None:
    place = {"who": ["a", "b", "c"], "lat": [45.0] * 3, "lon": [5.0] * 3, "speed": [1, 2, 3]}
    rows, _ = parquet_of(tmp_path, {**place, "age": values}, declared(AGE))
    assert codes(rows) == expected
