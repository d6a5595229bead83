"""Views of a dataset's public layers, such as a city's wards."""

from __future__ import annotations

import base64
import io
import json
from typing import Annotated, Any, ClassVar

from django.http import Http404
from pydantic import PlainValidator, WithJsonSchema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope
from dpgeo.api.access import own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.documents import Document, page_of
from dpgeo.api.openapi import BODY, in_path, operation
from dpgeo.api.request_bodies import read_body
from dpgeo.api.serializers import DayField
from dpgeo.core.declared import Text, fact, read_text
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.layer_declaration import KINDS, LayerDeclaration
from dpgeo.datasets.layer_documents import MAX_BYTES
from dpgeo.datasets.layers import declared_before_upload, public_layer_remove, source_of
from dpgeo.datasets.models import PublicLayer
from dpgeo.phrases import InvalidValue
from dpgeo.releases.released_layers import layer_declare

SLUG = in_path("slug", "The dataset's short name.")

MOST_BODY_BYTES = MAX_BYTES // 3 * 4 + 2**20
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


class SourceSerializer(Document):
    """A public source, as a publisher named it."""

    name = serializers.CharField()
    url = serializers.URLField()
    date = serializers.DateField()


class LayerSerializer(Document):
    """A public layer. It never changes."""

    name = serializers.SlugField()
    url = serializers.URLField()
    kind = serializers.ChoiceField(choices=sorted(KINDS))
    title = serializers.CharField()
    features = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the layer as stored.")
    declared_on = DayField(source="created_at")
    declared_before_upload = serializers.BooleanField(
        help_text="Whether it was declared before any file about the same people was uploaded."
    )
    public_source = SourceSerializer(allow_null=True, help_text="The public source that was named.")
    release = serializers.CharField(
        source="source_release", help_text="The id of the release it was made from; may be empty."
    )
    used = serializers.BooleanField(
        help_text="Whether a release uses it; if so, it can no longer be removed."
    )

    def get_url(self, layer: PublicLayer) -> str:
        """Return the URL at which the layer can be removed."""
        return self.address("api:layer", layer.dataset.slug, layer.name)

    def get_declared_before_upload(self, layer: PublicLayer) -> bool:
        """Return whether the layer was declared before any upload about the same people."""
        return declared_before_upload(layer)

    def get_public_source(self, layer: PublicLayer) -> dict[str, str] | None:
        """Return the public source that was named for the layer, or None if none was named."""
        return source_of(layer)

    def get_used(self, layer: PublicLayer) -> bool:
        """Return whether any release uses the layer."""
        return layer.releases.exists() or layer.series.exists()


LayerListSerializer = page_of(
    LayerSerializer,
    "LayerListSerializer",
    "All layers of a dataset, by name.",
    only="there are few",
)


class LayersView(DocumentView):
    """The public layers of a dataset."""

    scopes: ClassVar = {"GET": Scope.DATASETS_WRITE, "POST": Scope.DATASETS_WRITE}

    @operation(
        "layers", "List public layers", LayerListSerializer, tag="datasets", parameters=[SLUG]
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the public zones, places and densities that mechanisms can use."""
        dataset = own_dataset(self.actor, slug, "view")
        document = {"results": dataset.layers.all(), "next": None}
        return self.answer(self.write(LayerListSerializer, document), personal=True)

    @operation(
        "layer_add",
        "Declare a public layer",
        LayerSerializer,
        tag="datasets",
        status=201,
        parameters=[SLUG],
        body=LayerBody,
        errors=[409],
        links={"layer_remove": {"slug": "$request.path.slug", "name": f"{BODY}/name"}},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Declare a layer.

        The mechanism zones uses a layer of zones, such as wards; prilocation uses a layer of
        places; planar-laplace uses a density as its prior. A layer becomes public with the first
        release that uses it, and can be removed until then. That release's privacy statement says
        when the layer was declared, and names its source.
        """
        dataset = own_dataset(self.actor, slug, "declare")
        sent = read_body(request, LayerBody, most=MOST_BODY_BYTES)
        file = _file_of(sent.layer, sent.file)
        facts = sent.part(LayerDeclaration).facts()
        layer = layer_declare(dataset=dataset, file=file, created_by=self.actor, **facts)
        document = self.write(LayerSerializer, layer)
        headers = {"Location": document["url"], "Cache-Control": "private, no-store"}
        return Response(document, status=201, headers=headers)


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
    """One public layer of a dataset."""

    scopes: ClassVar = {"DELETE": Scope.DATASETS_WRITE}

    @operation(
        "layer_remove",
        "Remove a public layer",
        LayerListSerializer,
        tag="datasets",
        parameters=[SLUG, in_path("name", "The layer's name.")],
        errors=[409],
    )
    def delete(self, request: Request, slug: str, name: str) -> Response:
        """Remove a layer that no release uses; the response lists the remaining layers."""
        read_body(request)
        dataset = own_dataset(self.actor, slug, "declare")
        layer = dataset.layers.filter(name=name).first()
        if layer is None:
            raise Http404
        public_layer_remove(layer=layer, by=self.actor)
        document = {"results": dataset.layers.all(), "next": None}
        return self.answer(self.write(LayerListSerializer, document), personal=True)
