"""Public layers made from published releases.

Privacy argument. A published file is a function of noise that was paid for, so anything made from
it is post-processing. This holds only for the published file itself: the software reads it from its
own storage, and does not accept an uploaded file that is merely said to be from a release. If the
release is about the same people, its cost is already part of their total. If it has a budget of its
own, the two budgets add up for everybody who is in both datasets, and the statement says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Any, BinaryIO, cast

from dpgeo.accounts.models import User
from dpgeo.artefacts.declarations import BEFORE_UPLOAD, CHOICE, EXCHANGE, LAYERS, SEEN
from dpgeo.artefacts.files import build_files
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.layer_declaration import LayerDeclaration, ReleaseSource
from dpgeo.datasets.layers import declared_before_upload, public_layer_add, same_people, source_of
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.datasets.storage import open_stored, work_folder
from dpgeo.phrases import listed
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.selectors import FileUnmade, load_released, release_public, stored_file

SUFFIX = ".geojson"


def layer_declare(
    *, dataset: Dataset, file: BinaryIO | None, created_by: User | None, **facts: Any
) -> PublicLayer:
    """Declare a public layer, made from a file or from a published release.

    `facts` are its declaration. Raises InvalidInput, with the field at fault, or an error of
    `public_layer_add`.
    """
    asked = LayerDeclaration.read(facts)
    given = asked.given() | {"public_source": asked.public_source}
    if asked.release:
        return _declare_released(dataset, file, asked, created_by, given)
    if asked.release_layer:
        raise InvalidInput("Leave this out, or give the release.", field="release_layer")
    if file is None:
        raise InvalidInput(
            "Give the layer itself, or the id of a published release to make it from.", field="file"
        )
    return public_layer_add(
        dataset=dataset, file=file, created_by=created_by, provenance=asked.public_source, **given
    )


def _declare_released(
    dataset: Dataset,
    file: BinaryIO | None,
    asked: LayerDeclaration,
    created_by: User | None,
    given: dict[str, Any],
) -> PublicLayer:
    """Declare a layer made from a layer of a release. Raises InvalidInput."""
    for field, value in {"file": file, "public_source": asked.public_source}.items():
        if value is not None:
            raise InvalidInput(
                "Leave this out: the software makes the layer from the release itself.", field=field
            )
    release = release_public(asked.release)
    if release is None:
        raise InvalidInput(
            "{release!r} is not the id of a release that is published here; the id is the last "
            "part of a map's address.",
            release=asked.release,
            field="release",
        )
    source = ReleaseSource(release.pk)
    with _opened(release, _file_of(release, asked.release_layer).name) as opened:
        return public_layer_add(
            dataset=dataset, file=opened, created_by=created_by, provenance=source, **given
        )


@contextmanager
def _opened(release: Release, name: str) -> Iterator[BinaryIO]:
    """Open a file of a release; a file that is not made yet is written to a temporary folder."""
    try:
        stored = stored_file(release, name)
    except FileUnmade:
        with work_folder() as folder:
            build_files(load_released(release), folder, lambda file: file.name == name)
            with (folder / name).open("rb") as file:
                yield file
        return
    with open_stored(stored.storage, stored.name) as opened:
        yield cast("BinaryIO", opened)


def _file_of(release: Release, name: str) -> ReleaseFile:
    """Return the GeoJSON file of the release's layer with this name.

    `name` may be empty if the release has only one such file. Raises InvalidInput if there is none.
    """
    files = {
        file.kind.layer: file
        for file in release.files.filter(name__endswith=SUFFIX)
        if file.kind.layer
    }
    if not files:
        raise InvalidInput(
            "This release has no GeoJSON file to make a layer from; choose another.",
            field="release",
        )
    wanted = name or (next(iter(files)) if len(files) == 1 else "")
    if wanted not in files:
        raise InvalidInput(
            "Name the layer of the release to take; choose from {known}.",
            known=listed(files),
            field="release_layer",
        )
    return files[wanted]


def license_declarations(release: Release) -> dict[str, str]:
    """Return JSON texts about a release's public layers and study area, for `Released.about`."""
    used: Iterable[PublicLayer] = release.layers.all()
    texts = {LAYERS: json.dumps([layer_facts(layer, release.dataset) for layer in used])}
    dataset = release.dataset
    if dataset.area_choice:
        earlier = same_people(dataset).filter(first_upload_at__lt=dataset.created_at)
        texts[CHOICE] = json.dumps({**dataset.area_choice, BEFORE_UPLOAD: not earlier.exists()})
    if dataset.area_exchange:
        texts[EXCHANGE] = json.dumps(dataset.area_exchange)
    if dataset.area_seen:
        texts[SEEN] = json.dumps(dataset.area_seen)
    return texts


def layer_facts(layer: PublicLayer, dataset: Dataset) -> dict[str, Any]:
    """Return the facts about a layer that a release's statement includes, as a JSON object."""
    return {
        "name": layer.name,
        "title": layer.title,
        "kind": layer.kind,
        "sha256": layer.sha256,
        "features": layer.features,
        "declared_on": layer.created_at.astimezone(UTC).date().isoformat(),
        "declared_before_upload": declared_before_upload(layer),
        "public_source": source_of(layer),
        "release": _release_facts(layer.source_release, dataset),
    }


def _release_facts(release_id: str, dataset: Dataset) -> dict[str, Any] | None:
    """Return public facts about the release that a layer was made from.

    Returns None if the layer was not made from a release. "same_budget" says whether that
    release was paid for by the budget of `dataset`.
    """
    source = Release.objects.filter(pk=release_id).select_related("dataset__ledger").first()
    if source is None:
        return None
    return {
        "id": source.pk,
        "title": source.title,
        "dataset": source.dataset.title,
        "cost": source.cost_words,
        "total": source.ledger.words(source.ledger.lifetime_units),
        "same_budget": source.dataset.ledger_id == dataset.ledger_id,
        "used_layers": source.layers.exists(),
    }
