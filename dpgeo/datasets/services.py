"""Declaring, changing and discarding datasets (files: `uploads`; budgets: `dataset_budgets`)."""

from __future__ import annotations

import datetime
import logging
import re
import secrets
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.selectors import may_grant_budget
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.budgets.merging import ledger_lock, ledgers_lock
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.services import (
    PURE,
    Accounting,
)
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.levels import Level
from dpgeo.datasets import dry_land
from dpgeo.datasets.dataset_budgets import (
    ACCOUNTING,
    BUDGETS,
    check_currency,
    check_unit,
    own_ledger,
    record_totals,
    set_budgets,
)
from dpgeo.datasets.declaration import FROZEN, Declaration, read_declaration
from dpgeo.datasets.layer_declaration import NamedPlace, PublicSource
from dpgeo.datasets.layers import same_people
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.osm_credit import credited
from dpgeo.datasets.person_keys import new_sealed_key
from dpgeo.datasets.proposals import (
    budgets_propose,
    needs_second,
)
from dpgeo.datasets.shown_files import seen_before
from dpgeo.datasets.storage import private_storage, remove

logger = logging.getLogger(__name__)

PLACE = "place"
"""Input that names the new place if the study area is replaced after a file has been uploaded."""

SIGNS = "bcdfghjkmnpqrstvwxz23456789"
"""Characters for the random end of a slug: no vowels, and none easily mistaken for another."""

SIDES = ("west", "south", "east", "north")
"""Columns for the sides of the study area's bounding box, by which datasets are searched."""


def dataset_create(
    *,
    organisation: Organisation,
    budget: Fraction | None,
    created_by: User | None,
    ledger: Ledger | None = None,
    points_budget: Level | None = None,
    slug: str = "",
    at_console: bool = False,
    budget_later: bool = False,
    area_choice: Mapping[str, Any] | None = None,
    leave_out_water: bool = False,
    accounting: Accounting | None = None,
    **facts: Any,
) -> Dataset:
    """Declare a dataset with its own budget or on a shared ledger; `facts` are its declaration.

    `accounting` says whether a budget of its own is in epsilon, the default, or in rho. A shared
    ledger has decided this already.

    A dataset with its own `budget` may have a `points_budget` too; on a shared ledger, the budget
    for points is shared as well. With `budget_later` the dataset has neither: nothing can be
    released from it until an administrator gives it a budget or it shares one. `created_by` is None
    for the operator at the console. `area_choice` says how the study area was chosen: `place` is
    its name and `source` the public source of its outline, or `drawn` is true. With
    `leave_out_water` the sea and large lakes are subtracted from the area first.

    Raises InvalidInput, which names the field; NotAllowed if a user without the right to grant
    budgets asks for one; or Conflict if the key of the persons' hashes is missing.
    """
    if budget is not None and created_by and not may_grant_budget(created_by, organisation):
        raise NotAllowed(
            "A budget of its own needs the administrator's role, and a key the scope "
            "{scope}; share the budget of a dataset about the same people, or ask an "
            "administrator to declare this one.",
            scope=Scope.BUDGETS_GRANT,
            field="budget",
        )
    if leave_out_water:
        study_area, area_choice = dry_land.leave_out_water(facts.get("study_area"), area_choice)
        credit = credited(facts.get("attribution", ""), area_choice[dry_land.WITHOUT_WATER])
        facts |= {"study_area": study_area, "attribution": credit}
    declared = read_declaration(facts)
    if (budget is None) == (ledger is None) and not (budget_later and budget is None):
        raise InvalidInput("Give a budget, or the ledger to share, not both.", field="budget")
    if points_budget is not None and ledger is not None:
        raise InvalidInput(
            "Leave this empty: the dataset draws on the budgets it shares.", field="points_budget"
        )
    if ledger and ledger.datasets.exclude(organisation=organisation).exists():
        raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
    if ledger:
        check_unit(ledger, declared.unit, field="ledger")
        check_currency(ledger, accounting)
    total = None if budget is None else parse_epsilon(budget, field="budget")
    address = _free_slug(slug, declared.title, organisation, exact=at_console)
    try:
        with transaction.atomic():
            waits = ledger is None and needs_second(organisation)
            own = (
                _shared_ledger(ledger, declared.unit, accounting)
                if ledger
                else own_ledger(
                    organisation, declared.title, total, points_budget, accounting or PURE
                )
            )
            dataset = Dataset.objects.create(
                **declaration_columns(declared),
                organisation=organisation,
                slug=address,
                ledger=own,
                created_by=created_by,
                sealed_person_key=new_sealed_key(first=not Dataset.objects.exists()),
                area_choice=dict(area_choice or {}),
                area_seen=seen_before(organisation.pk, declared.study_area),
            )
            event_record(
                EventKind.DATASET,
                by=created_by,
                organisation=organisation.pk,
                subject=dataset.slug,
                detail=own.words(own.total_units),
            )
            if waits:
                budgets_propose(dataset, total, points_budget, by=created_by)
            return dataset
    except IntegrityError:
        raise InvalidInput(
            "The address {address!r} was taken a moment ago; choose another.",
            address=address,
            field="slug",
        ) from None


def _shared_ledger(ledger: Ledger, unit: str, accounting: Accounting | None) -> Ledger:
    """Lock a ledger that a new dataset is to share, or the one into which it was merged.

    Raises InvalidInput if a simultaneous request gave it another privacy unit, or rho for epsilon
    or epsilon for rho.
    """
    own = ledger_lock(ledger)
    check_unit(own, unit, field="ledger")
    check_currency(own, accounting)
    return own


def dataset_update(*, dataset: Dataset, changes: Mapping[str, Any]) -> Dataset:
    """Change declared fields and budgets. After an error, nothing is changed.

    Once a file has been uploaded, a new study area needs a `place`: the area's name and the public
    source of its outline. Raises Conflict for a frozen field or for a budget that cannot be
    changed as requested.
    """
    others = {*BUDGETS, ACCOUNTING, PLACE}
    changes, choice = _left_out(dataset, changes)
    facts = {name: value for name, value in changes.items() if name not in others}
    with transaction.atomic():
        locked = ledgers_lock(dataset.ledger_id)
        stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if stored.ledger_id not in locked:
            raise Conflict("The budget has changed meanwhile; try again.", field="budget")
        before = stored.declaration.facts()
        declared = read_declaration(before | facts)
        changed = {name for name, value in declared.facts().items() if value != before[name]}
        _check_frozen(stored, changed)
        columns = _exchange_area(stored, "study_area" in changed, changes.get(PLACE))
        if "study_area" in changed:
            columns["area_seen"] = seen_before(stored.organisation_id, declared.study_area)
            # Before a file is uploaded, a new area simply replaces the area chosen first.
            columns |= {} if stored.first_upload_at else {"area_choice": choice}
        if "unit" in changed:
            check_unit(stored.ledger, declared.unit, field="unit", but=stored)
        set_budgets(stored, changes)
        columns |= declaration_columns(declared)
        Dataset.objects.filter(pk=dataset.pk).update(**columns)
        if {"study_area", "time_zone", "unit"} & facts.keys():
            # Delete stored previews: the former area, time zone or unit decided what they show.
            stored.uploads.update(preview="")
        if {*BUDGETS, ACCOUNTING} & changes.keys():
            record_totals(stored)
    dataset.refresh_from_db()
    return dataset


def declaration_columns(declared: Declaration) -> dict[str, Any]:
    """Return the columns that a declaration fills, by name."""
    sides = zip(SIDES, declared.area.bounds, strict=True)
    return {"declaration": declared, **dict(sides)}


def _check_frozen(stored: Dataset, changed: set[str]) -> None:
    """Raise Conflict if a field would change that the first confirmed upload has frozen."""
    for name in FROZEN if stored.frozen_at else ():
        if name in changed:
            raise Conflict(
                "This was fixed when the first upload was confirmed, because releases "
                "depend on it; declare a new dataset that shares this one's budget.",
                field=name,
            )


def _left_out(
    dataset: Dataset, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a dataset's changes, after leaving water out of the new area if requested.

    Also returns a record of how the area was chosen, or {} if that was not requested.

    Raises InvalidInput if water is to be left out but there is no new area, or a file has been
    uploaded.
    """
    rest = {name: value for name, value in changes.items() if name != dry_land.SWITCH}
    if not changes.get(dry_land.SWITCH):
        return rest, {}
    if "study_area" not in rest or dataset.first_upload_at:
        raise InvalidInput(
            "Leave this out: only a study area that is declared before any file can lose its "
            "water.",
            field=dry_land.SWITCH,
        )
    rest["study_area"], choice = dry_land.leave_out_water(rest["study_area"])
    attribution = rest.get("attribution", dataset.attribution)
    rest["attribution"] = credited(attribution, choice[dry_land.WITHOUT_WATER])
    return rest, choice


def _exchange_area(
    stored: Dataset, changed: bool, place: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the fields that record a replacement of the study area; {} if it is not replaced.

    An outline drawn around the rows would show where they end. So once a file has been uploaded,
    the area can only be replaced by a place that has a name and an outline published elsewhere,
    and statements say how often that was done. Raises InvalidInput for a missing or needless place.
    """
    if not changed or stored.first_upload_at is None:
        if place is not None:
            raise InvalidInput(
                "Leave this out: only another study area needs it, once a file has been uploaded.",
                field=PLACE,
            )
        return {}
    if place is None:
        raise InvalidInput(
            "A file has been uploaded, so the study area can only be exchanged for another named "
            "place: give the place, and the name, https address and date of the public source of "
            "its outline.",
            field=PLACE,
        )
    try:
        named = NamedPlace.read(place)
    except InvalidInput as refusal:
        raise InvalidInput(refusal.phrase, field=f"{PLACE}.{refusal.field}") from None
    times = stored.area_exchange.get("times", 0) + 1
    source = named.part(PublicSource).model_dump(mode="json")
    on = timezone.now().astimezone(datetime.UTC).date().isoformat()
    exchange = {"place": named.place, "source": source, "on": on, "times": times}
    return {"area_exchange": {**stored.area_exchange, **exchange}}


def dataset_guess_people(*, dataset: Dataset, people: int) -> None:
    """Keep the owner's guess of the number of people, with which the next map begins."""
    Dataset.objects.filter(pk=dataset.pk).update(guessed_people=people)


def dataset_discard(*, dataset: Dataset) -> None:
    """Delete a dataset and its uploads. Raises Conflict once an upload has been confirmed."""
    names = [
        *dataset.uploads.values_list("raw_name", flat=True),
        *dataset.layers.values_list("stored_name", flat=True),
    ]
    with transaction.atomic():
        ledgers_lock(dataset.ledger_id)
        _pass_on_first_upload(dataset)
        if not Dataset.objects.filter(pk=dataset.pk, frozen_at__isnull=True).delete()[0]:
            raise Conflict("An upload has been confirmed, so the dataset stays on record.")
        event_record(
            EventKind.DISCARDED, organisation=dataset.organisation_id, subject=dataset.slug
        )
        Ledger.objects.filter(
            pk=dataset.ledger_id,
            datasets__isnull=True,
            entries__isnull=True,
            geo__entries__isnull=True,
        ).delete()
    for name in names:
        remove(private_storage(), name)


def _pass_on_first_upload(dataset: Dataset) -> None:
    """Copy a dataset's first upload time to all datasets that share its budget; the earliest wins.

    Those datasets are about the same people. Declaring a layer takes the same locks, so it is
    certain whether the layer or the upload came first.
    """
    sharing = list(same_people(dataset).select_for_update(of=("self",)).order_by("pk"))
    for moment in (each.first_upload_at for each in sharing if each.pk == dataset.pk):
        if moment:
            later = Q(first_upload_at=None) | Q(first_upload_at__gt=moment)
            siblings = Dataset.objects.filter(later, pk__in=[each.pk for each in sharing])
            siblings.update(first_upload_at=moment)


def _free_slug(slug: str, title: str, organisation: Organisation, *, exact: bool) -> str:
    """Return the requested slug, or one made from the title.

    Raises InvalidInput if the slug is invalid or taken. Unless `exact`, six random characters are
    appended. Without them, strangers could learn what another organisation is preparing, by
    guessing a slug or by being refused one that exists.
    """
    if slug:
        _check_slug(slug)
    if exact:
        return _exact_slug(slug, title)
    beginning = (slug or slugify(title) or "dataset")[:70].rstrip("-")
    own = organisation.datasets.filter(
        slug__regex=rf"^{re.escape(beginning)}-[{SIGNS}]{{6}}$"
    ).first()
    if slug and own:
        raise InvalidInput(
            "Your organisation has a dataset at {slug!r}; choose another.",
            slug=own.slug,
            field="slug",
        )
    return f"{beginning}-{''.join(secrets.choice(SIGNS) for _ in range(6))}"


def _exact_slug(slug: str, title: str) -> str:
    """Return the `slug` that an operator chose, or else one made from the title.

    A number is appended to the latter if it is taken. Raises InvalidInput if `slug` is taken.
    """
    if slug and Dataset.objects.filter(slug=slug).exists():
        raise InvalidInput(
            "There is a dataset at {slug!r} already; choose another.", slug=slug, field="slug"
        )
    base = slugify(title)[:70] or "dataset"
    taken = set(Dataset.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    free = base if base not in taken else next(name for name in numbered if name not in taken)
    return slug or free


def _check_slug(slug: str) -> None:
    try:
        validate_slug(slug)
    except ValidationError:
        slug_is_wrong = "Use letters, digits, hyphens and underscores, like city-trips."
        raise InvalidInput(slug_is_wrong, field="slug") from None
    if len(slug) > 70:
        raise InvalidInput("Shorten it to at most 70 characters.", field="slug")
