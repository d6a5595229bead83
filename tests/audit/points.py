"""Audit of planar Laplace: files of people at one of two places, released by the engine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.promise import tell_apart
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import PointsRelease, Released
from dpgeo.mechanisms import planar_laplace
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS
from tests.audit.attack import CHANCE, Finding, hockey_stick, power
from tests.audit.datasets import EDGE, uploaded, view_of
from tests.audit.faults import epsilon_times
from tests.randomness import SeededEntropy
from tests.statistical.audit import Floats, Proof
from tests.statistical.bounds import seed

MIDDLE = EDGE / 2
PEOPLE = 100_000
"""People in a file, who each report once."""

METRES = 400
"""Distance between the two places, twice the radius."""

LEVEL = {"level": "ln 4", "radius": 200, "cells": 1}


@dataclass
class Points:
    """Published points of people who are all at one place, release after release."""

    folder: Path
    bound: int
    padded: bool
    left: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    def draw(self, east: float, size: int, first_seed: int) -> tuple[Floats, Floats]:
        """Return `size` points in metres east and north of the study area's middle."""
        entropy = SeededEntropy(seed(first_seed))
        shuffled = np.random.default_rng(seed(first_seed + 7))
        chunks: list[Floats] = []
        while sum(chunk.shape[1] for chunk in chunks) < size:
            points = _metres(self.release(east, entropy))
            # Published points are sorted, and only some of the last release's are used.
            chunks.append(shuffled.permutation(points, axis=1))
        together = np.concatenate(chunks, axis=1)[:, :size]
        return together[0], together[1]

    def release(self, east: float, entropy: SeededEntropy) -> Released:
        """Return a release of people `east` metres from the middle."""
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


def audit_points(*, padded: bool, factor: Fraction, draws: int) -> Finding:
    """Audit the claim for two places METRES apart, under a planted factor."""
    with TemporaryDirectory() as folder, epsilon_times(factor):
        points = Points(Path(folder), bound=2 if padded else 1, padded=padded)
        noise = _noise(points)
        found = tell_apart(points.draw, METRES, draws, 2 / float(noise.declared), CHANCE)
    claim = float(noise.loss_within(METRES))
    proof = Proof("places", 0.0, found.more, found.less, found.draws)
    return Finding(
        case="planar-laplace, padded" if padded else "planar-laplace",
        factor=float(factor),
        claim=claim,
        pair=f"two places {METRES} m apart",
        event="a set of places",
        draws=draws,
        epsilon=max(0.0, found.lower),
        delta=hockey_stick(proof, claim),
        power=power(proof, claim),
    )


def _noise(points: Points) -> PlanarLaplace:
    content = points.release(-METRES / 2, SeededEntropy(seed(1))).content
    assert isinstance(content, PointsRelease)
    return content.noise


def padded_numbers() -> Iterator[int]:
    """Yield how many points are published of people with one report each, and with two."""
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
