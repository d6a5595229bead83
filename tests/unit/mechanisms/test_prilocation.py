from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import LocationsRelease, Released
from dpgeo.mechanisms import prilocation
from dpgeo.postprocess.layers import layers
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.randomness import Entropy
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE, view

SMALL = {"people": 320, "clusters": 4, "cells": 16}


def release(
    entropy: Entropy, *, epsilon: str = "8", people: int = 300, made_up: int = 320, **values: Any
) -> Released:
    params = parse_parameters(prilocation.Params, SMALL | {"people": made_up} | values)
    return run(prilocation.MECHANISM, view(people), params, Fraction(epsilon), entropy, {})


def content(released: Released) -> LocationsRelease:
    assert isinstance(released.content, LocationsRelease)
    return released.content


def test_without_noise_it_publishes_the_kept_places_under_fresh_labels() -> None:
    result = content(release(ZeroNoise(), epsilon="1000"))
    cells = view(300).visits(Grid.over(TRIANGLE, 16))._read_by_meter()[1]

    # Without randomness, everybody is assigned to the same virtual user, who keeps all records.
    assert np.unique(result.person).size == 1
    assert len(result.place) == result.counts.sum() == len(cells)


def test_places_stay_in_their_unit_and_rows_are_sorted() -> None:
    result = content(release(SeededEntropy(1), hidden=1))
    pairs = set(zip(result.bin_unit.tolist(), result.bin_cluster.tolist(), strict=True))

    drawn = zip(
        result.unit[result.place].tolist(), result.cluster[result.place].tolist(), strict=True
    )
    assert set(drawn) <= pairs
    assert (np.lexsort((result.place, result.person)) == np.arange(len(result.place))).all()
    assert result.person.max() < result.people


def test_its_margins_cover_as_often_as_they_say() -> None:
    covered = []
    truth = view(300).visits(Grid.over(TRIANGLE, 16)).counts()._read_by_meter()[1].sum()
    for seed in range(60):
        result = content(release(SeededEntropy(seed), clusters=1, hidden=3, rounds=1, epsilon="20"))
        covered.append(abs(int(result.counts[0]) - truth) <= result.noise.margin())

    # If the margin really covered 95 % of counts, it would cover 42 or fewer of 60 in less than one
    # of 1e9 runs.
    assert np.mean(covered) > 0.7


def test_more_persons_than_virtual_users_share_them() -> None:
    result, shared = (
        content(release(SeededEntropy(1), epsilon="1000", made_up=number)) for number in (320, 40)
    )

    # At this epsilon noise changes no count. So all persons together have equally many records,
    # whether there are 320 virtual users or 40.
    assert len(shared.place) == len(result.place)
    assert set(shared.person.tolist()) == set(range(40))


@pytest.mark.parametrize(
    ("values", "epsilon", "field"),
    [
        ({"people": 200_000}, "1", "people"),
        ({"people": 20_000}, "0.01", "people"),
        ({"clusters": 100, "cells": 4}, "8", "clusters"),
        ({"places": "corner", "hidden": 3, "clusters": 2}, "8", "hidden"),
        ({"places": "corner", "hidden": 1, "clusters": 2}, "8", "hidden"),
    ],
)
def test_unsuitable_parameters_are_refused_before_paying(
    values: dict[str, Any], epsilon: str, field: str
) -> None:
    corner = Places(
        levels=("city", "street"),
        keys=("a", "b"),
        units=(("A", "1"), ("B", "1")),
        longitude=np.array([10.05, 10.1]),
        latitude=np.array([50.02, 50.01]),
    )
    params = parse_parameters(prilocation.Params, SMALL | values)
    with pytest.raises(InvalidInput) as refusal:
        prilocation.forecast(params, Fraction(epsilon), 10, Domain(TRIANGLE, {"corner": corner}))
    assert refusal.value.field == field


def test_declared_places_are_drawn_from() -> None:
    generator = np.random.default_rng(2)
    stops = Places(
        levels=("line", "stop"),
        keys=tuple(map(str, range(50))),
        units=tuple((f"line {n % 5}", f"stop {n}") for n in range(50)),
        longitude=generator.uniform(10.0, 10.1, 50),
        latitude=generator.uniform(50.0, 50.04, 50),
    )
    seen = dataclasses.replace(view(300), declared={"stops": stops})
    params = parse_parameters(prilocation.Params, SMALL | {"places": "stops", "hidden": 1})
    released = run(prilocation.MECHANISM, seen, params, Fraction(8), SeededEntropy(1), {})

    result = content(released)
    assert result.levels == ("line",)
    assert result.unit_paths == tuple((f"line {n}",) for n in range(5))
    assert result.longitude.tolist() == stops.longitude.tolist()
    assert [layer.name for layer in layers(released)] == [
        "bins",
        "clusters",
        "areas",
        "units",
        "places",
    ]
