"""What the API says of releases, datasets and mechanisms: public facts, and none besides."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from django.db.models import prefetch_related_objects
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dpgeo.api.documents import Address, Document, page_of
from dpgeo.artefacts import statement
from dpgeo.artefacts.files import file_kind
from dpgeo.artefacts.wording import odds_factor
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.warnings import cautions_on
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Bounding, Counting, Guarantee, Notion, PureDP, Unit
from dpgeo.core.parameters import json_schema
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.privacy_sentence import promise_of
from dpgeo.mechanisms.registry import MECHANISMS, kind_of
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.states import ReleaseState

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

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


class ProblemSerializer(Document):
    """What is wrong and what to do about it (RFC 9457)."""

    type = serializers.CharField(help_text="A URI reference that names the kind of problem.")
    title = serializers.CharField(help_text="The kind of problem in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What is wrong here, and the remedy.")
    field = serializers.CharField(required=False, help_text="The input at fault.")


class PublisherSerializer(Document):
    """The body whose name stands on a map."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    contact = serializers.CharField(help_text="Where to write to; may be empty.")


@dataclass(frozen=True, slots=True)
class LedgerUnits:
    """Whole units of a ledger for points."""

    ledger: Ledger
    units: int


class PointsSerializer(Document):
    """An amount of privacy for points: a level within a radius."""

    level = serializers.CharField(
        help_text='The odds change by at most e to its power: "ln 4", or a decimal number.'
    )
    radius = serializers.IntegerField(
        source="ledger.radius", help_text="Metres within which the level holds."
    )
    epsilon_per_metre = serializers.CharField(help_text="Level by radius, an exact decimal.")

    def get_level(self, amount: LedgerUnits) -> str:
        """The level that the units are."""
        return amount.ledger.amount(amount.units)

    def get_epsilon_per_metre(self, amount: LedgerUnits) -> str:
        """The same by metre."""
        return format_epsilon(amount.ledger.epsilon_of(amount.units))


class PrivacySerializer(Document):
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

    def get_sentence(self, dataset: Dataset) -> str:
        """The promise of the whole budget, spent or not."""
        return str(promise_of(dataset, Unit(dataset.unit)))

    def get_total_epsilon(self, dataset: Dataset) -> str:
        """The budget for pure differential privacy."""
        return format_epsilon(dataset.ledger.total)

    def get_odds_factor(self, dataset: Dataset) -> float | None:
        """What the budget means for the odds."""
        return odds_factor(dataset.ledger.total)

    def get_points(self, dataset: Dataset) -> LedgerUnits | None:
        """The budget for points."""
        points = points_ledger(dataset.ledger)
        return LedgerUnits(points, points.total_units) if points else None


class FileSerializer(Document):
    """One file. Its bytes never change; checksum and size are of the uncompressed bytes."""

    name = serializers.CharField()
    format = serializers.CharField(help_text="Such as GeoParquet.")
    use = serializers.CharField(help_text="What it is good for, in words.")
    layer = serializers.CharField(help_text="The layer it holds; empty where it is of them all.")
    url = serializers.URLField()
    media_type = serializers.CharField()
    sha256 = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")

    def get_format(self, file: ReleaseFile) -> str:
        """The format by its name's ending."""
        return file_kind(file.name).title

    def get_use(self, file: ReleaseFile) -> str:
        """What that format is good for."""
        return file_kind(file.name).use

    def get_layer(self, file: ReleaseFile) -> str:
        """The layer by the name's beginning."""
        return file_kind(file.name).layer

    def get_url(self, file: ReleaseFile) -> str:
        """Where its bytes are."""
        return self.address("api:release-file", file.release_id, file.name)


class DatasetReferenceSerializer(Document):
    """The dataset a release was made from."""

    slug = serializers.SlugField()
    title = serializers.CharField()


class ReleaseSerializer(Document):
    """One differentially private release."""

    id = serializers.CharField(source="pk")
    url = Address("api:release")
    state = serializers.ChoiceField(
        choices=[*ReleaseState.values, FORMER_REJECTED],
        help_text="Drafts are seen by members of the publisher alone, as are rejected ones, which "
        "are never published. A withdrawn release keeps its facts and loses its files. "
        f"{FORMER_REJECTED!r} is deprecated: it is what /refuse answers for rejected.",
    )
    title = serializers.CharField()
    description = serializers.CharField()
    dataset = DatasetReferenceSerializer()
    publisher = PublisherSerializer(source="dataset.organisation")
    licence = serializers.CharField(source="dataset.licence")
    attribution = serializers.CharField(source="dataset.attribution")
    kind = serializers.CharField(help_text="The kind of map, such as heatmap.")
    mechanism = serializers.CharField(help_text="Key of the mechanism.")
    parameters = ParametersField()
    notion = serializers.ChoiceField(
        choices=[each.value for each in Notion],
        help_text="pure-dp hides presence, geo-ind where a report was made.",
    )
    cost = serializers.CharField(
        source="cost_words", help_text="What this release spent, in words."
    )
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
        source="dataset.unit",
        choices=[each.value for each in Unit],
        help_text="Whose presence is hidden.",
    )
    bbox = BoxField(source="dataset.bounds")
    published_on = serializers.DateField(allow_null=True, help_text="The day, in UTC.")
    withdrawn_on = serializers.DateField(allow_null=True, help_text="The day, in UTC.")
    privacy = PrivacySerializer(source="dataset")
    files = FileSerializer(many=True)
    statement_url = serializers.URLField(
        allow_null=True, help_text="The machine-readable privacy statement."
    )
    links = LinksField(help_text="self, page, privacy, mechanism, dataset.")

    def get_kind(self, release: Release) -> str:
        """The kind of map; empty for a mechanism that is gone."""
        kind = kind_of(release.mechanism)
        return kind.key if kind else ""

    def get_parameters(self, release: Release) -> dict[str, Any]:
        """The parameters by name."""
        return dict(sorted(release.parameters.items()))

    def get_epsilon(self, release: Release) -> str | None:
        """What it spent of a budget for pure differential privacy."""
        return presence_epsilon(release.cost)

    def get_published_on(self, release: Release) -> datetime.date | None:
        """The day and no more."""
        return _day(release.published_at)

    def get_withdrawn_on(self, release: Release) -> datetime.date | None:
        """The day and no more."""
        return _day(release.withdrawn_at)

    def get_files(self, release: Release) -> list[ReleaseFile]:
        """Its files, read once; none of a tombstone."""
        if not release.rules.served:
            return []
        prefetch_related_objects([release], "files")
        return list(release.files.all())

    def get_statement_url(self, release: Release) -> str | None:
        """Where the statement is, among the files."""
        if not any(file.name == statement.NAME for file in self.get_files(release)):
            return None
        return self.address("api:release-file", release.pk, statement.NAME)

    def get_links(self, release: Release) -> dict[str, str]:
        """Pages about it, and what it was made with and from."""
        links = {
            "self": self.address("api:release", release.pk),
            "page": self.address("release", release.pk),
            "privacy": self.address("release-privacy", release.pk),
        }
        if release.mechanism in MECHANISMS:
            links["mechanism"] = self.address("api:mechanism", release.mechanism)
        if release.rules.public:
            links["dataset"] = self.address("api:dataset", release.dataset.slug)
        return links


ReleaseListSerializer = page_of(
    ReleaseSerializer, "ReleaseListSerializer", "One page of releases, newest first."
)


class AttributeSerializer(Document):
    """A column whose values anybody may know of every report, as its publisher declared."""

    column = serializers.CharField()
    values = serializers.ListField(
        child=serializers.CharField(), help_text='Whatever is not listed is called "other".'
    )


class DatasetSerializer(Document):
    """One dataset as its publisher declared it; its rows are never served."""

    slug = serializers.SlugField()
    url = Address("api:dataset", source="slug")
    title = serializers.CharField()
    description = serializers.CharField()
    publisher = PublisherSerializer(source="organisation")
    licence = serializers.CharField()
    attribution = serializers.CharField()
    unit = serializers.ChoiceField(
        choices=[each.value for each in Unit], help_text="Whose presence is hidden."
    )
    time_zone = serializers.CharField()
    public_attributes = AttributeSerializer(many=True)
    bbox = BoxField(source="bounds")
    study_area = ObjectField(help_text="GeoJSON geometry, longitude first.")
    privacy = PrivacySerializer(source="*")
    releases_url = serializers.URLField()

    def get_releases_url(self, dataset: Dataset) -> str:
        """The list of its releases."""
        path = f"{reverse('api:releases')}?dataset={dataset.slug}"
        address: str = self.context["request"].build_absolute_uri(path)
        return address


class DeclaredSerializer(DatasetSerializer):
    """A dataset as it was just declared."""

    cautions = serializers.ListField(
        child=serializers.CharField(), help_text="What is unusual about it and was not refused."
    )

    def get_cautions(self, dataset: Dataset) -> list[str]:
        """Of its budget as it is now."""
        dataset.ledger.refresh_from_db()
        return list(map(str, cautions_on(dataset.ledger.total)))


DatasetListSerializer = page_of(DatasetSerializer, "DatasetListSerializer", "One page of datasets.")


class TileJsonSerializer(Document):
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


class MechanismSerializer(Document):
    """One way to make a release."""

    key = serializers.SlugField()
    url = Address("api:mechanism", source="key")
    title = serializers.CharField()
    summary = serializers.CharField()
    kind = serializers.CharField(source="kind.key", help_text="The kind of map that comes out.")
    parameters = ObjectField(help_text="JSON Schema (draft 2020-12) of the parameters.")

    def get_parameters(self, mechanism: Any) -> dict[str, Any]:
        """The schema of the parameters' class."""
        return {"$schema": JSON_SCHEMA_DIALECT, **json_schema(mechanism.params)}


MechanismListSerializer = page_of(
    MechanismSerializer, "MechanismListSerializer", "All mechanisms.", only="there is one page"
)


def presence_epsilon(cost: Guarantee) -> str | None:
    """An epsilon of pure differential privacy; null for a cost of another notion."""
    return format_epsilon(cost.epsilon) if isinstance(cost, PureDP) else None


def _day(moment: datetime.datetime | None) -> datetime.date | None:
    """The day (UTC) of a moment, and no more: to the second, a release that publishes itself when
    its job is done would tell how long the job ran, which depends on the private data."""
    return moment.astimezone(datetime.UTC).date() if moment else None
