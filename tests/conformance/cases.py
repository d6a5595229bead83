"""Registered mechanisms with many parameter values, and a small invented city."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import shapely

from dpgeo.core.attributes import Attribute, combinations
from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure
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
"""The study area. It is not a rectangle, so a grid over it has cells outside it."""

WARDS = Zones(
    keys=("west", "middle", "east", "centre"),
    names=("West", "Middle", "East", "Centre"),
    shapes=shapely.box([-0.01, 0.03, 0.06, 0.02], 0, [0.03, 0.06, 0.2, 0.07], 0.1),
)
"""Three strips that extend beyond the area, and a fourth zone that overlaps all of them."""

STOPS = Places(
    levels=("line", "street", "stop"),
    keys=tuple(map(str, range(60))),
    units=tuple((f"line {n % 3}", f"street {n % 12}", f"stop {n}") for n in range(60)),
    longitude=np.linspace(0.015, 0.085, 60),
    latitude=0.02 + 0.05 * (np.arange(60) * 7 % 60) / 60,
)
"""Places in a hierarchy of three levels; a few stops lie outside the area."""

PARTS = Zones(
    keys=("north", "south"),
    names=("North", "South"),
    shapes=shapely.box([-0.01, -0.01], [0.05, -0.01], [0.2, 0.2], [0.2, 0.05]),
)
"""Two zones that do not overlap."""

CROWD = Density(zones=WARDS, amounts=np.array([30.0, 5.0, 1.0, 60.0]))
"""The expected number of people in each ward."""

APP = Attribute("app", ("walker", "rider"))
"""A public attribute of every report."""

SPEED = Measure("speed", "Speed", "km/h", 0.0, 50.0)
"""A measure, with a value in each report; mechanisms for averages release its means."""

MODE = Category("mode", "Mode of transport", ("walk", "bike"))
"""A private category of each report, by which maps are divided."""

DOMAIN = Domain(
    AREA,
    {
        "wards": WARDS.within(AREA),
        "stops": STOPS.within(AREA),
        "crowd": CROWD.within(AREA),
        "parts": PARTS.within(AREA),
    },
    "UTC",
    (APP,),
    (SPEED,),
    (MODE,),
    destinations=True,
)

LAYERS = {"wards": LayerKind.ZONES, "stops": LayerKind.PLACES, "crowd": LayerKind.DENSITY}

FITTING = {"people": [300, 450], "hidden": [1, 2, 3], "reach": [150, 500]}
"""Values to try for parameters whose sensible values depend on the invented city.

`people` is below and above the city's number of people, `hidden` counts levels of its hierarchy of
places, and `reach` is a distance in metres from places, within which there are visits.
"""

BOUND = 3

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"
"""Whether this is the long run of `make audit`, which also tries the middle of each number's range.
"""

TEXTS: dict[str, list[int | bool | str]] = {"level": ["ln 2", "7"]}
"""Values to try, besides the default, of text parameters that have a parser of their own."""

LAYER: dict[str, Any] = {
    "name": "crowd",
    "title": "Where all are",
    "kind": "density",
    "sha256": "0" * 64,
    "features": 64,
    "declared_on": "2026-11-22",
    "declared_before_upload": False,
    "public_source": None,
    "release": {
        "id": "x",
        "title": "Where all are",
        "dataset": "Walks",
        "cost": "epsilon 1",
        "total": "epsilon 4",
        "same_budget": False,
        "used_layers": True,
    },
}
"""A public density that releases name as their prior, as a publisher declares it."""


def values(parameter: Parameter) -> list[int | bool | str]:
    """Return a parameter's default and the values most likely to break something."""
    if parameter.kind is bool:
        return [True, False]
    if parameter.layer:
        declared = LAYERS | {"parts": LayerKind.ZONES}
        known = [name for name, kind in declared.items() if kind == parameter.layer]
        return ["", *known] if parameter.optional else list(known)
    if parameter.measure:
        return ["", *(measure.column for measure in DOMAIN.measures)]
    if parameter.category:
        return ["", *(category.column for category in DOMAIN.categories)]
    if parameter.name in FITTING:
        return list(FITTING[parameter.name])
    if parameter.choices:
        return list(parameter.choices)
    if parameter.read:
        return [parameter.default, *TEXTS.get(parameter.name, [])]
    assert parameter.low is not None, f"{parameter.name} needs a lower limit."
    assert parameter.high is not None, f"{parameter.name} needs an upper limit."
    middle = [(parameter.low + parameter.high) // 2] if AUDIT else []
    return sorted({parameter.low, int(parameter.default), *middle, parameter.high})


def choices(cls: type[Any]) -> Iterator[dict[str, object]]:
    """Yield the defaults, and every value of each parameter with the others at their defaults."""
    yield {}
    for parameter in parameters(cls):
        for value in values(parameter):
            if value != parameter.default:
                yield {parameter.name: value}


def parsed(cls: type[Any], given: dict[str, object]) -> list[Any]:
    """Return a list with `given` as parsed parameters; empty if their combination is refused."""
    try:
        named = {"parts": LayerKind.ZONES} if "parts" in given.values() else {}
        return [settle_layers(parse_parameters(cls, given), LAYERS | named)]
    except InvalidInput:
        assert len(given) > 1, f"{given} lies within its own limits."
        return []


SIDE, PAIRED_SIDE, PEOPLE = 32, 5, 60
"""Values that keep releases small.

SIDE is the number of cells along a side of the grid, PAIRED_SIDE that number for flows and trips,
which count pairs of cells, and PEOPLE the value of the parameter `people`.
"""


def sides(cls: type[Any], side: int = SIDE) -> dict[str, object]:
    """Return small values for a mechanism's parameters that decide how many cells it counts.

    `cls` is the class of the mechanism's parameters. If there is a parameter `cells`, the number
    of cells along a side of the grid, it gets the value `side` (for flows and trips, at most
    PAIRED_SIDE). Otherwise, every integer parameter that is not in FITTING and whose default is
    above `side` gets the value `side`, or its lower limit if that is larger.
    """
    whole = {each.name: each for each in parameters(cls) if each.kind is int}
    if cls in {MECHANISMS["flows"].params, MECHANISMS["trips"].params}:
        return {"cells": min(side, PAIRED_SIDE)}
    if "cells" in whole:
        return {"cells": side}
    return {
        name: max(side, each.low or 0)
        for name, each in whole.items()
        if int(each.default) > side and name not in FITTING
    }


def small(cls: type[Any]) -> dict[str, object]:
    """Return the parameters that make a small release."""
    people = {each.name: PEOPLE for each in parameters(cls) if each.name == "people"}
    return sides(cls) | people


def fits(mechanism: Mechanism, params: Any) -> bool:
    """Return whether the mechanism can run: its forecast or price is not refused."""
    try:
        if mechanism.price is None:
            mechanism.forecast(params, Fraction(1), BOUND, DOMAIN)
        return mechanism.price is None or mechanism.price(params, BOUND, AREA) > 0
    except InvalidInput:
        return False


PLANS = [
    pytest.param(mechanism, params, id=f"{key} {given}")
    for key, mechanism in MECHANISMS.items()
    for given in choices(mechanism.params)
    for params in parsed(mechanism.params, given)
]
"""Pairs of mechanism and parameters with large grids, for tests that need no data."""

MANY, SHARES = 5, 3
"""If a parameter has at least MANY choices and is used by at least SHARES mechanisms, the choices
are divided into SHARES parts, and each of these mechanisms draws releases with one of the parts."""


def choices_drawn(cls: type[Any]) -> Iterator[dict[str, object]]:
    """Yield the parameters with which releases are drawn: all in the audit, else a share of them.

    Of a long list of choices, such as the divisions of a week, each mechanism draws only every
    third value; other mechanisms with the same parameter draw the rest. Plans and schemas are
    tested with all values.
    """
    drawn = {each.name: share(cls, each) for each in parameters(cls)}
    for given in choices(cls):
        if all(value in drawn[name] for name, value in given.items()):
            yield given


def share(cls: type[Any], parameter: Parameter) -> list[int | bool | str]:
    """Return the values of `parameter` with which releases of one mechanism are drawn.

    `cls` is the class of the mechanism's parameters.
    """
    every = values(parameter)
    users = [
        each.params
        for each in MECHANISMS.values()
        if parameter.name in {other.name for other in parameters(each.params)}
    ]
    if AUDIT or len(parameter.choices) < MANY or len(users) < SHARES:
        return every
    place = users.index(cls)
    # Number the choices from the end: some mechanisms have one more at the beginning, and a choice
    # must have the same number in all of them.
    return [
        value for number, value in enumerate(reversed(every)) if number % SHARES == place % SHARES
    ]


RUNS = [
    pytest.param(mechanism, params, id=f"{key} {given}")
    for key, mechanism in MECHANISMS.items()
    for given in choices_drawn(mechanism.params)
    if not given.keys() & sides(mechanism.params).keys()
    for params in parsed(mechanism.params, {**small(mechanism.params), **given})
    if fits(mechanism, params)
]
"""Pairs of mechanism and parameters with a small grid, for tests that draw releases."""


def is_form(mechanism: Any, params: Any) -> bool:
    """Return whether these parameters may give layers of another kind than others do.

    Numbers and choices are assumed not to, and of other values the first stands for the rest;
    `make audit` tries all. Writing files takes longest.
    """
    usual: dict[str, object] = {each.name: each.default for each in parameters(mechanism.params)}
    usual |= small(mechanism.params)
    for each in parameters(mechanism.params):
        value = getattr(params, each.name)
        if value == usual[each.name]:
            continue
        others = [other for other in values(each) if other != each.default]
        if each.kind is int or each.choices or value != others[-1]:
            return AUDIT
    return True


FORMS = [run for run in RUNS if is_form(*run.values)]
"""The pairs with which tests write files: of people, of nobody and of extreme counts."""

COUNTS = [run for run in RUNS if isinstance(run.values[0], Mechanism) and not run.values[0].price]
"""The pairs in RUNS whose mechanisms measure counts; the other mechanisms move points."""


def city(*, people: int = 400, counting: Counting = Counting.VISITS, seed: int = 1) -> ArrayView:
    """Return people with up to eight visits each around two centres; some lie outside the area."""
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
        measures=DOMAIN.measures,
        values=np.where(generator.random(persons.size) < 0.1, np.nan, 400 * longitude),
        destinations=(longitude[::-1], latitude[::-1]),
        categories=DOMAIN.categories,
        codes=generator.integers(0, len(MODE), persons.size),
    )


@cache
def nobody() -> ArrayView:
    """Return a dataset without rows."""
    return ArrayView(
        area=AREA,
        unit=Unit.PERSON,
        bound=BOUND,
        declared=DOMAIN.layers,
        attributes=DOMAIN.attributes,
        measures=DOMAIN.measures,
        destinations=((), ()),
        categories=DOMAIN.categories,
    )
