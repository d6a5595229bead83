"""Translated pages, which contain no English text."""

from __future__ import annotations

import gettext as gettext_module
import html
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from dpgeo.budgets.models import Ledger
from dpgeo.core.levels import make_level
from dpgeo.core.released import Released
from dpgeo.postprocess.tasks.plan import REASONS
from dpgeo.releases.publication import publish
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, install, partition_release
from tests.unit.artefacts import releases
from tests.web import published
from translations.catalogue import read_po, write_mo


@pytest.mark.django_db
def test_pages_pass_translated_texts_to_their_scripts(
    client: Client,
) -> None:
    cache.clear()
    release = install(grid_release(StudyArea.from_bounds(*BOUNDS), 16), "Where people are")
    address = reverse("release", args=[release.pk])
    assert 'id="words"' not in client.get(address).content.decode()
    page = client.get(address, headers=GERMAN).content.decode()
    assert '<html lang="de">' in page
    handed = re.search(r'<script id="words" type="application/json">(.*?)</script>', page)
    assert handed
    words = json.loads(handed[1])
    catalogue = read_po(settings.LOCALE_PATHS[0] / "de/LC_MESSAGES/djangojs.po")
    assert words == {message.text: translation for message, (translation,) in catalogue.items()}
    assert {*REASONS.values()} - {""} <= set(words)
    assert words["{noun} per zone"] == "{noun} pro Zone"


GERMAN = {"Accept-Language": "de"}
PAGES = ("catalogue", "about-privacy", "plan", "release", "release-privacy", "embed")
KINDS: dict[str, Callable[[], Released]] = {
    "heatmap": lambda: grid_release(StudyArea.from_bounds(*BOUNDS), 16),
    "boxes": lambda: partition_release(StudyArea.from_bounds(*BOUNDS), 32),
    "slices": releases.slices_release,
    "zones": releases.zones_release,
    "clusters": releases.clusters_release,
    "contours": releases.contour_release,
    "phases": releases.phased_release,
    "phases by time": releases.phased_slices_release,
    "averages": releases.zone_averages_release,
    "quartiles": releases.zone_quartiles_release,
    "flows": releases.flows_release,
    "trips": releases.trips_release,
    "places by time": lambda: releases.places_release(by_time=True),
    "profile": releases.profile_release,
}
WEEKDAYS = re.compile(r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")


def readable(page: str) -> str:
    """Return the text and the labels of a page, without scripts."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    labels = re.findall(r'(?:aria-label|title|alt|data-label|content)="([^"]*)"', page)
    return html.unescape(" ".join([re.sub(r"<[^>]+>", "\n", page), *labels]))


@pytest.mark.django_db
@pytest.mark.parametrize("kind", KINDS)
def test_a_german_page_contains_no_english(client: Client, kind: str) -> None:
    cache.clear()
    release = install(KINDS[kind](), "Wo wir sind")
    german = gettext_module.translation("django", settings.LOCALE_PATHS[0], ["de"])
    for name in PAGES:
        path = reverse(name, args=[] if name in PAGES[:3] else [release.pk])
        said = " ".join(readable(client.get(path, headers=GERMAN).content.decode()).split())
        assert not WEEKDAYS.search(said), name
        for text, translated in german._catalog.items():  # type: ignore[attr-defined]
            english = text[0] if isinstance(text, tuple) else text
            # Ignore short texts, which can also occur in German sentences, and texts that are the
            # same in German.
            if len(english) > 9 and english != translated and english in said:
                assert not re.search(rf"(?<!\w){re.escape(english)}(?!\w)", said), (name, text)


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_the_compiled_catalogue_is_current(domain: str, tmp_path: Path) -> None:
    """The compiled catalogue is up to date; if this test fails, run `make messages`."""
    folder = settings.LOCALE_PATHS[0] / "de" / "LC_MESSAGES"
    write_mo(tmp_path / "made.mo", "de", read_po(folder / f"{domain}.po"))
    assert (tmp_path / "made.mo").read_bytes() == (folder / f"{domain}.mo").read_bytes()


@pytest.mark.django_db
def test_a_privacy_sentence_has_the_number_format_of_its_language(client: Client) -> None:
    """A privacy sentence uses the number format of its language.

    In German, "2,990" would mean a little less than three.
    """
    counts = published.install(published.make_dataset(budget=Fraction(8)))
    both = published.make_dataset(budget=Fraction(8), points_budget=make_level("ln 4", 2000))
    points = published.install(both, published=False)
    points.points_total_units = Ledger.objects.get(beside=both.ledger).total_units
    points.save()
    publish(points)
    numbers: dict[str, list[str]] = {}
    for language in ("en", "de"):
        numbers[language] = [
            readable(client.get(f"/{language}/maps/{release.pk}/privacy/").content.decode())
            for release in (counts, points)
        ]
    assert "Epsilon 0.5 per person for this map, 8 for all." in numbers["en"][0]
    assert "Epsilon 0,5 je Person für diese Karte, 8 für alle." in numbers["de"][0]
    assert "within 2,000 m" in numbers["en"][1]
    assert "2.000 m" in numbers["de"][1]
    assert not any("2,000" in page for page in numbers["de"])
