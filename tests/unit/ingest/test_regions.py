"""Hand-over tables: each row names a zone, and is read from its own person's rows alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import Measure
from dpgeo.ingest import canonical_writer
from dpgeo.ingest.column_guess import suggest
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.report import Reason, Report
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.phrases import InvalidValue
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ready_zones import h3_hexagons
from dpgeo.spatial.regions import Regions
from dpgeo.spatial.zones import Zones
from tests.unit.ingest.helpers import AREA, KEY, csv_of, parquet_of

BOXES = {"w": (-10, 30, 0, 60), "caf\u00e9": (0, 30, 10, 60)}
WARDS = Zones(
    keys=tuple(BOXES),
    names=tuple(BOXES),
    shapes=np.array([shapely.box(*box) for box in BOXES.values()]),
)
NAMED = Columns(person="unit", region="region", regions="wards")
REGIONS = Regions.of_zones(WARDS, AREA)
TRIPS = Measure("value", "value", "km", 0.0, 10.0)
MODE = Category("slice", "slice", ("bus", "tram"))


def declared(**facts: Any) -> Schema:
    return Schema(NAMED, Unit.PERSON, AREA, regions=REGIONS, **facts)


def whole(folder: Path, text: str, schema: Schema) -> tuple[pa.Table, Report]:
    """Ingest a file as an upload is, and return its canonical rows and report."""
    source, target = folder / "table.csv", folder / "canonical.parquet"
    source.write_text(text)
    report = ingest(source, source.name, schema, KEY, target, lambda done, total: None)
    return pq.read_table(target), report


def zones_of(rows: pa.Table, zones: Zones = WARDS) -> list[str]:
    point, zone = zones.locator().locate_projected(*(rows[name].to_numpy() for name in "xy"))
    assert point.tolist() == list(range(len(rows)))
    return [zones.keys[each] for each in zone.tolist()]


def test_a_row_counts_in_the_zone_whose_key_it_has_and_in_no_other(tmp_path: Path) -> None:
    text = "unit,region\na,w\nb, cafe\u0301 \nc,nowhere\nd,\n"
    rows, report = csv_of(tmp_path, text, declared())
    assert zones_of(rows) == ["w", "caf\u00e9"]
    assert report.refused == {Reason.REGION_MISSING: 1, Reason.REGION_UNKNOWN: 1}
    assert "nowhere" in {each.value for each in report.examples}


def test_an_h3_cell_is_named_by_text_or_by_a_number_and_other_text_is_refused(
    tmp_path: Path,
) -> None:
    area = StudyArea.from_bounds(10.0, 50.0, 10.1, 50.1)
    cells = Zones.from_geojson(h3_hexagons(area, 7), key="key").within(area)
    schema = Schema(NAMED, Unit.PERSON, area, regions=Regions.of_zones(cells, area))
    first, last = cells.keys[0], cells.keys[-1]
    bad = [first[:-1], f"{first}0", "8z1faa71fffffff", "-1", "\u0661"]
    text = "".join(f"{n},{key}\n" for n, key in enumerate([first.upper(), int(last, 16), *bad]))
    rows, report = csv_of(tmp_path, f"unit,region\n{text}", schema)
    assert zones_of(rows, cells) == [first, last]
    assert report.refused == {Reason.REGION_UNKNOWN: len(bad)}
    whole_numbers = {"unit": ["a", "b"], "region": [int(first, 16), None]}
    rows, report = parquet_of(tmp_path, whole_numbers, schema)
    assert zones_of(rows, cells) == [first]
    assert report.refused == {Reason.REGION_MISSING: 1}


def test_the_first_row_of_a_person_and_region_is_read_and_the_others_are_refused(
    tmp_path: Path,
) -> None:
    text = "unit,region,value\na,w,1\nb,w,2\na,w,99\na,caf\u00e9,3\nb,w,4\n"
    rows, report = whole(tmp_path, text, declared(measures=(TRIPS,)))
    assert report.refused == {Reason.REGION_TWICE: 2}
    assert (report.read, report.accepted) == (5, 3)
    steps = TRIPS.to_steps(np.array([1.0, 2.0, 3.0]))
    assert sorted(rows["measure_0"].to_pylist()) == sorted(steps.tolist())


def test_the_same_region_in_two_slices_is_no_duplicate(tmp_path: Path) -> None:
    text = "unit,region,slice\na,w,bus\na,w,tram\na,w,bus\n"
    rows, report = whole(tmp_path, text, declared(categories=(MODE,)))
    assert report.refused == {Reason.REGION_TWICE: 1}
    assert rows["category_0"].to_pylist() == [0, 1]
    timed = replace(declared(), columns=replace(NAMED, time="slice"))
    text = "unit,region,slice\na,w,2026-03-01\na,w,2026-03-02\na,w,2026-03-01T00:00\n"
    rows, report = whole(tmp_path, text, timed)
    assert report.refused == {Reason.REGION_TWICE: 1}


def test_a_value_outside_its_limits_is_clamped(tmp_path: Path) -> None:
    rows, _ = csv_of(tmp_path, "unit,region,value\na,w,99\n", declared(measures=(TRIPS,)))
    assert rows["measure_0"].to_pylist() == TRIPS.to_steps(np.array([10.0])).tolist()


def test_nobody_elses_rows_decide_which_of_two_equal_rows_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So few rows in a piece that a person's rows would be in several.
    monkeypatch.setattr(canonical_writer, "RUN", 16)
    schema = declared(measures=(TRIPS,))
    lines = [f"{n % 700},w,{n % 10}" for n in range(2_100)]
    rows, report = whole(tmp_path, "unit,region,value\n" + "\n".join(lines), schema)
    assert (report.accepted, report.refused) == (700, {Reason.REGION_TWICE: 1_400})
    own = [line for line in lines if line.startswith("5,")]
    alone, _ = whole(tmp_path, "unit,region,value\n" + "\n".join(own), schema)
    assert [row for row in rows.to_pylist() if row in alone.to_pylist()] == alone.to_pylist()


def test_a_full_disk_ends_the_work_instead_of_dividing_a_persons_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical_writer, "RUN", 16)
    monkeypatch.setattr(canonical_writer, "LEFT_FREE", 1 << 62)
    with pytest.raises(InvalidInput, match="disk space"):
        whole(tmp_path, "unit,region\n" + "a,w\n" * 100, declared())


def test_equal_rows_take_no_memory_and_many_of_one_person_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical_writer, "RUN", 64)
    monkeypatch.setattr(canonical_writer, "MAX_COMPARED", 700)
    rows, report = whole(tmp_path, "unit,region\n" + "a,w\n" * 10_000, declared())
    assert (len(rows), report.refused) == (1, {Reason.REGION_TWICE: 9_999})
    days = "".join(f"a,w,2024-01-01T00:{n // 60:02}:{n % 60:02}\n" for n in range(1_000))
    timed = replace(declared(), columns=replace(NAMED, time="slice"))
    with pytest.raises(InvalidInput, match="too many rows"):
        whole(tmp_path, "unit,region,slice\n" + days, timed)


def test_zones_whose_keys_are_one_name_are_refused_as_regions() -> None:
    shapes = np.array([shapely.box(0, 40, 1, 44), shapely.box(2, 41, 3, 43)])
    with pytest.raises(InvalidValue, match="accents"):
        Regions.of_zones(Zones(keys=("\xe9", "e\u0301"), names=("a", "b"), shapes=shapes), AREA)


def test_zones_that_overlap_are_refused_as_regions() -> None:
    shapes = np.array([shapely.box(0, 40, 4, 44), shapely.box(1, 41, 3, 43)])
    with pytest.raises(InvalidValue, match="overlaps another one"):
        Regions.of_zones(Zones(keys=("a", "b"), names=("a", "b"), shapes=shapes), AREA)


@pytest.mark.parametrize(
    ("changes", "unit", "field"),
    [
        ({"longitude": "lon"}, Unit.PERSON, "columns.longitude"),
        ({"geometry": "geom"}, Unit.PERSON, "columns.geometry"),
        ({"destination_latitude": "to"}, Unit.PERSON, "columns.destination_latitude"),
        ({"person": ""}, Unit.PERSON, "columns.person"),
        ({}, Unit.RECORD, "columns.region"),
    ],
)
def test_a_table_that_is_no_hand_over_is_refused(
    changes: dict[str, str], unit: Unit, field: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Schema(replace(NAMED, **changes), unit, AREA, regions=REGIONS)
    assert refusal.value.field == field


def test_a_schema_keeps_its_regions_as_json() -> None:
    again = Schema.from_json(declared().to_json())
    assert again.regions is not None
    assert again.regions.points == REGIONS.points


def test_unit_and_region_are_recognised_by_name_unless_there_are_positions() -> None:
    found = suggest(["unit", "region", "slice", "value"])
    assert (found.person, found.region) == ("unit", "region")
    found = suggest(["subscriber", "pcod"])
    assert (found.person, found.region) == ("subscriber", "pcod")
    assert suggest(["who", "lat", "lon", "region"]).region == ""
