"""Ranked places, from a file to the published map, in a real browser."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.urls import reverse

from dpgeo.core.released import PlacesRelease
from dpgeo.datasets.layer_declaration import PublicSource
from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import Dataset
from dpgeo.pages.place_rows import place_lists
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from tests.browser.opening import Open
from tests.browser.pixels import screenshot, share, token

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STOPS = 40


@pytest.fixture
def published(tmp_path: Path) -> Release:
    """Publish a ranking of stops by day of the week, from a file of 20,000 boardings.

    Stop 1 is the busiest, then stop 2 and so on; on Sundays the order is reversed.
    """
    cache.clear()
    random = np.random.default_rng(4)
    at = np.column_stack(
        [random.uniform(10.005, 10.095, STOPS), random.uniform(50.005, 50.095, STOPS)]
    )
    share = 1 / np.arange(1, STOPS + 1) ** 0.8
    lines = ["who,lon,lat,seen"]
    for person, stop in enumerate(random.choice(STOPS, 20_000, p=share / share.sum()).tolist()):
        day = person % 28 + 1  # 2026-05-03 is a Sunday
        lon, lat = at[STOPS - 1 - stop if day % 7 == 3 else stop] + random.normal(0, 2e-4, 2)
        lines.append(f"p{person},{lon:.6f},{lat:.6f},2026-05-{day:02d}T12:10:00")
    path, output = tmp_path / "boardings.csv", io.StringIO()
    path.write_text("\n".join([*lines, ""]))
    call_command(
        "ingest", str(path), "--create", "--dataset=stops", "--title=Boardings", "--person=who",
        "--organisation=Buses", "--area=10,50,10.1,50.1", "--budget=3", "--time=seen",
        stdout=output,
    )  # fmt: skip
    rows = [f"s{n},Stop {n},{lon:.6f},{lat:.6f}" for n, (lon, lat) in enumerate(at, 1)]
    source = {"name": "Bus company", "url": "https://bus.example/stops", "date": "2026-01-01"}
    public_layer_add(
        dataset=Dataset.objects.get(),
        name="stops",
        kind="places",
        title="Stops",
        file=io.BytesIO("\n".join(["key,name,lon,lat", *rows, ""]).encode()),
        created_by=None,
        provenance=PublicSource.read(source),
    )
    call_command(
        "release", "stops", "--mechanism=places", "--title=The busiest stops", "--epsilon=1",
        "--param=places=stops", "--param=reach=120", "--param=slices=days of the week",
        "--publish", "--wait", stdout=output,
    )  # fmt: skip
    return Release.objects.get()


def names(page: Any) -> list[str]:
    """Return the names in the visible ranking that the page marks as surely among the busiest."""
    rows = page.locator("[data-places]:visible .ranked tbody tr:not(.maybe):not(.cut) th")
    return [each.inner_text() for each in rows.all()]


def pieces(patch: Any, theme: str) -> int:
    """Count the dashes of the ink-coloured ring around the middle of a patch; 0 if unbroken."""
    y, x = np.nonzero(np.abs(patch.astype(int) - token("ink", theme)).max(axis=2) < 90)
    angle = np.arctan2(y - patch.shape[0] / 2, x - patch.shape[1] / 2)
    drawn = np.histogram(angle, bins=60, range=(-np.pi, np.pi))[0] > 0
    return int(np.sum(drawn & ~np.roll(drawn, 1)))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_places_that_are_perhaps_among_the_busiest_have_dashed_rings(
    open_page: Open, published: Release, theme: str
) -> None:
    content = load_released(published).content
    assert isinstance(content, PlacesRelease)
    ranked = place_lists(content)[0]
    found = {}
    for kind, row in (("sure", ranked.sure[0]), ("perhaps", ranked.perhaps[0])):
        number = content.names.index(row.place.name)
        view = f"#map=17/{content.latitude[number]:.6f}/{content.longitude[number]:.6f}"
        page = open_page(reverse("release", args=[published.pk]) + view, theme=theme)
        assert "Perhaps among the 20 busiest, perhaps not" in page.inner_text(".legend")
        image = screenshot(page, "#map .sheet")
        y, x = image.shape[0] // 2, image.shape[1] // 2
        # Pixels from the middle of a circle to its edge: the circle of the busiest place is larger
        # than that of a place at about rank 20.
        half = 26 if kind == "sure" else 11
        found[kind] = image[y - half : y + half, x - half : x + half]
    assert pieces(found["perhaps"], theme) >= 5
    assert pieces(found["sure"], theme) <= 1
    assert share(found["perhaps"][8:-8, 8:-8], "map-land", theme) > 0.9
    assert share(found["sure"][8:-8, 8:-8], "map-land", theme) == 0
