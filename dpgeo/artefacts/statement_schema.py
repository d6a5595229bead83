"""Schema of the privacy statement, as Python types and as JSON Schema.

The fields cover all three tiers of the Differential Privacy Deployments Registry
(registry.opendp.org/transparency-tiers): who publishes what and why; the notion of privacy, privacy
unit, parameters and deployment model; and the data domain, unprotected quantities, actors,
preparation, accounting, post-processing, implementation, security and reasons for choices.
docs/statement.md lists which fields correspond to which. Stored statements never change, so a new
version of the schema will stand beside this one.
"""

from __future__ import annotations

from enum import Enum
from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from dpgeo.core.declared import Declared, schema_of
from dpgeo.core.guarantees import Unit
from dpgeo.core.release_request import ReleaseRequest

VERSION = "1.0"

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def also(**keywords: Any) -> tuple[tuple[str, Any], ...]:
    """Return JSON Schema keywords to add to a type; a keyword with the value None is removed."""
    return tuple(keywords.items())


OPEN = also(additionalProperties=None)
"""Annotation of an object that may have undeclared members."""

Words = Annotated[str, also(minLength=1)]
ListOfWords = Annotated[list[Words], also(minItems=1)]
Decimal = Annotated[str, also(pattern=r"^[0-9]+(\.[0-9]+)?$")]
Exact = Annotated[str, also(pattern=r"^[0-9]+(\.[0-9]+|/[1-9][0-9]*)?$")]
"""An exact decimal, or a fraction if no decimal is exact, as for an epsilon divided among levels.
"""
Delta = Annotated[str, also(pattern="^1e-[0-9]+$")]
Checksum = Annotated[str, also(pattern="^[0-9a-f]{64}$")]
Positive = Annotated[int, also(minimum=1)]
Day = Annotated[str, also(format="date")]
Odds = Annotated[float, also(minimum=1)] | None
Verdict = Literal["strong", "moderate", "weak"]
RightGuesses = Annotated[int, also(minimum=50, maximum=98)] | None
"""Largest number of correct guesses in 100, starting from even odds.

It is null if a guess can be almost certain.
"""


class Dataset(TypedDict):
    title: str
    slug: str


class Product(TypedDict):
    type: Literal["Summary statistics", "Dataset", "Synthetic data"]
    intended_use: Words


class Counts(TypedDict):
    """What is counted, what a sum over several regions counts, and the owner's noun for rows."""

    counting: Words
    meaning: Words
    total: Literal["people", "sightings", "visits"]
    rows: Words


class UnitOfPrivacy(TypedDict):
    unit: Unit
    meaning: Words


class ContributionBound(TypedDict):
    bound: Annotated[int, also(minimum=1)]
    meaning: Words


class Neighbours(TypedDict):
    words: Words
    symbols: Words


class Guesses(TypedDict):
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
    reports: int
    epsilon_per_metre_of_one_report: Decimal


class Points(TypedDict):
    level: Words
    radius: int
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


class Mechanism(TypedDict):
    key: Words
    parameters: dict[str, Any]


class Noise(TypedDict):
    """A noise distribution; each type of noise adds parameters of its own."""

    distribution: Words
    probability: NotRequired[Words]
    scale: NotRequired[float]


class Spend(TypedDict):
    """A spend of an epsilon or, under zCDP, of a rho."""

    label: Words
    epsilon: NotRequired[Exact]
    rho: NotRequired[Exact]
    drawn: bool
    sensitivity: NotRequired[float]
    squared_sensitivity: NotRequired[float]
    meaning: NotRequired[Words]
    noise: Annotated[Noise, OPEN] | None


class Range(TypedDict):
    smallest: float
    largest: float


class ExpectedError(TypedDict):
    layer: Words
    title: Words
    kind: Literal["measured", "inferred"]
    values: int
    margin_95: Range | None
    margin_label: Words
    margin_note: str
    stands_out_from: Range | None
    listed_from: float | None


class Implementation(TypedDict):
    software: Words
    noise: Words
    security: Words


class Proof(TypedDict):
    argument: Words
    references: Words
    where: Words


class Source(TypedDict):
    name: Words
    url: Words
    date: Day


class SourceRelease(TypedDict):
    id: Words
    title: Words
    dataset: Words
    cost: Words
    total: Words
    same_budget: bool
    used_layers: bool


class LayerUsed(TypedDict):
    name: Words
    title: Words
    kind: Words
    sha256: Checksum
    features: int
    declared_on: Day
    declared_before_upload: bool
    public_source: Source | None
    release: SourceRelease | None
    meaning: Words


class AreaExchange(TypedDict):
    place: Words
    source: Source | None
    on: Day
    times: int
    meaning: Words


class File(TypedDict):
    name: Words
    media_type: Words
    sha256: Checksum
    size: int


class Total(TypedDict):
    """A noisy total of people, sightings or visits in all regions; it may be negative."""

    value: Annotated[int, also(minimum=None)]
    margin_95: int
    most_of_one_person: int
    meaning: Words


class Scale(TypedDict):
    """How counts are scaled to a total.

    If `factor`, `low` and `high` are null, nothing is scaled and `meaning` says why.
    """

    counted: Literal["sightings", "visits"]
    factor: float | None
    low: float | None
    high: float | None
    meaning: Words


class Totals(TypedDict):
    """Totals and what they cost: an epsilon, or a rho in its place if their noise is Gaussian."""

    people: Total
    sightings: Total
    visits: Total
    scaling: Scale
    epsilon: NotRequired[Exact]
    rho: NotRequired[Exact]


class AreaSeen(TypedDict):
    areas: Annotated[int, also(minimum=1)]
    on: Day
    meaning: Words


class WindowOfTime(TypedDict):
    """The days whose rows are counted, in a declared time zone; both days are included."""

    from_day: Day
    to_day: Day
    time_zone: Words
    meaning: Words


class Household(Guesses):
    """What the release promises to a household of up to `people` people.

    Each of them, taken alone, has the release's guarantee.
    """

    people: Annotated[int, also(minimum=2)]
    epsilon: Decimal
    delta: Delta | Literal["0"]
    meaning: Words


class BoundChoice(TypedDict):
    """How the contribution bound was chosen privately.

    It is close to the quantile `quantile` of the people's numbers of regions, and at most `most`.
    """

    bound: Positive
    most: Positive
    quantile: float
    meaning: Words


class OfSeries(TypedDict):
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


class Statement(TypedDict):
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
    guarantee: Pure | Rho | Geo
    dataset_guarantee: DatasetGuarantee | None
    mechanism: Mechanism
    deployment_model: Words
    actors: ListOfWords
    release_type: Words
    data_source_type: Words
    access_type: Words
    data_domain: Words
    preparation: ListOfWords
    spends: Annotated[list[Annotated[Spend, OPEN]], also(minItems=1)]
    accounting: Words
    expected_error: list[ExpectedError]
    post_processing: ListOfWords
    not_protected: ListOfWords
    known_limits: ListOfWords
    rationale: ListOfWords
    implementation: Implementation
    proof: Proof
    study_area: Annotated[dict[str, Any], also(required=["type"])]
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


class FileOnRequest(TypedDict):
    name: Words
    media_type: Words


class StoredStatement(Statement):
    """The statement as a file.

    `files_on_request` are the files that are written when somebody first asks for them. Once they
    are written, the API gives their checksums with the release.
    """

    files: Annotated[list[File], also(minItems=1)]
    files_on_request: list[FileOnRequest]


VERSIONS: dict[str, Any] = {VERSION: StoredStatement}


def schema_address(version: str = VERSION) -> str:
    """Return the URL path at which a server publishes the JSON Schema of a version."""
    return f"/api/schemas/privacy-statement-{version}.json"


def statement_schema(version: str = VERSION) -> Schema:
    """Return the JSON Schema (2020-12) of a version. Raises KeyError for an unknown version."""
    schema = _record(VERSIONS[version])
    schema["properties"]["version"] = {"const": version}
    schema["properties"]["schema"] = {"const": schema_address(version)}
    return {"$schema": DIALECT, "title": "Privacy statement of a release", **schema}


def _record(form: Any) -> Schema:
    """Return the JSON Schema of an object with the members of a TypedDict and no others."""
    hints = get_type_hints(form, include_extras=True)
    return {
        "type": "object",
        "required": [name for name, hint in hints.items() if get_origin(hint) is not NotRequired],
        "properties": {name: _schema(hint) for name, hint in hints.items()},
        "additionalProperties": False,
    }


PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    NoneType: {"type": "null"},
}


def _schema(hint: Any) -> Schema:
    """Return the JSON Schema of a type. Raises KeyError for unsupported types."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        schema = {**_schema(arguments[0]), **dict(arguments[1])}
        return {name: value for name, value in schema.items() if value is not None}
    if origin is NotRequired:
        return _schema(arguments[0])
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if is_typeddict(origin):
        return _record(origin)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return {"enum": [member.value for member in origin]}
    if isinstance(origin, type) and issubclass(origin, Declared):
        return schema_of(origin)
    if len(arguments) > 1 and origin is not dict:
        return {
            ("anyOf" if NoneType in arguments else "oneOf"): [_schema(one) for one in arguments]
        }
    return dict(PLAIN[origin])
