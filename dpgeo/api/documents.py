"""What the API says of releases, datasets and mechanisms: public facts, and none besides.

Nothing here depends on the private data but through a release's files; how much of a budget is
left, when jobs ran and how many rows there are is never said.
"""

from __future__ import annotations

import datetime
import functools
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from rest_framework.request import Request

from dpgeo.accounts.models import Organisation
from dpgeo.artefacts import statement
from dpgeo.artefacts.files import file_kind
from dpgeo.artefacts.wording import odds_factor
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Guarantee, PureDP, Unit
from dpgeo.core.parameters import json_schema
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.privacy_sentence import promise_of
from dpgeo.mechanisms.registry import MECHANISMS, kind_of
from dpgeo.releases.models import ENDED, Release, ReleaseFile, ReleaseState

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

AnyRequest = HttpRequest | Request


def release_document(request: AnyRequest, release: Release) -> dict[str, Any]:
    """One release; a withdrawn or rejected one without its files, a tombstone."""
    dataset = release.dataset
    files = [] if release.state in ENDED else list(release.files.all())
    stated = next((file for file in files if file.name == statement.NAME), None)
    return {
        "id": release.pk,
        "url": address_of(request, "api:release", release.pk),
        "state": release.state,
        "title": release.title,
        "description": release.description,
        "dataset": {"slug": dataset.slug, "title": dataset.title},
        "publisher": _publisher(dataset.organisation),
        "licence": dataset.licence,
        "attribution": dataset.attribution,
        "kind": kind_of(release.mechanism) or "",
        "mechanism": release.mechanism,
        "parameters": dict(sorted(release.parameters.items())),
        "notion": release.notion,
        "cost": release.cost_words,
        "epsilon": presence_epsilon(release.cost),
        "bound": release.bound,
        "counting": release.counting,
        "bounding": release.bounding,
        "unit": dataset.unit,
        "bbox": dataset.bounds,
        "published_on": _day(release.published_at),
        "withdrawn_on": _day(release.withdrawn_at),
        "privacy": _privacy(dataset),
        "files": [_file(request, release, file) for file in files],
        "statement_url": _file_url(request, release, stated) if stated else None,
        "links": _release_links(request, release),
    }


def dataset_document(request: AnyRequest, dataset: Dataset) -> dict[str, Any]:
    """One dataset as its publisher declared it."""
    releases = request.build_absolute_uri(f"{reverse('api:releases')}?dataset={dataset.slug}")
    return {
        "slug": dataset.slug,
        "url": address_of(request, "api:dataset", dataset.slug),
        "title": dataset.title,
        "description": dataset.description,
        "publisher": _publisher(dataset.organisation),
        "licence": dataset.licence,
        "attribution": dataset.attribution,
        "unit": dataset.unit,
        "time_zone": dataset.time_zone,
        "public_attributes": dataset.public_attributes,
        "bbox": dataset.bounds,
        "study_area": dataset.study_area,
        "privacy": _privacy(dataset),
        "releases_url": releases,
    }


def mechanism_document(request: AnyRequest, key: str) -> dict[str, Any]:
    """One mechanism, its parameters as JSON Schema."""
    mechanism = MECHANISMS[key]
    return {
        "key": key,
        "url": address_of(request, "api:mechanism", key),
        "title": mechanism.title,
        "summary": mechanism.summary,
        "kind": mechanism.kind,
        "parameters": {"$schema": JSON_SCHEMA_DIALECT, **json_schema(mechanism.params)},
    }


def _privacy(dataset: Dataset) -> dict[str, Any]:
    """The promise to the people in a dataset: its whole budget, spent or not."""
    total = dataset.ledger.total
    points = points_ledger(dataset.ledger)
    return {
        "sentence": promise_of(dataset, Unit(dataset.unit)),
        "total_epsilon": format_epsilon(total),
        "odds_factor": odds_factor(total),
        "points": points_document(points, points.total_units) if points else None,
    }


def points_document(ledger: Ledger, units: int) -> dict[str, Any]:
    """Whole units of a ledger for points."""
    return {
        "level": ledger.amount(units),
        "radius": ledger.radius,
        "epsilon_per_metre": format_epsilon(ledger.epsilon_of(units)),
    }


def presence_epsilon(cost: Guarantee) -> str | None:
    """An epsilon of pure differential privacy; null for a cost of another notion."""
    return format_epsilon(cost.epsilon) if isinstance(cost, PureDP) else None


def _publisher(organisation: Organisation) -> dict[str, str]:
    return {
        "slug": organisation.slug,
        "name": organisation.name,
        "contact": organisation.contact,
    }


def _file(request: AnyRequest, release: Release, file: ReleaseFile) -> dict[str, Any]:
    kind = file_kind(file.name)
    return {
        "name": file.name,
        "format": kind.title,
        "use": kind.use,
        "layer": kind.layer,
        "url": _file_url(request, release, file),
        "media_type": file.media_type,
        "sha256": file.sha256,
        "size": file.size,
    }


def _file_url(request: AnyRequest, release: Release, file: ReleaseFile) -> str:
    return address_of(request, "api:release-file", release.pk, file.name)


def _release_links(request: AnyRequest, release: Release) -> dict[str, str]:
    links = {
        "self": address_of(request, "api:release", release.pk),
        "page": address_of(request, "release", release.pk),
        "privacy": address_of(request, "release-privacy", release.pk),
    }
    if release.mechanism in MECHANISMS:
        links["mechanism"] = address_of(request, "api:mechanism", release.mechanism)
    if release.state == ReleaseState.PUBLISHED:
        links["dataset"] = address_of(request, "api:dataset", release.dataset.slug)
    return links


def _day(moment: datetime.datetime | None) -> datetime.date | None:
    """The day (UTC) of a moment, and no more: to the second, a release that publishes itself when
    its job is done would tell how long the job ran, which depends on the private data."""
    return moment.astimezone(datetime.UTC).date() if moment else None


def address_of(request: AnyRequest, name: str, *values: object) -> str:
    """The whole address of a named page."""
    return request.build_absolute_uri(_path(name, *values))


@functools.lru_cache(maxsize=16_384)
def _path(name: str, *values: object) -> str:
    """Addresses never change while a server runs, and lists are full of them."""
    return reverse(name, args=values)
