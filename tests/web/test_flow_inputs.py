"""Published maps of flows from each form of input: trips of MDS, and a person's visits."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client

from dpgeo.core.released import FlowsRelease
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from tests.makers import ask_for

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

MIDDLES = [(10.0125 + 0.025 * (n % 4), 0.0875 - 0.025 * (n // 4)) for n in range(16)]
"""Longitudes and latitudes of sixteen squares, named A1 to D4 by row from the north.

On the equator, degrees to the east and to the north are equally long, so squares of degrees are
squares on the map; there are four along each side.
"""

NAMES = [f"{'ABCD'[n % 4]}{n // 4 + 1}" for n in range(16)]
MORNING = 1_777_900_000
"""A moment on a Monday in May 2026, in seconds since 1970."""

WAYS = {(0, 5): 400, (5, 0): 250, (3, 12): 300, (15, 5): 150}


def near(square: int, random: np.random.Generator) -> tuple[float, float]:
    longitude, latitude = np.array(MIDDLES[square]) + random.uniform(-0.008, 0.008, 2)
    return round(float(longitude), 6), round(float(latitude), 6)


def visits_file(path: Path) -> None:
    """Write visits in mixed order.

    Everybody's second visit is two hours after the first. Every other person makes a third one, 28
    hours later.
    """
    random, rows, person = np.random.default_rng(4), [], 0
    for (start, end), number in WAYS.items():
        for _ in range(number):
            hours = (0, 2, 30) if person % 2 else (0, 2)
            for square, hour in zip((start, end, 10), hours, strict=False):
                x, y = near(square, random)
                rows.append(f"v{person},{x},{y},{MORNING + 3600 * hour}")
            person += 1
    random.shuffle(rows)
    path.write_text("\n".join(["visitor,lon,lat,time", *rows, ""]))


def published(path: Path, *columns: str, params: tuple[str, ...] = ()) -> FlowsRelease:
    """Ingest a file and publish a map of its flows, with little noise."""
    call_command(
        "ingest", str(path), "--create", "--dataset=ways", "--title=Ways", "--organisation=City",
        "--area=10,0,10.1,0.1", "--budget=50", "--row-noun=trip", *columns, stdout=io.StringIO(),
    )  # fmt: skip
    call_command(
        "release", "ways", "--mechanism=flows", "--epsilon=40", "--bound=1", "--param=cells=4",
        *(f"--param={each}" for each in params), "--publish", "--wait", stdout=io.StringIO(),
    )  # fmt: skip
    content = load_released(Release.objects.get()).content
    assert isinstance(content, FlowsRelease)
    return content


def listed() -> dict[tuple[str, str], int]:
    """Return the flows in the published file of the map."""
    client, release = Client(), ask_for(Release.objects.get(), "flows.flowmap.json")
    document = json.loads(client.get(f"/api/v1/releases/{release.pk}").content)
    addresses = {file["name"]: file["url"] for file in document["files"]}
    flows: dict[str, Any] = json.loads(b"".join(client.get(addresses["flows.flowmap.json"])))
    return {(each["origin"], each["dest"]): each["count"] for each in flows["flows"]}


def planted() -> dict[tuple[str, str], int]:
    return {(NAMES[start], NAMES[end]): number for (start, end), number in WAYS.items()}


def agrees(found: dict[tuple[str, str], int]) -> bool:
    """Return whether flows equal `planted()` up to noise: at epsilon 24, at most 2 trips each."""
    return found.keys() == planted().keys() and all(
        abs(number - found[way]) <= 2 for way, number in planted().items()
    )


@pytest.mark.parametrize(("gap", "way_on"), [(6, False), (48, True)])
def test_visits_of_a_person_within_a_gap_become_flows(
    tmp_path: Path, gap: int, way_on: bool
) -> None:
    path = tmp_path / "visits.csv"
    visits_file(path)
    content = published(
        path, "--person=visitor", "--time=time", "--longitude=lon", "--latitude=lat",
        params=(f"gap_hours={gap}",),
    )  # fmt: skip
    assert content.gap_hours == gap
    found = listed()
    if not way_on:
        assert agrees(found)
    else:  # Of a person's two trips, only one counts, so the exact count of a pair is unknown.
        on = {way: number for way, number in found.items() if way[1] == NAMES[10]}
        assert {way[0] for way in on} == {NAMES[end] for _, end in WAYS}
        assert abs(sum(found.values()) - sum(WAYS.values())) <= 10
