"""The form of every answer. What is not declared here is not sent, whatever a document holds."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit
from dpgeo.releases.models import ReleaseState

Serializer = serializers.Serializer[Any]

EPSILON = "An exact decimal number."

FORMER_REJECTED = "refused"
"""What `rejected` was called; deprecated, goes with version 0.2."""

ANY_JSON = {"type": ["string", "integer", "boolean"]}

BBOX = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 4,
    "maxItems": 4,
    "description": "West, south, east, north of the study area in degrees.",
}


@extend_schema_field(BBOX)
class BoxField(serializers.ListField):
    """Four numbers."""

    child = serializers.FloatField()


@extend_schema_field({"type": "object", "additionalProperties": ANY_JSON})
class ParametersField(serializers.JSONField):
    """The public parameters of a mechanism."""


@extend_schema_field({"type": "object", "additionalProperties": True})
class ObjectField(serializers.JSONField):
    """Any JSON object."""


@extend_schema_field(
    {"type": "object", "additionalProperties": {"type": "string", "format": "uri"}}
)
class LinksField(serializers.JSONField):
    """Addresses by name."""


class ProblemSerializer(Serializer):
    """What is wrong and what to do about it (RFC 9457)."""

    type = serializers.CharField(help_text="A URI reference that names the kind of problem.")
    title = serializers.CharField(help_text="The kind of problem in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What is wrong here, and the remedy.")
    field = serializers.CharField(required=False, help_text="The input at fault.")


class PublisherSerializer(Serializer):
    """The body whose name stands on a map."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    contact = serializers.CharField(help_text="Where to write to; may be empty.")


class PointsSerializer(Serializer):
    """An amount of privacy for points: a level within a radius."""

    level = serializers.CharField(
        help_text='The odds change by at most e to its power: "ln 4", or a decimal number.'
    )
    radius = serializers.IntegerField(help_text="Metres within which the level holds.")
    epsilon_per_metre = serializers.CharField(help_text="Level by radius, an exact decimal.")


class PrivacySerializer(Serializer):
    """The promise to the people in a dataset, over everything ever published from it."""

    sentence = serializers.CharField(help_text="The promise in plain words.")
    total_epsilon = serializers.CharField(help_text=f"The dataset's whole budget. {EPSILON}")
    odds_factor = serializers.FloatField(
        allow_null=True,
        help_text="e to the power of the total, rounded up; null where it is astronomical.",
    )
    points = PointsSerializer(
        allow_null=True, help_text="The whole budget for points; null where there are none."
    )


class FileSerializer(Serializer):
    """One file. Its bytes never change; checksum and size are of the uncompressed bytes."""

    name = serializers.CharField()
    format = serializers.CharField(help_text="Such as GeoParquet.")
    use = serializers.CharField(help_text="What it is good for, in words.")
    layer = serializers.CharField(help_text="The layer it holds; empty where it is of them all.")
    url = serializers.URLField()
    media_type = serializers.CharField()
    sha256 = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")


class DatasetReferenceSerializer(Serializer):
    """The dataset a release was made from."""

    slug = serializers.SlugField()
    title = serializers.CharField()


class ReleaseSerializer(Serializer):
    """One differentially private release."""

    id = serializers.CharField()
    url = serializers.URLField()
    state = serializers.ChoiceField(
        choices=[*ReleaseState.values, FORMER_REJECTED],
        help_text="Drafts are seen by members of the publisher alone, as are rejected ones, which "
        "are never published. A withdrawn release keeps its facts and loses its files. "
        f"{FORMER_REJECTED!r} is deprecated: it is what /refuse answers for rejected.",
    )
    title = serializers.CharField()
    description = serializers.CharField()
    dataset = DatasetReferenceSerializer()
    publisher = PublisherSerializer()
    licence = serializers.CharField()
    attribution = serializers.CharField()
    kind = serializers.CharField(help_text="The kind of map, such as heatmap.")
    mechanism = serializers.CharField(help_text="Key of the mechanism.")
    parameters = ParametersField()
    notion = serializers.ChoiceField(
        choices=[each.value for each in Notion],
        help_text="pure-dp hides presence, geo-ind where a report was made.",
    )
    cost = serializers.CharField(help_text="What this release spent, in words.")
    epsilon = serializers.CharField(
        allow_null=True, help_text=f"What it spent, for pure-dp; else null. {EPSILON}"
    )
    bound = serializers.IntegerField(
        help_text="The most cells (people) or records (visits) that one unit adds."
    )
    counting = serializers.ChoiceField(choices=[each.value for each in Counting])
    bounding = serializers.ChoiceField(
        choices=[each.value for each in Bounding],
        help_text="Which places of a person are kept, where there are more than the bound.",
    )
    unit = serializers.ChoiceField(
        choices=[each.value for each in Unit], help_text="Whose presence is hidden."
    )
    bbox = BoxField()
    published_on = serializers.DateField(allow_null=True, help_text="The day, in UTC.")
    withdrawn_on = serializers.DateField(allow_null=True, help_text="The day, in UTC.")
    privacy = PrivacySerializer()
    files = FileSerializer(many=True)
    statement_url = serializers.URLField(
        allow_null=True, help_text="The machine-readable privacy statement."
    )
    links = LinksField(help_text="self, page, privacy, mechanism, dataset.")


class ReleaseListSerializer(Serializer):
    """One page of releases, newest first."""

    results = ReleaseSerializer(many=True)
    next = serializers.URLField(allow_null=True, help_text="The next page, null on the last.")


class AttributeSerializer(Serializer):
    """A column whose values anybody may know of every report, as its publisher declared."""

    column = serializers.CharField()
    values = serializers.ListField(
        child=serializers.CharField(), help_text='Whatever is not listed is called "other".'
    )


class DatasetSerializer(Serializer):
    """One dataset as its publisher declared it; its rows are never served."""

    slug = serializers.SlugField()
    url = serializers.URLField()
    title = serializers.CharField()
    description = serializers.CharField()
    publisher = PublisherSerializer()
    licence = serializers.CharField()
    attribution = serializers.CharField()
    unit = serializers.ChoiceField(
        choices=[each.value for each in Unit], help_text="Whose presence is hidden."
    )
    time_zone = serializers.CharField()
    public_attributes = AttributeSerializer(many=True)
    bbox = BoxField()
    study_area = ObjectField(help_text="GeoJSON geometry, longitude first.")
    privacy = PrivacySerializer()
    releases_url = serializers.URLField()


class DeclaredSerializer(DatasetSerializer):
    """A dataset as it was just declared."""

    cautions = serializers.ListField(
        child=serializers.CharField(), help_text="What is unusual about it and was not refused."
    )


class DatasetListSerializer(Serializer):
    """One page of datasets."""

    results = DatasetSerializer(many=True)
    next = serializers.URLField(allow_null=True, help_text="The next page, null on the last.")


class TileJsonSerializer(Serializer):
    """TileJSON 3.0 of one layer."""

    tilejson = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    attribution = serializers.CharField()
    tiles = serializers.ListField(child=serializers.CharField(), help_text="Address templates.")
    vector_layers = serializers.ListField(child=ObjectField())
    minzoom = serializers.IntegerField()
    maxzoom = serializers.IntegerField()
    bounds = BoxField()


class MechanismSerializer(Serializer):
    """One way to make a release."""

    key = serializers.SlugField()
    url = serializers.URLField()
    title = serializers.CharField()
    summary = serializers.CharField()
    kind = serializers.CharField(help_text="The kind of map that comes out.")
    parameters = ObjectField(help_text="JSON Schema (draft 2020-12) of the parameters.")


class MechanismListSerializer(Serializer):
    """All mechanisms."""

    results = MechanismSerializer(many=True)
    next = serializers.URLField(allow_null=True, help_text="Always null: there is one page.")
