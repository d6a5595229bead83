"""Files, feeds and area queries over all maps of a series, as visitors get them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import struct
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from dpgeo.core.released import FlowsRelease, Released
from dpgeo.postprocess.layers.flows import content_of
from dpgeo.postprocess.periods import largest_by_noise
from dpgeo.postprocess.ranges import Ranges
from dpgeo.releases.models import Release, Series
from dpgeo.releases.selectors import load_released
from dpgeo.releases.states import ReleaseState
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release
from tests.series_maps import install_series
from tests.storages import use_empty_storages
from tests.unit.artefacts.releases import flows_release, places_release, sparse_release

pytestmark = pytest.mark.django_db

AREA = StudyArea.from_bounds(*BOUNDS)
MAPS = 4


@pytest.fixture(autouse=True)
def empty_storages(tmp_path: Path, settings: Any) -> None:
    cache.clear()
    use_empty_storages(settings, tmp_path)


@pytest.fixture
def series() -> Series:
    return install_series(grid_release(AREA, 16), MAPS)


def file_of(series: Series, name: str, **headers: Any) -> Any:
    return Client(headers=headers).get(reverse("api:series-file", args=[series.pk, name]))


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def counts_of(series: Series) -> np.ndarray[Any, Any]:
    contents: list[Any] = [
        load_released(each).content for each in series.releases.order_by("number")
    ]
    return np.array([each.counts for each in contents])


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    assert data[:4] == b"DPGM"
    (length,) = struct.unpack("<I", data[8:12])
    return json.loads(data[12 : 12 + length]), data[12 + length :]


def read(entry: dict[str, Any], data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, entry["type"], entry["length"], entry["offset"])


def test_one_array_holds_the_counts_of_all_periods(series: Series) -> None:
    answer = file_of(series, "series.bin")
    header, data = header_of(content(answer))
    about = header["series"]
    assert [each["number"] for each in about["periods"]] == [1, 2, 3, 4]
    assert (about["periods"][1]["from"], about["periods"][1]["to"]) == ("2026-01-12", "2026-01-18")
    stored = read(about["counts"], data).reshape(MAPS, -1)
    np.testing.assert_array_equal(stored, counts_of(series).reshape(MAPS, -1))
    assert [each["total"] for each in about["periods"]] == stored.sum(axis=1).tolist()
    smooth = read(about["smoothed"], data).reshape(MAPS, -1) * about["smooth_step"]
    clear = stored[0] >= about["threshold"]
    np.testing.assert_array_equal(smooth[0], np.where(clear, stored[0], 0))
    assert about["by_noise"] > about["change_margin"] > about["margin"]
    same = file_of(series, "series.bin", **{"if-none-match": answer["ETag"]})
    assert same.status_code == 304
    zipped = file_of(series, "series.bin", **{"accept-encoding": "gzip"})
    assert zipped["Content-Encoding"] == "gzip"
    assert len(zipped.content) < len(answer.content)
    assert file_of(series, "series.txt").status_code == 404


def test_the_long_files_have_a_row_for_each_period_and_place(
    series: Series, tmp_path: Path
) -> None:
    rows = list(csv.DictReader(io.StringIO(content(file_of(series, "all-periods.csv")).decode())))
    assert len(rows) == MAPS * 256
    first = rows[256]
    assert (first["period"], first["from_day"], first["to_day"]) == (
        "2",
        "2026-01-12",
        "2026-01-18",
    )
    estimates = np.array([int(row["estimate"]) for row in rows]).reshape(MAPS, 16, 16)
    np.testing.assert_array_equal(estimates, counts_of(series))
    assert float(rows[0]["smoothed"]) == max(0, int(rows[0]["estimate"]))
    path = tmp_path / "all.parquet"
    path.write_bytes(content(file_of(series, "all-periods.parquet")))
    frame = geopandas.read_parquet(path)
    assert frame.crs == "EPSG:4326"
    assert frame.groupby("period").estimate.sum().tolist() == counts_of(series).sum((1, 2)).tolist()
    assert frame.release.nunique() == MAPS


def test_only_published_maps_are_in_the_files(series: Series) -> None:
    whole = file_of(series, "series.bin")
    third = series.releases.get(number=3)
    Release.objects.filter(pk=third.pk).update(state=ReleaseState.WITHDRAWN)
    header, _ = header_of(content(file_of(series, "series.bin")))
    assert [each["number"] for each in header["series"]["periods"]] == [1, 2, 4]
    assert file_of(series, "series.bin", **{"if-none-match": whole["ETag"]}).status_code == 200
    Release.objects.filter(series=series).update(state=ReleaseState.DRAFT, published_at=None)
    for name in ("series.bin", "all-periods.csv"):
        assert file_of(series, name).status_code == 404
    assert query(series, {"bbox": list(BOUNDS)}).status_code == 404


def query(series: Series, body: dict[str, Any]) -> Any:
    address = reverse("api:series-query", args=[series.pk])
    return Client().post(address, json.dumps(body), content_type="application/json")


def test_the_course_of_an_area_is_that_of_its_maps(series: Series) -> None:
    west, south, east, north = BOUNDS
    box = [west, south, (west + east) / 2, (south + north) / 2]
    results = query(series, {"bbox": box}).json()["results"]
    assert [each["period"] for each in results] == [1, 2, 3, 4]
    shape = StudyArea.from_bounds(*box).shape
    for release, given in zip(series.releases.order_by("number"), results, strict=True):
        [answer] = Ranges(load_released(release)).answer([shape])
        assert (given["estimate"], given["margin"]) == (answer.estimate, answer.margin)
        assert given["release"] == release.pk
    assert query(series, {"bbox": [0, 0, 1, 1]}).json()["results"][0]["reason"] == "outside"
    assert query(series, {}).status_code == 400
    assert query(series, {"bbox": [1, 0, 1, 1]}).json()["field"] == "bbox"


def items(series: Series, **query: str) -> dict[str, Any]:
    answer = Client().get(f"/ogc/collections/series.{series.pk}/items", {"limit": "5000", **query})
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def periods(found: dict[str, Any]) -> list[int]:
    return sorted({each["properties"]["period"] for each in found["features"]})


@pytest.mark.parametrize(
    ("when", "found"),
    [
        ("2026-01-12", [2]),
        ("2026-01-18T23:30:00Z", [2]),
        ("2026-01-18T23:30:00-02:00", [3]),
        ("2026-01-18/2026-01-19", [2, 3]),
        ("2026-01-19/..", [3, 4]),
        ("../2026-01-11T23:59:59Z", [1]),
        ("2025-01-01/2025-12-31", []),
    ],
)
def test_a_time_leaves_the_features_of_its_periods(
    series: Series, when: str, found: list[int]
) -> None:
    shown = items(series, datetime=when)
    assert periods(shown) == found
    assert "numberMatched" not in shown
    assert len(shown["features"]) == 256 * len(found)


HOST = "http://testserver"


def test_nothing_is_public_of_a_series_without_published_maps(series: Series) -> None:
    Release.objects.filter(series=series).update(state=ReleaseState.DRAFT, published_at=None)
    for name in ("series", "series-feed", "series-json-feed", "embed-series"):
        assert Client().get(reverse(name, args=[series.pk])).status_code == 404
    assert Client().get("/oembed", {"url": f"{HOST}/series/{series.pk}/"}).status_code == 404
    assert Client().get(f"/ogc/collections/series.{series.pk}").status_code == 404
    assert str(series.pk) not in Client().get("/ogc/collections").content.decode()
    assert str(series.pk) not in Client().get("/sitemap.xml").content.decode()


def test_lists_of_cells_are_compared_with_what_is_known_of_them() -> None:
    series = install_series(sparse_release(listed=9), 4)
    header, data = header_of(content(file_of(series, "series.bin")))
    about = header["series"]
    stored = read(about["counts"], data).reshape(4, -1)
    contents: list[Any] = [
        load_released(each).content for each in series.releases.order_by("number")
    ]
    cells = sorted({int(cell) for each in contents for cell in each.cells})
    for row, each in zip(stored, contents, strict=True):
        known = dict(zip(each.cells.tolist(), each.counts.tolist(), strict=True))
        assert row.tolist() == [known.get(cell, 0) for cell in cells]
    [layer] = header["layers"]
    boxes = read(layer["box"], data).reshape(-1, 4)
    assert (boxes[:, 0] * header["grid"]["columns"] + boxes[:, 2]).tolist() == cells
    assert (about["smoothed"], about["listed"]["least"]) == (None, contents[0].threshold)
    possible = int(contents[0].grid.inside(load_released(series.releases.all()[0]).area).sum())
    assert about["by_noise"] == largest_by_noise(contents[0].noise, possible)
    assert possible > len(cells)
    assert "total_margin" not in about
    assert all(each["margin"] > about["margin"] for each in about["periods"])


def test_places_are_compared_by_all_their_counts() -> None:
    series = install_series(places_release(), 3)
    header, data = header_of(content(file_of(series, "series.bin")))
    stored = read(header["series"]["counts"], data).reshape(3, -1)
    np.testing.assert_array_equal(stored, counts_of(series))
    assert header["layers"][0]["names"][:2] == ["Post", "Harbour"]
    assert header["series"]["listed"] is None
    results = query(series, {"bbox": [-10, 50, 10, 54]}).json()["results"]
    assert [each["estimate"] for each in results] == stored.sum(axis=1).tolist()


def one_slice_of_flows(*, sparse: bool = False) -> Released:
    both = flows_release(sparse=sparse)
    assert isinstance(both.content, FlowsRelease)
    alone = dataclasses.replace(content_of(both.content, 0), keys=("",), titles=("",))
    return dataclasses.replace(both, content=alone)


def test_flows_are_compared_by_arrivals_departures_and_listed_pairs(tmp_path: Path) -> None:
    series = install_series(one_slice_of_flows(), 4)
    header, data = header_of(content(file_of(series, "series.bin")))
    about = header["series"]
    contents: list[Any] = [
        load_released(each).content for each in series.releases.order_by("number")
    ]
    stored = read(about["counts"], data).reshape(4, -1)
    np.testing.assert_array_equal(stored, [each.arriving[0] for each in contents])
    leaving = read(about["departures"]["counts"], data).reshape(4, -1)
    np.testing.assert_array_equal(leaving, [each.leaving[0] for each in contents])
    pairs = about["pairs"]
    key = 3 * read(pairs["origin"], data) + read(pairs["destination"], data)
    counts = read(pairs["counts"], data).reshape(4, -1)
    for row, each in zip(counts, contents, strict=True):
        assert row.tolist() == [count if count >= 26 else 0 for count in each.pairs[key].tolist()]
    assert pairs["listed"]["least"] == 26
    assert pairs["by_noise"] == largest_by_noise(contents[0].noise, 6)
    assert header["layers"][0]["name"] == "arrivals"
    rows = list(csv.DictReader(io.StringIO(content(file_of(series, "all-periods.csv")).decode())))
    assert {"origin", "destination", "period"} <= rows[0].keys()
    page = Client().get(reverse("series", args=[series.pk])).content.decode()
    assert 'id="counted"' in page
