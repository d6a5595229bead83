"""Registered mechanisms with many parameter values, and a small city as data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.core.attributes import Attribute, combinations
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.parameters import Parameter, parameters, parse_parameters, settle_layers
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy.mechanism import Mechanism
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones
from tests.views import ArrayView

AREA = StudyArea.from_geojson(
    {"type": "Polygon", "coordinates": [[[0, 0], [0.1, 0.02], [0.08, 0.1], [0.01, 0.07], [0, 0]]]}
)
"""Not a box, so that some cells of every grid lie outside it."""

WARDS = Zones(
    keys=("west", "middle", "east", "centre"),
    names=("West", "Middle", "East", "Centre"),
    shapes=shapely.box([-0.01, 0.03, 0.06, 0.02], 0, [0.03, 0.06, 0.2, 0.07], 0.1),
)
"""Three strips that reach beyond the area, and a zone that overlaps them all."""

STOPS = Places(
    levels=("line", "street", "stop"),
    keys=tuple(map(str, range(60))),
    units=tuple((f"line {n % 3}", f"street {n % 12}", f"stop {n}") for n in range(60)),
    longitude=np.linspace(0.015, 0.085, 60),
    latitude=0.02 + 0.05 * (np.arange(60) * 7 % 60) / 60,
)
"""Three levels; a few stops lie outside the area."""

CROWD = Density(zones=WARDS, amounts=np.array([30.0, 5.0, 1.0, 60.0]))
"""How many people are expected in each of them."""

APP = Attribute("app", ("walker", "rider"))
"""What anybody knows of every report."""

DOMAIN = Domain(
    AREA,
    {"wards": WARDS.within(AREA), "stops": STOPS.within(AREA), "crowd": CROWD.within(AREA)},
    "UTC",
    (APP,),
)

LAYERS = {"wards": LayerKind.ZONES, "stops": LayerKind.PLACES, "crowd": LayerKind.DENSITY}

FITTING = {"people": [300, 450], "hidden": [1, 2, 3]}
"""Values of parameters that only the city can tell: fewer and more people than it has, and the
levels of its places."""

BOUND = 3

TEXTS: dict[str, list[int | bool | str]] = {"level": ["ln 2", "7"]}
"""Further values of texts that are read in a way of their own."""


def values(parameter: Parameter) -> list[int | bool | str]:
    """The default, and the values at which a parameter is most likely to break something."""
    if parameter.kind is bool:
        return [True, False]
    if parameter.layer:
        known = [name for name, kind in LAYERS.items() if kind == parameter.layer]
        return ["", *known] if parameter.optional else list(known)
    if parameter.name in FITTING:
        return list(FITTING[parameter.name])
    if parameter.choices:
        return list(parameter.choices)
    if parameter.read:
        return [parameter.default, *TEXTS.get(parameter.name, [])]
    assert parameter.low is not None, f"{parameter.name} needs a lower limit."
    assert parameter.high is not None, f"{parameter.name} needs an upper limit."
    middle = (parameter.low + parameter.high) // 2
    return sorted({parameter.low, int(parameter.default), middle, parameter.high})


def choices(cls: type[Any]) -> Iterator[dict[str, object]]:
    """The defaults, and every value of each parameter with the others at their defaults."""
    yield {}
    for parameter in parameters(cls):
        for value in values(parameter):
            if value != parameter.default:
                yield {parameter.name: value}


def parsed(cls: type[Any], given: dict[str, object]) -> list[Any]:
    """The parameters, or none where a mechanism refuses the combination."""
    try:
        return [settle_layers(parse_parameters(cls, given), LAYERS)]
    except InvalidInput:
        assert len(given) > 1, f"{given} lies within its own limits."
        return []


def small(cls: type[Any], side: int = 32) -> dict[str, object]:
    """The choice of a small grid: `cells`, or else all whole numbers that are larger by default."""
    whole = {each.name: each for each in parameters(cls) if each.kind is int}
    if "cells" in whole:
        return {"cells": side}
    return {
        name: max(side, each.low or 0)
        for name, each in whole.items()
        if int(each.default) > side and name not in FITTING
    }


def fits(mechanism: Mechanism, params: Any) -> bool:
    """Whether the parameters have a price in this study area, where they have one at all."""
    try:
        return mechanism.price is None or mechanism.price(params, BOUND, AREA) > 0
    except InvalidInput:
        return False


PLANS = [
    pytest.param(mechanism, params, id=f"{key} {given}")
    for key, mechanism in MECHANISMS.items()
    for given in choices(mechanism.params)
    for params in parsed(mechanism.params, given)
]
"""Mechanism and parameters, large grids too: for what needs no data."""

RUNS = [
    pytest.param(mechanism, params, id=f"{key} {given}")
    for key, mechanism in MECHANISMS.items()
    for given in choices(mechanism.params)
    if not given.keys() & small(mechanism.params).keys()
    for params in parsed(mechanism.params, {**given, **small(mechanism.params)})
    if fits(mechanism, params)
]
"""Mechanism and parameters on a small grid: for what releases."""


COUNTS = [run for run in RUNS if isinstance(run.values[0], Mechanism) and not run.values[0].price]
"""Of these, what measures counts."""


def city(*, people: int = 400, counting: Counting = Counting.VISITS, seed: int = 1) -> ArrayView:
    """People with up to eight visits each around two centres; some lie outside the area."""
    return _city(people, counting, seed)


@cache
def _city(people: int, counting: Counting, seed: int) -> ArrayView:
    generator = np.random.default_rng(seed)
    persons = np.repeat(np.arange(people), generator.integers(1, 9, people))
    centres = np.array([[0.03, 0.03], [0.07, 0.06]])[generator.integers(0, 2, persons.size)]
    longitude, latitude = (centres + generator.normal(0, 0.01, centres.shape)).T
    return ArrayView(
        area=AREA,
        longitude=longitude,
        latitude=latitude,
        persons=persons,
        hours=generator.integers(0, 168, persons.size),
        counting=counting,
        bound=BOUND,
        declared=DOMAIN.layers,
        attributes=DOMAIN.attributes,
        combination=generator.integers(0, combinations(DOMAIN.attributes), persons.size),
    )


@cache
def nobody() -> ArrayView:
    """A dataset without a row."""
    return ArrayView(
        area=AREA,
        unit=Unit.PERSON,
        bound=BOUND,
        declared=DOMAIN.layers,
        attributes=DOMAIN.attributes,
    )
