"""Keys of places: each is read from its own row, and is never a reason to refuse the row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.spatial.place_keys import number_of_key
from tests.unit.ingest.helpers import AREA, COLUMNS, csv_of, parquet_of

NAMED = replace(COLUMNS, place="stop")
DECLARED = Schema(NAMED, Unit.PERSON, AREA)
HEAD = "who,lat,lon,t,stop\n"
LINES = ["u,45,5,0,8503", "v,45,5,0, 8503 ", "v,45,5,0,", "w,45,5,0,caf\u00e9", "w,45,5,0,1"]


def test_a_key_becomes_a_number_and_a_missing_one_is_no_place(tmp_path: Path) -> None:
    rows, report = csv_of(tmp_path, HEAD + "\n".join(LINES), DECLARED)
    assert report.accepted == 5
    stop, coffee = number_of_key("8503"), number_of_key("cafe\u0301")
    assert rows["place_key"].to_pylist() == [stop, stop, None, coffee, number_of_key("1")]
    assert stop != number_of_key("8504")


def test_a_row_is_read_as_if_it_were_alone(tmp_path: Path) -> None:
    together, _ = csv_of(tmp_path, HEAD + "\n".join(LINES), DECLARED)
    alone = [csv_of(tmp_path, HEAD + line, DECLARED)[0] for line in LINES]
    assert together.to_pylist() == [row for each in alone for row in each.to_pylist()]


def test_numbers_of_a_typed_file_are_keys_too(tmp_path: Path) -> None:
    columns = {"who": ["a", "b"], "lat": [45.0] * 2, "lon": [5.0] * 2, "t": [0] * 2}
    rows, _ = parquet_of(tmp_path, columns | {"stop": [8503, None]}, DECLARED)
    assert rows["place_key"].to_pylist() == [number_of_key("8503"), None]


def test_the_column_has_no_other_role_and_is_optional() -> None:
    with pytest.raises(InvalidInput, match="key of the place"):
        Schema(replace(COLUMNS, place="who"), Unit.PERSON, AREA)
    assert "place" not in COLUMNS.to_json()
    assert Columns.from_json(NAMED.to_json()) == NAMED
