"""Views of a dataset's public layers, such as a city's wards."""

from __future__ import annotations

import base64
import datetime
import io
import json
from typing import Annotated, Any, ClassVar

from django.http import Http404, HttpResponse
from pydantic import PlainValidator, WithJsonSchema
from rest_framework.request import Request

from dpgeo.accounts.models import Scope
from dpgeo.api.access import own_dataset
from dpgeo.api.answers import (
    ONE_PAGE,
    Answer,
    Slug,
    Url,
    address_of,
    day_of,
    one_of,
)
from dpgeo.api.base import DocumentView
from dpgeo.api.openapi import BODY, operation
from dpgeo.api.request_bodies import read_body
from dpgeo.core.declared import Text, fact, read_text
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.layer_declaration import KINDS, LayerDeclaration
from dpgeo.datasets.layer_documents import MAX_BYTES
from dpgeo.datasets.layers import declared_before_upload, public_layer_remove, source_of
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.phrases import InvalidValue
from dpgeo.releases.released_layers import layer_declare

MAX_BODY_BYTES = MAX_BYTES // 3 * 4 + 2**20
"""Largest request body in bytes, enough for the largest file in Base64."""


def _read_layer(value: object) -> object:
    if isinstance(value, str):
        return read_text(value)
    if not isinstance(value, dict):
        raise InvalidValue("Must be a GeoJSON object, {...}, or the text of a CSV table.")
    return value


MembersOrText = Annotated[
    dict[str, Any] | str,
    PlainValidator(_read_layer),
    WithJsonSchema({"type": ["object", "string"], "additionalProperties": True}),
]


class LayerBody(LayerDeclaration):
    """The declaration of a layer."""

    layer: MembersOrText = fact(
        "A GeoJSON FeatureCollection in degrees, longitude first, taken from a map and not from "
        "the data: polygons, or points for places. Places can instead be the text of a CSV table "
        "with longitude, latitude and a column for every level. Leave it out with file or release.",
        None,
    )
    file: Text = fact(
        "Instead of layer: a zipped shapefile, GeoPackage, FlatGeobuf or GeoParquet file in any "
        "coordinate system, as Base64.",
        "",
        schema={"type": "string", "contentEncoding": "base64"},
    )


class SourceOut(Answer):
    """A public source, as a publisher named it."""

    name: str
    url: Url
    date: datetime.date


class LayerOut(Answer):
    """A public layer. It never changes."""

    name: Slug
    url: Url
    kind: Annotated[str, one_of(sorted(KINDS))]
    title: str
    features: int
    sha256: str = fact("Of the layer as stored.")
    declared_on: datetime.date
    declared_before_upload: bool = fact(
        "Whether it was declared before any file about the same people was uploaded."
    )
    public_source: SourceOut | None = fact("The public source that was named.")
    release: str = fact("The id of the release it was made from; may be empty.")
    used: bool = fact("Whether a release uses it; if so, it can no longer be removed.")


class LayerListOut(Answer):
    """All layers of a dataset, by name."""

    results: list[LayerOut]
    next: Url | None = fact(ONE_PAGE)


def layer_answer(layer: PublicLayer, request: Request) -> LayerOut:
    return LayerOut.model_validate(
        {
            "name": layer.name,
            "url": address_of(request, "api:layer", layer.dataset.slug, layer.name),
            "kind": layer.kind,
            "title": layer.title,
            "features": layer.features,
            "sha256": layer.sha256,
            "declared_on": day_of(layer.created_at),
            "declared_before_upload": declared_before_upload(layer),
            "public_source": source_of(layer),
            "release": layer.source_release,
            "used": layer.releases.exists() or layer.series.exists(),
        }
    )


def layer_list(dataset: Dataset, request: Request) -> LayerListOut:
    results = [layer_answer(layer, request) for layer in dataset.layers.all()]
    return LayerListOut(results=results, next=None)


class LayersView(DocumentView):
    scopes: ClassVar = {"GET": Scope.DATASETS_WRITE, "POST": Scope.DATASETS_WRITE}

    @operation("layers", "List public layers", LayerListOut, tag="datasets")
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List the public zones, places and densities that mechanisms can use."""
        dataset = own_dataset(self.actor, slug, "view")
        return self.answer(layer_list(dataset, request), personal=True)

    @operation(
        "layer_add",
        "Declare a public layer",
        LayerOut,
        tag="datasets",
        status=201,
        body=LayerBody,
        errors=[409],
        links={"layer_remove": {"slug": "$request.path.slug", "name": f"{BODY}/name"}},
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Declare a layer.

        The mechanism zones uses a layer of zones, such as wards; prilocation uses a layer of
        places; planar-laplace uses a density as its prior. A layer becomes public with the first
        release that uses it, and can be removed until then. That release's privacy statement says
        when the layer was declared, and names its source.
        """
        dataset = own_dataset(self.actor, slug, "declare")
        sent = read_body(request, LayerBody, most=MAX_BODY_BYTES)
        file = _file_of(sent.layer, sent.file)
        facts = sent.part(LayerDeclaration).facts()
        layer = layer_declare(dataset=dataset, file=file, created_by=self.actor, **facts)
        return self.created(layer_answer(layer, request))


def _file_of(layer: dict[str, Any] | str | None, packed: str) -> io.BytesIO | None:
    """Return the content of a layer sent as JSON or text (`layer`) or in Base64 (`packed`).

    Returns None if neither is sent. Raises InvalidInput if both are sent, or for malformed Base64.
    """
    if packed and layer is not None:
        raise InvalidInput("Leave this out, or leave out layer.", field="file")
    if packed:
        try:
            return io.BytesIO(base64.b64decode(packed, validate=True))
        except ValueError:
            raise InvalidInput("Must be the file in Base64.", field="file") from None
    if layer is None:
        return None
    return io.BytesIO((layer if isinstance(layer, str) else json.dumps(layer)).encode())


class LayerView(DocumentView):
    scopes: ClassVar = {"DELETE": Scope.DATASETS_WRITE}

    @operation(
        "layer_remove",
        "Remove a public layer",
        LayerListOut,
        tag="datasets",
        errors=[409],
    )
    def delete(self, request: Request, slug: str, name: str) -> HttpResponse:
        """Remove a layer that no release uses; the response lists the remaining layers."""
        read_body(request)
        dataset = own_dataset(self.actor, slug, "declare")
        layer = dataset.layers.filter(name=name).first()
        if layer is None:
            raise Http404
        public_layer_remove(layer=layer, by=self.actor)
        return self.answer(layer_list(dataset, request), personal=True)
