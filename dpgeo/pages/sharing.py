"""What a visitor takes along of a map: its imprint, a citation, and maps to compare it with."""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.dateformat import format as format_date
from django.utils.text import slugify

from dpgeo.artefacts import map_array
from dpgeo.mechanisms.registry import kind_of
from dpgeo.pages.summaries import Summary, summary_of
from dpgeo.pages.templatetags.figures import cost
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

MOST_COMPARED = 30


@dataclass(frozen=True, slots=True)
class Comparable:
    """Another map of the same kind and data."""

    key: str
    title: str
    array_url: str
    looks: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """`imprint` is a JSON list of the lines that are burned into every picture."""

    address: str
    imprint: str
    citation: str
    file_name: str


def sharing(request: HttpRequest, release: Release, summary: Summary) -> Sharing:
    """What names a release outside of this site; a function of its public facts alone."""
    address = request.build_absolute_uri(reverse("release", args=[release.pk]))
    publisher = release.dataset.organisation.name
    day = format_date(release.published_at, "j F Y") if release.published_at else "draft"
    licence = ", ".join(filter(None, [release.dataset.licence, release.dataset.attribution]))
    paid = cost(release)
    used = f"epsilon {paid}" if release.ledger.radius is None else paid
    notion = "Geo-indistinguishable" if summary.moved else "Differentially private"
    imprint = [
        f"{publisher}, {day}. {release.dataset.title}.",
        f"{notion}: {used} per {summary.unit}. {summary.mechanism}.",
        f"{licence}. Outlines: Natural Earth. {address}",
    ]
    year = release.published_at.year if release.published_at else "draft"
    citation = (
        f"{publisher} ({year}). {release.title}. {notion} map ({used} per "
        f"{summary.unit}; {summary.mechanism}). {release.dataset.licence}. {address}"
    )
    return Sharing(
        address, json.dumps(imprint), citation, f"{slugify(release.title)[:60] or 'map'}.png"
    )


def comparable(release: Release) -> list[Comparable]:
    """Other public maps of the same dataset and kind, newest first."""
    kind = kind_of(release.mechanism)
    others = releases_public().filter(dataset=release.dataset).exclude(pk=release.pk)
    alike = [other for other in others[: 3 * MOST_COMPARED] if kind_of(other.mechanism) is kind]
    return [
        Comparable(
            other.pk,
            other.title,
            reverse("api:release-file", args=[other.pk, map_array.NAME]),
            summary_of(other).looks,
        )
        for other in alike[:MOST_COMPARED]
    ]
