"""Public pages: the catalogue, each release's map, and how it was made private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.formats import get_format
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dpgeo.artefacts import csv, map_array, preview, statement
from dpgeo.artefacts.files import MADE_UP
from dpgeo.artefacts.promises import Presence, in_places_and_groups
from dpgeo.artefacts.series_wording import sentences as series_sentences
from dpgeo.artefacts.spreadsheet import MAX_BYTES
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.guarantees import GeoInd, Unit
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.promises import lifetime_limit
from dpgeo.datasets.selectors import datasets_readable_by
from dpgeo.pages import glossary, privacy_diagrams
from dpgeo.pages.basemap import basemap, basemap_names
from dpgeo.pages.cards import release_card
from dpgeo.pages.catalogue import (
    area_overview,
    count_maps,
    known_datasets,
    read_wanted,
    releases_wanted,
)
from dpgeo.pages.citation import comparable, sharing
from dpgeo.pages.ground import ground_under
from dpgeo.pages.release_summary import Summary, build_summary
from dpgeo.pages.rendering import say
from dpgeo.pages.seo import structured
from dpgeo.pages.shared_caches import shared
from dpgeo.pages.templatetags.figures import figure, in_language, ledger_words
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.selectors import ReleaseGone, release_visible
from dpgeo.releases.states import PUBLIC, Gone

MAPS_PER_PAGE = 24

MAX_SHEET_FEATURES = 40_000
"""Largest number of features for which a CSV file for spreadsheets is offered before it is made.

A cell takes about 90 bytes of the file, whose size is limited (`artefacts.spreadsheet.MAX_BYTES`).
"""

DAY = 24 * 60 * 60

NO_MAP = "There is no such map."

RAMPS = (
    ("tide", gettext_noop("Tide")),
    ("ember", gettext_noop("Ember")),
    ("slate", gettext_noop("Grey")),
)
"""Keys (see `frontend/src/colour/ramps.ts`) and names of the available colour ramps."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that visitors can download."""

    file: ReleaseFile
    url: str
    spreadsheet: str = ""
    """Address of the CSV file for spreadsheets; "" if there is none."""


@dataclass(frozen=True, slots=True)
class Downloads:
    """The files of one layer or, if `layer` is "", the files that contain the whole map."""

    layer: str
    files: list[Download]


@require_safe
@shared
def catalogue(request: HttpRequest) -> HttpResponse:
    """List the published maps that match the filters, newest first."""
    wanted = read_wanted(request.GET)
    datasets = known_datasets()
    counted = count_maps(wanted, datasets)
    paginator = Paginator(releases_wanted(wanted), MAPS_PER_PAGE)
    paginator.count = counted.found
    page = paginator.get_page(request.GET.get("page"))
    context = {
        "section": "maps",
        "page": page,
        "cards": [_card(release) for release in page],
        "wanted": wanted,
        "kinds": counted.kinds,
        "publishers": counted.publishers,
        "all_query": replace(wanted, kind="").query,
        "without_area": replace(wanted, bounds=None, place="").query,
        "overview": area_overview(wanted, datasets),
        "making_demo": settings.DEMO,
    }
    return render(request, "public/catalogue.html", context)


def _card(release: Release) -> dict[str, Any]:
    """Return the context of a map's card in the catalogue, a box of facts and links."""
    picture = file_url(release, preview.NAME)
    return {"release": release, "card": release_card(release), "picture_url": picture}


@require_safe
@shared
def release(request: HttpRequest, release_id: str) -> HttpResponse:
    """Show a map with its figures and files."""

    def context(release: Release, summary: Summary) -> dict[str, Any]:
        public = release.rules.public
        return {
            "downloads": downloads(release, summary),
            "others": comparable(release.pk, release.dataset_id, release.mechanism),
            "structured": structured(request, release) if public else "",
        }

    return release_page(request, release_id, "public/release.html", context)


@require_safe
@shared
def release_privacy(request: HttpRequest, release_id: str) -> HttpResponse:
    """Show how a map was made private, with each of its measurements."""

    def context(release: Release, summary: Summary) -> dict[str, Any]:
        return {
            "bars": privacy_diagrams.bars([spend.share for spend in summary.spends]),
            "curves": privacy_diagrams.curves(summary.shift_of_one),
            "declarations": declarations(summary),
            "statement": release.files.filter(name=statement.NAME).first(),
            "statement_url": file_url(release, statement.NAME),
        }

    return release_page(request, release_id, "public/release_privacy.html", context)


def declarations(summary: Summary) -> list[tuple[str, str]]:
    """Return (title, text) pairs on public layers, the series and how the area was chosen."""
    declared = []
    for layer, words in summary.public_layers:
        size = ngettext("{features} feature", "{features} features", layer["features"])
        title = f"{layer['title']}, {size.format(features=figure(layer['features']))}"
        checksum = f"SHA-256 {layer['sha256'][:4]}\u2026{layer['sha256'][-4:]}."
        declared.append((title, " ".join([*map(say, words), checksum])))
    if summary.series:
        declared.append((gettext("Series"), " ".join(map(say, series_sentences(summary.series)))))
    if summary.area_chosen:
        declared.append((gettext("Study area"), " ".join(map(say, summary.area_chosen))))
    return declared


@require_safe
@never_cache
def data_protection(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who processes a dataset, why, on what legal basis and for how long.

    Responds with 404 if nothing is stated, or if the visitor may not read the dataset.
    """
    readable = datasets_readable_by(request.user).select_related("data_protection")
    dataset = get_object_or_404(readable.exclude(data_protection=None), slug=slug)
    releases = dataset.releases.filter(state__in=PUBLIC).order_by("-day", "-pk")
    context = {
        "section": "privacy",
        "dataset": dataset,
        "stated": dataset.data_protection,
        "releases": releases,
    }
    return render(request, "public/data_protection.html", context)


@require_safe
@shared
def about_privacy(request: HttpRequest) -> HttpResponse:
    """Explain to the public what the maps promise."""
    context = {"section": "privacy", "curves": privacy_diagrams.curves(0.05)}
    return render(request, "public/about_privacy.html", context)


@require_safe
@shared
def about_words(request: HttpRequest) -> HttpResponse:
    """Show the glossary."""
    context = {"section": "privacy", "sections": glossary.SECTIONS}
    return render(request, "public/glossary.html", context)


@require_safe
def basemap_json(request: HttpRequest, release_id: str) -> JsonResponse:
    """Return as JSON the land (`basemap.basemap`) and the basemap around a release's study area."""
    try:
        release = release_visible(request.user, release_id)
    except Release.DoesNotExist:
        raise Http404(NO_MAP) from None
    key = f"dpgeo.pages.basemap.{release.dataset_id}.{release.blob_sha256}"
    shapes = cache.get(key)
    if shapes is None:
        shapes = basemap(release.dataset.area)
        cache.set(key, shapes, DAY)
    area = release.dataset.area
    response = JsonResponse(
        shapes | basemap_names(area) | {"ground": ground_under(area)},
        json_dumps_params={"ensure_ascii": False},
    )
    public = release.rules.public
    response["Cache-Control"] = f"public, max-age={DAY}" if public else "private, no-store"
    return response


def gone_page(request: HttpRequest, gone: Gone, release: Release | None = None) -> HttpResponse:
    """Show that a release is no longer available, with its details if `release` is given."""
    context = release_context(release) if release else {"section": "maps"}
    return render(request, f"public/gone/{gone.kind}.html", context, status=410)


def release_page(
    request: HttpRequest,
    release_id: str,
    template: str,
    context: Callable[[Release, Summary], dict[str, Any]],
) -> HttpResponse:
    """Render a page of a drawn release, or show that the release is no longer available.

    Raises Http404 for an unknown release and for a draft that the user may not see.
    """
    try:
        release = release_visible(request.user, release_id)
    except ReleaseGone as ended:
        return gone_page(request, ended.gone)
    except Release.DoesNotExist:
        raise Http404(NO_MAP) from None
    if release.rules.gone:
        return gone_page(request, release.rules.gone, release)
    common = release_context(release)
    shown = release.rules.public or release.files.filter(name=map_array.NAME).exists()
    if not (release.blob_name and shown):
        return render(request, "public/not_drawn.html", common)
    summary = build_summary(release)
    figures = {
        "summary": summary,
        **promises(release, summary),
        "ramps": RAMPS,
        "sharing": sharing(request, release, summary),
    }
    drawn = drawn_from(release) | context(release, summary)
    return render(request, template, common | figures | drawn)


def promises(release: Release, summary: Summary) -> dict[str, Any]:
    """Return the bounds on right guesses from this map alone and from all maps of the dataset."""
    lifetime = lifetime_limit(release.dataset, Unit(summary.unit), summary.noun)
    moved = summary.moved
    if moved:
        small = lifetime.small_of_points(release.ledger.phrase(release.cost_units))
    else:
        small = lifetime.small(_presence(summary))
    bound = lifetime.places if moved else lifetime.counts
    together = bound.right if bound else None
    return {
        "promise": summary.promise,
        "scale": privacy_diagrams.scale(summary.promise.bound.right, together),
        "together": lifetime.lines_of_points if moved else lifetime.lines,
        "small": small,
        "beyond": () if moved else _beyond(release.dataset, summary),
    }


def _beyond(dataset: Dataset, summary: Summary) -> Sequence[Phrase]:
    """Return sentences on how well a map hides that somebody was in a place, and how well it hides
    groups of people.
    """
    cost, ledger = _presence(summary), dataset.ledger
    total = ledger.unit_guarantee(ledger.lifetime_units, cost.unit)
    together = None if isinstance(total, GeoInd) else total
    return in_places_and_groups(cost, summary.noun, summary.household, together)


def _presence(summary: Summary) -> Presence:
    """Return the guarantee of a release of counts. Raises TypeError for moved points."""
    if isinstance(summary.cost, GeoInd):
        raise TypeError("Points limit no guesses about presence.")
    return summary.cost


def drawn_from(release: Release) -> dict[str, Any]:
    """Return the address and size of a map's data, and the address of its static picture."""
    sizes = dict(release.files.values_list("name", "size"))
    return {
        "array_url": file_url(release, map_array.NAME),
        "array_size": sizes.get(map_array.NAME, 0),
        "picture_url": file_url(release, preview.NAME) if preview.NAME in sizes else "",
    }


def release_context(release: Release) -> dict[str, Any]:
    """Return the template context that all of a release's pages share.

    The remaining budget is private and therefore not included.
    """
    ledger = release.dataset.ledger
    points = points_ledger(ledger)
    return {
        "section": "maps",
        "release": release,
        "dataset": release.dataset,
        "publisher": release.dataset.organisation,
        "total_epsilon": ledger.total,
        "total_delta": ledger.delta_text,
        "total_rho": in_language(ledger.rho_text(ledger.lifetime_units)) if ledger.is_zcdp else "",
        "points_total": ledger_words(points, points.lifetime_units) if points else "",
        "is_draft": not release.rules.public,
        "notes": release.notes if release.rules.served else [],
    }


def downloads(release: Release, summary: Summary) -> list[Downloads]:
    """Return the files meant for people, layer by layer, and last the files of the whole map.

    The array of numbers that only the map's script reads is left out.
    """
    titles = {layer.name: layer.title for layer in summary.layers}
    sizes = {layer.name: layer.size for layer in summary.layers}
    groups = {name: Downloads(title, []) for name, title in {**titles, "": ""}.items()}
    for file in release.files.all():
        if file.kind.layer in titles or file.name == preview.NAME or file.name in MADE_UP:
            listed = groups[file.kind.layer].files
            listed.append(describe_download(release, file, sizes.get(file.kind.layer, 0)))
    for group in groups.values():
        group.files.sort(key=lambda each: each.file.kind.title)
    return [group for group in groups.values() if group.files]


def describe_download(release: Release, file: ReleaseFile, features: int) -> Download:
    """Return where a file is downloaded; one that is not made yet has a page that waits for it.

    `features` is the number of features in the file.
    """
    sheet = spreadsheet_url(release, file)
    if file.is_made:
        return Download(file, file_url(release, file.name), sheet)
    page = reverse("file", args=[release.pk, file.name])
    fits = sheet and features <= MAX_SHEET_FEATURES
    return Download(file, page, f"{page}?spreadsheet=" if fits else "")


def spreadsheet_url(release: Release, file: ReleaseFile) -> str:
    """Return the address of a layer's CSV file for spreadsheets; "" if there is none.

    It uses the decimal sign of the page's language.
    """
    layer = file.kind.layer
    too_large = file.size is not None and file.size > MAX_BYTES
    if not layer or not file.name.endswith(csv.FORMAT.suffix) or too_large:
        return ""
    address = reverse("api:spreadsheet", args=[release.pk, layer])
    comma = get_format("DECIMAL_SEPARATOR") == ","
    return f"{address}?decimal=comma" if comma else address


def file_url(release: Release, name: str) -> str:
    """Return the address of a release's file."""
    return reverse("api:release-file", args=[release.pk, name])
