"""Public answers that describe releases, datasets and mechanisms."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any

from django.db.models import prefetch_related_objects
from pydantic import Field, create_model

from dpgeo.api.answers import (
    NEXT,
    ONE_PAGE,
    Answer,
    AnyRequest,
    Box,
    Json,
    Parameters,
    Slug,
    Url,
    address_of,
    day_of,
    one_of,
)
from dpgeo.artefacts import statement
from dpgeo.artefacts.files import file_kind
from dpgeo.artefacts.wording import odds_factor
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.warnings import cautions_on
from dpgeo.core.declared import fact, kind_of_field
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Notion, PureDP, Unit
from dpgeo.core.guessing import Verdict
from dpgeo.core.licences import licence_url
from dpgeo.core.parameters import json_schema
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.core.themes import THEMES
from dpgeo.core.totals import TotalsPlan
from dpgeo.datasets.declaration import NewFiles
from dpgeo.datasets.models import Dataset, LegalBasis
from dpgeo.datasets.promises import lifetime_limit
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.releases.models import Release
from dpgeo.releases.promises import promise_of
from dpgeo.releases.states import ReleaseState
from dpgeo.spatial.ground_grid import snapped_apart

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

EPSILON = "An exact decimal number."

StrengthWord = Annotated[str, one_of(Verdict)]
NotionKey = Annotated[str, one_of(Notion)]
Theme = Annotated[str, one_of(THEMES)]
UnitKey = Annotated[str, one_of(Unit)]
Day = datetime.date


class RhoOut(Answer):
    """A cost or a budget under zero-concentrated differential privacy (zcdp)."""

    rho: str = fact(f"What is counted, and adds up. {EPSILON}")
    delta: str = fact('The declared delta, such as "1e-9".')
    epsilon: str = fact(
        f"The epsilon of rho at delta; epsilons of several do not add up. {EPSILON}"
    )


def rho_answer(ledger: Ledger, units: int) -> RhoOut:
    return RhoOut(
        rho=ledger.rho_text(units),
        delta=ledger.delta_text,
        epsilon=format_epsilon(ledger.epsilon_of(units)),
    )


class PublisherOut(Answer):
    """The organisation that publishes a map."""

    slug: Slug
    name: str
    contact: str = fact("An e-mail address; may be empty.")


class PointsOut(Answer):
    """An amount of privacy budget for points: a privacy level within a radius."""

    level: str = fact(
        '"ln 4", or a decimal number. A report moved by the radius changes the odds at '
        "most by the factor e^(level + epsilon_per_metre * snapping_metres)."
    )
    radius: int = fact("Metres in which the level is stated.")
    snapping_metres: float = fact(
        "How much further apart two positions can be once they are snapped to the grid "
        "from which they are perturbed."
    )
    epsilon_per_metre: str = fact("Level divided by radius, as an exact decimal.")


def points_answer(ledger: Ledger, units: int) -> PointsOut:
    return PointsOut(
        level=ledger.amount(units),
        radius=ledger.radius or 0,
        snapping_metres=float(snapped_apart(0, ledger.snapping)),
        epsilon_per_metre=format_epsilon(ledger.epsilon_of(units)),
    )


class PrivacyOut(Answer):
    """The privacy promise to the people in a dataset, covering all releases of the dataset."""

    sentence: str = fact("The promise in plain language.")
    total_epsilon: str = fact(
        f"The dataset's total budget; for a budget in rho, its epsilon at delta. {EPSILON}"
    )
    total_rho: RhoOut | None = fact("The total of a budget in rho; null for one in epsilon.")
    verdict: StrengthWord = fact(
        "How well all releases of counts together hide whether somebody is in the data."
    )
    right_guesses_in_100: int | None = fact(
        "How often whoever knows everyone else, and began at fifty-fifty, can at most be "
        "right about somebody's presence, from all releases of counts; null from 99 on."
    )
    presence_odds_factor: float | None = fact(
        "Pure differential privacy, for counts alone: the factor by which whether "
        "somebody is in the data can change the odds, e to the power of the total epsilon, rounded "
        "up; null if it is astronomical, or if the budget counts in rho, since a delta allows "
        "rare outcomes with any odds. It says nothing of points, which have a budget of their "
        "own."
    )
    points: PointsOut | None = fact("The total budget for points; null if there is none.")


def privacy_answer(dataset: Dataset) -> PrivacyOut:
    """Return the promise of a dataset's whole budget, spent or not."""
    ledger, lifetime = dataset.ledger, lifetime_limit(dataset)
    points = None if lifetime.points is None else points_ledger(ledger)
    bound = lifetime.counts
    return PrivacyOut(
        sentence=lifetime.sentence,
        total_epsilon=format_epsilon(lifetime.total),
        total_rho=rho_answer(ledger, ledger.lifetime_units) if ledger.is_zcdp else None,
        verdict=bound.verdict,
        right_guesses_in_100=bound.figure,
        presence_odds_factor=None if ledger.is_zcdp else odds_factor(lifetime.total),
        points=points_answer(points, points.lifetime_units) if points else None,
    )


class PromiseOut(Answer):
    """The privacy promise of a single release."""

    sentence: str = fact("The promise in plain language.")
    verdict: StrengthWord
    right_guesses_in_100: int | None = fact(
        "Under pure-dp and zcdp, about whether somebody is in the data; under geo-ind, "
        "about which of two places, the level's radius apart, a report was made at. Null from 99 "
        "on."
    )


class FileOut(Answer):
    """A file of a release; checksum and size are those of its uncompressed bytes."""

    name: str
    format: str = fact("The format, such as GeoParquet.")
    use: str = fact("What the format is good for.")
    layer: str = fact("The layer it contains; empty if it concerns all layers.")
    url: Url
    media_type: str
    sha256: str | None = fact("Null until the file is made, when somebody first asks for it.")
    size: int | None = fact("Bytes; null until the file is made.")


@lru_cache(maxsize=4096)
def _file_kind(name: str) -> Json:
    kind = file_kind(name)
    return {"format": kind.title, "use": kind.use, "layer": kind.layer}


class DatasetReferenceOut(Answer):
    """The dataset of a release."""

    slug: Slug
    title: str


class TotalsPlanOut(Answer):
    """The part of epsilon or rho spent on noisy totals of people, sightings and visits."""

    percent: int = fact("The share of epsilon or rho, in per cent.")
    most_sightings: int = fact("The most that one person adds to the total of sightings.")
    most_visits: int = fact("The most that one person adds to the total of visits.")


def totals_answer(plan: TotalsPlan | None) -> TotalsPlanOut | None:
    if plan is None:
        return None
    return TotalsPlanOut(
        percent=plan.percent, most_sightings=plan.sightings, most_visits=plan.visits
    )


class NoteOut(Answer):
    """A text by the publisher at a position on the map. It is not one of the release's figures."""

    text: str = fact("Plain text.")
    longitude: float
    latitude: float


def _request_facts(without: Collection[str]) -> Any:
    """Return the base class of answers that repeat the facts of a release request.

    What answers state in other words is left out: what the request costs, and the plan of totals.
    """
    fields: dict[str, Any] = {}
    for name, each in ReleaseRequest.model_fields.items():
        kind: Any = kind_of_field(each)
        if name in without or name in ("epsilon", "most_sightings", "most_visits"):
            continue
        kind = Annotated[str, one_of(kind)] if issubclass(kind, StrEnum) else kind
        kind = kind | None if each.default is None else kind
        fields[name] = (kind, Field(description=each.description))
    return create_model("RequestFacts", __base__=Answer, **fields)


def own_fields_first(answer: type[Answer]) -> None:
    """Let an answer write the fields of its base class last."""
    fields = answer.model_fields
    answer.__pydantic_fields__ = {name: fields[name] for name in answer.__annotations__} | fields
    answer.model_rebuild(force=True)


RequestFacts: Any = _request_facts({"mechanism", "parameters", "totals"})


class ReleaseOut(RequestFacts):  # type: ignore[misc]
    """One differentially private release."""

    id: str
    url: Url
    state: Annotated[str, one_of(ReleaseState.values)] = fact(
        "Only members of the publisher see drafts and rejected releases; the latter are "
        "never published. A withdrawn release keeps its facts and loses its files."
    )
    title: str
    description: str
    notes: list[NoteOut] = fact(
        "The publisher's own words at positions on the map, in their order; they are not "
        "figures of the release. Empty once it is withdrawn."
    )
    notes_sha256: str = fact(
        "Checksum of the notes, which whoever publishes a draft with notes sends back; "
        "empty if there are none."
    )
    dataset: DatasetReferenceOut
    publisher: PublisherOut
    licence: str
    licence_url: str = fact("The licence's address; empty if its name is unknown.")
    attribution: str
    contact: str = fact("The e-mail address for questions; may be empty.")
    keywords: list[str]
    themes: list[Theme] = fact("Codes of the EU's data-theme vocabulary.")
    covers_from: Day | None = fact("First day that the data cover, as declared.")
    covers_until: Day | None = fact("Last day that the data cover, as declared.")
    kind: str = fact("The kind of map, such as heatmap.")
    mechanism: str = fact("Key of the mechanism.")
    parameters: Parameters
    notion: NotionKey = fact("pure-dp and zcdp hide presence, geo-ind where a report was made.")
    cost: str = fact("What this release spent, in words.")
    epsilon: str | None = fact(f"What it spent under pure-dp; else null. {EPSILON}")
    rho: RhoOut | None = fact(
        "What it spent from a budget in rho, under whichever notion; else null."
    )
    bound: int = fact(
        "The contribution bound: where people are counted, the most cells in which one "
        "privacy unit counts; where visits are counted, the most records of one that count. Before "
        "publication, the largest that may be chosen, if it is chosen privately."
    )
    totals: TotalsPlanOut | None = fact(
        "What was spent on totals of all the data; null for nothing."
    )
    epsilon_of_household: str | None = fact(
        f"At the budget's delta, if it counts in rho; null for points. {EPSILON}"
    )
    unit: UnitKey = fact("Whose presence is hidden.")
    bbox: Box
    published_on: Day | None = fact("The day, in UTC.")
    withdrawn_on: Day | None = fact("The day, in UTC.")
    promise: PromiseOut = fact("What this release alone promises.")
    privacy: PrivacyOut
    files: list[FileOut]
    statement_url: Url | None = fact("The machine-readable privacy statement.")
    links: dict[str, Url] = fact("self, page, privacy, mechanism, dataset.")


own_fields_first(ReleaseOut)


class ReleaseListOut(Answer):
    """One page of releases, newest first."""

    next: Url | None = fact(NEXT)
    results: list[ReleaseOut]


def release_answer(release: Release, request: AnyRequest) -> ReleaseOut:
    """Return the description of a release, with the URLs of its pages and files.

    Without its files once it is no longer served, and without the dataset's URL while it is not
    public, since the dataset may not be, either.
    """
    dataset, asked = release.dataset, release.request
    public, served = release.rules.public, release.rules.served
    url = address_of(request, "api:release", release.pk)
    page = address_of(request, "release", release.pk)
    links = {"self": url, "page": page, "privacy": f"{page}privacy/"}
    if release.mechanism in MECHANISMS:
        links["mechanism"] = address_of(request, "api:mechanism", release.mechanism)
    if public:
        links["dataset"] = address_of(request, "api:dataset", dataset.slug)
    files = _files(release, url) if served else {}
    answer: ReleaseOut = ReleaseOut.model_validate(
        {
            **dict(asked),
            **_declared_facts(dataset),
            **_derived(_Columns(_columns(release), release)),
            "id": release.pk,
            "url": url,
            "state": release.state,
            "title": release.title,
            "description": release.description,
            "notes": release.notes if served else [],
            "notes_sha256": release.notes_sha256 if served else "",
            "dataset": dataset,
            "publisher": dataset.organisation,
            "kind": KINDS_OF.get(release.mechanism, ""),
            "mechanism": release.mechanism,
            "parameters": dict(sorted(asked.parameters.items())),
            "notion": release.notion,
            "bound": release.shown_bound,
            "published_on": day_of(release.published_at),
            "withdrawn_on": day_of(release.withdrawn_at),
            "files": [*files.values()],
            "statement_url": f"{url}/files/{statement.NAME}" if statement.NAME in files else None,
            "links": links,
        }
    )
    return answer


KINDS_OF = {key: mechanism.kind.key for key, mechanism in MECHANISMS.items()}
"""The key of the kind of map that each mechanism makes."""


def _declared_facts(dataset: Dataset) -> Json:
    """Return what a dataset's answers and those of its releases both say."""
    return {
        "licence": dataset.licence,
        "licence_url": licence_url(dataset.licence),
        "attribution": dataset.attribution,
        "contact": dataset.contact_address,
        "keywords": dataset.keywords,
        "themes": dataset.themes,
        "covers_from": dataset.covers_from,
        "covers_until": dataset.covers_until,
        "unit": dataset.unit,
        "bbox": dataset.bounds,
    }


@dataclass(frozen=True, slots=True)
class _Columns:
    """The stored values of a release from which its promises follow."""

    key: tuple[object, ...]
    release: Release = field(compare=False)


def _columns(release: Release) -> tuple[object, ...]:
    dataset = release.dataset
    counts, points = dataset.ledger, points_ledger(dataset.ledger)
    return (
        *(release.pk, release.bound, release.cost_units, release.delta_exponent),
        *(dataset.unit, dataset.row_noun),
        *(counts.notion, counts.total_units, counts.merged_units, counts.delta_exponent),
        *((points.total_units, points.merged_units, points.input_step) if points else ()),
    )


@lru_cache(maxsize=512)
def _derived(columns: _Columns) -> Json:
    """Return what a release costs and promises, in words and figures."""
    release = columns.release
    ledger, cost, promise = release.ledger, release.cost, promise_of(release)
    household = release.of_household
    return {
        "cost": release.cost_words,
        "epsilon": format_epsilon(cost.epsilon) if isinstance(cost, PureDP) else None,
        "rho": rho_answer(ledger, ledger.price(cost)) if ledger.is_zcdp else None,
        "totals": totals_answer(release.request.totals_plan),
        "epsilon_of_household": None if household is None else format_epsilon(household),
        "promise": PromiseOut(
            sentence=promise.sentence,
            verdict=promise.bound.verdict,
            right_guesses_in_100=promise.bound.figure,
        ),
        "privacy": privacy_answer(release.dataset),
    }


def _files(release: Release, url: str) -> dict[str, Json]:
    """Return the description of each of a release's files, which are read only once, by name."""
    prefetch_related_objects([release], "files")
    return {
        file.name: {
            **_file_kind(file.name),
            "name": file.name,
            "url": f"{url}/files/{file.name}",
            "media_type": file.media_type,
            "sha256": file.sha256 or None,
            "size": file.size,
        }
        for file in release.files.all()
    }


class AttributeOut(Answer):
    """A public attribute: a declared column whose value in every report may be known to anybody."""

    column: str
    values: list[str] = fact('Values that are not listed become "other".')


class MeasureOut(Answer):
    """A column of numbers whose averages may be published; its limits are declared."""

    column: str
    title: str
    unit: str = fact("Empty where the numbers have none.")
    low: float = fact("Lower values are held at this one.")
    high: float = fact("Higher values are held at this one.")
    steps: int = fact("Steps between the limits to which values are rounded; 1 for yes or no.")


class CategoryOut(Answer):
    """A column by whose values maps may be divided; the value of a row is private."""

    column: str
    title: str
    values: list[str] = fact('The declared values; all others are "other".')


class DataProtectionOut(Answer):
    """What the publisher tells the people in the data about the processing."""

    controller: str = fact("Who is responsible.")
    purpose: str
    basis: Annotated[str, one_of(LegalBasis.values)] = fact(
        "The point of Article 6(1) GDPR, or other."
    )
    basis_detail: str = fact("The law; may be empty.")
    retention: str = fact("How long the rows are kept.")
    contact: str = fact("Where people can ask and object.")


class DatasetOut(Answer):
    """One dataset as its publisher declared it. Its rows are never served."""

    slug: Slug
    url: Url
    title: str
    description: str
    publisher: PublisherOut
    licence: str
    licence_url: str = fact("The licence's address; empty if its name is unknown.")
    attribution: str
    contact: str = fact("The e-mail address for questions; may be empty.")
    keywords: list[str]
    themes: list[Theme] = fact("Codes of the EU's data-theme vocabulary.")
    covers_from: Day | None = fact("First day that the data cover, as declared.")
    covers_until: Day | None = fact("Last day that the data cover, as declared.")
    unit: UnitKey = fact("Whose presence is hidden.")
    row_noun: str = fact("What the publisher calls a row; empty where none was chosen.")
    new_files: Annotated[str, one_of(NewFiles)] = fact(
        "Whether a further file replaces the data or is added (append), as declared."
    )
    time_zone: str
    public_attributes: list[AttributeOut]
    measures: list[MeasureOut]
    categories: list[CategoryOut]
    bbox: Box
    study_area: Json = fact("GeoJSON geometry, longitude first.")
    privacy: PrivacyOut
    data_protection: DataProtectionOut | None = fact(
        "Who processes the data, why and by what law; null if unstated."
    )
    releases_url: Url


class DatasetListOut(Answer):
    """One page of datasets."""

    next: Url | None = fact(NEXT)
    results: list[DatasetOut]


class DeclaredOut(DatasetOut):
    """A dataset that was just declared, with warnings about its total budget."""

    cautions: list[str] = fact("What is unusual about it, though allowed.")


def dataset_answer(dataset: Dataset, request: AnyRequest) -> DatasetOut:
    return DatasetOut.model_validate(_dataset_facts(dataset, request))


def declared_answer(dataset: Dataset, request: AnyRequest) -> DeclaredOut:
    """Return the description of a dataset with warnings about its total budget, read anew."""
    dataset.ledger.refresh_from_db()
    cautions = [str(each) for each in cautions_on(dataset.ledger.total)]
    return DeclaredOut.model_validate({**_dataset_facts(dataset, request), "cautions": cautions})


def _dataset_facts(dataset: Dataset, request: AnyRequest) -> Json:
    return {
        **{name: getattr(dataset, name, None) for name in DatasetOut.model_fields},
        **_declared_facts(dataset),
        "url": address_of(request, "api:dataset", dataset.slug),
        "publisher": dataset.organisation,
        "privacy": privacy_answer(dataset),
        "releases_url": f"{address_of(request, 'api:releases')}?dataset={dataset.slug}",
    }


class TileJsonOut(Answer):
    """TileJSON 3.0 of one layer."""

    tilejson: str
    name: str
    description: str
    attribution: str
    tiles: list[str] = fact("Address templates.")
    vector_layers: list[Json]
    minzoom: int
    maxzoom: int
    bounds: Box


class MechanismOut(Answer):
    """One mechanism."""

    key: Slug
    url: Url
    title: str
    summary: str
    kind: str = fact("The kind of map it makes.")
    parameters: Json = fact("JSON Schema (draft 2020-12) of the parameters.")


class MechanismListOut(Answer):
    """All mechanisms."""

    results: list[MechanismOut]
    next: Url | None = fact(ONE_PAGE)


def mechanism_answer(key: str, request: AnyRequest) -> MechanismOut:
    mechanism = MECHANISMS[key]
    return MechanismOut(
        key=key,
        url=address_of(request, "api:mechanism", key),
        title=mechanism.title,
        summary=mechanism.summary,
        kind=mechanism.kind.key,
        parameters={"$schema": JSON_SCHEMA_DIALECT, **json_schema(mechanism.params)},
    )
