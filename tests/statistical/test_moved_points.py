"""Perturbed points from two places: log-ratios compared with epsilon times the distance."""

from __future__ import annotations

import argparse
import json
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from benchmarks import geoind
from benchmarks.promise import Floats, tell_apart
from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.privacy.planar_laplace_sampler import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import GroundGrid, grid_step, input_step
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS, Truncation
from tests.randomness import SeededWords

pytestmark = pytest.mark.statistical

DRAWS = 4_000_000 if os.environ.get("DPGEO_AUDIT") else 400_000
LEVEL = make_level("ln 4", 200)
NOISE = PlanarLaplace(LEVEL.epsilon, 1, 2, 1000)
PLACES = [(13.4, 52.5), (0.0, 0.0), (20.0, 80.0), (179.9995, -33.0)]

CHANCE = 1e-10
"""Probability of a false alarm in one comparison."""


def loss(metres: float, place: tuple[float, float], noise: PlanarLaplace) -> float:
    """Return a lower bound on the largest log-ratio of an outcome's probabilities at two places.

    The places are `metres` apart, and `place` is the eastern one, which may lie near the study
    area's edges.
    """
    lon, lat = place
    degree = math.radians(EARTH_RADIUS_METRES)
    wide = degree * math.cos(math.radians(lat))
    area = StudyArea.from_bounds(max(-180, lon - 1), lat - 0.004, min(180, lon + 1), lat + 0.004)
    snapped = Truncation(area, GroundGrid(noise.step))

    def draw(east: float, size: int, seed: int) -> tuple[Floats, Floats]:
        made = lon + (east - metres / 2) / wide
        moved = move(np.full(size, made), np.full(size, lat), noise, SeededWords(seed))
        longitude, latitude = snapped.apply(*moved)
        return (longitude / UNITS - lon) * wide, (latitude / UNITS - lat) * degree

    return tell_apart(draw, metres, DRAWS, 2 / float(noise.declared), CHANCE).lower


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("metres", [50, 200, 400])
def test_no_outcome_exceeds_the_guaranteed_epsilon(metres: int, place: tuple[float, float]) -> None:
    assert loss(metres, place, NOISE) <= float(LEVEL.epsilon) * metres


@pytest.mark.parametrize("radius", [1, 5, 20, 50, 200, 5000])
def test_two_reports_on_either_side_of_a_snapping_edge_are_not_told_apart(radius: int) -> None:
    """Two reports beside a snapping edge are as hard to distinguish as the level requires.

    The level is 2 within the radius. The positions are a fiftieth of the radius apart, one on
    either side of the edge between two points of the grid to which inputs are snapped.
    """
    level, apart = make_level("2", radius), Fraction(radius, 50)
    noise = PlanarLaplace(level.epsilon, 1, grid_step(radius), input_step(radius))
    claim = float(noise.loss_within(apart))
    assert claim < 0.06
    assert loss(float(apart), beside_an_edge(noise.snapping, float(apart)), noise) <= claim


def test_two_reports_two_centimetres_apart_would_be_told_apart_by_a_coarse_grid() -> None:
    """The audit finds that points snapped to the coarse grid of old versions reveal too much.

    Before version 0.2, two reports a few centimetres apart, on either side of a cell's edge,
    differed by a whole cell.
    """
    level = make_level("2", 1)
    coarse = PlanarLaplace(level.epsilon, 1, grid_step(1), 1000 * grid_step(1))
    assert loss(0.02, beside_an_edge(coarse.snapping, 0.02), coarse) > 1


def beside_an_edge(step: float, apart: float) -> tuple[float, float]:
    """Return the position on the equator `apart` / 2 metres east of the edge of a grid cell."""
    points = math.floor(2 * math.pi * EARTH_RADIUS_METRES / step)
    edge = 360 / points * (round(points * 13.4 / 360) + 0.5)
    return edge + math.degrees(apart / 2 / EARTH_RADIUS_METRES), 0.0


def test_the_benchmark_finds_the_promise_kept_and_every_planted_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The parser is built here, so that this suite need not import the command: the hash recorded
    # for the suite covers all modules that it imports.
    parser = argparse.ArgumentParser()
    geoind.add_to(parser.add_subparsers())
    geoind.measure(parser.parse_args(["geoind", "--json", "--draws", str(DRAWS // 4)]))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    outcomes: dict[str, list[bool]] = {}
    for line in lines:
        if line["figure"] == "promise":
            outcomes.setdefault(line["sampler"], []).append(line["lower"] <= line["claim"])
    assert outcomes.pop("dpgeo") == [True] * 4
    assert len(outcomes) == 2
    assert not any(any(outcome) for outcome in outcomes.values())


def test_a_sampler_that_moves_three_tenths_too_little_is_found_out() -> None:
    wrong = PlanarLaplace(LEVEL.epsilon * Fraction(13, 10), 1, 2, 1000)
    assert loss(200, PLACES[0], wrong) > float(LEVEL.epsilon) * 200


def test_metres_of_web_mercator_would_be_found_out() -> None:
    """The test would detect noise drawn in Web Mercator metres.

    At 60 degrees north, such noise is half as wide as declared.
    """
    wrong = PlanarLaplace(LEVEL.epsilon * 2, 1, 2, 1000)
    assert loss(200, (20.0, 60.0), wrong) > float(LEVEL.epsilon) * 200
