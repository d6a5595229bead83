"""Sitemap, robots.txt and schema.org metadata for search engines."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.sax.saxutils import escape

from django.conf import settings
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from dpgeo.artefacts import preview
from dpgeo.budgets.models import NotionChoice
from dpgeo.core.guarantees import Counting
from dpgeo.core.licences import licence_url
from dpgeo.core.nouns import VISIT, noun_of
from dpgeo.core.themes import THEMES
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

MOST_ADDRESSES = 50_000
"""Largest number of addresses that a sitemap may list."""

MOST_SERIES = 10_000
"""Maximum number of series that a sitemap lists."""

LEAST_DESCRIPTION, MOST_DESCRIPTION = 50, 5000
"""Shortest and longest description, in characters, that dataset search engines accept."""

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"

UNSAFE = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}
"""Characters that could end a script element, with their JSON escapes."""


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """List the addresses of all public pages, with the publication day of each map.

    The day of a series is that of its newest map.
    """
    lines = [
        _entry(request, reverse(name)) for name in ("catalogue", "about-privacy", "about-words")
    ]
    days = releases_public().exclude(series=None).order_by().values("series").annotate(Max("day"))
    for each in days[:MOST_SERIES]:
        path = reverse("series", args=[each["series"]])
        lines.append(_entry(request, path, each["day__max"].isoformat()))
    published = releases_public().values_list("pk", "published_at")
    # Entries differ only in the release's id and day, so one is built and used as a pattern.
    pattern = _entry(request, reverse("release", args=["-release-"]), "-day-")
    before, between, after = re.split("-release-|-day-", pattern)
    for release, at in published[: MOST_ADDRESSES - len(lines)]:
        if at is not None:
            lines.append(f"{before}{release}{between}{at.date().isoformat()}{after}")
    body = "\n".join(lines)
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP}">\n{body}\n</urlset>\n'
    )
    return HttpResponse(text, content_type="application/xml")


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
    if len(release.description) >= LEAST_DESCRIPTION:
        return release.description[:MOST_DESCRIPTION]
    protected = "one person, with all their rows" if release.dataset.unit == "person" else "one row"
    words = [release.description, introduction, f"Random noise hides {protected}."]
    return " ".join(filter(None, words))


def _measured(release: Release) -> str:
    if release.notion == NotionChoice.GEO_IND:
        return "Positions, each moved at random"
    if release.request.counting is Counting.VISITS:
        rows = noun_of(release.dataset.row_noun, VISIT).many
        return f"Number of {rows} in a place, with noise"
    return "Number of people in a place, with noise"


def page_address(request: HttpRequest, release: Release) -> str:
    """Return the address, without a language prefix, that identifies a release's page."""
    path = reverse("release", urlconf=settings.ROOT_URLCONF, args=[release.pk])
    return request.build_absolute_uri(path)


def _file(request: HttpRequest, release: Release, name: str) -> str:
    return request.build_absolute_uri(reverse("api:release-file", args=[release.pk, name]))


def _entry(request: HttpRequest, path: str, day: str = "") -> str:
    changed = f"<lastmod>{day}</lastmod>" if day else ""
    return f"<url><loc>{escape(request.build_absolute_uri(path))}</loc>{changed}</url>"
