"""What is declared of a dataset: the fields, and who may set them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may, organisations_of
from dpgeo.api.request_bodies import Field, flag, given, items, members, number, text
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.core.levels import Level, make_level
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import datasets_visible_to
from dpgeo.datasets.services import BUDGETS, dataset_create, dataset_update

DECIMAL = {"type": ["string", "number"]}

WORDS = (
    Field(name="title", description="What was counted, where and when. Public.", read=text),
    Field(name="description", description="What a reader should know. Public.", read=text),
    Field(name="licence", description="What others may do with the maps.", read=text),
    Field(name="attribution", description="How others should name you.", read=text),
)

DOMAIN = (
    Field(
        name="unit",
        description="Whose presence is hidden: person, with all their rows, or record.",
        read=text,
        schema={"type": "string", "enum": [unit.value for unit in Unit]},
    ),
    Field(
        name="study_area",
        description="A GeoJSON Polygon or MultiPolygon, longitude first, chosen from a map and "
        "not from the data.",
        read=members,
        schema={"type": "object", "additionalProperties": True},
    ),
    Field(
        name="time_zone",
        description="For times in the file that name no zone, such as Europe/Berlin.",
        read=text,
    ),
    Field(
        name="public_attributes",
        description="Columns whose values anybody may know of every report: such as follow neither "
        "from where it was made nor from who made it, like the version of an app. Publishing moved "
        "points can tell them, protected by nothing. Every value that is not listed becomes "
        '"other".',
        read=items,
        schema={
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["column", "values"],
                "properties": {
                    "column": {"type": "string"},
                    "values": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    ),
)

KEEP_RAW = Field(
    name="keep_raw",
    description="Whether uploaded files are kept after they were read: true unless you say so.",
    read=flag,
    schema={"type": "boolean"},
)

BUDGET = Field(
    name="budget",
    description='The total epsilon that may ever be spent, such as "2".',
    read=number,
    schema=DECIMAL,
)

POINTS_BUDGET = Field(
    name="points_budget",
    description='What may ever be spent on publishing moved points: {"level": "ln(16)", "radius": '
    "200}, a level within metres. Only before anything is published.",
    read=members,
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["level", "radius"],
        "properties": {
            "level": {"type": ["string", "number"]},
            "radius": {"type": "integer", "minimum": 1},
        },
    },
)

NEEDED = {"title", "licence", "unit", "study_area"}


def _required(field: Field) -> Field:
    return Field(
        name=field.name,
        description=field.description,
        read=field.read,
        schema=field.schema,
        required=field.name in NEEDED,
    )


DECLARED = (
    *(_required(field) for field in (*WORDS, *DOMAIN)),
    BUDGET,
    POINTS_BUDGET,
    KEEP_RAW,
    Field(
        name="shares_budget_with",
        description="Instead of a budget: the slug of your dataset about the same people.",
        read=text,
    ),
    Field(
        name="slug",
        description="How its short name in addresses begins; random signs are added, so that "
        "nobody guesses it before it is public.",
        read=text,
    ),
    Field(
        name="organisation",
        description="The publisher's slug; needed by members of several.",
        read=text,
    ),
)

CHANGED = (*WORDS, *DOMAIN, BUDGET, POINTS_BUDGET, KEEP_RAW)


def declare(user: User, values: dict[str, Any]) -> Dataset:
    """A new dataset of one of the user's organisations. Raises DpgeoError."""
    facts = given(values)
    organisation = _organisation(user, facts.pop("organisation", None))
    budget, shared = facts.pop("budget", None), facts.pop("shares_budget_with", None)
    facts.setdefault("time_zone", "UTC")
    if "points_budget" in facts:
        facts["points_budget"] = _points_budget(facts["points_budget"])
    return dataset_create(
        **facts,
        organisation=organisation,
        budget=None if budget is None else _budget(budget),
        ledger=None if shared is None else _sibling(user, organisation, shared).ledger,
        created_by=user,
    )


def change(user: User, dataset: Dataset, values: dict[str, Any]) -> Dataset:
    """Other facts for a dataset. Raises DpgeoError."""
    changes = given(values)
    if not changes:
        raise InvalidInput("Nothing is to be changed; give at least one field.")
    budgets = [name for name in BUDGETS if name in changes]
    if budgets and not may(user, dataset, "set_budget"):
        raise NotAllowed(
            "Budgets are set by administrators of the organisation, at the desk.", field=budgets[0]
        )
    if "budget" in changes:
        changes["budget"] = _budget(changes["budget"])
    if "points_budget" in changes:
        changes["points_budget"] = _points_budget(changes["points_budget"])
    return dataset_update(dataset=dataset, changes=changes)


def _budget(text: str) -> Fraction:
    return parse_epsilon(text, field="budget")


def _points_budget(document: dict[str, Any]) -> Level:
    if set(document) != {"level", "radius"}:
        raise InvalidInput(
            'Must be like {"level": "ln(16)", "radius": 200}.', field="points_budget"
        )
    return make_level(document["level"], document["radius"], field="points_budget")


def _organisation(user: User, slug: str | None) -> Organisation:
    mine = organisations_of(user)
    if slug is not None:
        found = mine.filter(slug=slug).first()
        if found is None:
            raise InvalidInput("You act for no such organisation.", field="organisation")
        return found
    some = list(mine[:2])
    if not some:
        raise NotAllowed("You belong to no organisation; ask an administrator to add you.")
    if len(some) > 1:
        raise InvalidInput("You belong to several; name one by its slug.", field="organisation")
    return some[0]


def _sibling(user: User, organisation: Organisation, slug: str) -> Dataset:
    found = datasets_visible_to(user).filter(organisation=organisation, slug=slug).first()
    if found is None:
        raise InvalidInput("This organisation has no such dataset.", field="shares_budget_with")
    return found
