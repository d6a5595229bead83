"""Public layers of a dataset: declaration, reading and removal.

A layer is public geometry that the publisher took from a map. It is stored in the form in which it
is read back, and never changes. When it is used, it is clipped to the study area. It can be removed
as long as no release uses it. After the dataset's first upload, a new layer needs a provenance,
because its publisher could have made it from the rows.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, BinaryIO

from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.blanks import trim
from dpgeo.core import domain
from dpgeo.core.domain import LAYER_TYPES, Domain, LayerKind, no_such_layer
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.layer_declaration import (
    LayerDeclaration,
    Provenance,
    PublicSource,
    ReleaseSource,
)
from dpgeo.datasets.layer_documents import read_document
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.datasets.storage import open_stored, private_storage, remove
from dpgeo.ingest.layer_file import LayerChoices
from dpgeo.ingest.schema import Columns
from dpgeo.phrases import phrase_of
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.places import Places
from dpgeo.spatial.regions import Regions
from dpgeo.spatial.zones import Zones

FOLDER = "layers"
"""Folder for layers in the private storage. A layer becomes public with the first release that uses
it.
"""

MAX_LAYERS = 100
"""Maximum number of layers in one dataset, so that a looping program cannot fill the disk."""


def public_layer_add(
    *,
    dataset: Dataset,
    file: BinaryIO,
    created_by: User | None,
    provenance: Provenance | None = None,
    **facts: Any,
) -> PublicLayer:
    """Declare a layer from a file in a format of `layer_documents`; `facts` are its declaration.

    If a layer of zones has the name of a level, such as "city", each place must lie in the zone of
    its city. `provenance` is required once a file has been uploaded; only
    `releases.released_layers` passes a release as the provenance. `created_by` is None for the
    operator at the console. Raises NotAllowed, InvalidInput with the name of the field, or Conflict
    if there are too many layers or this machine is too busy.
    """
    _check_may(dataset, created_by)
    asked = LayerDeclaration.read(facts)
    _check_free(dataset, asked.name)
    choices = LayerChoices(
        kind=asked.kind,
        bounds=dataset.area.bounds,
        key=asked.key_property,
        name=asked.name_property,
        levels=_levels(asked),
        layer=asked.file_layer,
        crs=asked.file_crs,
    )
    layer = _layer_of(dataset, file, choices)
    content = json.dumps(layer.to_geojson(), separators=(",", ":")).encode()
    storage = private_storage()
    stored = storage.save(f"{FOLDER}/{secrets.token_hex(16)}.geojson", ContentFile(content))
    try:
        with transaction.atomic():
            return PublicLayer.objects.create(
                **_provenance_columns(dataset, provenance),
                dataset=dataset,
                name=asked.name,
                kind=asked.kind,
                title=asked.title or asked.name,
                stored_name=stored,
                sha256=hashlib.sha256(content).hexdigest(),
                features=len(layer),
                created_by=created_by,
            )
    except IntegrityError:
        remove(storage, stored)
        raise InvalidInput(TAKEN, name=asked.name, field="name") from None
    except BaseException:
        remove(storage, stored)
        raise


def _layer_of(dataset: Dataset, file: BinaryIO, choices: LayerChoices) -> domain.PublicLayer:
    """Read a layer and check that it lies in the study area.

    Raises InvalidInput for an unsuitable file or layer, or Conflict if this machine is too busy.
    """
    try:
        document = read_document(file, choices)
        layer = READERS[choices.kind](document, key=choices.key, name=choices.name)
        layer.within(dataset.area)
        if isinstance(layer, Places):
            _check_places(dataset, layer)
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="file") from None
    return layer


def _levels(asked: LayerDeclaration) -> tuple[str, ...]:
    """Return the names of the levels of places, such as ("country", "city").

    The result is empty if the levels are to be inferred from the file, or if the layer has none.
    """
    named = asked.levels and asked.kind == LayerKind.PLACES
    return tuple(trim(each) for each in asked.levels.split(",")) if named else ()


def _provenance_columns(dataset: Dataset, provenance: Provenance | None) -> dict[str, Any]:
    """Return a new layer's provenance, and whether no file about the same people came before it.

    Datasets that share a budget are about the same people, so their uploads count too. This locks
    the datasets' rows, and a first upload waits for the same lock, so it is certain whether the
    layer or the upload came first. Raises InvalidInput if a file was uploaded and there is no
    provenance.
    """
    list(same_people(dataset).select_for_update(of=("self",)).order_by("pk"))
    before_upload = not may_follow_data(dataset)
    if not before_upload and provenance is None:
        raise InvalidInput(NO_SOURCE, field="public_source")
    columns: dict[str, Any] = {"before_upload": before_upload}
    if isinstance(provenance, ReleaseSource):
        columns["source_release"] = provenance.release
    if isinstance(provenance, PublicSource):
        columns |= {
            "source_name": provenance.name,
            "source_url": provenance.url,
            "source_date": provenance.date,
        }
    return columns


def same_people(dataset: Dataset) -> QuerySet[Dataset]:
    """Return the datasets that share a dataset's budget, and so are about the same people."""
    return Dataset.objects.filter(ledger__datasets=dataset.pk)


def may_follow_data(dataset: Dataset) -> bool:
    """Return whether a layer declared now might be made from private rows.

    It might if anything was uploaded before about the dataset's people.
    """
    return same_people(dataset).filter(first_upload_at__isnull=False).exists()


def declared_before_upload(layer: PublicLayer) -> bool:
    """Return whether a layer was declared before any upload about its dataset's people.

    Budgets can be merged later, so uploads to datasets that came to share the budget only later
    count too.
    """
    earlier = same_people(layer.dataset).filter(first_upload_at__lt=layer.created_at)
    return layer.before_upload and not earlier.exists()


def source_of(layer: PublicLayer) -> dict[str, str] | None:
    """Return the public source stated for a layer, as JSON, or None if there is none."""
    if layer.source_date is None:
        return None
    source = PublicSource(name=layer.source_name, url=layer.source_url, date=layer.source_date)
    return source.model_dump(mode="json")


def public_layer_remove(*, layer: PublicLayer, by: User | None) -> None:
    """Remove an unused layer.

    Raises NotAllowed, or Conflict if a release uses the layer.
    """
    _check_may(layer.dataset, by)
    with transaction.atomic():
        stored = PublicLayer.objects.select_for_update().filter(pk=layer.pk).first()
        if stored is None:
            return
        if _names_regions(stored):
            raise Conflict("The rows of this dataset name zones of this layer, so it has to stay.")
        if stored.releases.exists() or stored.series.exists():
            raise Conflict(
                "A release has been requested with this layer, so it has to stay; declare "
                "another layer under another name."
            )
        stored.delete()
    remove(private_storage(), layer.stored_name)


def _names_regions(layer: PublicLayer) -> bool:
    """Return whether rows of a confirmed file name zones of this layer."""
    if (layer.dataset.columns or {}).get("regions") == layer.name:
        return True
    return layer.dataset.uploads.filter(columns__regions=layer.name).exists()


def regions_of(dataset: Dataset, name: str) -> Regions:
    """Return the regions that the rows of a hand-over table name: the zones of a declared layer.

    Raises InvalidInput if there is no such layer, or if its zones overlap.
    """
    if name not in (known := zone_layers(dataset)):
        raise InvalidInput(no_such_layer(name, known), field="columns.regions")
    zones = domain_of(dataset, [name]).layer(name, Zones)
    try:
        return Regions.of_zones(zones, dataset.area)
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="columns.regions") from None


def zone_layers(dataset: Dataset) -> list[str]:
    """Return the names of a dataset's layers of zones."""
    return [name for name, kind in layer_kinds(dataset).items() if kind is LayerKind.ZONES]


def with_regions(dataset: Dataset, columns: Columns) -> Columns:
    """Return columns whose regions are in a declared layer, by default the only one of zones."""
    if not columns.region:
        return replace(columns, regions="")
    known = zone_layers(dataset)
    only = known[0] if len(known) == 1 else ""
    return replace(columns, regions=columns.regions or only)


def layer_kinds(dataset: Dataset) -> dict[str, LayerKind]:
    """Return a mapping from the names of a dataset's layers to their kinds."""
    return {name: LayerKind(kind) for name, kind in dataset.layers.values_list("name", "kind")}


def domain_of(dataset: Dataset, names: Sequence[str] = ()) -> Domain:
    """Return the public domain of a dataset, as mechanisms receive it.

    It holds the study area, the named layers clipped to it, the time zone if there is a time
    column, and the declared columns. Raises InvalidInput if a layer lies outside a
    study area that was changed later.
    """
    area = dataset.area
    layers = {
        layer.name: _stored(layer.stored_name, layer.kind, json.dumps(area.to_geojson()))
        for layer in dataset.layers.filter(name__in=names)
    }
    times = (dataset.columns or {}).get("time")
    zone = dataset.time_zone if times else ""
    declared = dataset.attributes, dataset.measured, dataset.categorised
    unit = Unit(dataset.unit)
    columns = Columns.from_json(dataset.columns or {})
    destinations, keys = columns.has_destination(unit), bool(columns.place)
    return Domain(area, layers, zone, *declared, destinations, unit, keys)


@lru_cache(maxsize=16)
def _stored(stored_name: str, kind: str, area: str) -> domain.PublicLayer:
    """Read a stored layer and clip it to an area; results are cached for request forms."""
    with open_stored(private_storage(), stored_name) as file:
        document = json.load(file)
    layer = READERS[kind](document, key="key", name="name")
    try:
        return layer.within(StudyArea.from_geojson(json.loads(area)))
    except ValueError as error:
        raise InvalidInput(phrase_of(error)) from None


NO_SOURCE = (
    "A file has been uploaded, so a layer could have been made from its rows. Give the name, https "
    "address and date of the public source that it is from, or the id of the published release to "
    "make it from."
)

TAKEN = "There is a layer {name!r} already; choose another name."


READERS: Mapping[str, Callable[..., domain.PublicLayer]] = {
    kind.value: layer.from_geojson for kind, layer in LAYER_TYPES.items()
}
"""The functions that read each kind of layer from GeoJSON."""


def _check_may(dataset: Dataset, by: User | None) -> None:
    if by is not None and not may(by, dataset, "declare"):
        raise NotAllowed("Only the stewards of this dataset may declare its layers.")


def _check_free(dataset: Dataset, name: str) -> None:
    """Raise InvalidInput if a layer's name is in use, or Conflict if there are too many layers."""
    if dataset.layers.filter(name=name).exists():
        raise InvalidInput(TAKEN, name=name, field="name")
    if dataset.layers.count() >= MAX_LAYERS:
        raise Conflict(
            "A dataset has at most {most} layers; remove one that is unused.", most=MAX_LAYERS
        )


def _check_places(dataset: Dataset, places: Places) -> None:
    """Raise ValueError if a place is outside the study area or a zone it is declared to be in."""
    places.check_covered(dataset.area)
    for layer in dataset.layers.filter(kind=LayerKind.ZONES, name__in=places.levels):
        zones = domain_of(dataset, [layer.name]).layer(layer.name, Zones)
        places.check_inside(layer.name, zones)
