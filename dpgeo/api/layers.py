"""Public layers of a dataset, such as its wards: listed, declared and removed by members."""

from __future__ import annotations

import io
import json
from typing import Any, ClassVar

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope
from dpgeo.api.access import own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.documents import Document, page_of
from dpgeo.api.openapi import BODY, in_path, operation
from dpgeo.api.request_bodies import Anything, Body, Schema, Text, read_body
from dpgeo.core.domain import LAYER_TYPES, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.layers import MAX_BYTES, public_layer_add, public_layer_remove
from dpgeo.datasets.models import PublicLayer

SLUG = in_path("slug", "The dataset's short name.")

KINDS = sorted(kind.value for kind in LAYER_TYPES)


class MembersOrText(Anything):
    """An object, or a text."""

    schema: Schema = {"type": ["object", "string"], "additionalProperties": True}

    def to_internal_value(self, data: Any) -> dict[str, Any] | str:
        """Either as it is."""
        if not isinstance(data, dict | str):
            raise InvalidInput(
                "Must be a GeoJSON object, {...}, or the text of a CSV table.", field=self.sent_as
            )
        return data


class LayerDeclaration(Body):
    """A layer as it is declared."""

    name = Text("What requests call it, such as wards: letters, digits, - and _.")
    kind = Text(
        "What it is.",
        schema={"type": "string", "enum": KINDS},
        default=LayerKind.ZONES.value,
    )
    title = Text("For readers; the name if absent.", default="")
    layer = MembersOrText(
        "A GeoJSON FeatureCollection in degrees, longitude first, taken from a map and not from "
        "the data: polygons, for places points. A density can be the file of a map that is "
        "published already. Places can be the text of a CSV table instead: a row each, with "
        "longitude, latitude and a column for every level."
    )
    levels = Text(
        "Of places: the properties or columns that hold their units, the widest first, as in "
        "country, city, street; all others if absent. Where a layer of zones has a level's name, "
        "places have to lie in the zone that they name.",
        default="",
    )
    key_property = Text(
        "The property that tells features apart, in a density the number of people in an area; "
        "found if absent.",
        default="",
    )
    name_property = Text("The property that names features; found if absent.", default="")


class LayerSerializer(Document):
    """A public layer. It never changes."""

    name = serializers.SlugField()
    url = serializers.URLField()
    kind = serializers.ChoiceField(choices=KINDS)
    title = serializers.CharField()
    features = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the layer as it is kept.")
    used = serializers.BooleanField(
        help_text="Whether a release rests on it; it can then no longer be removed."
    )

    def get_url(self, layer: PublicLayer) -> str:
        """Where it is removed."""
        return self.address("api:layer", layer.dataset.slug, layer.name)

    def get_used(self, layer: PublicLayer) -> bool:
        """Whether any release was made with it."""
        return layer.releases.exists()


LayerListSerializer = page_of(
    LayerSerializer,
    "LayerListSerializer",
    "All layers of a dataset, by name.",
    only="there are few",
)


class LayersView(DocumentView):
    """The layers of a dataset."""

    scopes: ClassVar = {"GET": Scope.DATASETS_WRITE, "POST": Scope.DATASETS_WRITE}

    @operation(
        "layers", "List public layers", LayerListSerializer, tag="datasets", parameters=[SLUG]
    )
    def get(self, request: Request, slug: str) -> Response:
        """What mechanisms can count in, beside grids."""
        dataset = own_dataset(self.actor, slug, "view")
        shown = {"results": dataset.layers.all(), "next": None}
        return self.answer(self.write(LayerListSerializer, shown), personal=True)

    @operation(
        "layer_add",
        "Declare a public layer",
        LayerSerializer,
        tag="datasets",
        status=201,
        parameters=[SLUG],
        body=LayerDeclaration,
        errors=[409],
        links={"layer_remove": {"slug": "$request.path.slug", "name": f"{BODY}/name"}},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Zones, such as wards, for the mechanism zones; places for prilocation; a density, as the
        prior of planar-laplace. They become public with the first release that uses them, and can
        be removed until then."""
        dataset = own_dataset(self.actor, slug, "declare")
        asked = read_body(request, LayerDeclaration, most=MAX_BYTES)
        layer = asked.pop("layer")
        file = io.BytesIO((layer if isinstance(layer, str) else json.dumps(layer)).encode())
        layer = public_layer_add(dataset=dataset, file=file, created_by=self.actor, **asked)
        document = self.write(LayerSerializer, layer)
        headers = {"Location": document["url"], "Cache-Control": "private, no-store"}
        return Response(document, status=201, headers=headers)


class LayerView(DocumentView):
    """One layer."""

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
        """While no release rests on it. The layers that are left come back."""
        read_body(request)
        dataset = own_dataset(self.actor, slug, "declare")
        layer = dataset.layers.filter(name=name).first()
        if layer is None:
            raise Http404
        public_layer_remove(layer=layer, by=self.actor)
        shown = {"results": dataset.layers.all(), "next": None}
        return self.answer(self.write(LayerListSerializer, shown), personal=True)
