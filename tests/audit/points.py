"""Audit of planar Laplace, with releases in which everybody is at one of two places."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PointsRelease, Released
from dpgeo.mechanisms import planar_laplace
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS
from tests.audit.attack import CHANCE, Finding
from tests.audit.datasets import EDGE, Ints, uploaded, view_of
from tests.audit.faults import epsilon_times
from tests.audit.guessing import Floats, Rule, best_rule, play
from tests.randomness import SeededEntropy
from tests.statistical.bounds import seed

MIDDLE = EDGE / 2
PEOPLE = 100_000
"""Number of people in a file; each reports once."""

MOST, MAX_PADDED = 2_000_000, 2_000_000
"""Largest numbers of published points on which the attacker guesses, from both places together,
without and with padding.
"""

CATCH = Fraction(11, 10)
"""Smallest factor on epsilon, planted as a fault, that the audit must detect."""

PLAIN, PADDED = "planar-laplace", "planar-laplace, padded"

CELLS, REACH = 24, 3.0
"""Number of cells along each side of the square in which points are counted, and half of the
square's side.

The side is in units of the noise's mean distance. All points outside the square are in one further
cell.
"""

METRES = 400
"""Distance between the two places at which people are: twice the radius of the audited level."""

LEVEL = {"level": "ln 4", "radius": 200, "cells": 1}


@dataclass
class Points:
    """Source of perturbed points, by repeated releases in which everybody is at the same place."""

    folder: Path
    bound: int
    padded: bool
    streams: dict[int, tuple[SeededEntropy, np.random.Generator]] = field(default_factory=dict)

    def places(self, side: int, size: int, *, first_seed: int) -> Floats:
        """Return `size` points (size, 2) of people at place `side`, 0 in the west or 1 in the east.

        The points are in metres east and north of the study area's middle. Repeated calls with the
        same seed continue one stream of noise.
        """
        number = first_seed + side
        fresh = SeededEntropy(seed(number)), np.random.default_rng(seed(number + 7))
        entropy, shuffled = self.streams.setdefault(number, fresh)
        chunks: list[Floats] = []
        while sum(map(len, chunks)) < size:
            points = _metres(self.release((side - 0.5) * METRES, entropy)).T
            # Published points are sorted and only part of the last release is used, so shuffle
            # them.
            chunks.append(shuffled.permutation(points))
        return np.concatenate(chunks)[:size]

    def release(self, east: float, entropy: SeededEntropy) -> Released:
        """Return a release of people who are all `east` metres east of the study area's middle."""
        path = self.folder / f"{east:g}.parquet"
        if not path.exists():
            longitude = MIDDLE + math.degrees(east / EARTH_RADIUS_METRES)
            where = np.full(PEOPLE, longitude), np.full(PEOPLE, MIDDLE)
            uploaded(self.folder, f"{east:g}", *where, np.arange(PEOPLE))
        mechanism = planar_laplace.MECHANISM
        params = parse_parameters(mechanism.params, LEVEL | {"padded": self.padded})
        view = view_of(path, bound=self.bound)
        assert mechanism.price is not None
        price = mechanism.price(params, self.bound, view.domain.area)
        return run(mechanism, view, params, price, entropy, {})


def _metres(released: Released) -> Floats:
    content = released.content
    assert isinstance(content, PointsRelease)
    degrees = np.stack([content.longitude, content.latitude]) / UNITS - MIDDLE
    return np.asarray(np.radians(degrees) * EARTH_RADIUS_METRES)


def audit_points(
    *, padded: bool, factors: tuple[Fraction, ...], effort: float = 1.0
) -> Iterator[Finding]:
    """Audit the claim for two places that are METRES apart, once for each of the `factors`.

    Noise is drawn for the claimed epsilon times the factor; factors above 1 are planted faults.
    Every point counts as one draw, because different people's reports have independent noise. With
    `padded`, made-up reports are added, so that everybody has equally many. `effort` is the share
    of the usual number of draws.
    """
    name = PADDED if padded else PLAIN
    most = int((MAX_PADDED if padded else MOST) * effort)
    with TemporaryDirectory() as folder:
        points = Points(Path(folder), bound=2 if padded else 1, padded=padded)
        noise = _noise(points)
        claim = float(noise.loss_within(METRES))
        with epsilon_times(CATCH):
            rule = _learned(points, 2 / float(noise.declared), most)
        for number, factor in enumerate(factors):
            with epsilon_times(factor):
                guesses = play(
                    partial(points.places, first_seed=1000 * (number + 2)),
                    rule,
                    claim=claim,
                    most=most,
                    batch=min(PEOPLE, most // 4),
                    chance=CHANCE,
                    coin=seed(500 + number),
                )
            yield Finding(
                case=name,
                factor=float(factor),
                claim=claim,
                pair=f"two places {METRES} m apart",
                event=rule.event,
                guesses=guesses,
                most=most,
            )


def _learned(points: Points, scale: float, most: int) -> Rule:
    """Return a rule that guesses, from a point's cell, at which place its person is.

    `scale` is the mean distance by which noise moves points. Half of the draws are counted by cell
    to learn each cell's odds; the other half choose the rule.
    """
    runs = max(20_000, most // 10)
    taught = [points.places(side, runs, first_seed=0) for side in (0, 1)]
    counts = [np.bincount(cells_of(each, scale), minlength=CELLS**2 + 1) for each in taught]
    score = partial(_odds, scale, np.log((counts[1] + 2) / (counts[0] + 2)))
    chosen = [points.places(side, runs, first_seed=1000) for side in (0, 1)]
    return best_rule({"cells of the plane": score}, chosen, most)


def _odds(scale: float, odds: Floats, places: Floats) -> Floats:
    """Return the log-odds of the second place for each point.

    `odds` holds these log-odds for each cell; a point has those of the cell that contains it.
    """
    return np.asarray(odds[cells_of(places, scale)])


def cells_of(places: Floats, scale: float) -> Ints:
    """Return the number of the cell in which each point of `places` (n, 2), in metres, lies.

    Points outside the square of cells get the number of the last cell. `scale` is the noise's mean
    distance in metres.
    """
    column, row = np.floor((places.T / (REACH * scale) + 1) * (CELLS / 2)).astype(np.int64)
    inside = (column >= 0) & (column < CELLS) & (row >= 0) & (row < CELLS)
    return np.where(inside, row * CELLS + column, CELLS**2)


def _noise(points: Points) -> PlanarLaplace:
    content = points.release(-METRES / 2, SeededEntropy(seed(1))).content
    assert isinstance(content, PointsRelease)
    return content.noise


def padded_numbers() -> Iterator[int]:
    """Yield the number of published points if everybody has one report, and if everybody has two.

    Releases are padded, so the two numbers must be equal.
    """
    mechanism = planar_laplace.MECHANISM
    params = parse_parameters(mechanism.params, LEVEL | {"padded": True})
    with TemporaryDirectory() as folder:
        for reports in (1, 2):
            people = np.repeat(np.arange(50), reports)
            where = np.full(people.size, MIDDLE), np.full(people.size, MIDDLE)
            path = uploaded(Path(folder), f"reports{reports}", *where, people)
            view = view_of(path, bound=2)
            assert mechanism.price is not None
            price = mechanism.price(params, 2, view.domain.area)
            released = run(mechanism, view, params, price, SeededEntropy(seed(3)), {})
            assert isinstance(released.content, PointsRelease)
            yield released.content.longitude.size
