"""Maps by category, averages of districts and profiles of the week, in a real browser."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.urls import reverse

from dpgeo.core.released import SlicesRelease
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import PATIENCE, Open, unfold
from tests.browser.pixels import ramp_share, screenshot
from tests.browser.test_accessibility import violations
from tests.maps import BOUNDS, install, slices_release

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AREA = StudyArea.from_bounds(*BOUNDS)


@pytest.fixture
def by_category() -> Release:
    cache.clear()
    released = slices_release(AREA)
    content = released.content
    assert isinstance(content, SlicesRelease)
    twice = dataclasses.replace(
        content,
        keys=("1-foot-a", "1-foot-b", "2-other-a", "2-other-b"),
        titles=("On foot, Morning", "On foot, Evening", "Other, Morning", "Other, Evening"),
        counts=np.concatenate([content.counts, content.counts[::-1] // 2]),
        values=("On foot", "Other"),
        times=("Morning", "Evening"),
        category="Mode of transport",
    )
    whole = dataclasses.replace(released, mechanism="category-slices", content=twice)
    return install(whole, "Where people are, by mode")


def test_a_switch_and_a_slider_choose_value_and_time(open_page: Open, by_category: Release) -> None:
    page = open_page(reverse("release", args=[by_category.pk]))
    assert "On foot, Morning" in page.inner_text(".legend")
    page.get_by_label("Show", exact=True).select_option("Other")
    page.wait_for_function("() => location.hash.includes('cells-2-other-a')", timeout=PATIENCE)
    page.get_by_role("slider", name="By time").press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('cells-2-other-b')", timeout=PATIENCE)
    page.wait_for_function(
        "() => document.querySelector('.legend').innerText.includes('Other, Evening')",
        timeout=PATIENCE,
    )
    unfold(page, "All maps side by side")
    page.wait_for_function(
        "() => document.querySelectorAll('.multiples canvas').length === 4",
        timeout=PATIENCE,
    )
    page.wait_for_timeout(500)
    assert ramp_share(screenshot(page, ".multiples li:first-child canvas"), "light") > 0.05
    assert violations(page) == []


def test_a_choice_made_while_the_map_loads_is_kept(open_page: Open, by_category: Release) -> None:
    held: list[Any] = []
    page = open_page(
        reverse("release", args=[by_category.pk]),
        wait="#slice-value:enabled",
        prepare=lambda page: page.route("**/assets/map-*.js", lambda route: held.append(route)),
    )
    page.get_by_label("Show", exact=True).select_option("Other")
    for route in held:
        route.continue_()
    page.wait_for_function("() => location.hash.includes('cells-2-other-a')", timeout=PATIENCE)
    assert held, "the map's library was held back"
