"""The owner's path: a place, a file, a kind of map, its cost, and the publish button."""

from __future__ import annotations

import html
import json
import re
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from django.core.cache import cache

from dpgeo.accounts.models import Role
from dpgeo.core.counted import Counted
from dpgeo.core.epsilon import to_micro
from dpgeo.core.errors import BudgetExceeded, Conflict
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import PhasedRelease
from dpgeo.core.subjects import SUBJECTS
from dpgeo.datasets.dataset_budgets import dataset_share_budget
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.services import dataset_create, dataset_update
from dpgeo.pages.basemap import basemap_names
from dpgeo.pages.desk.kinds import missing
from dpgeo.pages.desk.map_form import ReleaseForm
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.totals import SIGHTINGS, WEIGHTS
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.invented_people import invent_people
from tests.views import ArrayView
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> Desk:
    """Make an organisation with a signed-in administrator."""
    cache.clear()
    return make_desk()


def undecided(desk: Desk, *, ready: bool = False, **facts: Any) -> Dataset:
    """Declare a dataset for which nobody has set a total budget yet."""
    if ready:
        dataset = desk.declare(ready=True, **facts)
        dataset.ledger.total_units = 0
        dataset.ledger.save()
        return dataset
    return dataset_create(
        organisation=desk.organisation,
        title="Invented trips",
        licence="CC BY 4.0",
        unit="person",
        study_area=StudyArea.from_bounds(10, 50, 10.1, 50.1).to_geojson(),
        time_zone="UTC",
        budget=None,
        budget_later=True,
        created_by=desk.user,
    )


def place(desk: Desk, **typed: str) -> Any:
    """Submit the form of the first step, and return the response."""
    return desk.client.post("/desk/new/", {"organisation": str(desk.organisation.pk), **typed})


def test_the_name_of_a_place_is_enough_to_begin(desk: Desk) -> None:
    answer = place(desk, place="paris")
    dataset = Dataset.objects.get()
    assert answer["Location"] == f"/desk/datasets/{dataset.slug}/upload/"
    assert (dataset.title, dataset.time_zone) == ("Paris", "Europe/Paris")
    assert dataset.area.covers([2.35], [48.86]).all()
    assert 1400 < dataset.area.ground_square_kilometres < 1800
    assert dataset.ledger.total_units == 0


def test_nothing_is_paid_before_a_total_is_set(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    with pytest.raises(BudgetExceeded, match="nobody has said yet"):
        desk.request(dataset)
    assert "no budget yet" in desk.page("/desk/")
    assert "no budget yet" in desk.page(f"/desk/datasets/{dataset.slug}/")


def test_the_lifetime_total_has_no_default(desk: Desk) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    page = desk.page(address)
    totals = re.findall(r'<input type="radio" name="total"[^>]*>', page)
    assert len(totals) == 3
    assert not any("checked" in each for each in totals)
    unsaid = desk.client.get(address, {"kind": "heat", "go": "publish"})
    assert unsaid.status_code == 422
    # The error is in the element that the script replaces when the user chooses something, so that
    # the error disappears.
    refused = re.search(r'<div data-live="problem">(.*?)</div>', unsaid.content.decode())
    assert refused
    assert "Say how much may ever be published" in refused[1]
    assert '<div data-live="problem"></div>' in page
    wrong = desk.client.get(address, {"total": "much", "go": "publish"})
    assert "is not a number" in wrong.content.decode()


def test_each_amount_of_detail_says_its_noise_and_its_cost(desk: Desk) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"kind": "heat", "total": "1"})
    cards = {card.key: card.expected for card in answer.context["cards"]}
    assert [card.amount for card in cards.values()] == ["1", "0.5", "0.2"]
    assert cards["finest"].margin < cards["balanced"].margin < cards["private"].margin
    assert cards["finest"].metres < cards["balanced"].metres < cards["private"].metres
    assert "Left after it: 0.5 of 1" in answer.content.decode()
    assert "A tenth of its cost buys totals" in answer.content.decode()
    assert desk.client.get(address, {"total": "1", "go": "publish"}).status_code == 302
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.total_units == 0


@pytest.mark.parametrize("people", ["179", "20", "50000", ""])
def test_the_path_says_how_much_of_the_map_will_show_without_reading_the_file(
    desk: Desk, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = undecided(desk, ready=True)
    monkeypatch.setattr(Upload, "canonical_name", property(lambda _: 1 / 0))
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"total": "1", "guess.people": people})
    expects, most = answer.context["expects"], answer.context["most_shown"]
    least = expects.shows_from
    assert least > expects.margin
    assert most == int(people or 50_000) // least
    page = answer.content.decode()
    assert f"stands out from about {least} people" in page
    assert ("Expect an almost empty map." in page) == (people in {"179", "20"})
    assert "stands out from" not in desk.page(address)  # nobody has chosen a lifetime total yet


def median_side(dataset: Dataset, form: ReleaseForm) -> float:
    """Run a map's mechanism on invented people, as many as a form assumes in the data.

    Returns the median, over these people, of the side in metres of the square that a person is in.
    """
    assert form.quote is not None
    request = form.quote.request
    invented = invent_people(dataset.area, form.people)
    longitude, latitude = invented.degrees
    view = ArrayView(
        area=dataset.area,
        longitude=longitude,
        latitude=latitude,
        persons=invented.person,
        counting=request.counting,
        bound=request.bound,
    )
    about = {"title": "Invented"}
    drawn = run(
        request.definition, view, request.params, request.amount, SystemEntropy(), about
    ).content
    assert isinstance(drawn, PhasedRelease)
    boxes = drawn.boxes[drawn.phase == drawn.phase.max()]
    image = box_image(boxes, drawn.grid.shape)
    first = np.searchsorted(invented.person, np.arange(form.people))
    cell = drawn.grid.locate(invented.x[first], invented.y[first])
    side = (boxes[:, 1] - boxes[:, 0])[image.ravel()[cell]]
    return float(np.median(side)) * drawn.grid.ground_cell_metres


@pytest.mark.parametrize("people", [725, 50_000])
def test_the_promised_detail_is_what_the_method_makes_of_so_many_people(
    desk: Desk, people: int
) -> None:
    dataset = undecided(desk)
    given = {"total": "1", "detail": "private", "guess.people": str(people)}
    form = ReleaseForm(given, dataset=dataset)
    [chosen] = [card.expected for card in form.cards() if card.chosen]
    assert chosen is not None
    assert chosen.usual is not None
    assert 1 / 2.1 < median_side(dataset, form) / chosen.usual < 2.1


@pytest.mark.parametrize("people", [50, 725, 1_000_000])
def test_totals_that_so_many_people_cannot_afford_are_said_before(desk: Desk, people: int) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"total": "1", "guess.people": str(people)})
    request = answer.context["quote"].request
    expected = {total.counted: total for total in answer.context["expects"].totals}
    assert len(expected) == 3
    noise = DiscreteLaplace(Fraction(1, 2) / 10 * WEIGHTS[request.counting][SIGHTINGS], 100)
    sightings = expected[Counted.SIGHTINGS]
    assert sightings.margin == noise.margin()
    # `needed` is the least number of sightings per person with which the total of sightings exceeds
    # its margin.
    assert (sightings.needed - 1) * people <= sightings.margin < sightings.needed * people
    assert sightings.lost == (people == 50)
    assert ("too uncertain to be shown" in answer.content.decode()) == (people < 1_000_000)


def test_where_rows_are_protected_a_row_counts_once(desk: Desk) -> None:
    dataset = desk.declare(ready=True, unit="record")
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    assert "In how many places" not in desk.page(address)
    assert "bound" not in ReleaseForm({"bound": "5"}, dataset=dataset).fields


def published(desk: Desk, dataset: Dataset, **query: str) -> Any:
    """Open the last step of making a map, submit it, and return the response."""
    address = f"/desk/datasets/{dataset.slug}/map/publish/"
    answer = desk.client.get(address, {"kind": "heat", "total": "1", **query})
    assert answer.status_code == 200, answer
    fields = {"token": answer.context["token"], "title": "Trips", "licence": "CC BY 4.0"}
    return desk.client.post(answer.wsgi_request.get_full_path(), fields)


def test_publishing_sets_the_total_and_pays_once(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    assert published(desk, dataset)["Location"].startswith("/desk/releases/")
    release = Release.objects.get()
    assert (release.epsilon, release.mechanism, release.bound) == (Fraction(1, 2), "auto", 1)
    assert release.publish_when_done
    assert release.request.totals_plan is not None
    assert release.request.totals == 10
    dataset.ledger.refresh_from_db()
    assert (dataset.ledger.total, dataset.ledger.spent) == (Fraction(1), Fraction(1, 2))
    # The next map uses a share of what is left of the total; the page does not ask for a total
    # again.
    page = desk.page(f"/desk/datasets/{dataset.slug}/map/cost/")
    assert "may ever be published about these people?" not in page
    assert "uses 0.25" in page


def test_the_same_page_sent_twice_is_paid_once(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    address = f"/desk/datasets/{dataset.slug}/map/publish/?kind=heat&total=1"
    token = desk.client.get(address).context["token"]
    fields = {"token": token, "title": "Trips", "licence": "CC BY 4.0"}
    first, second = (desk.client.post(address, fields)["Location"] for _ in range(2))
    assert first == second
    assert Release.objects.count() == 1


def test_the_button_spends_what_it_says_or_nothing(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    address = f"/desk/datasets/{dataset.slug}/map/publish/?kind=heat&total=1"
    token = desk.client.get(address).context["token"]
    dataset_update(dataset=dataset, changes={"budget": Fraction(10)})
    answer = desk.client.post(address, {"token": token, "title": "Trips", "licence": "CC BY 4.0"})
    assert answer.status_code == 422
    assert "has changed meanwhile" in answer.content.decode()
    assert not Release.objects.exists()


@pytest.mark.parametrize("change", [{"bound": "5"}, {"kind": "gatherings"}])
def test_the_button_draws_the_map_that_its_page_shows(desk: Desk, change: dict[str, str]) -> None:
    """A choice that costs the same is agreed to like one that costs more."""
    dataset = undecided(desk, ready=True)
    address, query = f"/desk/datasets/{dataset.slug}/map/publish/", {"kind": "heat", "total": "1"}
    token = desk.client.get(address, query).context["token"]
    fields = {"token": token, "title": "Trips", "licence": "CC BY 4.0"}
    answer = desk.client.post(f"{address}?{urlencode(query | change)}", fields)
    assert answer.status_code == 422
    assert not Release.objects.exists()


def test_a_request_that_fails_sets_no_total(desk: Desk) -> None:
    dataset = undecided(desk)
    answer = published(desk, dataset)
    assert answer.status_code == 422
    assert "has no data yet" in answer.content.decode()
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.total_units == 0


def test_only_an_administrator_sets_the_total(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    steward = desk.signed_in("steward", role=Role.STEWARD)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    page = steward.get(address, {"total": "1", "go": "publish"})
    assert "An administrator of Invented house has to say" in page.content.decode()
    sent = steward.get(f"/desk/datasets/{dataset.slug}/map/publish/", {"total": "1"})
    assert "/map/cost/" in sent["Location"]
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.total_units == 0


def test_a_dataset_without_a_total_may_share_that_of_the_same_people(desk: Desk) -> None:
    first, dataset = desk.declare(title="First"), undecided(desk, ready=True)
    steward = desk.signed_in("steward", role=Role.STEWARD)
    query = {"kind": "heat", "ledger": str(first.ledger.pk)}
    address = f"/desk/datasets/{dataset.slug}/map/publish/"
    answer = steward.get(address, query)
    fields = {"token": answer.context["token"], "title": "Trips", "licence": "CC BY 4.0"}
    steward.post(answer.wsgi_request.get_full_path(), fields)
    dataset.refresh_from_db()
    assert dataset.ledger == first.ledger
    assert dataset.ledger.spent == Fraction(1)
    with pytest.raises(Conflict, match="of its own by now"):
        dataset_share_budget(dataset=first, ledger=desk.declare(title="Third").ledger)


def test_nothing_of_the_file_reaches_the_later_steps(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later steps do not depend on the contents of the file.

    Neither the pages nor the rehearsal change with them.
    """
    dataset = undecided(desk, ready=True)
    steps = {
        name: f"/desk/datasets/{dataset.slug}/map/{name}?kind=heat&total=1"
        for name in ("", "cost/", "publish/")
    }
    varying = r'name="(?:csrfmiddlewaretoken|token)" value="[^"]*"'
    before = {name: re.sub(varying, "", desk.page(address)) for name, address in steps.items()}
    Upload.objects.update(report={"read": 123_457, "accepted": 7_654_321, "refused": {}})
    monkeypatch.setattr(Upload, "canonical_name", "gone")
    after = {name: re.sub(varying, "", desk.page(address)) for name, address in steps.items()}
    assert after == before
    picture = re.search(r'data-map="([^"]+)"', after["publish/"])
    assert picture is not None
    assert desk.client.get(html.unescape(picture[1])).content.startswith(b"DPGM")


@pytest.mark.parametrize("kind", SUBJECTS)
def test_every_kind_is_rehearsed_by_its_own_mechanism(desk: Desk, kind: str) -> None:
    measures = [{"column": "speed", "low": 0, "high": 120}, {"column": "by_bike", "answer": True}]
    categories = [{"column": "mode", "values": ["walk", "bike"]}]
    dataset = desk.declare(measures=measures, categories=categories)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"kind": kind})
    if answer.status_code == 302:
        assert missing(SUBJECTS[kind], dataset), "only what lacks something is sent back"
        return
    picture = answer.context["picture"]
    drawn = desk.client.get(picture)
    assert drawn.content.startswith(b"DPGM")
    assert drawn["Cache-Control"] == "private, max-age=600"
    assert json.loads(drawn["Dpgeo-Looks"])
    assert desk.client.get(picture.replace("map.bin", "none.bin")).status_code == 404
    stranger = desk.signed_in("nobody", role=None)
    assert stranger.get(picture).status_code == 404


@pytest.mark.parametrize(("cells", "drawn"), [("1024", True), ("4096", False)])
def test_a_map_too_large_for_the_website_is_not_rehearsed(
    desk: Desk, cells: str, drawn: bool
) -> None:
    dataset = desk.declare()
    home = f"/desk/datasets/{dataset.slug}/map"
    asked = f"mechanism=uniform-grid&epsilon=1&parameters.cells={cells}&guess.people=100"
    answer = desk.client.get(f"{home}/cost/?{asked}")
    assert answer.context["quote"] is not None
    assert bool(answer.context["picture"]) == drawn
    status = desk.client.get(f"{home}/rehearsal/{asked}/map.bin").status_code
    assert status == (200 if drawn else 404)


def test_points_wait_until_counts_have_a_total(desk: Desk) -> None:
    """Points cannot be requested before the total for counts has been decided.

    Publishing points also publishes both totals, which would fix the total for counts at 0 forever.
    """
    from dpgeo.core.levels import make_level

    level = make_level("ln 16", 200, field="level")
    dataset = desk.declare(ready=True, budget=None, budget_later=True, points_budget=level)
    fields: dict[str, Any] = {"mechanism": "planar-laplace", "epsilon": None, "bound": 1}
    fields["parameters"] = {"level": "ln 4"}
    with pytest.raises(Conflict, match="Say first how much may ever be published as counts"):
        desk.request(dataset, **fields)
    assert not Release.objects.exists()
    dataset_update(dataset=dataset, changes={"budget": Fraction(1)})
    assert desk.request(dataset, **fields).total_units == to_micro(Fraction(1))


def test_a_city_without_a_boundary_is_said_to_be_a_square_and_has_names(desk: Desk) -> None:
    vienna = desk.client.get("/desk/place.json", {"name": "Vienna"}).json()
    assert "a square of 40 km around its middle" in vienna["words"]
    # In a browser without scripts, the page after the form says that the area is a square.
    organisation = str(desk.organisation.pk)
    sent = {"organisation": organisation, "place": "Vienna"}
    page = desk.client.post("/desk/new/", sent, follow=True).content.decode()
    assert "a square of 40 km around its middle" in page
    sides = (16, 48, 17, 48.5)
    query = {
        name: str(side)
        for name, side in zip(("west", "south", "east", "north"), sides, strict=True)
    }
    names = desk.client.get("/desk/land.json", query).json()["names"]
    assert names == basemap_names(StudyArea.from_bounds(*sides))["names"]


def test_the_basemap_of_a_dataset_is_only_for_members(desk: Desk) -> None:
    address = f"/desk/datasets/{desk.declare().slug}/ground.json"
    shapes = desk.client.get(address).json()
    assert shapes["bounds"] == [10, 50, 10.1, 50.1]
    assert shapes["area"]["type"] == "Polygon"
    shown = {"bounds", "land", "inside", "coast", "names", "names_from"}
    assert set(shapes["basemap"]) == shown
    assert desk.signed_in("stranger", role=None).get(address).status_code == 404
