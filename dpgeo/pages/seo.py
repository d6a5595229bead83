"""Sitemap, robots.txt and schema.org metadata for search engines."""

from __future__ import annotations

import datetime
import json
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from dpgeo.artefacts import preview
from dpgeo.budgets.models import NotionChoice
from dpgeo.core.guarantees import Counting
from dpgeo.core.licences import licence_url
from dpgeo.core.nouns import VISIT, choose_noun
from dpgeo.core.themes import THEMES
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

MAX_SERIES, MAX_MAPS = 10_000, 39_000
"""Maximum numbers of series and of maps in the sitemap, which may list 50,000 addresses."""

MIN_DESCRIPTION, MAX_DESCRIPTION = 50, 5000
"""Shortest and longest description, in characters, that dataset search engines accept."""

UNSAFE = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}
"""Characters that could end a script element, with their JSON escapes."""


class PageSitemap(Sitemap):  # type: ignore[type-arg]
    """Addresses of the pages that list and explain maps."""

    def items(self) -> list[str]:
        """Return the names of the pages' URLs."""
        return ["catalogue", "about-privacy", "about-words"]

    def location(self, item: str) -> str:
        """Return the path of a page."""
        return reverse(item)


class SeriesSitemap(Sitemap):  # type: ignore[type-arg]
    """Addresses of the public series, each with the publication day of its newest map."""

    limit = MAX_SERIES

    def items(self) -> Any:
        """Return the key and the day of each series."""
        maps = releases_public().exclude(series=None).order_by()
        return maps.values("series").annotate(Max("day")).order_by("series")

    def location(self, item: dict[str, Any]) -> str:
        """Return the path of a series' page."""
        return reverse("series", args=[item["series"]])

    def lastmod(self, item: dict[str, Any]) -> datetime.date:
        """Return the day of the newest map."""
        day: datetime.date = item["day__max"]
        return day


class MapSitemap(Sitemap):  # type: ignore[type-arg]
    """Addresses of the public maps, each with the day of its publication."""

    limit = MAX_MAPS

    def items(self) -> Any:
        """Return the key and the day of each map, newest first."""
        return releases_public().values("pk", "day")

    def location(self, item: dict[str, Any]) -> str:
        """Return the path of a map's page."""
        return reverse("release", args=[item["pk"]])

    def lastmod(self, item: dict[str, Any]) -> datetime.date:
        """Return the day of the map's publication."""
        day: datetime.date = item["day"]
        return day


SITEMAPS = {"pages": PageSitemap, "series": SeriesSitemap, "maps": MapSitemap}


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Ask crawlers to skip the desk, the admin site and the OGC API."""
    desk = reverse("desk")
    shut = [desk, f"/*{desk}", reverse("admin:index"), reverse("ogc:landing")]
    lines = ["User-agent: *", *(f"Disallow: {each}" for each in shut)]
    lines.append(f"Sitemap: {request.build_absolute_uri(reverse('sitemap'))}")
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain")


def structured(request: HttpRequest, release: Release) -> SafeString:
    """Return a release as a schema.org Dataset in JSON-LD, safe inside a script element."""
    text = json.dumps(schema_org(request, release), ensure_ascii=False).translate(UNSAFE)
    return mark_safe(text)  # noqa: S308 - no character of it can end the element


def schema_org(request: HttpRequest, release: Release) -> dict[str, Any]:
    """Return a release as a schema.org Dataset."""
    dataset, publisher = release.dataset, release.dataset.organisation
    west, south, east, north = dataset.bounds
    files = list(release.files.all())
    maker: dict[str, Any] = {"@type": "Organization", "name": publisher.name}
    if dataset.contact_address:
        maker["contactPoint"] = {
            "@type": "ContactPoint",
            "contactType": "customer service",
            "email": dataset.contact_address,
        }
    document: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "@id": page_address(request, release),
        "url": page_address(request, release),
        "identifier": release.pk,
        "name": release.title,
        "description": _description(release),
        "license": licence_url(dataset.licence) or dataset.licence,
        "creditText": dataset.attribution or publisher.name,
        "isAccessibleForFree": True,
        "creator": maker,
        "publisher": maker,
        "includedInDataCatalog": {
            "@type": "DataCatalog",
            "name": "Differentially private maps",
            "url": request.build_absolute_uri(reverse("catalogue", urlconf=settings.ROOT_URLCONF)),
        },
        "measurementTechnique": f"{release.cost_words} per {dataset.unit}",
        "variableMeasured": {
            "@type": "PropertyValue",
            "name": _measured(release),
            "measurementTechnique": f"{release.cost_words} per {dataset.unit}",
        },
        "spatialCoverage": {
            "@type": "Place",
            "geo": {"@type": "GeoShape", "box": f"{south} {west} {north} {east}"},
        },
        "distribution": [
            {
                "@type": "DataDownload",
                "name": file.kind.title,
                "encodingFormat": file.media_type,
                "contentUrl": _file(request, release, file.name),
                **(
                    {"contentSize": f"{file.size} B", "sha256": file.sha256} if file.is_made else {}
                ),
            }
            for file in files
            if file.kind.layer and not file.kind.style
        ],
    }
    if release.published_at:
        day = release.published_at.date().isoformat()
        document |= {"datePublished": day, "dateModified": day}
    if words := [*dataset.keywords, *(THEMES[code] for code in dataset.themes)]:
        document["keywords"] = words
    days = release.covers
    if any(days):
        document["temporalCoverage"] = "/".join(day.isoformat() if day else ".." for day in days)
    if any(file.name == preview.NAME for file in files):
        document["thumbnailUrl"] = _file(request, release, preview.NAME)
    return document


def _description(release: Release) -> str:
    """Return a description of a release that is long enough for dataset search engines.

    Such search engines ignore datasets whose description has fewer than 50 characters.
    """
    noise = release.notion != NotionChoice.GEO_IND
    kind = "differentially private" if noise else "geo-indistinguishable"
    introduction = f"{release.title}: a {kind} map by {release.dataset.organisation.name}."
    if len(release.description) >= MIN_DESCRIPTION:
        return release.description[:MAX_DESCRIPTION]
    protected = "one person, with all their rows" if release.dataset.unit == "person" else "one row"
    words = [release.description, introduction, f"Random noise hides {protected}."]
    return " ".join(filter(None, words))


def _measured(release: Release) -> str:
    if release.notion == NotionChoice.GEO_IND:
        return "Positions, each moved at random"
    if release.request.counting is Counting.VISITS:
        rows = choose_noun(release.dataset.row_noun, VISIT).many
        return f"Number of {rows} in a place, with noise"
    return "Number of people in a place, with noise"


def page_address(request: HttpRequest, release: Release) -> str:
    """Return the address, without a language prefix, that identifies a release's page."""
    path = reverse("release", urlconf=settings.ROOT_URLCONF, args=[release.pk])
    return request.build_absolute_uri(path)


def _file(request: HttpRequest, release: Release, name: str) -> str:
    return request.build_absolute_uri(reverse("api:release-file", args=[release.pk, name]))
