"""Measures: numbers of each row, clamped to declared limits and rounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import ANSWER_STEPS, Measure
from dpgeo.ingest.schema import Columns, Schema
from tests.unit.ingest.files import feature, read_features
from tests.unit.ingest.helpers import AREA, COLUMNS, bits, concatenated, csv_of, parquet_of

SPEED = Measure("speed", "Speed", "km/h", -20.0, 80.0)
BIKE = Measure("bike", "By bike", "", 0.0, 1.0, ANSWER_STEPS)

WRITTEN = [
    *("-20", "80", "30", " 30.04 ", "30.06", "1e1", "-300", "1e200", "", "fast", "nan", "inf"),
    *("1,5", "1_0", "0x10", "-"),
]
STEPS = [0, 1000, 500, 500, 501, 300, 0, 1000, *[None] * 8]


def declared(*measures: Measure, columns: Columns = COLUMNS) -> Schema:
    return Schema(columns, Unit.PERSON, AREA, measures=measures)


def steps(rows: Any, index: int = 0) -> list[int | None]:
    assert rows.schema.field(f"measure_{index}").type == pa.int32()
    values: list[int | None] = rows[f"measure_{index}"].to_pylist()
    return values


def lines_of(values: list[str]) -> list[str]:
    return [f'p{n},45,5,"{value}"' for n, value in enumerate(values)]


def test_values_are_held_between_the_limits_and_rounded(tmp_path: Path) -> None:
    text = "\n".join(["who,lat,lon,speed", *lines_of(WRITTEN), ""])
    rows, report = csv_of(tmp_path, text, declared(SPEED))
    assert steps(rows) == STEPS
    assert report.accepted == len(WRITTEN)  # no row is refused because of its speed


def test_each_number_is_read_as_if_its_row_were_alone(tmp_path: Path) -> None:
    header = "who,lat,lon,speed"
    together, _ = csv_of(tmp_path, "\n".join([header, *lines_of(WRITTEN), ""]), declared(SPEED))
    alone = [
        csv_of(tmp_path, f"{header}\n{line}\n", declared(SPEED))[0] for line in lines_of(WRITTEN)
    ]
    assert bits(together) == bits(concatenated(alone))


def test_a_refused_row_takes_its_number_with_it(tmp_path: Path) -> None:
    text = "who,lat,lon,bike,speed\na,45,5,yes,0\nb,99,5,no,10\nc,45,5,no,20\n"
    rows, _ = csv_of(tmp_path, text, declared(SPEED, BIKE))
    assert steps(rows) == [200, 400]
    assert steps(rows, 1) == [1, 0]


def test_answers_are_read_in_words_and_as_digits(tmp_path: Path) -> None:
    answers = ["yes", "No", "TRUE", "f", "1", "0", "maybe", ""]
    text = "\n".join(["who,lat,lon,bike", *lines_of(answers), ""])
    rows, _ = csv_of(tmp_path, text, declared(BIKE))
    assert steps(rows) == [1, 0, 1, 0, 1, 0, None, None]


def test_a_file_with_decimal_commas_has_them_in_its_numbers_too(tmp_path: Path) -> None:
    columns = Columns(longitude="lon", latitude="lat", person="who", position_format="comma")
    text = 'who,lat,lon,speed\na,"45,5","5,1","30,04"\nb,"45,5","5,1","1.000,5"\n'
    rows, _ = csv_of(tmp_path, text, declared(SPEED, columns=columns))
    assert steps(rows) == [500, 1000]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([30, None, 1000]), [500, None, 1000]),
        (pa.array([30.06, np.nan, np.inf]), [501, None, None]),
        (pa.array([30, None, 40], pa.float32()), [500, None, 600]),
        (pa.array([True, False, None]), [210, 200, None]),
        (pa.array(["30", "x", None]).dictionary_encode(), [500, None, None]),
        (pa.array([30, 40, None], pa.decimal128(10, 3)), [500, 600, None]),
    ],
)
def test_numbers_of_any_parquet_type_are_read(
    tmp_path: Path, values: Any, expected: list[int | None]
) -> None:
    place = {"who": ["a", "b", "c"], "lat": [45.0] * 3, "lon": [5.0] * 3}
    rows, report = parquet_of(tmp_path, {**place, "speed": values}, declared(SPEED))
    assert steps(rows) == expected
    assert report.accepted == 3


def test_a_type_that_is_no_number_is_refused_with_its_remedy(tmp_path: Path) -> None:
    columns = {"who": ["a"], "lat": [45.0], "lon": [5.0], "speed": pa.array([[1.4]])}
    with pytest.raises(InvalidInput, match="write it as a number") as refused:
        parquet_of(tmp_path, columns, declared(SPEED))
    assert refused.value.field == "measures"


def test_numbers_are_read_from_geojson(tmp_path: Path) -> None:
    values = [30, "30", True, None, {"a": 1}, 1e300]
    lines = [feature(str(n), 5, 45, speed=value) for n, value in enumerate(values)]
    path = tmp_path / "rows.geojsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    schema = declared(SPEED, columns=Columns(geometry="geometry", person="who"))
    rows, report = read_features(path, schema, lines=True)
    assert report.accepted == 6
    # In JSON records all values become text, so true is not read as a number here.
    assert steps(rows) == [500, 500, None, None, None, 1000]
