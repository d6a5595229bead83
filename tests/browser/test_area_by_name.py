"""Choosing the study area by name on a phone: with two taps, or with the keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from dpgeo.datasets.models import Dataset
from dpgeo.ground.adding import ground_add
from tests.browser.opening import PATIENCE, Open
from tests.browser.test_accessibility import violations
from tests.browser.test_desk_widgets import signed_in
from tests.unit.ground.files import EXTRACT, TILES
from tests.web.desk import make_desk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE = (390, 844)


def test_an_area_is_chosen_by_its_name_in_two_taps(
    open_page: Open, live_server: Any, tmp_path: Path, settings: Any
) -> None:
    settings.GROUND_DIR = tmp_path
    ground_add(tmp_path, TILES, name="here", extract=EXTRACT)
    cache.clear()
    page = open_page(
        "/desk/new/",
        PHONE,
        wait=".area-map[data-state=drawn]",
        prepare=signed_in(make_desk(), live_server),
    )
    box = page.get_by_role("combobox", name="Place")
    box.press_sequentially("vad")
    options = page.get_by_role("listbox", name="Place").get_by_role("option")
    options.first.wait_for(timeout=PATIENCE)
    assert box.get_attribute("aria-expanded") == "true"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert violations(page) == []
    # Arrow keys move through the options and announce them to screen readers; Escape closes the
    # list.
    page.keyboard.press("ArrowDown")
    active = box.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    assert "Places found" in page.locator(".combobox [role=status]").text_content()
    page.keyboard.press("Escape")
    assert not page.get_by_role("listbox", name="Place").is_visible()
    page.keyboard.press("ArrowDown")
    options.filter(has_text="Vaduz").first.click()
    page.get_by_role("button", name="Use Vaduz").click()
    page.wait_for_url("**/upload/")
    assert Dataset.objects.get().area.covers([9.52], [47.14]).all()
