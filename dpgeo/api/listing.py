"""Published releases as JSON, kept in memory while nothing that they say has changed.

Keys are made of all public facts that a document holds and of nothing else: what was spent or when
jobs ran makes no answer slower or faster. Files of a published release never change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from django.db.models import prefetch_related_objects
from rest_framework.renderers import JSONRenderer

from dpgeo.api.documents import AnyRequest, release_document
from dpgeo.api.serializers import ReleaseSerializer
from dpgeo.budgets.selectors import points_ledger
from dpgeo.releases.models import Release, ReleaseState

MOST_KEPT = 4096
"""Documents of some kilobytes each."""

_kept: dict[bytes, bytes] = {}


def release_texts(request: AnyRequest, releases: Sequence[Release]) -> list[bytes]:
    """Each release as JSON; what was not kept is made, with one query for the files of all."""
    origin = request.build_absolute_uri("/")
    keys = [_key(origin, release) for release in releases]
    known = {key: _kept[key] for key in keys if key in _kept}
    missing = [each for each in zip(keys, releases, strict=True) if each[0] not in known]
    prefetch_related_objects([release for _, release in missing], "files")
    for key, release in missing:
        document = ReleaseSerializer(release_document(request, release)).data
        known[key] = JSONRenderer().render(document)
        # The statement is written last: with it, all files are there.
        if release.state == ReleaseState.PUBLISHED and document["statement_url"]:
            _keep(key, known[key])
    return [known[key] for key in keys]


def _keep(key: bytes, text: bytes) -> None:
    while len(_kept) >= MOST_KEPT:
        _kept.pop(next(iter(_kept)), None)
    _kept[key] = text


def _key(origin: str, release: Release) -> bytes:
    """A digest of the public facts that a release's document is made of."""
    dataset = release.dataset
    publisher, ledger = dataset.organisation, dataset.ledger
    points = points_ledger(ledger)
    facts = (
        origin,
        *(release.pk, release.state, release.title, release.description, release.mechanism),
        *(release.parameters, release.cost_units, release.bound, release.counting),
        *(release.published_at, release.withdrawn_at),
        *(dataset.slug, dataset.title, dataset.licence, dataset.attribution, dataset.unit),
        *(dataset.study_area, publisher.slug, publisher.name, publisher.contact),
        *(ledger.total_units, points and (points.total_units, points.radius)),
    )
    return hashlib.blake2b(repr(facts).encode(), digest_size=32).digest()
