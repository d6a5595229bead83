"""Request bodies for declaring and changing datasets, and the check of who may set budgets."""

from __future__ import annotations

from typing import Any

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may, visible_organisations
from dpgeo.budgets.services import parse_accounting
from dpgeo.core.declared import (
    Anything,
    Declared,
    Flag,
    Text,
    fact,
)
from dpgeo.core.errors import InvalidInput, NotAllowed
from dpgeo.core.levels import Level, make_level
from dpgeo.datasets.budget_declaration import BudgetDeclaration
from dpgeo.datasets.dataset_budgets import ACCOUNTING, BUDGETS
from dpgeo.datasets.declaration import Declaration
from dpgeo.datasets.layer_declaration import NamedPlace
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import datasets_visible_to
from dpgeo.datasets.services import dataset_create, dataset_update


class PointsBudget(Declared):
    """A budget for moved points: a privacy level within a radius in metres."""

    level: Anything = fact("", schema={"type": ["string", "number"]})
    radius: Anything = fact("", schema={"type": "integer", "minimum": 1})


class Budgets(BudgetDeclaration):
    """What may ever be spent on a dataset's people."""

    points_budget: PointsBudget = fact(
        "The most that may ever be spent on moved points, as a level within a radius in "
        'metres: {"level": "ln(16)", "radius": 200}. It can be set only before the first release.',
        None,
    )
    leave_out_water: Flag = fact(
        "With a study area that is declared before any file: subtract the sea and lakes of 1 km² "
        "and more, by public maps; only the sea where the site has no ground. Rows on ferries and "
        "bridges over them are then refused. False by default.",
        None,
    )


class DatasetDeclaration(Declaration, Budgets):
    """Fields of a new dataset."""

    shares_budget_with: Text = fact(
        "Instead of a budget: the slug of your dataset about the same people.", None
    )
    slug: Text = fact(
        "How its short name in addresses begins; random characters are added, so that nobody can "
        "guess it before it is public.",
        None,
    )
    organisation: Text = fact("The publisher's slug; required for members of several.", None)


class DatasetUpdate(Declaration.changes(), Budgets):  # type: ignore[misc]
    """Changes to a dataset.

    After a file has been uploaded, a new study area must be a named place.
    """

    place: NamedPlace = fact(
        "With a new study area once a file has been uploaded: the named place that it is "
        "exchanged for. Statements repeat it. Refused before the first upload.",
        None,
    )


def declare(user: User, facts: dict[str, Any]) -> Dataset:
    """Create a dataset for one of the user's organisations from the body fields `facts`.

    Raises DpgeoError if a fact is invalid or the user may not declare it.
    """
    organisation = _organisation(user, facts.pop("organisation", None))
    budget, shared = facts.pop("budget", None), facts.pop("shares_budget_with", None)
    if "points_budget" in facts:
        facts["points_budget"] = _points_budget(facts["points_budget"])
    _read_accounting(facts)
    return dataset_create(
        **facts,
        organisation=organisation,
        budget=budget,
        ledger=None if shared is None else _sibling(user, organisation, shared).ledger,
        created_by=user,
    )


def change(user: User, dataset: Dataset, changes: dict[str, Any]) -> Dataset:
    """Set the fields of a dataset that `changes` names to their new values.

    Raises DpgeoError if a value is invalid, if a field can no longer be changed, or if `user` may
    not change it.
    """
    if not changes:
        raise InvalidInput("There is nothing to change; give at least one field.")
    _read_accounting(changes)
    budgets = [name for name in (*BUDGETS, ACCOUNTING) if name in changes]
    if budgets and not may(user, dataset, "set_budget"):
        raise NotAllowed(
            "Only administrators of the organisation can set budgets, at the desk.",
            field=budgets[0],
        )
    if "points_budget" in changes:
        changes["points_budget"] = _points_budget(changes["points_budget"])
    return dataset_update(dataset=dataset, changes=changes)


def _read_accounting(facts: dict[str, Any]) -> None:
    """Replace the fields on how the budget counts, in epsilon or rho, with one `Accounting`.

    A body without such fields stays as it is.
    """
    given = {name: facts.pop(name, "") for name in (ACCOUNTING, "delta", "population")}
    if any(value != "" for value in given.values()):
        facts[ACCOUNTING] = parse_accounting(
            given[ACCOUNTING], delta=given["delta"], population=given["population"]
        )


def _points_budget(given: dict[str, Any]) -> Level:
    return make_level(given["level"], given["radius"], field="points_budget")


def _organisation(user: User, slug: str | None) -> Organisation:
    mine = visible_organisations(user)
    if slug is not None:
        organisation = mine.filter(slug=slug).first()
        if organisation is None:
            raise InvalidInput(
                "You do not belong to an organisation with this slug.", field="organisation"
            )
        return organisation
    choices = list(mine[:2])
    if not choices:
        raise NotAllowed("You belong to no organisation; ask an administrator to add you.")
    if len(choices) > 1:
        raise InvalidInput(
            "You belong to several organisations; give the slug of one.", field="organisation"
        )
    return choices[0]


def _sibling(user: User, organisation: Organisation, slug: str) -> Dataset:
    dataset = datasets_visible_to(user).filter(organisation=organisation, slug=slug).first()
    if dataset is None:
        raise InvalidInput("This organisation has no such dataset.", field="shares_budget_with")

    return dataset
