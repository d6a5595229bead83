"""Sitemap, robots.txt and schema.org metadata for search engines."""

from __future__ import annotations

import json
from typing import Any
from xml.sax.saxutils import escape

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from dpgeo.artefacts import preview
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

MOST_ADDRESSES = 50_000
"""Most addresses that a sitemap may list."""

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"

UNSAFE = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}
"""Characters that could end a script element, with their JSON escapes."""


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """List the addresses of all public pages, and the publication day of each map."""
    lines = [
        _entry(request, reverse(name)) for name in ("catalogue", "about-privacy", "about-words")
    ]
    for release in releases_public()[: MOST_ADDRESSES - len(lines)]:
        day = release.published_at.date().isoformat() if release.published_at else ""
        lines.append(_entry(request, reverse("release", args=[release.pk]), day))
    body = "\n".join(lines)
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP}">\n{body}\n</urlset>\n'
    )
    return HttpResponse(text, content_type="application/xml")


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Ask crawlers to leave out the desk, which is for members, and computed answers."""
    desk = reverse("desk")
    shut = [desk, f"/*{desk}", reverse("admin:index"), reverse("ogc:landing")]
    lines = ["User-agent: *", *(f"Disallow: {each}" for each in shut)]
    lines.append(f"Sitemap: {request.build_absolute_uri(reverse('sitemap'))}")
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain")


def structured(request: HttpRequest, release: Release) -> SafeString:
    """Return a release as schema.org Dataset in JSON-LD, safe in a script element."""
    text = json.dumps(schema_org(request, release), ensure_ascii=False).translate(UNSAFE)
    return mark_safe(text)  # noqa: S308 - no character of it can end the element


def schema_org(request: HttpRequest, release: Release) -> dict[str, Any]:
    """Return a release as a schema.org Dataset."""
    dataset, publisher = release.dataset, release.dataset.organisation
    west, south, east, north = dataset.bounds
    files = list(release.files.all())
    document: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "@id": page_address(request, release),
        "url": page_address(request, release),
        "identifier": release.pk,
        "name": release.title,
        "description": release.description
        or f"{release.title}: a differentially private map by {publisher.name}.",
        "license": dataset.licence,
        "creditText": dataset.attribution or publisher.name,
        "isAccessibleForFree": True,
        "creator": {"@type": "Organization", "name": publisher.name},
        "measurementTechnique": f"{release.cost_words} per {dataset.unit}",
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
                "contentSize": f"{file.size} B",
                "sha256": file.sha256,
            }
            for file in files
            if file.kind.layer
        ],
    }
    if release.published_at:
        document["datePublished"] = release.published_at.date().isoformat()
    if any(file.name == preview.NAME for file in files):
        document["thumbnailUrl"] = _file(request, release, preview.NAME)
    return document


def page_address(request: HttpRequest, release: Release) -> str:
    """Return the address of a release's page in no language, which identifies the release."""
    path = reverse("release", urlconf=settings.ROOT_URLCONF, args=[release.pk])
    return request.build_absolute_uri(path)


def _file(request: HttpRequest, release: Release, name: str) -> str:
    return request.build_absolute_uri(reverse("api:release-file", args=[release.pk, name]))


def _entry(request: HttpRequest, path: str, day: str = "") -> str:
    changed = f"<lastmod>{day}</lastmod>" if day else ""
    return f"<url><loc>{escape(request.build_absolute_uri(path))}</loc>{changed}</url>"
