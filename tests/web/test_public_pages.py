"""The public pages: what visitors see, and what they must not see."""

from __future__ import annotations

import dataclasses
import html
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from dpgeo.accounts.models import Membership, User
from dpgeo.core.released import PhasedRelease
from dpgeo.pages import basemap as land
from dpgeo.pages.release_summary import summarise
from dpgeo.pages.templatetags.figures import (
    guesses,
    standing_words,
)
from dpgeo.postprocess.layers import BoxLayer, layers
from dpgeo.postprocess.opening import coloured, opening_layer
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_reject
from dpgeo.releases.states import ReleaseState
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, install, partition_release
from tests.unit.artefacts import releases

pytestmark = pytest.mark.django_db

AREA = StudyArea.from_bounds(*BOUNDS)


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


@pytest.fixture
def published() -> Release:
    return install(grid_release(AREA, 32), "Where people are")


@pytest.fixture
def draft() -> Release:
    return install(grid_release(AREA, 16), "A draft", state=ReleaseState.DRAFT)


def words(client: Client, url: str, status: int = 200) -> str:
    """Return the text of a page as readers see it, without styles and scripts."""
    response = client.get(url)
    assert response.status_code == status
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S)
    return " ".join(html.unescape(text).split())


def member_of(release: Release) -> User:
    user = User.objects.create_user("member", password="long enough")  # noqa: S106
    Membership.objects.create(user=user, organisation=release.dataset.organisation)
    return user


def test_the_catalogue_describes_each_map_and_its_noise(client: Client, published: Release) -> None:
    page = words(client, reverse("catalogue"))
    assert "1 map, newest day first" in page
    assert "Where people are Vessby Transport" in page
    assert "± 12 people" in page


def test_a_release_promises_of_itself_first_and_of_all_maps_second(
    client: Client, published: Release
) -> None:
    page = words(client, reverse("release", args=[published.pk]))
    assert (
        "Strong protection. Suppose someone knows the data of everyone else and has to guess: are "
        "you in these data, too? A coin toss gets it right 50 times in 100; a guess from this map, "
        "at most 74 times." in page
    )
    assert "All maps from these data together: weak; in the worst case almost certain." in page
    assert "Epsilon 1 per person for this map, 4 for all." in page
    assert "factor" not in page


@pytest.mark.parametrize("name", ["release", "release-privacy"])
def test_no_public_page_shows_the_remaining_budget(
    client: Client, published: Release, name: str
) -> None:
    ledger = published.dataset.ledger
    before = client.get(reverse(name, args=[published.pk])).content
    type(ledger).objects.filter(pk=ledger.pk).update(spent_units=ledger.total_units - 123_457)
    cache.clear()
    assert client.get(reverse(name, args=[published.pk])).content == before


def test_a_release_shows_its_total_with_a_margin_and_the_bound(
    client: Client, published: Release
) -> None:
    page = words(client, reverse("release", args=[published.pk]))
    figures = summarise(grid_release(AREA, 32)).figures
    assert figures is not None
    assert f"{figures.total:,} ± {figures.total_margin:,.0f}" in page
    low = (figures.total - figures.total_margin) / 4
    high = figures.total + figures.total_margin
    assert f"± {figures.total_margin:,.0f} sightings" in page
    # The lower limit of the number of people is rounded down and the upper one up, to three digits.
    least, most = math.floor(low / 100) * 100, math.ceil(high / 1000) * 1000
    assert (
        f"People were not counted themselves: they are at least {least:,} and at most {most:,}, as "
        "each counts once in each of up to 4 squares." in page
    )


def test_zones_are_listed_by_name_under_their_total(client: Client) -> None:
    release = install(releases.zones_release(), "By ward")
    page = words(client, reverse("release", args=[release.pk]))
    assert re.search(r"Sightings [\d,]+ km² 67 ± 25 sightings ", page)
    assert (
        "People were not counted themselves: they are at least 13 and at most 93, as each counts "
        "once in each of up to 3 zones." in page
    )
    assert "1 of 2 zones show clearly. These 1 hold the most people." in page
    assert "Zone People North, Upper 70 ± 18" in page
    assert "Söder" not in page
    assert "± 18 people" in words(client, reverse("catalogue"))


def test_a_map_on_which_nothing_stands_out_says_so() -> None:
    figures = summarise(releases.grid_release()).figures
    assert figures
    assert "show clearly" in standing_words(figures)
    assert standing_words(replace(figures, standing=0)).startswith("Nothing shows clearly")


def test_the_squares_that_show_clearly_are_those_that_the_map_colours() -> None:
    released = releases.phased_release()
    content = released.content
    assert isinstance(content, PhasedRelease)
    part = (content.surface > 0) & (np.indices(content.surface.shape)[0] < 4)
    surface = np.where(part, 3600 / part.sum(), 0.0)
    counts = np.full_like(content.counts, 900)
    released = replace(released, content=replace(content, counts=counts, surface=surface))
    shown = layers(released)
    seen = opening_layer(shown)
    assert isinstance(seen, BoxLayer)
    assert seen.name == "estimate"
    figures = summarise(released).figures
    assert figures
    assert figures.size == len(seen)
    assert figures.standing == int(coloured(seen).sum())
    # Every box's count stands out from the noise, but `figures.standing` counts only the boxes that
    # the map colours.
    assert 0 < figures.standing < figures.size


def test_pages_mention_no_bound_where_the_unit_is_a_record(client: Client) -> None:
    release = install(grid_release(AREA, 32, unit="record"), "Rows")
    page = words(client, reverse("release-privacy", args=[release.pk]))
    assert "One record counts once" in page
    assert "a record, chosen at random" not in page


def test_the_privacy_page_describes_every_spend(client: Client) -> None:
    release = install(partition_release(AREA, 32), "In boxes")
    page = words(client, reverse("release-privacy", args=[release.pk]))
    assert "This map paid twice and used exactly 1." in page
    assert page.count("adds at most 4 to these counts in all") == 2
    assert "noise of scale 8: it is within 24 of the count 95 times in 100" in page
    assert "statement.json" in page


def test_the_effect_of_one_person_on_a_figure_is_not_understated() -> None:
    """The stated effect of one person on a figure is not too small.

    A person adds at most 1 to a cell's count, but may change all counts from which an estimate is
    made.
    """
    cells = summarise(grid_release(AREA, 32))
    assert cells.shift_of_one == pytest.approx(1 / cells.spends[0].scale)
    for joined in (
        partition_release(AREA, 32),
        releases.zone_averages_release(),
        releases.flows_release(),
    ):
        summary = summarise(joined)
        assert summary.shift_of_one == float(summary.epsilon)


def test_the_noise_of_a_pilot_does_not_overstate_the_effect_of_one_person() -> None:
    summary = summarise(grid_release(AREA, 32))
    whole = float(summary.epsilon)
    pilot = dataclasses.replace(summary.spends[0], sensitivity=1, scale=10 / whole)
    counts = dataclasses.replace(summary.spends[0], sensitivity=20, scale=20 / (0.9 * whole))
    popular = dataclasses.replace(summary, counting="visits", bound=20, spends=(pilot, counts))
    assert popular.shift_of_one == pytest.approx(0.9 * whole)


def test_a_draft_looks_to_strangers_like_a_missing_page(client: Client, draft: Release) -> None:
    there = client.get(reverse("release", args=[draft.pk])).content
    nowhere = client.get(reverse("release", args=["no-such-release-at-all"])).content
    assert there.replace(draft.pk.encode(), b"no-such-release-at-all") == nowhere
    assert "There is nothing here" in there.decode()


@pytest.mark.parametrize("name", ["release", "release-privacy"])
def test_a_withdrawn_map_leaves_a_tombstone_without_figures(client: Client, name: str) -> None:
    release = install(grid_release(AREA, 16), "Old map", state=ReleaseState.WITHDRAWN)
    page = words(client, reverse(name, args=[release.pk]), status=410)
    assert "This map was withdrawn" in page
    assert "Copies that were taken before may still exist elsewhere" in page
    assert "±" not in page


@pytest.mark.parametrize("name", ["release", "release-privacy"])
def test_the_page_of_a_rejected_draft_says_only_that_it_was_not_published(
    client: Client, draft: Release, name: str
) -> None:
    Release.objects.filter(pk=draft.pk).update(title="Hidden sheet")
    before = [client.get(reverse(other, args=[draft.pk])) for other in ("release", "embed")]
    assert [answer.status_code for answer in before] == [404, 404]
    release_reject(release=draft, by=None, reason="A wrong area.")
    page = words(client, reverse(name, args=[draft.pk]), status=410)
    assert "This map was not published" in page
    for sentence in (
        "Hidden sheet",
        draft.dataset.title,
        "A wrong area.",
        "Vessby",
        "ε",
        "on your desk",
    ):
        assert sentence not in page
    assert client.get(reverse("embed", args=[draft.pk])).status_code == 404
    assert client.get(reverse("release-basemap", args=[draft.pk])).status_code == 404
    client.force_login(member_of(draft))
    page = words(client, reverse(name, args=[draft.pk]), status=410)
    assert "Why, on your desk" in page
    assert "Hidden sheet" not in page


def test_records_as_the_unit_are_said_to_protect_people_less(client: Client) -> None:
    released = grid_release(AREA, 16, unit="record")
    release = install(released, "Records")
    page = words(client, reverse("release-privacy", args=[release.pk]))
    assert (
        "for each row, not for each person. Suppose someone knows all other rows in these data"
        in page
    )
    assert "a person with several is protected less" in page
    assert "are you in these data" not in page


def test_titles_cannot_carry_markup(client: Client) -> None:
    release = install(grid_release(AREA, 16), "<script>alert(1)</script>")
    for url in (reverse("catalogue"), reverse("release", args=[release.pk])):
        assert b"<script>alert(1)" not in client.get(url).content


def test_the_basemap_is_cut_to_the_surroundings_of_the_area(
    client: Client, published: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = StudyArea.from_bounds(0, -80, 12.6, 80).shape
    monkeypatch.setattr(land, "land_polygons", lambda path: np.array([half], dtype=object))
    response = client.get(reverse("release-basemap", args=[published.pk]))
    shapes = response.json()
    west, south, east, north = shapes["bounds"]
    assert shapely.box(west, south, east, north).contains_properly(AREA.shape)
    assert east - west < 3
    (shore,) = shapes["coast"]["coordinates"]
    assert {longitude for longitude, _ in shore} == {12.6}, (
        "edges of the cut must not be drawn as coast"
    )
    (inside,) = shapes["inside"]["coordinates"]
    assert max(longitude for longitude, _ in inside[0]) == 12.6
    assert response["Cache-Control"] == "public, max-age=86400"


def test_no_cache_stores_the_basemap_of_a_draft(client: Client, draft: Release) -> None:
    client.force_login(member_of(draft))
    response = client.get(reverse("release-basemap", args=[draft.pk]))
    assert response["Cache-Control"] == "private, no-store"


def test_right_guesses_are_never_rounded_down(client: Client) -> None:
    page = words(client, reverse("about-privacy"))
    assert (
        "is right at most 63 times in 100 for an epsilon of a half, at most 74 times in 100 for 1, "
        "at most 89 times in 100 for 2." in page
    )
    assert guesses(math.log(3)) == "at most 76 times in 100"
    assert guesses(10) == "in the worst case almost certain"


def test_drafts_leave_no_trace_in_the_filters(client: Client, draft: Release) -> None:
    page = client.get(f"{reverse('catalogue')}?q=x").content.decode()
    assert "Vessby" not in page
    assert "overview" not in page


def test_only_the_embedded_map_may_be_framed(client: Client, published: Release) -> None:
    for name in ("release", "embed", "release-privacy"):
        response = client.get(reverse(name, args=[published.pk]))
        framable = name == "embed"
        # Even a page that other sites may frame does not send `frame-ancestors *`, because that
        # would exclude saved files and editors' notebooks.
        refused = "frame-ancestors 'none'" in response["Content-Security-Policy"]
        assert refused != framable
        assert ("frame-ancestors" in response["Content-Security-Policy"]) == refused
        assert ("X-Frame-Options" not in response) == framable
        assert "script-src" not in response["Content-Security-Policy"]


def test_nobody_frames_a_draft_not_even_its_members(client: Client, draft: Release) -> None:
    client.force_login(member_of(draft))
    assert client.get(reverse("embed", args=[draft.pk])).status_code == 404


def test_a_release_is_cited_with_publisher_epsilon_licence_and_address(
    client: Client, published: Release
) -> None:
    page = words(client, reverse("release", args=[published.pk]))
    address = f"http://testserver{reverse('release', args=[published.pk])}"
    assert "(epsilon 1 per person; Uniform grid). CC BY 4.0. " + address in page


def test_a_map_is_compared_only_with_public_maps_of_the_same_data(
    client: Client, published: Release, draft: Release
) -> None:
    other = install(partition_release(AREA, 32), "In boxes")
    page = client.get(reverse("release", args=[published.pk])).content.decode()
    assert f'<option value="{other.pk}"' in page
    assert draft.pk not in page
    assert f'<option value="{published.pk}"' not in page
