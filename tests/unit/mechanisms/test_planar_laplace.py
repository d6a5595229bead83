from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.files import build_files
from dpgeo.artefacts.statement import statement
from dpgeo.core.attributes import Attribute
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import GeoInd, Unit
from dpgeo.core.levels import make_level
from dpgeo.core.released import PointsRelease, Released
from dpgeo.mechanisms.planar_laplace import MECHANISM, Params, price
from dpgeo.postprocess.layers import BoxLayer, PointLayer, layers
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.truncation import UNITS
from dpgeo.spatial.zones import Zones
from tests.randomness import SeededEntropy, ZeroNoise
from tests.views import ArrayView

AREA = StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1)


def view(size: int = 300, bound: int = 3) -> ArrayView:
    generator = np.random.default_rng(1)
    return ArrayView(
        area=AREA,
        longitude=generator.uniform(10.0, 10.2, size),
        latitude=generator.uniform(50.0, 50.1, size),
        persons=np.arange(size) // 2,
        bound=bound,
    )


def released(params: Params, rows: ArrayView | None = None, *, silent: bool = False) -> Released:
    rows = rows or view()
    entropy = ZeroNoise() if silent else SeededEntropy(1)
    about = {"title": "Points", "dataset_total_epsilon": "1"}
    return run(MECHANISM, rows, params, price(params, rows.bound, AREA), entropy, about)


def test_the_cost_is_the_level_times_the_reports_per_person() -> None:
    level = make_level("ln 4", 200)
    assert price(Params(), 3, AREA) == 3 * level.epsilon
    drawn = released(Params(cells=16))
    assert drawn.guarantee == GeoInd(3 * level.pico, Unit.PERSON)


def test_each_person_has_at_most_bound_points_in_the_area() -> None:
    content = released(Params(cells=16), view(bound=1)).content
    assert isinstance(content, PointsRelease)
    assert len(content.longitude) == 150
    assert AREA.covers(content.longitude / UNITS, content.latitude / UNITS).all()


def test_without_noise_the_points_are_the_reports_whatever_the_order_of_the_rows() -> None:
    rows = view(bound=2)
    order = np.random.default_rng(2).permutation(300)
    shuffled = dataclasses.replace(
        rows,
        longitude=np.asarray(rows.longitude)[order],
        latitude=np.asarray(rows.latitude)[order],
        persons=np.asarray(rows.persons)[order],
    )
    first, second = (released(Params(cells=16), each, silent=True) for each in (rows, shuffled))
    assert isinstance(first.content, PointsRelease)
    assert isinstance(second.content, PointsRelease)
    assert np.array_equal(first.content.longitude, second.content.longitude)
    off = first.content.longitude / UNITS - np.sort(rows.longitude)
    assert np.abs(off).max() * 71_700 <= 2


def test_a_radius_beyond_the_study_area_is_refused() -> None:
    with pytest.raises(InvalidInput, match="larger than the study area") as refused:
        price(Params(radius=50_000), 1, AREA)
    assert refused.value.field == "radius"


def test_an_area_without_a_point_of_the_grid_is_refused() -> None:
    sliver = StudyArea.from_bounds(10.0, 50.00001, 10.2, 50.00002)
    with pytest.raises(InvalidInput, match="narrower than") as refused:
        price(Params(radius=10_000), 1, sliver)
    assert refused.value.field == "radius"


def test_a_level_too_large_for_floats_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        price(Params(level="1000", radius=1), 1, AREA)
    assert refused.value.field == "level"


def test_it_shows_points_and_a_density_that_adds_up_to_them() -> None:
    points, density = layers(released(Params(cells=16)))
    assert isinstance(points, PointLayer)
    assert isinstance(density, BoxLayer)
    assert len(points) == 300
    assert density.value.sum() == pytest.approx(300)
    assert (density.margin > 0).all()
    assert "half of them by less than 244 m" in points.note


@pytest.mark.parametrize(
    ("kept", "text"), [("exact", "1970-01-01T00:16:40Z"), ("day", "1970-01-01T00:00:00Z")]
)
def test_times_are_published_as_declared(kept: str, text: str, tmp_path: Path) -> None:
    drawn = released(Params(cells=16, time=kept), silent=True)
    build_files(drawn, tmp_path)
    times = pq.read_table(tmp_path / "points.parquet")["time"].to_pylist()
    assert text in times
    dropped = released(Params(cells=16), silent=True)
    (tmp_path / "dropped").mkdir()
    build_files(dropped, tmp_path / "dropped")
    names = pq.read_table(tmp_path / "dropped" / "points.parquet").schema.names
    assert names == ["geometry", "bbox"]


APP = Attribute("app", ("1.4", "2.0"))


def telling(size: int = 300, bound: int = 3) -> ArrayView:
    """Return a view whose reports name an app; for a third of them it is not a declared one."""
    numbers = (np.arange(size) * 3 // size + 2) % 3
    return dataclasses.replace(view(size, bound), attributes=(APP,), combination=numbers)


def test_public_attributes_are_published_beside_their_points(tmp_path: Path) -> None:
    drawn = released(Params(cells=16, attributes=True), telling(), silent=True)
    again = decode(encode(drawn))
    build_files(again, tmp_path)
    table = pq.read_table(tmp_path / "points.parquet")
    assert table.schema.names == ["app", "geometry", "bbox"]
    assert Counter(table["app"].to_pylist()) == {"1.4": 100, "2.0": 100, "other": 100}
    order = np.argsort(np.asarray(telling().longitude), kind="stable")
    values = np.array(["1.4", "2.0", "other"])[np.asarray(telling().combination)[order]]
    # `values` is in the order of longitudes before they are snapped to a grid, the file in their
    # order afterwards, which differs for a few points.
    assert np.mean(np.array(table["app"].to_pylist()) == values) > 0.95
    assert "app" in (tmp_path / "points.csv").read_text().splitlines()[0]
    features = json.loads((tmp_path / "points.geojson").read_text())["features"]
    assert {each["properties"]["app"] for each in features} == {"1.4", "2.0", "other"}
    facts = statement(again)["not_protected"]
    assert "app" in facts[1]
    assert "declared to be known of every report" in facts[1]


def test_attributes_are_dropped_unless_they_are_asked_for(tmp_path: Path) -> None:
    drawn = released(Params(cells=16), telling(), silent=True)
    assert isinstance(drawn.content, PointsRelease)
    assert drawn.content.attributes == ()
    build_files(drawn, tmp_path)
    assert pq.read_table(tmp_path / "points.parquet").schema.names == ["geometry", "bbox"]
    assert "declared to be known" not in json.dumps(statement(drawn))


def test_attributes_change_neither_the_noise_nor_the_density() -> None:
    plain, with_attributes = (
        released(Params(cells=16, attributes=which), telling()) for which in (False, True)
    )
    assert isinstance(plain.content, PointsRelease)
    assert isinstance(with_attributes.content, PointsRelease)
    assert np.array_equal(plain.content.longitude, with_attributes.content.longitude)
    assert np.array_equal(plain.content.density, with_attributes.content.density)
    assert (plain.guarantee, plain.trace) == (with_attributes.guarantee, with_attributes.trace)


def test_undeclared_attributes_are_refused_before_any_draw() -> None:
    params = Params(cells=16, attributes=True)
    domain = view().domain
    with pytest.raises(InvalidInput, match="No attribute") as refused:
        MECHANISM.forecast(params, Fraction(1, 100), 3, domain)
    assert refused.value.field == "attributes"
    with pytest.raises(InvalidInput, match="No attribute"):
        released(params)


def test_padding_points_have_no_attributes() -> None:
    """Padding points have no attributes, so requests for padding with attributes are refused.

    Attributes of padding points would have to be drawn, and their frequencies would reveal the
    padding.
    """
    with pytest.raises(InvalidInput, match="Padding points") as refused:
        price(Params(padded=True, attributes=True), 3, AREA)
    assert refused.value.field == "attributes"


def test_padding_gives_at_most_a_hundred_points_per_person() -> None:
    padded = Params(padded=True)
    assert price(padded, 100, AREA) == price(Params(), 100, AREA)
    with pytest.raises(InvalidInput, match="at most 100") as refused:
        price(padded, 101, AREA)
    assert refused.value.field == "bound"


def test_padding_gives_equal_numbers_of_points_at_the_same_price() -> None:
    few = view(size=301, bound=3)  # 150 people have two reports each, one has one
    plain, padded = released(Params(cells=16), few), released(Params(cells=16, padded=True), few)
    assert (padded.guarantee, padded.trace) == (plain.guarantee, plain.trace)
    assert isinstance(padded.content, PointsRelease)
    assert len(padded.content.longitude) == 151 * 3
    assert padded.content.padded == 3
    assert padded.content.density.sum() == pytest.approx(151 * 3)
    first = statement(padded)["not_protected"][0]
    assert "everybody has exactly 3 points" in first
    # Positions in the area's cells are at most 20.3 km apart; the level is ln 4 within 200 m.
    exponent = float(re.search(r"e(\d+)\b", first).group(1))  # type: ignore[union-attr]
    assert exponent == pytest.approx(math.log(4) / 200 * 20_300 / math.log(10), rel=0.05)
    assert "everybody has" in layers(padded)[0].note.lower()
    assert "how many in all" in statement(plain)["not_protected"][0]


def test_with_a_bound_of_one_there_is_no_padding() -> None:
    padded = released(Params(cells=16, padded=True), view(bound=1))
    assert isinstance(padded.content, PointsRelease)
    assert len(padded.content.longitude) == 150
    assert padded.content.padded == 0


def test_padding_points_have_no_times() -> None:
    with pytest.raises(InvalidInput, match="no times") as refused:
        price(Params(padded=True, time="hour"), 3, AREA)
    assert refused.value.field == "time"


def density() -> Density:
    """Return a density with nine tenths of the people in the western fifth of the area."""
    zones = Zones(
        keys=("west", "east"),
        names=("West", "East"),
        shapes=shapely.box([10.0, 10.04], 50.0, [10.04, 10.2], 50.1),
    )
    return Density(zones=zones, amounts=np.array([9.0, 1.0]))


def test_a_prior_moves_points_and_changes_neither_cost_nor_guarantee() -> None:
    plain = released(Params(cells=16))
    rows = dataclasses.replace(view(), declared={"crowd": density()})
    put = released(Params(cells=16, prior="crowd"), rows)
    assert (put.guarantee, put.trace) == (plain.guarantee, plain.trace)
    assert isinstance(plain.content, PointsRelease)
    assert isinstance(put.content, PointsRelease)
    longitude, latitude = put.content.longitude / UNITS, put.content.latitude / UNITS
    assert len(longitude) == 300
    assert AREA.covers(longitude, latitude).all()
    assert (np.diff(longitude) >= 0).all()
    assert longitude.mean() < plain.content.longitude.mean() / UNITS
    again = decode(encode(put))
    assert isinstance(again.content, PointsRelease)
    assert again.content.prior == "crowd"
    layer: dict[str, Any] = {
        "name": "crowd",
        "title": "Census",
        "sha256": "0" * 64,
        "declared_on": "2026-11-22",
    }
    layer |= {"declared_before_upload": True, "public_source": None, "release": None}
    document = statement(dataclasses.replace(put, about={"public_layers": json.dumps([layer])}))
    [sentence] = [line for line in document["post_processing"] if "likeliest made" in line]
    assert f"by a public density, Census, SHA-256 {'0' * 64}. Declared on 2026-11-22" in sentence
    assert "crowd" in layers(put)[0].note


def test_its_statement_is_about_places_and_names_what_is_revealed() -> None:
    document: Any = statement(released(Params(cells=16)))
    promise = document["guarantee"]
    assert promise["notion"] == "geo-indistinguishability"
    assert promise["epsilon_per_metre_of_one_report"] == "0.006931471805"
    assert promise["reports"] == 3
    assert "That reports were made, and how many in all" in document["not_protected"][0]
    [spend] = document["spends"]
    assert spend["noise"]["radius_50_metres"] == pytest.approx(243.5, abs=0.1)
    assert spend["noise"]["finite_precision_correction_per_metre"] < 2e-6
    assert "epsilon 0" not in document["citation"]
    assert Fraction(promise["epsilon_per_metre"]) == 3 * make_level("ln 4", 200).epsilon


HOLED = StudyArea.from_geojson(
    {
        "type": "Polygon",
        "coordinates": [
            [[10.0, 50.0], [10.2, 50.0], [10.2, 50.1], [10.0, 50.1], [10.0, 50.0]],
            [[10.05, 50.03], [10.15, 50.03], [10.1, 50.08], [10.05, 50.03]],
        ],
    }
)


def test_in_the_hole_of_an_area_there_is_neither_a_point_nor_density() -> None:
    """A hole in the study area contains neither points nor density.

    The reports lie around the hole, so the noise moves many of them into it.
    """
    generator = np.random.default_rng(3)
    rows = ArrayView(
        area=HOLED,
        longitude=generator.uniform(10.03, 10.17, 2000),
        latitude=generator.uniform(50.01, 50.035, 2000),
        unit=Unit.RECORD,
        bound=1,
    )
    content = released(Params(cells=32, radius=1000), rows).content
    assert isinstance(content, PointsRelease)
    assert 1500 < content.longitude.size <= 2000
    assert HOLED.covers(content.longitude / UNITS, content.latitude / UNITS).all()
    assert content.density[~content.grid.inside(HOLED)].sum() == 0
    # Points that noise moves into the hole are moved on to its outline, so many lie there.
    hole = shapely.Polygon(HOLED.shape.interiors[0])
    apart = shapely.distance(
        hole, shapely.points(content.longitude / UNITS, content.latitude / UNITS)
    )
    assert (apart < 1e-3).sum() > 50


@pytest.mark.parametrize(
    "area",
    [
        StudyArea.from_bounds(179.9, -0.05, 180.0, 0.05),
        StudyArea.from_bounds(-180.0, 60.0, -179.9, 60.05),
        StudyArea.from_bounds(15.0, 84.9, 16.0, 85.0),
    ],
    ids=["antimeridian from the west", "antimeridian from the east", "as far north as maps go"],
)
def test_areas_at_the_edges_of_the_map_work_like_others(area: StudyArea) -> None:
    west, south, east, north = area.bounds
    generator = np.random.default_rng(4)
    rows = ArrayView(
        area=area,
        longitude=generator.uniform(west, east, 3000),
        latitude=generator.uniform(south, north, 3000),
        unit=Unit.RECORD,
        bound=1,
    )
    params = Params(cells=8)
    content = run(
        MECHANISM, rows, params, price(params, 1, area), SeededEntropy(1), {"title": "Points"}
    ).content
    assert isinstance(content, PointsRelease)
    lon, lat = content.longitude / UNITS, content.latitude / UNITS
    assert area.covers(lon, lat).all()
    # Points that noise moves out of the area must return to the edge that they crossed. At the
    # opposite edge, they would shift the mean away from the middle.
    assert abs(lon.mean() - (west + east) / 2) < (east - west) / 50
    assert content.density.sum() == pytest.approx(3000)
