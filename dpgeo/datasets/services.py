"""Declaring, changing and discarding datasets (files: `uploads`; budgets: `dataset_budgets`)."""

from __future__ import annotations

import datetime
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
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
from dpgeo.datasets import category_declaration, declaration, dry_land, measure_declaration
from dpgeo.datasets.dataset_budgets import (
    ACCOUNTING,
    BUDGETS,
    check_currency,
    check_unit,
    own_ledger,
    record_totals,
    set_budgets,
)
from dpgeo.datasets.layers import same_people
from dpgeo.datasets.models import Dataset, NewFiles
from dpgeo.datasets.osm_credit import credited
from dpgeo.datasets.person_keys import new_sealed_key
from dpgeo.datasets.proposals import (
    budgets_propose,
    needs_second,
)
from dpgeo.datasets.provenance import PublicSource
from dpgeo.datasets.shown_files import seen_before
from dpgeo.datasets.storage import private_storage, remove
from dpgeo.spatial.area import StudyArea

logger = logging.getLogger(__name__)

PLACE = "place"
"""Input that names the new place if the study area is replaced after a file has been uploaded."""

SIGNS = "bcdfghjkmnpqrstvwxz23456789"
"""Characters for the random end of a slug: no vowels, and none easily mistaken for another."""

SIDES = ("west", "south", "east", "north")
"""Field names for the sides of the study area's bounding box."""

PERIOD = ("covers_from", "covers_until")
"""Fields for the first and the last day that the data cover, as the owner declares them.

Like those in FROZEN, they are fixed by the first confirmed upload, because days declared after
looking at the rows could be chosen to fit them.
"""

FROZEN = (
    *("unit", "study_area", "time_zone", "public_attributes", "measures", "categories"),
    "new_files",
)
"""Declared facts that are fixed by the first confirmed upload, as all releases depend on them."""


def dataset_create(
    *,
    organisation: Organisation,
    title: str,
    licence: str,
    unit: str,
    study_area: Mapping[str, Any],
    time_zone: str,
    budget: Fraction | None,
    created_by: User | None,
    description: str = "",
    attribution: str = "",
    ledger: Ledger | None = None,
    points_budget: Level | None = None,
    slug: str = "",
    keep_raw: bool = False,
    public_attributes: Sequence[object] = (),
    measures: Sequence[object] = (),
    categories: Sequence[object] = (),
    row_noun: str = "",
    new_files: str = NewFiles.REPLACE.value,
    contact: str = "",
    keywords: Sequence[str] = (),
    themes: Sequence[str] = (),
    covers_from: object = None,
    covers_until: object = None,
    at_console: bool = False,
    budget_later: bool = False,
    area_choice: Mapping[str, Any] | None = None,
    leave_out_water: bool = False,
    accounting: Accounting | None = None,
) -> Dataset:
    """Declare a dataset with its own budget or on a shared ledger.

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
        study_area, area_choice = dry_land.leave_out_water(study_area, area_choice)
        attribution = credited(attribution, area_choice[dry_land.WITHOUT_WATER])
    facts = _clean(
        {
            "title": title,
            "description": description,
            "licence": licence,
            "attribution": attribution,
            "unit": unit,
            "study_area": study_area,
            "time_zone": time_zone,
            "keep_raw": keep_raw,
            "public_attributes": public_attributes,
            "measures": measures,
            "categories": categories,
            "row_noun": row_noun,
            "new_files": new_files,
            "contact": contact,
            "keywords": keywords,
            "themes": themes,
            "covers_from": covers_from,
            "covers_until": covers_until,
        }
    )
    if (budget is None) == (ledger is None) and not (budget_later and budget is None):
        raise InvalidInput("Give a budget, or the ledger to share, not both.", field="budget")
    if points_budget is not None and ledger is not None:
        raise InvalidInput(
            "Leave this empty: the dataset draws on the budgets it shares.", field="points_budget"
        )
    if ledger and ledger.datasets.exclude(organisation=organisation).exists():
        raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
    if ledger:
        check_unit(ledger, facts["unit"], field="ledger")
        check_currency(ledger, accounting)
    total = None if budget is None else parse_epsilon(budget, field="budget")
    address = _free_slug(slug, facts["title"], organisation, exact=at_console)
    _check_period(facts["covers_from"], facts["covers_until"])
    _check_open_end(facts["new_files"], facts["covers_until"])
    try:
        with transaction.atomic():
            waits = ledger is None and needs_second(organisation)
            own = (
                _shared_ledger(ledger, facts["unit"], accounting)
                if ledger
                else own_ledger(
                    organisation, facts["title"], total, points_budget, accounting or PURE
                )
            )
            dataset = Dataset.objects.create(
                **facts,
                organisation=organisation,
                slug=address,
                ledger=own,
                created_by=created_by,
                sealed_person_key=new_sealed_key(first=not Dataset.objects.exists()),
                area_choice=dict(area_choice or {}),
                area_seen=seen_before(organisation.pk, facts["study_area"]),
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
    others = (*BUDGETS, ACCOUNTING, PLACE)
    changes, choice = _left_out(dataset, changes)
    facts = _clean({name: value for name, value in changes.items() if name not in others})
    with transaction.atomic():
        locked = ledgers_lock(dataset.ledger_id)
        stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if stored.ledger_id not in locked:
            raise Conflict("The budget has changed meanwhile; try again.", field="budget")
        _check_frozen(stored, facts)
        period = [facts.get(name, getattr(stored, name)) for name in PERIOD]
        _check_period(*period)
        if {"new_files", "covers_until"} & facts.keys():
            _check_open_end(facts.get("new_files", stored.new_files), period[1])
        facts |= _exchange_area(stored, facts, changes.get(PLACE))
        if facts.get("study_area", stored.study_area) != stored.study_area:
            facts["area_seen"] = seen_before(stored.organisation_id, facts["study_area"])
            # Before a file is uploaded, a new area simply replaces the area chosen first.
            facts |= {} if stored.first_upload_at else {"area_choice": choice}
        if "unit" in facts:
            check_unit(stored.ledger, facts["unit"], field="unit", but=stored)
        set_budgets(stored, changes)
        if facts:
            Dataset.objects.filter(pk=dataset.pk).update(**facts)
        if {"study_area", "time_zone", "unit"} & set(facts):
            # Delete stored previews: the former area, time zone or unit decided what they show.
            stored.uploads.update(preview="")
        if {*BUDGETS, ACCOUNTING} & set(changes):
            record_totals(stored)
    dataset.refresh_from_db()
    return dataset


def _check_frozen(stored: Dataset, facts: Mapping[str, Any]) -> None:
    """Raise Conflict if `facts` would change a fact that the first confirmed upload has frozen."""
    if not stored.frozen_at:
        return
    for name in (*FROZEN, *PERIOD):
        if name not in facts or facts[name] == getattr(stored, name):
            continue
        if name in PERIOD:
            raise Conflict(
                "This was fixed when the first upload was confirmed, because what is public must "
                "not follow the rows; declare a new dataset that shares this one's budget.",
                field=name,
            )
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
    stored: Dataset, facts: Mapping[str, Any], place: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the fields that record a replacement of the study area; {} if it is not replaced.

    An outline drawn around the rows would show where they end. So once a file has been uploaded,
    the area can only be replaced by a place that has a name and an outline published elsewhere,
    and statements say how often that was done. Raises InvalidInput for a missing or needless place.
    """
    changed = "study_area" in facts and facts["study_area"] != stored.study_area
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
    named = declaration.clean_text(place.get(PLACE), field=PLACE, longest=200, required=True)
    times = stored.area_exchange.get("times", 0) + 1
    source = PublicSource.read(place, field=PLACE).to_json()
    on = timezone.now().astimezone(datetime.UTC).date().isoformat()
    exchange = {"place": named, "source": source, "on": on, "times": times}
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


def _clean(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Validate declared fields. Raises InvalidInput for an invalid value or an unknown field."""
    text = declaration.clean_text
    readers: dict[str, Any] = {
        "title": lambda value: text(value, field="title", longest=200, required=True),
        "description": lambda value: text(value, field="description", longest=20_000),
        "licence": lambda value: text(value, field="licence", longest=100, required=True),
        "attribution": lambda value: text(value, field="attribution", longest=300),
        "unit": declaration.clean_unit,
        "study_area": declaration.clean_area,
        "time_zone": declaration.clean_time_zone,
        "keep_raw": bool,
        "public_attributes": declaration.clean_attributes,
        "measures": measure_declaration.clean_measures,
        "categories": category_declaration.clean_categories,
        "row_noun": declaration.clean_row_noun,
        "new_files": declaration.clean_new_files,
        "contact": declaration.clean_contact,
        "keywords": declaration.clean_keywords,
        "themes": declaration.clean_themes,
        "covers_from": lambda value: declaration.clean_day(value, field="covers_from"),
        "covers_until": lambda value: declaration.clean_day(value, field="covers_until"),
    }
    for name in facts:
        if name not in readers:
            raise InvalidInput("{name} cannot be set; leave it out.", name=name, field=name)
    cleaned = {name: readers[name](value) for name, value in facts.items()}
    if "study_area" in cleaned:
        bounds = StudyArea.from_geojson(cleaned["study_area"]).bounds
        cleaned |= zip(SIDES, bounds, strict=True)
    return cleaned


def _check_period(first: datetime.date | None, last: datetime.date | None) -> None:
    """Raise InvalidInput if a period ends before it begins."""
    if first and last and last < first:
        raise InvalidInput("Lies before the first day; swap them.", field="covers_until")


def _check_open_end(new_files: str, last: datetime.date | None) -> None:
    """Raise InvalidInput if data that grow have a last day.

    The last day would be fixed with the first file, and wrong from the second on. The days that a
    map of such data covers are those of its window.
    """
    if new_files == NewFiles.APPEND and last:
        raise InvalidInput(
            "Further files are added to these data, so they have no last day; leave it empty.",
            field="covers_until",
        )


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
