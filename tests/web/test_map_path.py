"""The owner's path: a place, a file, a kind of map, its cost, and the publish button."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import shapely
from django.core.cache import cache
from django.utils import timezone

from dpgeo.accounts.models import Role
from dpgeo.accounts.services import organisation_create
from dpgeo.core.counted import Counted
from dpgeo.core.epsilon import to_micro
from dpgeo.core.errors import BudgetExceeded, Conflict
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import PhasedRelease
from dpgeo.core.subjects import SUBJECTS
from dpgeo.datasets.dataset_budgets import dataset_share_budget
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create, dataset_update
from dpgeo.ground import names
from dpgeo.ground.map_names import WorldNames
from dpgeo.ground.regions import Region, region_save
from dpgeo.mechanisms.registry import MECHANISMS, mechanisms_about
from dpgeo.pages.basemap import basemap_names
from dpgeo.pages.desk.kinds import missing
from dpgeo.pages.desk.places import SitePlaces, place_search
from dpgeo.pages.desk.publishing import initial
from dpgeo.pages.desk.quotes import like
from dpgeo.pages.desk.settings import MapSettings
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.totals import SIGHTINGS, WEIGHTS
from dpgeo.releases.models import Release
from dpgeo.releases.services import marked_title
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.invented_people import invent_people
from tests.unit.spatial.test_named_places import SHAPES
from tests.unit.spatial.test_named_places import world as invented_world
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


def test_a_drawn_area_needs_no_title_and_no_time_zone(desk: Desk) -> None:
    sides = {"west": "11.3", "south": "48.0", "east": "11.8", "north": "48.3"}
    place(desk, **sides)
    dataset = Dataset.objects.get()
    assert dataset.area.bounds == (11.3, 48.0, 11.8, 48.3)
    # The name of the town around the area is in files of the built frontend; without them, the
    # title names no town.
    assert dataset.title in {"Munich", "Where people are"}
    # Without a built frontend, the country is unknown and the time zone of the nearest city is
    # used.
    assert dataset.time_zone in {"Europe/Berlin", "Europe/Vaduz"}


def drawn_title(desk: Desk, west: float, south: float, east: float, north: float) -> str:
    """Declare a dataset with a drawn area, and return its title."""
    sides = {"west": west, "south": south, "east": east, "north": north}
    place(desk, **{name: str(degrees) for name, degrees in sides.items()})
    return Dataset.objects.latest("created_at").title


def test_a_drawn_area_is_named_after_the_public_place_it_lies_in(
    desk: Desk, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GROUND_DIR = tmp_path / "ground"
    settings.GROUND_DIR.mkdir()
    world = invented_world(tmp_path, SHAPES)
    named = WorldNames(tmp_path / "country-names.tsv", world.cities.values())
    monkeypatch.setattr("dpgeo.datasets.names_on_maps.world_names", lambda: named)
    monkeypatch.setattr("dpgeo.pages.desk.places.world_places", lambda: world)
    in_town = 2.45, 1.45, 2.55, 1.55
    assert drawn_title(desk, *in_town) == "Oddtown"
    # The drawn area lies within the town, but beside its centre.
    assert drawn_title(desk, 2.51, 1.51, 2.55, 1.55) == "Oddtown"
    # The drawn area is larger than any town.
    assert drawn_title(desk, 1.1, 1.0, 3.0, 2.6) == "Oddland"
    # The drawn area lies in the open sea.
    assert drawn_title(desk, -30.0, -31.0, -29.0, -30.0) == "Where people are"
    dataset = Dataset.objects.latest("created_at")
    kind = MapSettings(dataset, {"kind": "time", "total": "1"})
    assert initial(dataset, kind)["title"] == "By time of day or week"
    shape = shapely.box(2.4, 1.4, 2.6, 1.6)
    quarters = [
        names.Place(name=name, kind=kind, shape=each, outline=each)
        for name, kind, each in (
            ("Odd County", "county", shapely.box(1, 1, 4, 4)),
            ("Odd Ward", "district", shape),
            ("Odd Park", "park", shape),
            ("Odd Corner", "district", shapely.box(2.5, 1.5, 2.51, 1.51)),
        )
    ]
    names.build(settings.GROUND_DIR / "abc.sqlite", quarters, "an invented source")
    region = Region(
        name="here", attribution="", tiles="", names="abc", bounds=shape.bounds, zooms=(0, 1)
    )
    region_save(settings.GROUND_DIR, region)
    assert drawn_title(desk, *in_town) == "Odd Ward"
    assert drawn_title(desk, 2.3, 1.3, 2.9, 1.9) == "Odd County"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"place": ""}, "Type the name of a place"),
        ({"place": "Nowhere at all"}, "No place is known by this name"),
        ({"place": "Valencia"}, "choose one of them"),
        ({"west": "1"}, "Give the southern side"),
        ({"place": "Paris", "time_zone": "Moon/Crater"}, "There is no such time zone"),
    ],
)
def test_an_unclear_place_is_asked_for_again(
    desk: Desk, typed: dict[str, str], message: str
) -> None:
    answer = place(desk, **typed)
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert not Dataset.objects.exists()


def test_places_are_suggested_and_outlined(desk: Desk) -> None:
    suggestions = desk.client.get("/desk/places.json", {"q": "new y"}).json()
    assert "New York City, United States" in suggestions["places"]
    outline = desk.client.get("/desk/place.json", {"name": "New York, United States"}).json()
    assert outline["kind"] == "city"
    assert outline["words"].endswith(
        "To follow the place more closely, draw an outline on the map."
    )
    assert StudyArea.from_geojson(outline["area"]).covers([-74.0], [40.71]).all()
    assert desk.client.get("/desk/place.json", {"name": "Nowhere"}).status_code == 404


def test_a_city_of_two_lists_is_suggested_once_and_found_by_either_name(desk: Desk) -> None:
    """New York City is in GeoNames, with its size; the time zone database calls it New York."""
    search = place_search()
    suggested = search.suggest("new york", 10)
    assert "New York City, United States" in suggested
    assert "New York, United States" not in suggested
    areas = [
        found.area
        for name in ("New York, United States", "New York City, United States", "new york")
        if (found := search.find(name))
    ]
    assert len(areas) == 3
    assert all(area.covers([-74.0], [40.71]).all() for area in areas)
    # A place near a larger one is left out as a duplicate only if the two names agree.
    assert "Vaduz, Liechtenstein" in search.suggest("vaduz", 5)


def test_nothing_is_paid_before_a_total_is_set(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    with pytest.raises(BudgetExceeded, match="nobody has said yet"):
        desk.request(dataset)
    assert "no budget yet" in desk.page("/desk/")
    assert "no budget yet" in desk.page(f"/desk/datasets/{dataset.slug}/")


def test_a_kind_that_lacks_something_says_what_and_leads_there(desk: Desk) -> None:
    dataset = undecided(desk)
    page = desk.page(f"/desk/datasets/{dataset.slug}/map/")
    needs = page.index("Needs something first:")
    for kind, title, address in (
        ("districts", "By district", f"/desk/datasets/{dataset.slug}/layers/"),
        ("points", "Moved points", f"/desk/datasets/{dataset.slug}/edit/"),
    ):
        assert f'value="{kind}"' not in page
        assert address in page[page.index(f"<b>{title}</b>", needs) :][:900]
    assert "It needs a column that says when each row was." in page
    assert 'value="heat" checked' in page
    lacking = desk.client.get(f"/desk/datasets/{dataset.slug}/map/cost/", {"kind": "districts"})
    assert lacking["Location"].endswith("/map/?kind=districts")


def test_the_lifetime_total_has_no_default(desk: Desk) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    page = desk.page(address)
    totals = re.findall(r'name="total"[^>]*>', page)
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
    wrong = desk.client.get(address, {"other": "much", "go": "publish"})
    assert "is not a number" in wrong.content.decode()


def test_each_amount_of_detail_says_its_noise_and_its_cost(desk: Desk) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"kind": "heat", "total": "1"})
    cards = {card.key: card for card in answer.context["cards"]}
    assert [card.amount for card in cards.values()] == ["1", "0.5", "0.2"]
    assert cards["finest"].margin < cards["balanced"].margin < cards["private"].margin
    assert cards["finest"].metres < cards["balanced"].metres < cards["private"].metres
    assert "Left after it: 0.5 of 1" in answer.content.decode()
    assert "A tenth of its cost buys totals" in answer.content.decode()
    assert desk.client.get(address, {"total": "1", "go": "publish"}).status_code == 302
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.total_units == 0


def test_the_path_asks_in_how_many_places_a_person_may_count(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    page = desk.page(address)
    assert "In how many places may one person be counted?" in page
    assert re.findall(r'name="places"[^>]*value="(\d+)" checked', page) == ["1"]
    margins = []
    for places in ("", "5", "20", "12"):
        other = {"other_places": places} if places == "12" else {"places": places}
        answer = desk.client.get(address, {"total": "1", **other})
        margins.append(answer.context["chosen"].margin)
        assert answer.context["settings"].asked.bound == int(places or 1)
    assert margins[0] < margins[1] < margins[3] < margins[2]
    onwards = desk.client.get(address, {"total": "1", "places": "5", "go": "publish"})["Location"]
    assert "each person in up to 5 places" in desk.page(onwards)
    for wrong in ("0", "-3", "many", "1000000000"):
        refused = desk.client.get(address, {"total": "1", "other_places": wrong, "go": "publish"})
        assert refused.status_code == 422
    published(desk, dataset, places="5")
    assert Release.objects.get().bound == 5


@pytest.mark.parametrize("kind", ["districts", "time", "heat", "gatherings", "contours"])
def test_what_a_place_is_depends_on_the_kind_of_map(desk: Desk, kind: str) -> None:
    dataset = desk.declare(ready=True)
    settings = MapSettings(dataset, {"kind": kind, "places": "5"})
    assert settings.asks_places
    assert (settings.kind.counted_in == "A place is one square of the map.") == (
        kind in {"heat", "gatherings", "contours"}
    )


@pytest.mark.parametrize("people", ["179", "20", "50000", ""])
def test_the_path_says_how_much_of_the_map_will_show_without_reading_the_file(
    desk: Desk, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = undecided(desk, ready=True)
    monkeypatch.setattr(Upload, "canonical_name", property(lambda _: 1 / 0))
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"total": "1", "people": people})
    least, most = answer.context["shows_from"], answer.context["most_shown"]
    assert least > answer.context["chosen"].margin
    assert most == int(people or 50_000) // least
    page = answer.content.decode()
    assert f"stands out from about {least} people" in page
    assert ("Expect an almost empty map." in page) == (people in {"179", "20"})
    assert "stands out from" not in desk.page(address)  # nobody has chosen a lifetime total yet


def median_side(dataset: Dataset, settings: MapSettings) -> float:
    """Run a map's mechanism on invented people, as many as `settings` assume in the data.

    Returns the median, over these people, of the side in metres of the square that a person is in.
    """
    request = settings.request(settings.detail)
    assert request is not None
    invented = invent_people(dataset.area, settings.guessed_people)
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
    first = np.searchsorted(invented.person, np.arange(settings.guessed_people))
    cell = drawn.grid.locate(invented.x[first], invented.y[first])
    side = (boxes[:, 1] - boxes[:, 0])[image.ravel()[cell]]
    return float(np.median(side)) * drawn.grid.ground_cell_metres


@pytest.mark.parametrize("people", [725, 50_000])
def test_the_promised_detail_is_what_the_method_makes_of_so_many_people(
    desk: Desk, people: int
) -> None:
    dataset = undecided(desk)
    given = {"total": "1", "detail": "private", "people": str(people)}
    settings = MapSettings(dataset, given)
    promised = next(card.usual for card in settings.cards() if card.chosen)
    assert promised is not None
    assert 1 / 2.1 < median_side(dataset, settings) / promised < 2.1


def test_the_promise_of_detail_names_the_guess_it_rests_on(desk: Desk) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    sides = {}
    for people in ("", "725", "5,000", "3000000"):
        answer = desk.client.get(address, {"total": "1", "people": people})
        page = answer.content.decode()
        guessed = {"": "50,000", "725": "725", "3000000": "3,000,000"}.get(people, people)
        assert f"What to expect of about {guessed} people." in page
        assert 'href="#people"' in page
        assert f'value="{people or 50000}"' in page
        chosen = answer.context["chosen"]
        sides[guessed] = chosen.usual
        assert chosen.usual >= chosen.metres
        assert "most people in squares of about" in page
    assert sides["725"] > sides["5,000"] > sides["50,000"] >= sides["3,000,000"]
    query = {"kind": "heat", "total": "1", "people": "725"}
    last = desk.page(f"/desk/datasets/{dataset.slug}/map/publish/?{urlencode(query)}")
    assert "where most people are, if there are about 725" in last


@pytest.mark.parametrize("typed", ["zz", "-3", "0", "1.5", "1_000", "\u0661\u0662"])
def test_a_guess_that_is_no_number_of_people_is_refused(desk: Desk, typed: str) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    asked = {"total": "1", "people": typed}
    for query, status in ((asked, 200), (asked | {"go": "publish"}, 422)):
        answer = desk.client.get(address, query)
        page = answer.content.decode()
        assert answer.status_code == status
        part = page[page.index('data-live="people"') :]
        assert "About how many people are in your data?" in part[:200]
        assert "5000" in part[:300]
    publish = f"/desk/datasets/{dataset.slug}/map/publish/"
    assert desk.client.get(publish, asked)["Location"].startswith(address)


def test_the_next_map_begins_with_the_guess_that_the_owner_gave_last(desk: Desk) -> None:
    dataset = undecided(desk, ready=True)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    assert 'value="50000"' in desk.page(address)
    published(desk, dataset, people="7,250", detail="private")
    assert 'value="7250"' in desk.page(address)
    assert "What to expect of about 7,250 people." in desk.page(f"{address}?kind=heat")
    published(desk, Dataset.objects.get(), people="900", total="", detail="private")
    assert 'value="900"' in desk.page(address)
    assert 'value="60"' in desk.page(f"{address}?people=60")
    other = undecided(desk, slug="other")
    assert 'value="50000"' in desk.page(f"/desk/datasets/{other.slug}/map/cost/")


@pytest.mark.parametrize("people", [50, 725, 1_000_000])
def test_totals_that_so_many_people_cannot_afford_are_said_before(desk: Desk, people: int) -> None:
    dataset = undecided(desk)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    answer = desk.client.get(address, {"total": "1", "people": str(people)})
    settings: MapSettings = answer.context["settings"]
    request = settings.request("balanced")
    assert request is not None
    expected = {total.counted: total for total in answer.context["chosen"].totals}
    assert len(expected) == 3
    noise = DiscreteLaplace(Fraction(1, 2) / 10 * WEIGHTS[request.counting][SIGHTINGS], 100)
    sightings = expected[Counted.SIGHTINGS]
    assert sightings.margin == noise.margin()
    # `needed` is the least number of sightings per person with which the total of sightings exceeds
    # its margin.
    assert (sightings.needed - 1) * people <= sightings.margin < sightings.needed * people
    assert sightings.lost == (people == 50)
    assert ("too uncertain to be shown" in answer.content.decode()) == (people < 1_000_000)


def test_an_owner_hears_in_time_that_columns_to_average_are_named_first(desk: Desk) -> None:
    dataset = undecided(desk)
    step = desk.page(f"/desk/datasets/{dataset.slug}/upload/")
    assert "Columns for them, such as a speed or the mode of transport, are named in" in step
    dataset.frozen_at = timezone.now()
    dataset.save()
    assert "Columns for them" not in desk.page(f"/desk/datasets/{dataset.slug}/upload/")


def test_where_rows_are_protected_a_row_counts_once(desk: Desk) -> None:
    dataset = desk.declare(ready=True, unit="record")
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    assert "In how many places" not in desk.page(address)
    assert MapSettings(dataset, {"places": "5"}).asked.bound == 1


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


@pytest.mark.parametrize("change", [{"places": "5"}, {"kind": "gatherings"}])
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
    assert desk.client.get(picture[1]).content.startswith(b"DPGM")


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


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_other_method_is_named_under_its_picture(desk: Desk, language: str) -> None:
    speed = {"column": "speed", "unit": "km/h", "low": 0, "high": 50}
    dataset = desk.declare(measures=[speed])
    dataset.columns = {"time": "seen"}
    dataset.save()
    pictured = {kind for kind, each in SUBJECTS.items() if len(mechanisms_about(each)) > 1}
    assert {"heat", "time", "averages"} <= pictured
    prefix = "" if language == "en" else "/de"
    for kind in ("heat", "time", "averages"):
        page = desk.page(f"{prefix}/desk/datasets/{dataset.slug}/map/cost/?kind={kind}&total=1")
        methods = page[page.index('class="methods"') :].split("</ul>")[0]
        captions = re.findall(
            r'aria-label="([^"]+)"></canvas><span class="xs">([^<]+)</span>', methods
        )
        assert len(captions) == methods.count("<canvas") == len(mechanisms_about(SUBJECTS[kind]))
        for label, caption in captions:
            assert caption.strip()
            assert caption in label


def test_an_owner_hears_how_close_means_will_be(desk: Desk) -> None:
    """The form tells an owner how exact means will be, without a "±".

    The margin after a "±" would be that of the number of records, and would be misread as that of
    the mean.
    """
    speed = {"column": "speed", "unit": "km/h", "low": 0, "high": 50}
    dataset = desk.declare(measures=[speed])
    page = desk.page(f"/desk/datasets/{dataset.slug}/map/cost/?kind=averages&total=1")
    card = page[page.index('data-live="card-finest"') :].split("</label>")[0]
    assert re.search(r"a mean from \d+ rows in a square of", card)
    assert "±" not in card
    means = page[page.index('data-live="expected"') :].split("</div>")[0]
    assert re.search(r"it is within [\d.]+ km/h of the true one", means)


def test_flows_to_destinations_are_rehearsed(desk: Desk) -> None:
    dataset = desk.declare()
    columns = {"time": "t", "destination_longitude": "to_lon", "destination_latitude": "to_lat"}
    Dataset.objects.filter(pk=dataset.pk).update(columns=columns)
    page = desk.client.get(f"/desk/datasets/{dataset.slug}/map/cost/", {"kind": "flows"})
    drawn = desk.client.get(page.context["picture"])
    looks = {name: name for name in ("departures", "arrivals", "flows")}
    assert json.loads(drawn["Dpgeo-Looks"]) == looks, "and drawn as arcs"
    assert "from one square of" in page.content.decode()


def test_sample_data_can_be_practised_with(desk: Desk) -> None:
    dataset = undecided(desk)
    answer = desk.client.post(f"/desk/datasets/{dataset.slug}/practice/", follow=True)
    upload = Upload.objects.get()
    assert upload.state == UploadState.RECEIVED
    assert upload.file_name == "invented-people.csv"
    assert answer.context["form"]["person"].value() == "person"
    assert answer.context["hints"] == []
    assert upload.invented
    assert marked_title(upload, "Vaduz") == "Invented data: Vaduz"
    assert marked_title(upload, "Invented data: Vaduz") == "Invented data: Vaduz"


def test_the_next_map_keeps_the_settings_of_the_last(desk: Desk) -> None:
    """The form for the next map has the settings of the last one.

    The epsilon of a point map follows from its level, so epsilon gets its default value after such
    a map instead of being empty.
    """
    from dpgeo.core.levels import make_level

    dataset = desk.declare(ready=True, points_budget=make_level("ln 16", 200, field="level"))
    desk.request(
        dataset, mechanism="planar-laplace", parameters={"level": "ln 4"}, epsilon=None, bound=1
    )
    assert "epsilon" not in like(Release.objects.get())
    form = desk.client.get(f"/desk/datasets/{dataset.slug}/release/").context["form"]
    assert form["epsilon"].value() == "0.5"
    assert form["mechanism"].value() == "planar-laplace"


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


def test_the_path_of_points_asks_for_the_total_of_counts(desk: Desk) -> None:
    from dpgeo.core.levels import make_level

    level = make_level("ln 16", 200, field="level")
    dataset = desk.declare(ready=True, budget=None, budget_later=True, points_budget=level)
    address = f"/desk/datasets/{dataset.slug}/map/cost/"
    page = desk.page(f"{address}?kind=points")
    assert len(re.findall(r'name="total"', page)) == 3
    assert "Moved points do not use it" in page
    unsaid = desk.client.get(address, {"kind": "points", "go": "publish"})
    assert unsaid.status_code == 422
    assert "Say how much may ever be published" in unsaid.content.decode()
    steward = desk.signed_in("steward", role=Role.STEWARD)
    waits = steward.get(address, {"kind": "points", "total": "1", "go": "publish"})
    assert "has to say how much" in waits.content.decode()
    assert published(desk, dataset, kind="points")["Location"].startswith("/desk/releases/")
    release = Release.objects.get()
    assert (release.mechanism, release.total_units) == ("planar-laplace", to_micro(Fraction(1)))


def test_the_experts_quote_of_points_asks_for_it_too(desk: Desk) -> None:
    from dpgeo.core.levels import make_level

    level = make_level("ln 16", 200, field="level")
    dataset = desk.declare(ready=True, budget=None, budget_later=True, points_budget=level)
    fields = {"title": "Points", "mechanism": "planar-laplace", "planar-laplace.level": "ln 4"}
    fields |= {"bound": "1", "counting": "people"}
    answer = desk.client.get(f"/desk/datasets/{dataset.slug}/quote", fields)
    assert answer.context["quote"] is None
    assert "Say first how much may ever be published as counts" in answer.content.decode()


def test_places_of_the_sites_own_ground_come_first(tmp_path: Path) -> None:
    shape = shapely.box(9.49, 47.09, 9.55, 47.16)
    places = [
        names.Place(
            name="Vaduz", kind="municipality", shape=shape, within="Oberland", outline=shape
        ),
        names.Place(name="Vadum", kind="street", shape=shape),
    ]
    names.build(tmp_path / "abc.sqlite", places, "an invented source")
    region = Region(
        name="here", attribution="", tiles="", names="abc", bounds=shape.bounds, zooms=(0, 1)
    )
    region_save(tmp_path, region)
    search = SitePlaces(tmp_path, place_search())
    assert search.suggest("vadu", 5)[:2] == ["Vaduz, Oberland", "Vaduz, Liechtenstein"]
    for typed in ("vaduz", "Vaduz, Oberland"):
        place = search.find(typed)
        assert place is not None
        assert place.area.bounds == shape.bounds
        assert (place.source.name, place.time_zone) == (
            "OpenStreetMap, as added to this site",
            "Europe/Vaduz",
        )
    for typed in ("Vaduz, Liechtenstein", "vadodara"):
        elsewhere = search.find(typed)
        assert elsewhere is not None
        assert elsewhere.source.name.startswith(("GeoNames", "Time zone database"))
    # In the tables alone, "vad" clearly means Vadodara in India. It no longer does where the
    # basemap suggests Vaduz first.
    assert place_search().find("vad") is not None
    assert search.find("vad") is None


def test_a_town_is_found_by_its_usual_name_where_the_ground_has_its_outline(
    tmp_path: Path,
) -> None:
    """New York and New York City are one place, but only the second name comes with an outline."""
    city, away = shapely.box(-74.3, 40.5, -73.7, 40.9), shapely.box(-73.9, 44, -73, 44.5)
    places = [
        names.Place(name=name, kind="county", shape=shape, others=others, outline=shape)
        for name, shape, others in (
            ("New York City", city, ()),
            ("New York Lakes", city, ()),
            ("City of New York", away, ()),
            ("Wien", shapely.box(16.18, 48.1, 16.6, 48.35), ("Vienna",)),
        )
    ]
    names.build(tmp_path / "abc.sqlite", places, "an invented source")
    region = Region(
        name="here", attribution="", tiles="", names="abc", bounds=city.bounds, zooms=(0, 1)
    )
    region_save(tmp_path, region)
    search = SitePlaces(tmp_path, place_search())
    for typed, name in (("new york", "New York City"), ("Vienna", "Wien")):
        place = search.find(typed)
        assert place is not None
        assert (place.name, place.square_kilometres) == (name, 0)
    chosen = search.find("New York, United States")
    assert chosen is not None
    assert chosen.square_kilometres


def test_mechanisms_are_offered_by_the_subjects_that_they_declare() -> None:
    assert all(mechanisms_about(subject) for subject in SUBJECTS.values())
    for mechanism in MECHANISMS.values():
        assert {*mechanism.subjects} <= {*SUBJECTS.values()}


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


def test_the_newest_organisation_of_a_member_publishes_by_default(desk: Desk) -> None:
    newer = organisation_create(name="A younger office", administrator=desk.user)
    field = desk.client.get("/desk/new/").context["form"]["organisation"]
    assert field.initial == newer
