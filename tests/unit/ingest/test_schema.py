"""The schema in which an owner declares a file's columns."""

from __future__ import annotations

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.schema import Columns, Role
from tests.unit.ingest.helpers import schema


def test_columns_survive_json() -> None:
    columns = Columns(longitude="x", latitude="y", person="user", time="t")
    assert Columns.from_json(columns.to_json()) == columns


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        (Columns(latitude="lat", person="who"), "columns.longitude"),
        (Columns(longitude="lon", person="who"), "columns.latitude"),
        (Columns(longitude="lon", latitude="lat"), "columns.person"),
        (Columns(longitude="lon", latitude="lon", person="who"), "columns.latitude"),
        (Columns(longitude="lon", geometry="geom", person="who"), "columns.geometry"),
    ],
)
def test_it_refuses_columns_that_do_not_determine_a_row(columns: Columns, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        schema(columns)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["Europe/Vienn", "", "../../etc/passwd", "+02:00"])
def test_it_refuses_a_time_zone_that_does_not_exist(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        schema(time_zone=name)
    assert caught.value.field == "time_zone"


def test_a_dataset_of_records_reads_no_person_column() -> None:
    columns = Columns(longitude="lon", latitude="lat", person="who")
    assert schema(columns, unit=Unit.RECORD).wanted == {
        Role.LONGITUDE: "lon",
        Role.LATITUDE: "lat",
    }
