"""Public JSON documents that describe releases, datasets and mechanisms."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from django.db.models import prefetch_related_objects
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dpgeo.api.documents import Address, Document, Facts, page_of
from dpgeo.artefacts import statement
from dpgeo.artefacts.wording import odds_factor
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.warnings import cautions_on
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Notion, PureDP, Unit
from dpgeo.core.guessing import Verdict
from dpgeo.core.licences import licence_url
from dpgeo.core.parameters import json_schema
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.core.themes import THEMES
from dpgeo.datasets.declaration import NewFiles
from dpgeo.datasets.models import DataProtection, Dataset, LegalBasis
from dpgeo.datasets.promises import lifetime_of
from dpgeo.mechanisms.registry import MECHANISMS, kind_of
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.notes import Note
from dpgeo.releases.promises import promise_of
from dpgeo.releases.states import ReleaseState
from dpgeo.spatial.ground_grid import snapped_apart

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

EPSILON = "An exact decimal number."

NOT_ANSWERED = ("epsilon", "most_sightings", "most_visits")
"""Fields of a request that answers state in other words: what it costs, and the plan of totals."""

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
    """A box, as four numbers: west, south, east, north."""

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
    """A JSON object that maps names to URLs."""


class EpsilonField(serializers.CharField):
    """An exact epsilon."""

    def to_representation(self, value: Any) -> str:
        """Return the epsilon as a decimal number in text."""
        return format_epsilon(value)


class PureEpsilonField(serializers.CharField):
    """The epsilon of a cost in pure DP, or null for a cost in another privacy notion."""

    def to_representation(self, value: Any) -> Any:
        """Return the epsilon as a decimal number in text, or None for another privacy notion."""
        return format_epsilon(value.epsilon) if isinstance(value, PureDP) else None


class RhoSerializer(Document):
    """A cost or a budget under zero-concentrated differential privacy (zcdp)."""

    rho = serializers.CharField(help_text=f"What is counted, and adds up. {EPSILON}")
    delta = serializers.CharField(help_text='The declared delta, such as "1e-9".')
    epsilon = serializers.CharField(
        help_text=f"The epsilon of rho at delta; epsilons of several do not add up. {EPSILON}"
    )

    def get_rho(self, amount: LedgerUnits) -> str:
        """Return the exact rho, as text."""
        return amount.ledger.rho_text(amount.units)

    def get_delta(self, amount: LedgerUnits) -> str:
        """Return the delta, as text."""
        return amount.ledger.delta_text

    def get_epsilon(self, amount: LedgerUnits) -> str:
        """Return the epsilon, as text."""
        return format_epsilon(amount.ledger.epsilon_of(amount.units))


class DayField(serializers.DateField):
    """The UTC date of a point in time, without the time of day.

    Some releases are published as soon as their job ends. Their exact time of publication would
    reveal how long the job ran, which depends on the private data.
    """

    def to_representation(self, value: Any) -> Any:
        """Return the date without the time."""
        return super().to_representation(value.astimezone(datetime.UTC).date())


class ProblemSerializer(Document):
    """A problem and its remedy (RFC 9457)."""

    type = serializers.CharField(help_text="A URI reference that names the kind of problem.")
    title = serializers.CharField(help_text="The kind of problem in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What is wrong, and what to do about it.")
    field = serializers.CharField(required=False, help_text="The input at fault.")


class PublisherSerializer(Document):
    """The organisation that publishes a map."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    contact = serializers.CharField(help_text="An e-mail address; may be empty.")


@dataclass(frozen=True, slots=True)
class LedgerUnits:
    """An amount in a ledger, in the ledger's units."""

    ledger: Ledger
    units: int


class PointsSerializer(Document):
    """An amount of privacy budget for points: a privacy level within a radius."""

    level = serializers.CharField(
        help_text='"ln 4", or a decimal number. A report moved by the radius changes the odds at '
        "most by the factor e^(level + epsilon_per_metre * snapping_metres)."
    )
    radius = serializers.IntegerField(
        source="ledger.radius", help_text="Metres in which the level is stated."
    )
    snapping_metres = serializers.FloatField(
        help_text="How much further apart two positions can be once they are snapped to the grid "
        "from which they are perturbed."
    )
    epsilon_per_metre = serializers.CharField(
        help_text="Level divided by radius, as an exact decimal."
    )

    def get_level(self, amount: LedgerUnits) -> str:
        """Return the privacy level as text, such as "ln 4"."""
        return amount.ledger.amount(amount.units)

    def get_snapping_metres(self, amount: LedgerUnits) -> float:
        """Return the distance in metres by which snapping may move two positions further apart."""
        return float(snapped_apart(0, amount.ledger.snapping))

    def get_epsilon_per_metre(self, amount: LedgerUnits) -> str:
        """Return the epsilon per metre, as text."""
        return format_epsilon(amount.ledger.epsilon_of(amount.units))


class PrivacySerializer(Document):
    """The privacy promise to the people in a dataset, covering all releases of the dataset."""

    sentence = serializers.CharField(help_text="The promise in plain language.")
    total_epsilon = EpsilonField(
        source="ledger.total",
        help_text="The dataset's total budget; for a budget in rho, its epsilon at delta. "
        f"{EPSILON}",
    )
    total_rho = RhoSerializer(
        allow_null=True, help_text="The total of a budget in rho; null for one in epsilon."
    )
    verdict = serializers.ChoiceField(
        choices=[each.value for each in Verdict],
        help_text="How well all releases of counts together hide whether somebody is in the data.",
    )
    right_guesses_in_100 = serializers.IntegerField(
        allow_null=True,
        help_text="How often whoever knows everyone else, and began at fifty-fifty, can at most be "
        "right about somebody's presence, from all releases of counts; null from 99 on.",
    )
    presence_odds_factor = serializers.FloatField(
        allow_null=True,
        help_text="Pure differential privacy, for counts alone: the factor by which whether "
        "somebody is in the data can change the odds, e to the power of the total epsilon, rounded "
        "up; null if it is astronomical, or if the budget counts in rho, since a delta allows "
        "rare outcomes with any odds. It says nothing of points, which have a budget of their "
        "own.",
    )
    points = PointsSerializer(
        allow_null=True, help_text="The total budget for points; null if there is none."
    )

    def get_sentence(self, dataset: Dataset) -> str:
        """Return the privacy promise of the whole budget, spent or not, as a sentence."""
        return lifetime_of(dataset).sentence

    def get_verdict(self, dataset: Dataset) -> str:
        """Return how well all releases of counts together hide whether somebody is in the data."""
        return lifetime_of(dataset).counts.verdict.value

    def get_right_guesses_in_100(self, dataset: Dataset) -> int | None:
        """Return the most guesses in 100 at somebody's presence that can be right.

        Whoever guesses may use all releases of counts. Returns None from 99 on.
        """
        return lifetime_of(dataset).counts.figure

    def get_presence_odds_factor(self, dataset: Dataset) -> float | None:
        """Return the largest factor by which one person's presence can change the odds of counts.

        Returns None if the factor is too large to state, or if the budget counts in rho.
        """
        return None if dataset.ledger.is_zcdp else odds_factor(dataset.ledger.total)

    def get_total_rho(self, dataset: Dataset) -> LedgerUnits | None:
        """Return the dataset's total budget in rho, or None if its budget is in epsilon."""
        ledger = dataset.ledger
        return LedgerUnits(ledger, ledger.lifetime_units) if ledger.is_zcdp else None

    def get_points(self, dataset: Dataset) -> LedgerUnits | None:
        """Return the total budget for points, or None if there is none."""
        points = points_ledger(dataset.ledger)
        return LedgerUnits(points, points.lifetime_units) if points else None


class PromiseSerializer(Document):
    """The privacy promise of a single release."""

    sentence = serializers.CharField(help_text="The promise in plain language.")
    verdict = serializers.ChoiceField(choices=[each.value for each in Verdict])
    right_guesses_in_100 = serializers.IntegerField(
        allow_null=True,
        help_text="Under pure-dp and zcdp, about whether somebody is in the data; under geo-ind, "
        "about which of two places, the level's radius apart, a report was made at. Null from 99 "
        "on.",
    )

    def get_sentence(self, release: Release) -> str:
        """Return the release's promise as a sentence."""
        return promise_of(release).sentence

    def get_verdict(self, release: Release) -> str:
        """Return how strong the release's protection is, in one word."""
        return promise_of(release).bound.verdict.value

    def get_right_guesses_in_100(self, release: Release) -> int | None:
        """Return the most guesses in 100 that can be right, or None from 99 on."""
        return promise_of(release).bound.figure


class FileSerializer(Document):
    """A file of a release; checksum and size are those of its uncompressed bytes."""

    name = serializers.CharField()
    format = serializers.CharField(source="kind.title", help_text="The format, such as GeoParquet.")
    use = serializers.CharField(source="kind.use", help_text="What the format is good for.")
    layer = serializers.CharField(
        source="kind.layer", help_text="The layer it contains; empty if it concerns all layers."
    )
    url = serializers.URLField()
    media_type = serializers.CharField()
    sha256 = serializers.CharField(
        allow_null=True, help_text="Null until the file is made, when somebody first asks for it."
    )
    size = serializers.IntegerField(
        allow_null=True, help_text="Bytes; null until the file is made."
    )

    def get_sha256(self, file: ReleaseFile) -> str | None:
        """Return the file's checksum, or None if it is not made yet."""
        return file.sha256 or None

    def get_url(self, file: ReleaseFile) -> str:
        """Return the file's URL."""
        return self.address("api:release-file", file.release_id, file.name)


class DatasetReferenceSerializer(Document):
    """The dataset of a release."""

    slug = serializers.SlugField()
    title = serializers.CharField()


class TotalsPlanSerializer(Document):
    """The part of epsilon or rho spent on noisy totals of people, sightings and visits."""

    percent = serializers.IntegerField(help_text="The share of epsilon or rho, in per cent.")
    most_sightings = serializers.IntegerField(
        source="sightings", help_text="The most that one person adds to the total of sightings."
    )
    most_visits = serializers.IntegerField(
        source="visits", help_text="The most that one person adds to the total of visits."
    )


class NoteSerializer(Document):
    """A text by the publisher at a position on the map. It is not one of the release's figures."""

    text = serializers.CharField(help_text="Plain text.")
    longitude = serializers.FloatField()
    latitude = serializers.FloatField()


class ReleaseSerializer(Document):
    """One differentially private release."""

    id = serializers.CharField(source="pk")
    url = Address("api:release")
    state = serializers.ChoiceField(
        choices=ReleaseState.values,
        help_text="Only members of the publisher see drafts and rejected releases; the latter are "
        "never published. A withdrawn release keeps its facts and loses its files.",
    )
    title = serializers.CharField()
    description = serializers.CharField()
    notes = NoteSerializer(
        many=True,
        help_text="The publisher's own words at positions on the map, in their order; they are not "
        "figures of the release. Empty once it is withdrawn.",
    )
    notes_sha256 = serializers.CharField(
        help_text="Checksum of the notes, which whoever publishes a draft with notes sends back; "
        "empty if there are none."
    )
    dataset = DatasetReferenceSerializer()
    publisher = PublisherSerializer(source="dataset.organisation")
    licence = serializers.CharField(source="dataset.licence")
    licence_url = serializers.CharField(
        source="dataset.licence", help_text="The licence's address; empty if its name is unknown."
    )
    attribution = serializers.CharField(source="dataset.attribution")
    contact = serializers.CharField(
        source="dataset.contact_address",
        help_text="The e-mail address for questions; may be empty.",
    )
    keywords = serializers.ListField(source="dataset.keywords", child=serializers.CharField())
    themes = serializers.ListField(
        source="dataset.themes",
        child=serializers.ChoiceField(choices=[*THEMES]),
        help_text="Codes of the EU's data-theme vocabulary.",
    )
    covers_from = serializers.DateField(
        source="dataset.covers_from",
        allow_null=True,
        help_text="First day that the data cover, as declared.",
    )
    covers_until = serializers.DateField(
        source="dataset.covers_until",
        allow_null=True,
        help_text="Last day that the data cover, as declared.",
    )
    kind = serializers.CharField(help_text="The kind of map, such as heatmap.")
    mechanism = serializers.CharField(help_text="Key of the mechanism.")
    parameters = ParametersField()
    notion = serializers.ChoiceField(
        choices=[each.value for each in Notion],
        help_text="pure-dp and zcdp hide presence, geo-ind where a report was made.",
    )
    cost = serializers.CharField(
        source="cost_words", help_text="What this release spent, in words."
    )
    epsilon = PureEpsilonField(
        source="cost",
        allow_null=True,
        help_text=f"What it spent under pure-dp; else null. {EPSILON}",
    )
    rho = RhoSerializer(
        allow_null=True,
        help_text="What it spent from a budget in rho, under whichever notion; else null.",
    )
    bound = serializers.IntegerField(
        help_text="The contribution bound: where people are counted, the most cells in which one "
        "privacy unit counts; where visits are counted, the most records of one that count. Before "
        "publication, the largest that may be chosen, if it is chosen privately.",
        source="shown_bound",
    )
    totals = TotalsPlanSerializer(
        source="request.totals_plan",
        allow_null=True,
        help_text="What was spent on totals of all the data; null for nothing.",
    )
    request = Facts(ReleaseRequest, without=NOT_ANSWERED)
    epsilon_of_household = serializers.CharField(
        allow_null=True,
        help_text=f"At the budget's delta, if it counts in rho; null for points. {EPSILON}",
    )
    unit = serializers.ChoiceField(
        source="dataset.unit",
        choices=[each.value for each in Unit],
        help_text="Whose presence is hidden.",
    )
    bbox = BoxField(source="dataset.bounds")
    published_on = DayField(source="published_at", allow_null=True, help_text="The day, in UTC.")
    withdrawn_on = DayField(source="withdrawn_at", allow_null=True, help_text="The day, in UTC.")
    promise = PromiseSerializer(source="*", help_text="What this release alone promises.")
    privacy = PrivacySerializer(source="dataset")
    files = FileSerializer(many=True)
    statement_url = serializers.URLField(
        allow_null=True, help_text="The machine-readable privacy statement."
    )
    links = LinksField(help_text="self, page, privacy, mechanism, dataset.")

    def get_epsilon_of_household(self, release: Release) -> str | None:
        """Return the epsilon at which a household is protected, or None for moved points."""
        epsilon = release.of_household
        return None if epsilon is None else format_epsilon(epsilon)

    def get_licence_url(self, release: Release) -> str:
        """Return the address of the licence, or "" if the licence's name is unknown."""
        return licence_url(release.dataset.licence)

    def get_rho(self, release: Release) -> LedgerUnits | None:
        """Return the release's cost in rho, or None if its budget does not count in rho."""
        ledger = release.ledger
        return LedgerUnits(ledger, ledger.price(release.cost)) if ledger.is_zcdp else None

    def get_kind(self, release: Release) -> str:
        """Return the key of the kind of map, or "" if the mechanism no longer exists."""
        kind = kind_of(release.mechanism)
        return kind.key if kind else ""

    def get_parameters(self, release: Release) -> dict[str, Any]:
        """Return the mechanism's parameters, sorted by name."""
        return dict(sorted(release.request.parameters.items()))

    def get_notes(self, release: Release) -> list[Note]:
        """Return the notes; empty if the release is no longer served."""
        return release.notes if release.rules.served else []

    def get_notes_sha256(self, release: Release) -> str:
        """Return the checksum of the notes, or "" if the release is no longer served."""
        return release.notes_sha256 if release.rules.served else ""

    def get_files(self, release: Release) -> list[ReleaseFile]:
        """Return the release's files, read only once; empty if the release is no longer served."""
        if not release.rules.served:
            return []
        prefetch_related_objects([release], "files")
        return list(release.files.all())

    def get_statement_url(self, release: Release) -> str | None:
        """Return the URL of the release's privacy statement, or None without such a file."""
        if not any(file.name == statement.NAME for file in self.get_files(release)):
            return None
        return self.address("api:release-file", release.pk, statement.NAME)

    def get_links(self, release: Release) -> dict[str, str]:
        """Return the URLs of the release, its pages, its mechanism and its dataset.

        The mechanism is left out if it no longer exists, the dataset if the release is not public.
        """
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
    """A public attribute: a declared column whose value in every report may be known to anybody."""

    column = serializers.CharField()
    values = serializers.ListField(
        child=serializers.CharField(), help_text='Values that are not listed become "other".'
    )


class MeasureSerializer(Document):
    """A column of numbers whose averages may be published; its limits are declared."""

    column = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField(help_text="Empty where the numbers have none.")
    low = serializers.FloatField(help_text="Lower values are held at this one.")
    high = serializers.FloatField(help_text="Higher values are held at this one.")
    steps = serializers.IntegerField(
        help_text="Steps between the limits to which values are rounded; 1 for yes or no."
    )


class CategorySerializer(Document):
    """A column by whose values maps may be divided; the value of a row is private."""

    column = serializers.CharField()
    title = serializers.CharField()
    values = serializers.ListField(
        child=serializers.CharField(), help_text='The declared values; all others are "other".'
    )


class DataProtectionSerializer(Document):
    """What the publisher tells the people in the data about the processing."""

    controller = serializers.CharField(help_text="Who is responsible.")
    purpose = serializers.CharField()
    basis = serializers.ChoiceField(
        choices=LegalBasis.values, help_text="The point of Article 6(1) GDPR, or other."
    )
    basis_detail = serializers.CharField(help_text="The law; may be empty.")
    retention = serializers.CharField(help_text="How long the rows are kept.")
    contact = serializers.CharField(help_text="Where people can ask and object.")


class DatasetSerializer(Document):
    """One dataset as its publisher declared it. Its rows are never served."""

    slug = serializers.SlugField()
    url = Address("api:dataset", source="slug")
    title = serializers.CharField()
    description = serializers.CharField()
    publisher = PublisherSerializer(source="organisation")
    licence = serializers.CharField()
    licence_url = serializers.CharField(
        source="licence", help_text="The licence's address; empty if its name is unknown."
    )
    attribution = serializers.CharField()
    contact = serializers.CharField(
        source="contact_address", help_text="The e-mail address for questions; may be empty."
    )
    keywords = serializers.ListField(child=serializers.CharField())
    themes = serializers.ListField(
        child=serializers.ChoiceField(choices=[*THEMES]),
        help_text="Codes of the EU's data-theme vocabulary.",
    )
    covers_from = serializers.DateField(
        allow_null=True, help_text="First day that the data cover, as declared."
    )
    covers_until = serializers.DateField(
        allow_null=True, help_text="Last day that the data cover, as declared."
    )
    unit = serializers.ChoiceField(
        choices=[each.value for each in Unit], help_text="Whose presence is hidden."
    )
    row_noun = serializers.CharField(
        help_text="What the publisher calls a row; empty where none was chosen."
    )
    new_files = serializers.ChoiceField(
        choices=[each.value for each in NewFiles],
        help_text="Whether a further file replaces the data or is added (append), as declared.",
    )
    time_zone = serializers.CharField()
    public_attributes = AttributeSerializer(many=True)
    measures = MeasureSerializer(many=True)
    categories = CategorySerializer(many=True)
    bbox = BoxField(source="bounds")
    study_area = ObjectField(help_text="GeoJSON geometry, longitude first.")
    privacy = PrivacySerializer(source="*")
    data_protection = DataProtectionSerializer(
        allow_null=True, help_text="Who processes the data, why and by what law; null if unstated."
    )
    releases_url = serializers.URLField()

    def get_data_protection(self, dataset: Dataset) -> DataProtection | None:
        """Return what the owner states about the processing of personal data, or None."""
        stated: DataProtection | None = getattr(dataset, "data_protection", None)
        return stated

    def get_licence_url(self, dataset: Dataset) -> str:
        """Return the address of the licence, or "" if the licence's name is unknown."""
        return licence_url(dataset.licence)

    def get_releases_url(self, dataset: Dataset) -> str:
        """Return the URL of the list of the dataset's releases."""
        path = f"{reverse('api:releases')}?dataset={dataset.slug}"
        address: str = self.context["request"].build_absolute_uri(path)
        return address


class DeclaredSerializer(DatasetSerializer):
    """A dataset that was just declared, with warnings about its total budget."""

    cautions = serializers.ListField(
        child=serializers.CharField(), help_text="What is unusual about it, though allowed."
    )

    def get_cautions(self, dataset: Dataset) -> list[str]:
        """Return the warnings about the dataset's total budget."""
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
    """One mechanism."""

    key = serializers.SlugField()
    url = Address("api:mechanism", source="key")
    title = serializers.CharField()
    summary = serializers.CharField()
    kind = serializers.CharField(source="kind.key", help_text="The kind of map it makes.")
    parameters = ObjectField(help_text="JSON Schema (draft 2020-12) of the parameters.")

    def get_parameters(self, mechanism: Any) -> dict[str, Any]:
        """Return the JSON Schema of the mechanism's parameters."""
        return {"$schema": JSON_SCHEMA_DIALECT, **json_schema(mechanism.params)}


MechanismListSerializer = page_of(
    MechanismSerializer, "MechanismListSerializer", "All mechanisms.", only="there is one page"
)
