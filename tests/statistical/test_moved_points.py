"""What outcomes tell of two places: never more than epsilon times their distance."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest

from benchmarks.__main__ import main
from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.privacy.perturbing import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS, Truncation
from tests.randomness import SeededWords

pytestmark = pytest.mark.statistical

DRAWS = 4_000_000 if os.environ.get("DPGEO_AUDIT") else 400_000
LEVEL = make_level("ln 4", 200)
NOISE = PlanarLaplace(LEVEL.epsilon, 1, 2)
PLACES = [(13.4, 52.5), (0.0, 0.0), (20.0, 80.0), (179.9995, -33.0)]


def outcomes(lon: float, lat: float, noise: PlanarLaplace, seed: int) -> np.ndarray:
    """Counts of 10 x 10 cells of 150 m around the first place, edges of a study area included."""
    area = StudyArea.from_bounds(max(-180, lon - 1), lat - 0.004, min(180, lon + 1), lat + 0.004)
    moved = move(np.full(DRAWS, lon), np.full(DRAWS, lat), noise, SeededWords(seed))
    east, north = Truncation(area, GroundGrid(noise.step)).apply(*moved)
    return np.column_stack([east / UNITS, north / UNITS])


def loss(metres: float, place: tuple[float, float], noise: PlanarLaplace) -> float:
    """A lower bound of the largest log-ratio of outcomes so many metres apart, east and west."""
    lon, lat = place
    step = math.degrees(metres / EARTH_RADIUS_METRES / math.cos(math.radians(lat)))
    first, second = (
        outcomes(lon - turn * step, lat, noise, seed) for turn, seed in ((0, 1), (1, 2))
    )
    scale = math.degrees(75 / EARTH_RADIUS_METRES)
    edges = [
        np.arange(-8, 9) * scale / math.cos(math.radians(lat)) + lon,
        np.arange(-6, 7) * scale + lat,
    ]
    counts = [np.histogram2d(each[:, 0], each[:, 1], bins=edges)[0] for each in (first, second)]
    enough = (counts[0] > 400) & (counts[1] > 400)
    ratio = np.abs(np.log(counts[0][enough] / counts[1][enough]))
    error = np.sqrt(1 / counts[0][enough] + 1 / counts[1][enough])
    return float((ratio - 4.5 * error).max())


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("metres", [50, 200, 400])
def test_no_outcome_tells_more_than_promised(metres: int, place: tuple[float, float]) -> None:
    assert loss(metres, place, NOISE) <= float(LEVEL.epsilon) * metres


def test_the_benchmark_finds_the_promise_kept_and_every_planted_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["geoind", "--json", "--draws", str(DRAWS // 4)])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kept: dict[str, list[bool]] = {}
    for line in lines:
        if line["figure"] == "promise":
            kept.setdefault(line["sampler"], []).append(line["lower"] <= line["claim"])
    assert kept.pop("dpgeo") == [True] * 4
    assert len(kept) == 2
    assert not any(any(found) for found in kept.values())


def test_a_sampler_that_promises_twice_as_much_is_found_out() -> None:
    wrong = PlanarLaplace(LEVEL.epsilon * 2, 1, 2)
    assert loss(200, PLACES[0], wrong) > float(LEVEL.epsilon) * 200


def test_metres_of_web_mercator_would_be_found_out() -> None:
    """What peers do at 60 degrees north: the noise is half as wide as is said."""
    wrong = PlanarLaplace(LEVEL.epsilon * 2, 1, 2)
    assert loss(200, (20.0, 60.0), wrong) > float(LEVEL.epsilon) * 200
