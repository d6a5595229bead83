"""Schema of the privacy statement, as types from which pydantic makes its JSON Schema.

The fields cover all three tiers of the Differential Privacy Deployments Registry
(registry.opendp.org/transparency-tiers): who publishes what and why; the notion of privacy, privacy
unit, parameters and deployment model; and the data domain, unprotected quantities, actors,
preparation, accounting, post-processing, implementation, security and reasons for choices.
docs/statement.md lists which fields correspond to which. Stored statements never change, so a new
version of the schema will stand beside this one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, WithJsonSchema, with_config
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from dpgeo.core.guarantees import Unit
from dpgeo.core.release_request import ReleaseRequest

VERSION = "1.0"

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


OPEN = ConfigDict(extra="allow")
"""Configuration of an object that may have undeclared members."""

Count = Annotated[int, Field(ge=0)]
Words = Annotated[str, Field(min_length=1)]
ListOfWords = Annotated[list[Words], Field(min_length=1)]
Decimal = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$")]
Exact = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+|/[1-9][0-9]*)?$")]
"""An exact decimal, or a fraction if no decimal is exact, as for an epsilon divided among levels.
"""
Delta = Annotated[str, Field(pattern="^1e-[0-9]+$")]
Checksum = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Positive = Annotated[int, Field(ge=1)]
Day = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
Odds = Annotated[float, Field(ge=1)] | None
Verdict = Literal["strong", "moderate", "weak"]
RightGuesses = Annotated[int, Field(ge=50, le=98)] | None
"""Largest number of correct guesses in 100, starting from even odds.

It is null if a guess can be almost certain.
"""


@with_config(ConfigDict(extra="forbid"))
class Closed(TypedDict):
    """An object with its declared members and no others."""


class Dataset(Closed):
    title: str
    slug: str


class Product(Closed):
    type: Literal["Summary statistics", "Dataset", "Synthetic data"]
    intended_use: Words


class Counts(Closed):
    """What is counted, what a sum over several regions counts, and the owner's noun for rows."""

    counting: Words
    meaning: Words
    total: Literal["people", "sightings", "visits"]
    rows: Words


class UnitOfPrivacy(Closed):
    unit: Unit
    meaning: Words


class ContributionBound(Closed):
    bound: Annotated[int, Field(ge=1)]
    meaning: Words


class Neighbours(Closed):
    words: Words
    symbols: Words


class Guesses(Closed):
    verdict: Verdict
    right_guesses_in_100: RightGuesses
    sentence: Words


class Pure(Guesses):
    notion: Literal["pure differential privacy"]
    delta: Literal["0"]
    symbols: Words
    neighbours: Neighbours
    epsilon: Decimal
    odds_factor: Odds


class Rho(Guesses):
    notion: Literal["zero-concentrated differential privacy"]
    delta: Delta
    symbols: Words
    neighbours: Neighbours
    rho: Decimal
    epsilon: Decimal


class Geo(Guesses):
    notion: Literal["geo-indistinguishability"]
    delta: Literal["0"]
    symbols: Words
    neighbours: Neighbours
    level: Words
    epsilon_per_metre: Decimal
    reports: Count
    epsilon_per_metre_of_one_report: Decimal


class Points(Closed):
    level: Words
    radius: Count
    epsilon_per_metre: Decimal
    verdict: Verdict
    right_guesses_in_100: RightGuesses


class DatasetGuarantee(Guesses):
    """Guarantee of a dataset's whole budget.

    If the budget is in rho, `rho` converts to `epsilon` at `delta`, and no odds factor is stated.
    """

    epsilon: Decimal
    presence_odds_factor: Odds
    meaning: Words
    points: NotRequired[Points]
    rho: NotRequired[Decimal]
    delta: NotRequired[Delta]


class Mechanism(Closed):
    key: Words
    parameters: dict[str, Any]


@with_config(OPEN)
class Noise(Closed):
    """A noise distribution; each type of noise adds parameters of its own."""

    distribution: Words
    probability: NotRequired[Words]
    scale: NotRequired[float]


@with_config(OPEN)
class Spend(Closed):
    """A spend of an epsilon or, under zCDP, of a rho."""

    label: Words
    epsilon: NotRequired[Exact]
    rho: NotRequired[Exact]
    drawn: bool
    sensitivity: NotRequired[float]
    squared_sensitivity: NotRequired[float]
    meaning: NotRequired[Words]
    noise: Noise | None


class Range(Closed):
    smallest: float
    largest: float


class ExpectedError(Closed):
    layer: Words
    title: Words
    kind: Literal["measured", "inferred"]
    values: Count
    margin_95: Range | None
    margin_label: Words
    margin_note: str
    stands_out_from: Range | None
    listed_from: float | None


class Implementation(Closed):
    software: Words
    noise: Words
    security: Words


class Proof(Closed):
    argument: Words
    references: Words
    where: Words


class Source(Closed):
    name: Words
    url: Words
    date: Day


class SourceRelease(Closed):
    id: Words
    title: Words
    dataset: Words
    cost: Words
    total: Words
    same_budget: bool
    used_layers: bool


class LayerUsed(Closed):
    name: Words
    title: Words
    kind: Words
    sha256: Checksum
    features: Count
    declared_on: Day
    declared_before_upload: bool
    public_source: Source | None
    release: SourceRelease | None
    meaning: Words


class AreaExchange(Closed):
    place: Words
    source: Source | None
    on: Day
    times: Count
    meaning: Words


class File(Closed):
    name: Words
    media_type: Words
    sha256: Checksum
    size: Count


class Total(Closed):
    """A noisy total of people, sightings or visits in all regions; it may be negative."""

    value: int
    margin_95: Count
    most_of_one_person: Count
    meaning: Words


class Scale(Closed):
    """How counts are scaled to a total.

    If `factor`, `low` and `high` are null, nothing is scaled and `meaning` says why.
    """

    counted: Literal["sightings", "visits"]
    factor: float | None
    low: float | None
    high: float | None
    meaning: Words


class Totals(Closed):
    """Totals and what they cost: an epsilon, or a rho in its place if their noise is Gaussian."""

    people: Total
    sightings: Total
    visits: Total
    scaling: Scale
    epsilon: NotRequired[Exact]
    rho: NotRequired[Exact]


class AreaSeen(Closed):
    areas: Annotated[int, Field(ge=1)]
    on: Day
    meaning: Words


class WindowOfTime(Closed):
    """The days whose rows are counted, in a declared time zone; both days are included."""

    from_day: Day
    to_day: Day
    time_zone: Words
    meaning: Words


class Household(Guesses):
    """What the release promises to a household of up to `people` people.

    Each of them, taken alone, has the release's guarantee.
    """

    people: Annotated[int, Field(ge=2)]
    epsilon: Decimal
    delta: Delta | Literal["0"]
    meaning: Words


class BoundChoice(Closed):
    """How the contribution bound was chosen privately.

    It is close to the quantile `quantile` of the people's numbers of regions, and at most `most`.
    """

    bound: Positive
    most: Positive
    quantile: float
    meaning: Words


class OfSeries(Closed):
    """The series of which this release is a map; `number` is the map's number in it, from 1.

    `bound_of_series` is the most that one person adds to all maps together, or null unless a person
    is protected over the whole series. `periods_in_a_row` is the number of consecutive periods that
    are protected together, or null for other protections. `maps`, the declared number of maps, is
    present if all of them are protected together. If `rho` is present, the series is paid for in
    rho, and each epsilon is that to which the corresponding rho converts at `delta`.
    """

    id: Words
    title: Words
    number: Positive
    period: Literal["day", "week", "month"]
    first_day: Day
    protection: Literal["person", "all", "any", "one"]
    bound_of_map: Positive
    bound_of_series: Positive | None
    periods_in_a_row: Positive | None
    epsilon: Decimal
    epsilon_of_map: Decimal
    epsilon_of_year: Decimal
    paid_once: bool
    maps: NotRequired[Positive]
    rho: NotRequired[Decimal]
    rho_of_map: NotRequired[Decimal]
    delta: NotRequired[Delta]
    meaning: Words


class Statement(Closed):
    """The statement. The stored file also lists the other files of the release.

    `request` is what was asked for, with the defaults filled in. `totals` is present only if the
    release has totals, `household` only if it protects households, `bound_choice` only if the bound
    was chosen privately, `window` only if it has a window of time, `series` only if it is a map of
    a series.
    """

    format: Literal["dpgeo-privacy-statement"]
    version: str
    schema: str
    title: str
    description: str
    requested_on: Day | None
    dataset: Dataset
    publisher: str
    publisher_sector: str
    contact: str
    licence: str
    attribution: str
    citation: Words
    product: Product
    counts: Counts
    unit_of_privacy: UnitOfPrivacy
    number_of_units: Words
    contribution_bound: ContributionBound
    guarantee: Annotated[Pure | Rho | Geo, Field(discriminator="notion")]
    dataset_guarantee: DatasetGuarantee | None
    mechanism: Mechanism
    deployment_model: Words
    actors: ListOfWords
    release_type: Words
    data_source_type: Words
    access_type: Words
    data_domain: Words
    preparation: ListOfWords
    spends: Annotated[list[Spend], Field(min_length=1)]
    accounting: Words
    expected_error: list[ExpectedError]
    post_processing: ListOfWords
    not_protected: ListOfWords
    known_limits: ListOfWords
    rationale: ListOfWords
    implementation: Implementation
    proof: Proof
    study_area: Annotated[dict[str, Any], WithJsonSchema({"type": "object", "required": ["type"]})]
    study_area_exchange: AreaExchange | None
    study_area_seen: AreaSeen | None
    public_layers: list[LayerUsed]
    software: Words
    request: ReleaseRequest
    totals: NotRequired[Totals]
    household: NotRequired[Household]
    bound_choice: NotRequired[BoundChoice]
    window: NotRequired[WindowOfTime]
    series: NotRequired[OfSeries]


class FileOnRequest(Closed):
    name: Words
    media_type: Words


class StoredStatement(Statement):
    """The statement as a file.

    `files_on_request` are the files that are written when somebody first asks for them. Once they
    are written, the API gives their checksums with the release.
    """

    files: Annotated[list[File], Field(min_length=1)]
    files_on_request: list[FileOnRequest]


VERSIONS: dict[str, TypeAdapter[Any]] = {VERSION: TypeAdapter(StoredStatement)}


def schema_address(version: str = VERSION) -> str:
    """Return the URL path at which a server publishes the JSON Schema of a version."""
    return f"/api/schemas/privacy-statement-{version}.json"


class _StatementSchema(GenerateJsonSchema):
    """JSON Schema without the titles of fields, which repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def statement_schema(version: str = VERSION) -> Schema:
    """Return the JSON Schema (2020-12) of a version. Raises KeyError for an unknown version."""
    schema = VERSIONS[version].json_schema(schema_generator=_StatementSchema)
    schema["properties"]["version"] = {"const": version}
    schema["properties"]["schema"] = {"const": schema_address(version)}
    return {"$schema": DIALECT, **schema, "title": "Privacy statement of a release"}
