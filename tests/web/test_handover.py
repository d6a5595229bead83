"""Hand-over tables: grouped elsewhere, they are counted as the same people's positions are."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.layers import domain_of, public_layer_add, public_layer_remove
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.storage import local_path, private_storage
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.ingest.schema import Columns
from dpgeo.spatial.zones import Zones
from tests.makers import make_dataset, make_received, make_release, quote_release
from tests.web.api import program_of
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db

POSITIONS = Columns(longitude="lon", latitude="lat", person="who")
NAMED = Columns(person="unit", region="region")
SIDE = 4
"""Number of zones along each side of the dataset's area."""


def zones_document() -> dict[str, Any]:
    edge = 0.1 / SIDE
    boxes = {
        f"{column}-{row}": (10 + column * edge, 50 + row * edge)
        for column in range(SIDE)
        for row in range(SIDE)
    }
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"key": key},
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [
                        [[w, s], [w + edge, s], [w + edge, s + edge], [w, s + edge], [w, s]]
                    ],
                },
            }
            for key, (w, s) in boxes.items()
        ],
    }


def zoned(**facts: Any) -> Dataset:
    dataset = make_dataset(**facts)
    public_layer_add(
        dataset=dataset,
        name="squares",
        kind="zones",
        title="Squares",
        file=io.BytesIO(json.dumps(zones_document()).encode()),
        created_by=None,
    )
    return dataset


def ingested(dataset: Dataset, content: bytes, columns: Columns, name: str = "t.csv") -> Upload:
    upload = upload_confirm(upload=make_received(dataset, content, name), columns=columns)
    upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == "ready", upload.failure
    return upload


def positions() -> str:
    random = np.random.default_rng(7)
    person = random.integers(0, 60, 900)
    lon, lat = random.uniform(10.0, 10.1, 900), random.uniform(50.0, 50.1, 900)
    rows = zip(person.tolist(), lon.tolist(), lat.tolist(), strict=True)
    return "who,lon,lat\n" + "".join(f"p{who},{x:.6f},{y:.6f}\n" for who, x, y in rows)


def grouped(folder: Path, text: str, target: str) -> bytes:
    """Return the hand-over table of a file of positions, made by one GROUP BY in DuckDB."""
    (folder / "positions.csv").write_text(text)
    cell = f"floor((lon - 10) / {0.1 / SIDE})::INT || '-' || floor((lat - 50) / {0.1 / SIDE})::INT"
    duckdb.sql(
        f"COPY (SELECT who AS unit, {cell} AS region, count(*) AS value "  # noqa: S608
        f"FROM '{folder / 'positions.csv'}' GROUP BY 1, 2) TO '{folder / target}'"
    )
    return (folder / target).read_bytes()


def exact_counts(dataset: Dataset, upload: Upload, bound: int) -> dict[str, int]:
    """Return the counts of people before any noise is drawn, by the zone's key."""
    domain = domain_of(dataset, ["squares"])
    zones = domain.layer("squares", Zones)
    with local_path(private_storage(), upload.canonical_name) as path:
        view = DuckDBView(
            path,
            domain=domain,
            unit=Unit.PERSON,
            counting=Counting.PEOPLE,
            bound=bound,
            salt=bytes(16),
        )
        counts = view.zone_counts(zones)._read_by_meter()
    return dict(zip(zones.keys, counts.tolist(), strict=True))


@pytest.mark.parametrize("target", ["table.csv", "table.parquet"])
def test_both_ways_count_the_same_people_in_every_region(tmp_path: Path, target: str) -> None:
    text = positions()
    there, here = zoned(), zoned()
    raw = ingested(there, text.encode(), POSITIONS)
    table = ingested(here, grouped(tmp_path, text, target), NAMED, target)
    counts = exact_counts(there, raw, SIDE**2)
    assert exact_counts(here, table, SIDE**2) == counts
    assert sum(counts.values()) > 500
    release = make_release(here, mechanism="zones", parameters={"zones": "squares"})
    assert release.job.state == "done"


TABLE = b"unit,region,value\nann,0-0,3\nbob,0-0,2\nann,1-2,1\nann,0-0,9\neve,9-9,1\n"
"""Three usable rows of two people, a repeated one, and one with a region that is not declared."""


def test_the_private_report_tells_what_was_refused_and_a_map_is_made_of_the_rest() -> None:
    dataset = zoned()
    upload = ingested(dataset, TABLE, NAMED)
    assert upload.report is not None
    assert upload.report["accepted"] == 3
    assert upload.report["refused"] == {
        "the region is not in the declared layer": 1,
        "another row has the same person, region and slice": 1,
    }
    counts = exact_counts(dataset, upload, SIDE**2)
    assert {key: count for key, count in counts.items() if count} == {"0-0": 2, "1-2": 1}


def test_an_erased_person_is_counted_in_no_region() -> None:
    dataset = zoned()
    ingested(dataset, TABLE, NAMED)
    version = person_erase(dataset=dataset, person="ann", by=None)
    assert upload_ingest(upload_id=version.pk)
    version.refresh_from_db()
    counts = exact_counts(dataset, version, SIDE**2)
    assert {key: count for key, count in counts.items() if count} == {"0-0": 1}


@pytest.mark.parametrize(
    ("mechanism", "parameters", "field"),
    [
        ("uniform-grid", {"cells": 8}, "mechanism"),
        ("planar-laplace", {}, "mechanism"),
        ("auto", {}, "mechanism"),
        ("zones", {"zones": "others"}, "zones"),
        ("averages", {"measure": "value"}, "zones"),
    ],
)
def test_maps_of_other_regions_are_refused_with_the_layer_to_choose(
    mechanism: str, parameters: dict[str, Any], field: str
) -> None:
    dataset = zoned(measures=[{"column": "value", "low": 0, "high": 9}])
    public_layer_add(
        dataset=dataset,
        name="others",
        kind="zones",
        title="Others",
        file=io.BytesIO(json.dumps(zones_document()).encode()),
        created_by=None,
    )
    ingested(dataset, TABLE, replace(NAMED, regions="squares"))
    dataset.refresh_from_db()
    with pytest.raises(InvalidInput, match="layer 'squares' and have no positions") as refusal:
        quote_release(dataset, mechanism=mechanism, parameters=parameters, epsilon="1")
    assert refusal.value.field == field


def test_values_are_averaged_in_the_declared_regions() -> None:
    dataset = zoned(measures=[{"column": "value", "low": 0, "high": 9}])
    ingested(dataset, TABLE, NAMED)
    dataset.refresh_from_db()
    chosen = {"measure": "value", "zones": "squares"}
    release = make_release(dataset, mechanism="averages", parameters=chosen, counting="visits")
    assert release.job.state == "done"


@pytest.mark.parametrize("mechanism", ["quartiles", "profile", "flows"])
def test_values_weeks_and_flows_are_released_in_the_declared_regions(mechanism: str) -> None:
    dataset = zoned(measures=[{"column": "value", "low": 0, "high": 9}])
    table = b"unit,region,value,slice\nann,0-0,3,2026-03-02\nann,1-2,4,2026-03-03\n"
    ingested(dataset, table, replace(NAMED, time="slice"))
    dataset.refresh_from_db()
    chosen = {"measure": "value"} if mechanism == "quartiles" else {}
    counting = "visits" if mechanism in {"quartiles", "flows"} else "people"
    release = make_release(
        dataset,
        mechanism=mechanism,
        parameters={**chosen, "zones": "squares"},
        counting=counting,
        epsilon="1",
    )
    assert release.job.state == "done"


def test_the_layer_must_be_declared_and_stays_while_rows_name_its_zones() -> None:
    bare = make_dataset()
    with pytest.raises(InvalidInput, match="None is declared yet") as refusal:
        upload_confirm(upload=make_received(bare, TABLE), columns=NAMED)
    assert refusal.value.field == "columns.regions"
    dataset = zoned()
    ingested(dataset, TABLE, NAMED)
    with pytest.raises(Conflict, match="name zones of this layer"):
        public_layer_remove(layer=dataset.layers.get(), by=None)


def test_a_registered_folder_needs_positions() -> None:
    upload = make_received(zoned(), TABLE, "table.parquet")
    upload.source = {"location": "city", "folder": ""}
    with pytest.raises(InvalidInput, match="upload a table of persons and regions") as refusal:
        upload_confirm(upload=upload, columns=replace(NAMED, file_format="parquet"))
    assert refusal.value.field == "columns.region"


def test_a_program_hands_over_a_table(desk: Desk) -> None:
    program, dataset = program_of(desk), zoned(organisation=desk.organisation)
    address = program.upload(dataset.slug, TABLE)
    suggested = program.ask("GET", f"{address}/preview")["suggested"]
    assert (suggested["person"], suggested["region"]) == ("unit", "region")
    columns = {"person": "unit", "region": "region", "regions": "squares"}
    program.ask("POST", f"{address}/confirm", {"columns": columns}, 202)
    upload = Upload.objects.get()
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.report is not None
    assert upload.report["accepted"] == 3


def test_an_owner_hands_over_a_table_at_the_desk(desk: Desk) -> None:
    dataset = zoned(organisation=desk.organisation)
    upload = make_received(dataset, TABLE)
    address = reverse("desk-upload", args=[upload.pk])
    answer = desk.client.get(address)
    assert answer.context["form"].initial["region"] == "region"
    assert "depends on its own person alone" in answer.content.decode()
    assert answer.context["points"]
    typed = {"person": "unit", "region": "region", "regions": "squares", "unit": "person"}
    answer = desk.client.post(
        address, typed | {"file_format": "csv", "crs": "EPSG:4326", "anyway": "1"}
    )
    assert answer.status_code == 302
    upload.refresh_from_db()
    assert upload.columns["regions"] == "squares"
    assert upload_ingest(upload_id=upload.pk)
    kinds = desk.client.get(reverse("desk-kind", args=[dataset.slug])).context["offer"]
    assert "districts" in {choice.kind.key for choice in kinds.kinds}
    assert "heat" not in {choice.kind.key for choice in (*kinds.kinds, *kinds.more)}


def test_the_command_hands_over_a_table(tmp_path: Path) -> None:
    dataset = zoned()
    path = tmp_path / "table.csv"
    path.write_bytes(TABLE)
    output = io.StringIO()
    named = ("--person", "unit", "--region", "region", "--regions", "squares")
    call_command("ingest", str(path), "--dataset", dataset.slug, *named, stdout=output)
    assert "3 of 5 rows accepted" in output.getvalue()
    assert "1 refused: another row has the same person, region and slice" in output.getvalue()
