"""Citation of a release, the lines of credit printed into pictures of it, and comparable maps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import slugify
from django.utils.translation import gettext

from dpgeo.artefacts import card, map_array
from dpgeo.budgets.models import NotionChoice
from dpgeo.mechanisms.registry import find_kind, kind_mechanisms
from dpgeo.pages.cards import release_card
from dpgeo.pages.release_summary import Summary
from dpgeo.pages.seo import page_address
from dpgeo.pages.templatetags.figures import cost
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

MAX_COMPARED = 30


@dataclass(frozen=True, slots=True)
class Comparable:
    """Another map of the same dataset and kind."""

    key: str
    title: str
    array_url: str
    looks: str
    opens: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """Texts for citing and reusing a map.

    `imprint` is a JSON list of the lines that are printed into every picture of the map.
    """

    address: str
    imprint: str
    citation: str
    file_name: str
    card: str
    """URL of the preview picture for links; "" for maps made before these pictures existed."""
    oembed: str


def sharing(request: HttpRequest, release: Release, summary: Summary) -> Sharing:
    """Return texts for citing and reusing a release, from public facts alone."""
    address = page_address(request, release)
    publisher = release.dataset.organisation.name
    draft = gettext("draft")
    day = date_format(release.published_at, gettext("j F Y")) if release.published_at else draft
    licence = ", ".join(filter(None, [release.dataset.licence, release.dataset.attribution]))
    paid = cost(release)
    in_epsilon = release.ledger.notion == NotionChoice.PURE_DP
    used = gettext("epsilon {epsilon}").format(epsilon=paid) if in_epsilon else paid
    values = {
        "publisher": publisher,
        "day": day,
        "year": release.published_at.year if release.published_at else draft,
        "title": release.title,
        "used": used,
        "unit": gettext(summary.unit),
        "mechanism": gettext(summary.mechanism),
        "licence": licence,
        "address": address,
    }
    if summary.moved:
        notion = gettext("Geo-indistinguishable: {used} per {unit}. {mechanism}.")
        cited = gettext(
            "{publisher} ({year}). {title}. Geo-indistinguishable map ({used} per {unit}; "
            "{mechanism}). {licence}. {address}"
        )
    else:
        notion = gettext("Differentially private: {used} per {unit}. {mechanism}.")
        cited = gettext(
            "{publisher} ({year}). {title}. Differentially private map ({used} per {unit}; "
            "{mechanism}). {licence}. {address}"
        )
    imprint = [
        f"{publisher}, {day}. {release.dataset.title}.",
        notion.format(**values),
        gettext("{licence}. Outlines: Natural Earth. {address}").format(**values),
    ]
    citation = cited.format(**values | {"licence": release.dataset.licence})
    has_card = release.files.filter(name=card.NAME).exists()
    picture = reverse("api:release-file", args=[release.pk, card.NAME])
    described = f"{reverse('oembed')}?{urlencode({'url': address})}"
    return Sharing(
        address=address,
        imprint=json.dumps(imprint),
        citation=citation,
        file_name=f"{slugify(release.title)[:60] or 'map'}.png",
        card=request.build_absolute_uri(picture) if has_card else "",
        oembed=request.build_absolute_uri(described),
    )


def comparable(release_id: str, dataset_id: int, mechanism: str) -> list[Comparable]:
    """Return other public maps of a release's dataset and kind, newest first."""
    others = _others(release_id, dataset_id, mechanism).only("title", "card")
    return [_comparable(other) for other in others[:MAX_COMPARED]]


def _others(release_id: str, dataset_id: int, mechanism: str) -> QuerySet[Release]:
    kind = find_kind(mechanism)
    alike = kind_mechanisms(kind) if kind else []
    others = releases_public().filter(dataset=dataset_id, mechanism__in=alike)
    return others.exclude(pk=release_id).select_related(None)


def _comparable(release: Release) -> Comparable:
    card = release_card(release)
    return Comparable(
        release.pk,
        release.title,
        reverse("api:release-file", args=[release.pk, map_array.NAME]),
        card.looks,
        card.opens,
    )
