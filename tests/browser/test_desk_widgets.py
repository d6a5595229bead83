"""What the desk draws: the rehearsal of a map before it is paid for, looked at pixel by pixel."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from dpgeo.datasets.models import Dataset
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import PATIENCE, Open
from tests.browser.pixels import ramp_share, screenshot, share
from tests.browser.test_accessibility import violations
from tests.maps import BOUNDS, grid_release, install
from tests.web.desk import Desk, make_desk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DRAWN = ".rehearsal[data-state=drawn]"


@pytest.fixture
def desk() -> Desk:
    cache.clear()
    return make_desk("Vessby Transport")


@pytest.fixture
def dataset(desk: Desk) -> Dataset:
    return desk.declare(ready=True)


def signed_in(desk: Desk, live_server: Any) -> Any:
    """Gives a page the owner's session before it is opened."""
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": desk.client.cookies[name].value, "url": live_server.url}
    return lambda page: page.context.add_cookies([cookie])


@pytest.mark.parametrize(
    ("size", "theme"), [((320, 720), "light"), ((768, 900), "dark"), ((1440, 900), "light")]
)
def test_a_rehearsal_shows_the_noise_before_it_is_paid_for(
    open_page: Open,
    live_server: Any,
    desk: Desk,
    dataset: Dataset,
    size: tuple[int, int],
    theme: str,
) -> None:
    address = f"/desk/datasets/{dataset.slug}/release/?uniform-grid.cells=32&epsilon=2&bound=1"
    page = open_page(
        f"{address}&mechanism=uniform-grid&counting=people&bounding=random",
        size,
        theme,
        wait=DRAWN,
        prepare=signed_in(desk, live_server),
    )
    precise = screenshot(page, ".rehearsal canvas")
    assert ramp_share(precise, theme) > 0.2
    assert "100,000 invented people" in page.inner_text(".rehearsal figcaption")
    assert page.locator("figure.area").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert violations(page) == []
    # Little privacy spent: the same people all but vanish in the noise.
    page.evaluate("document.querySelector('.rehearsal').dataset.state = 'old'")
    page.fill("[name=epsilon]", "0.01")
    page.wait_for_selector(DRAWN, state="attached", timeout=PATIENCE)
    noisy = screenshot(page, ".rehearsal canvas")
    assert ramp_share(noisy, theme) < 0.5 * ramp_share(precise, theme)
    assert share(noisy, "map-hatch", theme) > share(precise, "map-hatch", theme)


def test_a_rehearsal_rests_on_the_last_public_map(
    open_page: Open, live_server: Any, desk: Desk
) -> None:
    shown = install(grid_release(StudyArea.from_bounds(*BOUNDS), 32), "Where people are")
    page = open_page(
        f"/desk/datasets/{shown.dataset.slug}/release/?mechanism=uniform-grid"
        "&uniform-grid.cells=64&epsilon=1&bound=1&counting=people&bounding=random",
        (1440, 900),
        wait=DRAWN,
        prepare=signed_in(desk, live_server),
    )
    words = page.inner_text(".rehearsal figcaption")
    assert "already public counts of “Where people are”" in words
    assert "invented" not in words
    image = screenshot(page, ".rehearsal canvas")
    assert ramp_share(image, "light") > 0.05
    assert share(image, "map-water", "light") > 0.02


@pytest.mark.parametrize(("width", "theme"), [(320, "dark"), (1440, "light")])
def test_axe_finds_nothing_on_the_desk_and_its_doors(
    open_page: Open, live_server: Any, desk: Desk, dataset: Dataset, width: int, theme: str
) -> None:
    home = f"/desk/datasets/{dataset.slug}/"
    draft = desk.request(dataset)
    upload = dataset.uploads.get()
    addresses = ["/desk/", "/desk/ledger/", "/desk/keys/", "/desk/datasets/new/", home]
    addresses += [f"{home}edit/", f"{home}upload/", f"{home}layers/", f"/desk/releases/{draft.pk}/"]
    addresses += [f"/desk/uploads/{upload.pk}/", "/accounts/password/", "/accounts/password/sent/"]
    page = open_page("/accounts/login/", (width, 900), theme, wait="main")
    found = {"/accounts/login/": violations(page)}
    page.goto(live_server.url + "/admin/login/")
    found["/admin/login/"] = violations(page)
    signed_in(desk, live_server)(page)
    for address in addresses:
        page.goto(live_server.url + address)
        for details in page.locator("details").all():
            details.evaluate("each => each.open = true")
        found[address] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    assert {address: words for address, words in found.items() if words} == {}
