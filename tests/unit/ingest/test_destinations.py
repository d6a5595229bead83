"""Destinations of trips: each is read from its own row, and no row is refused because of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.json_records import TRIPS_READER
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.spatial.projection import to_mercator
from tests.unit.ingest.helpers import AREA, COLUMNS, bits, csv_of, parquet_of

ENDS = replace(COLUMNS, destination_longitude="to_lon", destination_latitude="to_lat")
DECLARED = Schema(ENDS, Unit.PERSON, AREA)

ODD = ["", "here", "91", "1e999", "nan", "5,5", "200"]
"""Latitudes that are invalid; the last lies beyond the poles."""


def test_a_destination_is_projected_and_an_unusable_one_is_no_trip(tmp_path: Path) -> None:
    lines = ["u,45,5,0,5.25,45.5", *(f'u,45,5,0,5.25,"{odd}"' for odd in ODD), "u,45,5,0,50,-45"]
    text = "who,lat,lon,t,to_lon,to_lat\n" + "\n".join(lines)
    rows, report = csv_of(tmp_path, text, DECLARED)
    assert report.accepted == len(lines)
    assert not report.refused
    x, y = to_mercator([5.25], [45.5])
    assert rows["destination_x"].to_pylist() == [float(x[0])] + [None] * (len(lines) - 1)
    assert rows["destination_y"].to_pylist() == [float(y[0])] + [None] * (len(lines) - 1)


def test_a_row_is_read_as_if_it_were_alone(tmp_path: Path) -> None:
    head = "who,lat,lon,t,to_lon,to_lat\n"
    lines = ["u,45,5,0,5.25,45.5", "u,45,5,0,5.25,", "v,45,5,0,,45.5", "v,45,5,x,5,45"]
    together, _ = csv_of(tmp_path, head + "\n".join(lines), DECLARED)
    alone = [csv_of(tmp_path, head + line, DECLARED)[0] for line in lines]
    parts = [bits(each) for each in alone if each.num_rows]
    assert bits(together) == [b"".join(column) for column in zip(*parts, strict=True)]


def test_numbers_of_a_typed_file_are_destinations_too(tmp_path: Path) -> None:
    columns = {
        "who": ["a", "b", "c"],
        "lat": [45.0] * 3,
        "lon": [5.0] * 3,
        "t": [0] * 3,
        "to_lat": [45.5, None, np.nan],
        "to_lon": [5.25] * 3,
    }
    rows, report = parquet_of(tmp_path, columns, DECLARED)
    assert report.accepted == 3
    assert rows["destination_x"].null_count == 2


def test_half_a_destination_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        Schema(replace(COLUMNS, destination_latitude="to_lat"), Unit.PERSON, AREA)
    assert refused.value.field == "columns.destination_longitude"


def test_the_first_point_of_an_mds_trip_says_where_it_ends(tmp_path: Path) -> None:
    route = [
        {"geometry": {"coordinates": [5.0 + n / 10, 45.0]}, "properties": {"timestamp": n}}
        for n in range(3)
    ]
    trips = [
        {"trip_id": "a", "route": {"features": route}},
        {
            "trip_id": "b",
            "start_location": {"lat": 45.1, "lng": 5.1},
            "end_location": {"lat": 45.3, "lng": 5.3},
            "start_time": 1,
            "end_time": 2,
        },
        {"trip_id": "c", "start_location": {"lat": 45.1, "lng": 5.1}, "start_time": 1},
    ]
    path = tmp_path / "trips.json"
    path.write_text(json.dumps({"version": "2.0.0", "data": {"trips": trips}}))
    wanted = {"longitude": "longitude", "destination_longitude": "destination_longitude"}
    [batch] = TRIPS_READER.read(path, wanted, Tally(), crs="EPSG:4326")
    ends = [each.as_py() for each in batch.fields["destination_longitude"]]
    assert ends == [b"5.2", None, None, b"5.3", None, None]


@pytest.mark.parametrize("form", ["mds", "mds.gz", "mds.zip"])
def test_no_record_of_an_mds_trip_decides_where_another_goes(form: str) -> None:
    """If the privacy unit is a record, MDS files have no destinations.

    The destination of an MDS trip comes from its last row, so that this record would change the
    trip's other rows.
    """
    columns = replace(
        Columns(longitude="longitude", latitude="latitude", person="trip_id", file_format=form),
        destination_longitude="destination_longitude",
        destination_latitude="destination_latitude",
    )
    assert Schema(columns, Unit.PERSON, AREA).has_destination
    of_records = Schema(columns, Unit.RECORD, AREA)
    assert not of_records.has_destination
    assert not any(role.startswith("destination") for role in of_records.wanted)
    assert Schema(ENDS, Unit.RECORD, AREA).has_destination


@pytest.mark.parametrize("form", ["mds", "mds.gz"])
@pytest.mark.parametrize("taken", ["position", "category", "attribute"])
def test_records_of_mds_have_no_role_that_their_trips_last_row_decides(
    form: str, taken: str
) -> None:
    at = ("destination_longitude", "destination_latitude")
    place = at if taken == "position" else ("longitude", "latitude")
    columns = Columns(longitude=place[0], latitude=place[1], file_format=form)
    facts: dict[str, Any] = {}
    if taken == "category":
        facts["categories"] = (Category(at[0], "Where to", ("1", "2")),)
    if taken == "attribute":
        facts["attributes"] = (Attribute(at[0], ("1", "2")),)
    with pytest.raises(InvalidInput, match="cannot use it"):
        Schema(columns, Unit.RECORD, AREA, **facts)


@pytest.mark.parametrize("person", ["time", "point", "longitude"])
def test_the_rows_of_an_mds_trip_belong_to_one_person(person: str) -> None:
    places = {"longitude": "destination_longitude", "latitude": "destination_latitude"}
    with pytest.raises(InvalidInput, match="belong to one person"):
        Schema(Columns(**places, person=person, file_format="mds.zip"), Unit.PERSON, AREA)
