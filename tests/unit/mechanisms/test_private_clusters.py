from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import ClustersRelease, Released
from dpgeo.mechanisms import private_clusters
from dpgeo.postprocess.layers import PointLayer, ShapeLayer, layers
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.centres import Centres, ground_metres, nearest
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, view


def release(entropy: Any, *, epsilon: str = "1", people: int = 4000, **values: object) -> Released:
    params = parse_parameters(private_clusters.Params, {"clusters": 8, "cells": 128, **values})
    return run(private_clusters.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def content(released: Released) -> ClustersRelease:
    assert isinstance(released.content, ClustersRelease)
    return released.content


def truth(clusters: ClustersRelease, people: int = 4000) -> list[int]:
    """Return the number of bounded records nearest to each centre, without noise."""
    grid = Grid.over(TRIANGLE, 128)
    cells, counts = view(people).sparse_histogram(grid)._read_by_meter()
    cluster = nearest(grid, cells, Centres.from_degrees(clusters.longitude, clusters.latitude))
    totals = np.bincount(cluster, counts, len(clusters.counts))
    return [int(each) for each in totals]


def test_without_noise_its_counts_are_the_bounded_records_around_each_centre() -> None:
    result = content(release(ZeroNoise(), epsilon="1000"))

    assert result.counts.tolist() == truth(result)
    assert result.counts.sum() > 4000


def test_its_margins_cover_as_often_as_they_say() -> None:
    covered, reached = [], []
    for seed in range(150):
        released = release(SeededEntropy(seed), rounds=1)
        points, _ = layers(released)
        assert points.value is not None
        assert points.margin is not None
        error = np.abs(points.value - truth(content(released)))
        covered += (error <= points.margin).tolist()
        empty, _ = layers(release(SeededEntropy(seed), rounds=1, people=0))
        assert empty.value is not None
        assert empty.threshold is not None
        reached += (empty.value >= empty.threshold).tolist()

    slack = 7 * (0.05 * 0.95 / len(covered)) ** 0.5
    assert abs(np.mean(covered) - 0.95) < slack
    assert np.mean(reached) <= 1e-3 + 7 * (1e-3 / len(reached)) ** 0.5


def test_centres_move_to_where_people_are() -> None:
    result = content(release(SeededEntropy(1), epsilon="4"))
    crowds = Centres.from_degrees([10.02, 10.1], [50.06, 50.02])
    centres = Centres.from_degrees(result.longitude, result.latitude)
    away = ground_metres(
        Centres(crowds.x[:, None], crowds.y[:, None]), Centres(centres.x[None], centres.y[None])
    )

    assert away.min(axis=1).max() < 600


def test_it_shows_centres_and_their_areas_with_the_same_counts() -> None:
    released = release(SeededEntropy(1), clusters=30)
    points, areas = layers(released)

    assert isinstance(points, PointLayer)
    assert isinstance(areas, ShapeLayer)
    assert points.value is not None
    assert areas.value is not None
    owner = areas.columns["cluster"] - 1
    assert areas.value.tolist() == points.value[owner].tolist()
    assert sum(shape.area for shape in areas.shapes) == pytest.approx(TRIANGLE.shape.area)


def test_noise_that_would_not_fit_is_refused_before_paying() -> None:
    params = private_clusters.Params(rounds=20, cells=4096)
    forecast = private_clusters.forecast(params, Fraction(1), 10, Domain(TRIANGLE))
    assert forecast.noise == DiscreteLaplace(Fraction(1, 21), 10)
    with pytest.raises(InvalidInput, match="too small"):
        private_clusters.forecast(params, Fraction(1, 10**6), 10**7, Domain(TRIANGLE))
