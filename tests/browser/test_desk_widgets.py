"""What scripts draw on the owners' pages, checked by pixels: a map's preview, the study area."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from dpgeo.accounts.members import invitation_create
from dpgeo.accounts.models import Organisation, Role
from dpgeo.datasets.models import Dataset, PeopleWarning
from dpgeo.datasets.same_people import people_answer
from dpgeo.datasets.services import dataset_update
from dpgeo.webhooks.services import webhook_create
from tests.browser.opening import PATIENCE, Open
from tests.browser.pixels import ramp_share, screenshot, share
from tests.browser.test_accessibility import violations
from tests.web.desk import Desk, make_desk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DRAWN = ".path-map canvas[data-state=drawn]"
GROUND = ".area-map[data-state=drawn]"
NEW_DATASET = "/desk/datasets/new/"
SIDES = ("west", "south", "east", "north")


@pytest.fixture
def desk() -> Desk:
    cache.clear()
    return make_desk("Vessby Transport")


@pytest.fixture
def dataset(desk: Desk) -> Dataset:
    return desk.declare(ready=True)


def signed_in(desk: Desk, live_server: Any) -> Any:
    """Return a function that signs a page's browser in as the owner."""
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": desk.client.cookies[name].value, "url": live_server.url}
    return lambda page: page.context.add_cookies([cookie])


@pytest.mark.parametrize(("size", "theme"), [((320, 720), "light"), ((768, 900), "dark")])
def test_a_rehearsal_shows_the_noise_before_it_is_paid_for(
    open_page: Open,
    live_server: Any,
    desk: Desk,
    dataset: Dataset,
    size: tuple[int, int],
    theme: str,
) -> None:
    asked = "mechanism=uniform-grid&parameters.cells=32&epsilon=1.9&totals=0"
    page = open_page(
        f"/desk/datasets/{dataset.slug}/map/cost/?{asked}",
        size,
        theme,
        wait=DRAWN,
        prepare=signed_in(desk, live_server),
    )
    precise = screenshot(page, ".path-map canvas")
    assert ramp_share(precise, theme) > 0.04
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert violations(page) == []
    # The invented people stay the same; with a small epsilon, the noise nearly hides them.
    page.evaluate("document.querySelector('.path-map canvas').dataset.state = 'old'")
    page.fill("[name=epsilon]", "0.01")
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    noisy = screenshot(page, ".path-map canvas")
    assert ramp_share(noisy, theme) < 0.5 * ramp_share(precise, theme)
    # The limit is low: how many pixels have exactly the hatch's colour depends on the canvas's
    # offset.
    assert share(noisy, "map-hatch", theme) > 0.01


def pages_of_administrators(desk: Desk, dataset: Dataset) -> list[str]:
    """Fill the tables on the pages for administrators and accounts; return the pages' paths."""
    organisation = desk.organisation
    desk.signed_in("somebody", role=Role.APPROVER)
    invitation_create(
        organisation=organisation, email="dan@example.org", role=Role.STEWARD, by=desk.user
    )
    webhook_create(organisation=organisation, url="https://hooks.example.org/a", by=desk.user)
    Organisation.objects.filter(pk=organisation.pk).update(
        two_persons=True, most_epsilon=9, quota_jobs=50
    )
    dataset.refresh_from_db()
    dataset_update(dataset=dataset, changes={"budget": Fraction(8)})
    own = ("", "confirm/", "second-factor/", "second-factor/app/")
    pages = (
        "approvals",
        "audit",
        f"members/{organisation.slug}",
        "operation",
        "privacy",
        "webhooks",
    )
    return [
        *(f"/desk/account/{page}" for page in own),
        *(f"/desk/{page}/" for page in pages),
        f"/desk/privacy/{organisation.slug}/{timezone.now().year}/",
        f"/desk/datasets/{dataset.slug}/data-protection/",
    ]


@pytest.mark.parametrize(("width", "theme"), [(320, "dark"), (1440, "light")])
def test_axe_finds_nothing_on_the_desk_and_the_sign_in_pages(
    open_page: Open, live_server: Any, desk: Desk, dataset: Dataset, width: int, theme: str
) -> None:
    home = f"/desk/datasets/{dataset.slug}/"
    draft = desk.request(dataset)
    upload = dataset.uploads.get()
    second = desk.declare(title="Walks", keep_raw=True)
    people_answer(dataset=second, by=desk.user, reason="Codes change each month.", standing=True)
    PeopleWarning.objects.create(dataset=second, other=dataset)
    addresses = ["/desk/", "/desk/ledger/", "/desk/keys/", "/desk/datasets/new/", home]
    addresses += [f"{home}edit/", f"{home}upload/", f"{home}layers/", f"/desk/releases/{draft.pk}/"]
    addresses += [f"/desk/uploads/{upload.pk}/", "/accounts/password/", "/accounts/password/sent/"]
    addresses += [f"/desk/datasets/{second.slug}/{page}" for page in ("", "people/")]
    addresses += pages_of_administrators(desk, dataset)
    page = open_page("/accounts/login/", (width, 900), theme, wait="main")
    problems = {"/accounts/login/": violations(page)}
    page.goto(live_server.url + "/admin/login/")
    problems["/admin/login/"] = violations(page)
    desk.confirmed()
    signed_in(desk, live_server)(page)
    for address in addresses:
        answer = page.goto(live_server.url + address)
        assert (answer.status, page.url) == (200, live_server.url + address)
        for details in page.locator("details").all():
            details.evaluate("each => each.open = true")
        problems[address] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    assert {address: words for address, words in problems.items() if words} == {}


"""Script that returns the elements that extend beyond the page's column."""


def sides(page: Any) -> list[float]:
    """Return the values of the four study area fields, the area's sides in degrees."""
    return [float(page.input_value(f"[name={name}]")) for name in SIDES]


@pytest.mark.parametrize(
    ("size", "theme"), [((320, 720), "dark"), ((768, 900), "light"), ((1440, 900), "light")]
)
def test_a_study_area_is_drawn_on_a_map_by_pointer(
    open_page: Open, live_server: Any, desk: Desk, size: tuple[int, int], theme: str
) -> None:
    page = open_page(NEW_DATASET, size, theme, wait=GROUND, prepare=signed_in(desk, live_server))
    canvas = page.locator(".area-map canvas")
    canvas.scroll_into_view_if_needed()
    before = screenshot(page, ".area-map canvas")
    assert share(before, "map-land", theme) > 0.1
    assert share(before, "accent", theme) < 0.001
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] + 40, steps=4)
    page.mouse.up()
    west, south, east, north = sides(page)
    assert west == pytest.approx(0, abs=2)
    assert east - west == pytest.approx(360 * 60 / box["width"], rel=0.15)
    assert south < north
    assert "km wide" in page.inner_text(".area-map figcaption")
    drawn = screenshot(page, ".area-map canvas")
    assert share(drawn, "accent", theme) > share(before, "accent", theme) + 0.0003
    # The fields can still be edited, and the map follows what is typed in them.
    for name, value in zip(SIDES, ("12.4", "55.5", "12.8", "55.8"), strict=True):
        page.fill(f"[name={name}]", value)
    page.keyboard.press("Tab")
    typed = screenshot(page, ".area-map canvas")
    assert share(typed, "accent", theme) > share(before, "accent", theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert violations(page) == []
