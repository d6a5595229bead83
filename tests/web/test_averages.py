"""A file of rows becomes a published map of averages, with the map's files and answers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from dpgeo.core.released import Released
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release
from tests.makers import ask_for
from tests.unit.artefacts.releases import grid_averages_release, zone_averages_release
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def speeds(path: Path) -> None:
    """Write 6,000 trips of as many people: 30 km/h in the west of the area and 60 in the east."""
    random = np.random.default_rng(2)
    lines = ["who,lon,lat,speed"]
    for person, (east, north) in enumerate(random.uniform(0, 0.1, (6000, 2)).tolist()):
        speed = 30 if east < 0.05 else 60
        lines.append(f"p{person},{10 + east:.5f},{50 + north:.5f},{speed}")
    path.write_text("\n".join([*lines, "late,10.01,50.01,not told", ""]))


def published(path: Path) -> Release:
    speeds(path)
    call_command(
        "ingest", str(path), "--create", "--dataset=speeds", "--title=Speeds",
        "--organisation=Roads", "--area=10,50,10.1,50.1", "--budget=2", "--person=who",
        "--measures=speed = Speed of trips: 0 to 100 km/h", stdout=io.StringIO(),
    )  # fmt: skip
    assert [each.title for each in Dataset.objects.get().measured] == ["Speed of trips"]
    call_command(
        "release", "speeds", "--mechanism=averages", "--epsilon=1", "--param=cells=4",
        "--publish", "--wait", stdout=io.StringIO(),
    )  # fmt: skip
    return Release.objects.get()


def test_a_file_becomes_a_map_of_mean_speeds(tmp_path: Path) -> None:
    release, client = ask_for(published(tmp_path / "trips.csv"), "averages.csv"), Client()
    assert release.state == "published"
    document: dict[str, Any] = json.loads(client.get(f"/api/v1/releases/{release.pk}").content)
    addresses = {file["name"]: file["url"] for file in document["files"]}
    table = b"".join(client.get(addresses["averages.csv"]))
    rows = list(csv.DictReader(io.StringIO(table.decode())))
    assert len(rows) >= 12
    for row in rows:
        assert row["told"] == "true"
        low, mean, high = (float(row[name]) for name in ("mean_low", "mean", "mean_high"))
        assert low <= mean <= high
        assert mean == pytest.approx(30 if int(row["column"]) < 2 else 60, abs=8)
    statement = json.loads(b"".join(client.get(addresses["statement.json"])))
    assert any("Averages of Speed of trips: every value was held between 0 and 100 km/h" in step
               for step in statement["post_processing"])  # fmt: skip
    assert statement["spends"][0]["noise"]["sensitivity"] == 1000
    page = client.get(f"/maps/{release.pk}/").content.decode()
    # The page names the renderer `averages` for the layer `averages`, so the script can draw it.
    assert "&quot;averages&quot;: &quot;averages&quot;" in page
    answer = client.get(f"/api/v1/releases/{release.pk}/query?bbox=10.0,50.0,10.05,50.1").json()
    (west,) = answer["results"]
    assert west["average"]["mean"] == pytest.approx(30, abs=4)
    assert west["estimate"] == pytest.approx(3000, rel=0.1)


def features_of(released: Released) -> list[dict[str, Any]]:
    """Return the properties in the GeoJSON file of a published release."""
    release, client = install(make_dataset(), released), Client()
    files = client.get(f"/api/v1/releases/{release.pk}").json()["files"]
    address = next(file["url"] for file in files if file["name"] == "averages.geojson")
    document = json.loads(b"".join(client.get(address)))
    return [feature["properties"] for feature in document["features"]]


def test_a_share_of_yes_is_shown_in_per_cent() -> None:
    known = [each for each in features_of(grid_averages_release()) if each["told"]]
    assert known
    assert all(0 <= each["mean_low"] <= each["mean"] <= each["mean_high"] <= 100 for each in known)


def test_files_hold_no_mean_of_a_zone_with_too_few_records() -> None:
    north, south = features_of(zone_averages_release())
    assert north["told"]
    assert not south["told"]
    assert [south[name] for name in ("mean", "mean_low", "mean_high")] == [None] * 3
    assert south["records"] == pytest.approx(6)
