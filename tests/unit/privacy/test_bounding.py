"""Popular contribution bounding, which spends a tenth of epsilon on ranking regions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.guarantees import Bounding
from dpgeo.core.released import ZonesRelease
from dpgeo.mechanisms import uniform_grid, zones
from dpgeo.privacy.bounding import PILOT, Popularity, split
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.conformance.cases import AREA, BOUND, DOMAIN, city
from tests.noise import laplace
from tests.randomness import SeededEntropy, ZeroNoise


def test_only_popular_bounding_costs_epsilon() -> None:
    assert split(Fraction(1), Bounding.RANDOM) == ([], Fraction(1))
    (look,), rest = split(Fraction(1), Bounding.POPULAR)
    assert (look.label, look.epsilon, rest) == (PILOT, Fraction(1, 10), Fraction(9, 10))


def test_a_cell_is_as_popular_as_the_coarse_cell_around_its_centre() -> None:
    coarse, fine, whole = Grid.over(AREA, 4), Grid.over(AREA, 32), Grid.over(AREA, 2)
    counts = np.arange(16)[::-1].copy()
    table = Popularity(coarse, counts).table(fine)
    ranks = table.of_cells(np.arange(fine.size), fine).reshape(32, 32)
    for row in range(4):
        for column in range(4):
            block = ranks[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
            assert (block == 4 * row + column).all()
    larger = Popularity(coarse, counts).table(whole)
    assert larger.of_cells(np.arange(4), whole).tolist() == [0, 1, 2, 3]


def test_the_trace_of_popular_bounding_lists_its_spends() -> None:
    released = run(
        uniform_grid.MECHANISM,
        city(),
        uniform_grid.Params(cells=16),
        Fraction(1),
        SeededEntropy(1),
        {},
        Bounding.POPULAR,
    )
    assert released.bounding is Bounding.POPULAR
    assert [(line.label, line.epsilon) for line in released.trace] == [
        (PILOT, Fraction(1, 10)),
        ("cell counts", Fraction(9, 10)),
    ]
    look, counts = (laplace(line.noise) for line in released.trace)
    assert (look.sensitivity, counts.sensitivity) == (1, BOUND)


@pytest.mark.parametrize("bounding", list(Bounding))
def test_popular_places_are_kept_first(bounding: Bounding) -> None:
    """Popular bounding keeps a person's most popular places.

    As many contributions are kept as with random bounding, but more of these in the fullest zone.
    """
    params = zones.Params(zones="wards")
    released = run(zones.MECHANISM, city(), params, Fraction(1), ZeroNoise(), {}, bounding)
    assert isinstance(released.content, ZonesRelease)
    counts = released.content.counts
    seen = city().zone_counts(DOMAIN.layer("wards", Zones))._read_by_meter()
    if bounding is Bounding.RANDOM:
        assert counts.tolist() == seen.tolist()
    else:
        assert counts.max() > seen.max()
        assert counts.sum() == seen.sum()
