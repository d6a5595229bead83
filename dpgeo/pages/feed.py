"""Feeds of all published maps, and of the published maps of one series, newest first.

The feeds are Atom feeds (RFC 4287); a series also has a JSON Feed.

An entry is dated only by the day of publication, as on every public page, because a time of day
could reveal how long a job took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.artefacts import card
from dpgeo.releases.models import Release, Series
from dpgeo.releases.promises import promise_of
from dpgeo.releases.selectors import releases_public
from dpgeo.releases.series_maps import maps_public, series_public

ATOM = "http://www.w3.org/2005/Atom"

MOST_ENTRIES = 50

EARLIEST = "1970-01-01"
"""Date in a feed without entries, because Atom requires one."""


@require_safe
def feed(request: HttpRequest) -> HttpResponse:
    """List the newest published maps, each with its privacy promise."""
    releases = list(releases_public()[:MOST_ENTRIES])
    return _atom(request, gettext("Maps"), request.build_absolute_uri("/"), releases)


@require_safe
def series_feed(request: HttpRequest, series_id: UUID) -> HttpResponse:
    """List the newest maps of a series as an Atom feed."""
    series, releases = _series(series_id)
    return _atom(request, series.title, series_address(request, series), releases)


@require_safe
def series_json_feed(request: HttpRequest, series_id: UUID) -> HttpResponse:
    """List the newest maps of a series as a JSON feed (jsonfeed.org, version 1.1)."""
    series, releases = _series(series_id)
    publisher = series.dataset.organisation.name
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": series.title,
        "description": series.description,
        "home_page_url": series_address(request, series),
        "feed_url": request.build_absolute_uri(request.path),
        "authors": [{"name": publisher}],
        "items": [_item(request, release) for release in releases],
    }
    answer = JsonResponse(document, json_dumps_params={"ensure_ascii": False})
    answer["Content-Type"] = "application/feed+json"
    answer["Access-Control-Allow-Origin"] = "*"
    return answer


def series_address(request: HttpRequest, series: Series) -> str:
    """Return the address, without a language prefix, that identifies a series' page."""
    path = reverse("series", urlconf=settings.ROOT_URLCONF, args=[series.pk])
    return request.build_absolute_uri(path)


def _series(series_id: UUID) -> tuple[Series, list[Release]]:
    series = series_public(series_id)
    if series is None:
        raise Http404
    return series, list(maps_public(series)[:MOST_ENTRIES])


def _item(request: HttpRequest, release: Release) -> dict[str, Any]:
    address = request.build_absolute_uri(reverse("release", args=[release.pk]))
    picture = release.files.filter(name=card.NAME).exists()
    image = reverse("api:release-file", args=[release.pk, card.NAME])
    return {
        "id": address,
        "url": address,
        "title": release.title,
        "content_text": _summary(release),
        "date_published": _day(release),
        **({"image": request.build_absolute_uri(image)} if picture else {}),
    }


def _atom(request: HttpRequest, title: str, page: str, releases: Sequence[Release]) -> HttpResponse:
    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")
    address = request.build_absolute_uri(request.path)
    _add(root, "id", address)
    _add(root, "title", title)
    _add(root, "link", rel="self", href=address)
    _add(root, "link", rel="alternate", href=page)
    _add(root, "updated", max(map(_day, releases), default=f"{EARLIEST}T00:00:00Z"))
    for release in releases:
        _add_entry(root, request, release)
    text = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return HttpResponse(text, content_type="application/atom+xml; charset=utf-8")


def _add_entry(root: ElementTree.Element, request: HttpRequest, release: Release) -> None:
    entry = ElementTree.SubElement(root, f"{{{ATOM}}}entry")
    address = request.build_absolute_uri(reverse("release", args=[release.pk]))
    _add(entry, "id", address)
    _add(entry, "title", release.title)
    _add(entry, "link", rel="alternate", type="text/html", href=address)
    _add(entry, "updated", _day(release))
    _add(entry, "published", _day(release))
    author = ElementTree.SubElement(entry, f"{{{ATOM}}}author")
    _add(author, "name", release.dataset.organisation.name)
    _add(entry, "rights", release.dataset.licence)
    _add(entry, "summary", _summary(release))


def _summary(release: Release) -> str:
    return " ".join(filter(None, (release.description, promise_of(release).sentence)))


def _add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> None:
    # XML 1.0 cannot represent most control characters, so leave them out.
    plain = "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")
    ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes).text = plain or None


def _day(release: Release) -> str:
    day = release.published_at.date().isoformat() if release.published_at else EARLIEST
    return f"{day}T00:00:00Z"
