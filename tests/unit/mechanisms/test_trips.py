"""Synthetic trips: their measurements, the requests that are refused, and their files."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import geopandas
import numpy as np
import pandas
import pytest

from dpgeo.artefacts.files import MADE_UP_TRIPS, build_files
from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.released import Released, TripsRelease
from dpgeo.core.trip_paths import UNITS
from dpgeo.mechanisms import trips
from dpgeo.postprocess.layers import layers
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.artefacts.releases import trips_release
from tests.views import ArrayView

AREA = StudyArea.from_bounds(0, 0, 0.1, 0.1)
DOMAIN = Domain(AREA, time_zone="UTC", unit=Unit.PERSON)
SIDE = 4


def middle(cell: Any) -> tuple[np.ndarray, np.ndarray]:
    row, column = np.divmod(np.asarray(cell), SIDE)
    return 0.1 * (column + 0.5) / SIDE, 0.1 * (SIDE - row - 0.5) / SIDE


def walkers(cells: list[int], hours: list[int], people: int = 30, **facts: Any) -> ArrayView:
    """Return people who are all in the same cells at the same hours."""
    longitude, latitude = middle(cells * people)
    return ArrayView(
        area=AREA,
        longitude=longitude,
        latitude=latitude,
        persons=np.repeat(np.arange(people), len(cells)),
        hours=hours * people,
        **facts,
    )


def drawn(view: ArrayView, *, noise: bool = False, **chosen: Any) -> Released:
    params = trips.Params(**({"cells": SIDE, "gap_minutes": 60} | chosen))
    entropy = SeededEntropy(1) if noise else ZeroNoise()
    return run(trips.MECHANISM, view, params, Fraction(1), entropy, {"title": "Walks"})


def content_of(released: Released) -> TripsRelease:
    assert isinstance(released.content, TripsRelease)
    return released.content


def test_without_noise_the_three_tables_are_those_of_the_trips() -> None:
    # The first trip leads from cell 0 over 1 to 2; after a longer gap, another leads from 15 to 7.
    view = walkers([0, 1, 2, 15, 7], [1, 2, 3, 9, 10], bound=2)
    content = content_of(drawn(view))
    assert (content.ends[0, 2], content.ends[15, 7], content.ends.sum()) == (30, 30, 60)
    assert content.lengths[:3].tolist() == [0, 60, 0]
    moves = content.moves
    assert moves[0, 2] == moves[1, 2] == moves[15, 0] == moves[11, 0] == 30 * UNITS // 2
    assert moves.sum() == 60 * UNITS
    noises = (content.noise, content.move_noise, content.length_noise)
    assert [each.sensitivity for each in noises] == [2, 2 * UNITS, 2]
    assert [each.epsilon for each in noises] == [*trips.SHARES.values()]


def test_rows_with_destinations_are_trips_straight_there() -> None:
    start, end = middle([0] * 20), middle([10] * 20)
    view = ArrayView(
        area=AREA,
        longitude=start[0],
        latitude=start[1],
        persons=np.arange(20),
        destinations=end,
    )
    content = content_of(drawn(view))
    assert content.gap_minutes == 0
    assert content.ends[0, 10] == 20
    assert content.moves[0, 3] == content.moves[5, 3] == 20 * UNITS // 2


@pytest.mark.parametrize(
    ("cells", "epsilon", "least"), [(8, "1", 768), (12, "1", 2_592), (8, "0.1", 7_680)]
)
def test_where_trips_would_be_noise_they_are_refused(cells: int, epsilon: str, least: int) -> None:
    def forecast(people: int) -> Any:
        params = trips.Params(cells=cells, guessed_people=people)
        return trips.forecast(params, Fraction(epsilon), 1, DOMAIN)

    with pytest.raises(InvalidInput, match=f"take {least:,} at this epsilon") as refused:
        forecast(least - 1)
    assert refused.value.field == "guessed_people"
    assert f"{4 * least:,} people" in str(forecast(least).cautions[0])
    assert not forecast(4 * least).cautions


def test_layers_show_where_trips_lead_and_made_up_trips() -> None:
    released = trips_release()
    shown = {layer.name: layer for layer in layers(released)}
    assert [name for name, layer in shown.items() if layer.on_map] == ["moves", "trips"]
    moves = shown["moves"].columns
    told = moves["strength"] > 0
    assert set(moves["direction"][told]) == {90.0}
    assert moves["trips"][told].min() == 2400 / UNITS
    assert len(shown["trips"]) == 200
    assert shown["trips"].columns["made_up"].all()
    ends = shown["starts-ends"]
    assert ends.value is not None
    assert ends.value.min() >= content_of(released).noise.threshold(1 / 256)


def test_files_hold_the_same_trips_and_say_that_they_are_made_up(tmp_path: Path) -> None:
    released = trips_release()
    files = {each.name: each.path for each in build_files(released, tmp_path)}
    lines = geopandas.read_parquet(files["trips-made-up.parquet"])
    points = pandas.read_csv(files["trips-made-up.csv"])
    tracks = ElementTree.parse(files["trips-made-up.gpx"]).getroot()  # noqa: S314 - our own file
    name = "{http://www.topografix.com/GPX/1/1}"
    assert len(lines) == points["trip"].max() == len(tracks.findall(f"{name}trk")) > 200
    assert lines["made_up"].all()
    assert points["made_up"].all()
    assert "nobody made these trips" in (tracks.findtext(f"{name}metadata/{name}desc") or "")
    first = points[points["trip"] == 1]
    at = np.array(lines.geometry[0].coords)
    assert np.allclose(first[["longitude", "latitude"]], at)
    track = tracks.find(f"{name}trk")
    assert track is not None
    gpx = [
        [float(each.attrib["lon"]), float(each.attrib["lat"])]
        for each in track.iter(f"{name}trkpt")
    ]
    assert np.allclose(gpx, at)
    document = json.loads(files["statement.json"].read_text())
    assert document["product"]["type"] == "Synthetic data"
    assert {*MADE_UP_TRIPS} <= {each["name"] for each in document["files_on_request"]}
    assert any("trips-made-up.*" in step for step in document["post_processing"])
    assert (
        "at most 3 distinct pairs of a start and an end"
        in document["contribution_bound"]["meaning"]
    )
