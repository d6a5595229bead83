"""Declaring, changing and discarding datasets. See `uploads.py` for their files."""

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
from dpgeo.accounts.selectors import may_administer, may_grant_budget
from dpgeo.audit.models import EventKind
from dpgeo.audit.origin import current_user
from dpgeo.audit.services import event_record
from dpgeo.budgets.merging import ledger_lock, ledger_merge, ledgers_lock
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import (
    PURE,
    Accounting,
    ledger_create,
    ledger_create_for_points,
    ledger_set_accounting,
    ledger_set_total,
)
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.levels import Level
from dpgeo.datasets import category_declaration, declaration, dry_land, measure_declaration
from dpgeo.datasets.decisions import MERGED, TOTAL, decision_record
from dpgeo.datasets.layers import same_people
from dpgeo.datasets.models import Dataset, NewFiles, Proposal
from dpgeo.datasets.osm_credit import credited
from dpgeo.datasets.person_keys import new_sealed_key
from dpgeo.datasets.proposals import (
    budget_propose,
    budgets_propose,
    has_total,
    needs_second,
    proposal_decide,
)
from dpgeo.datasets.provenance import PublicSource
from dpgeo.datasets.quotas import check_cap
from dpgeo.datasets.shown_files import seen_before
from dpgeo.datasets.storage import private_storage, remove
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea

logger = logging.getLogger(__name__)

BUDGETS = ("budget", "points_budget")
"""Declared facts that are stored in ledgers, not with the dataset."""

ACCOUNTING = "accounting"
"""Field that changes the currency of the budget, as an `Accounting`."""

PLACE = "place"
"""Field that names the new place if the study area is replaced after a file has been uploaded."""

SIGNS = "bcdfghjkmnpqrstvwxz23456789"
"""Characters for the random end of a slug: no vowels, and none easily mistaken for another."""

SIDES = ("west", "south", "east", "north")
"""Field names for the sides of the study area's bounding box."""

PERIOD = ("covers_from", "covers_until")
"""First and last day of the survey, as its owner declares them.

They are frozen as well, because days declared after looking at the rows could be chosen to fit
them.
"""

FROZEN = (
    *("unit", "study_area", "time_zone", "public_attributes", "measures", "categories"),
    "new_files",
)
"""Declared facts that determine the meaning of every release."""


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

    `accounting` is the currency of a budget of its own, by default epsilon. A dataset on a shared
    ledger has that ledger's currency.

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
        _check_unit(ledger, facts["unit"], field="ledger")
        _check_currency(ledger, accounting)
    total = None if budget is None else parse_epsilon(budget, field="budget")
    address = _free_slug(slug, facts["title"], organisation, exact=at_console)
    _check_period(facts["covers_from"], facts["covers_until"])
    _check_open_end(facts["new_files"], facts["covers_until"])
    try:
        with transaction.atomic():
            waits = ledger is None and needs_second(organisation)
            own = (
                ledger_lock(ledger)  # another request may have merged it meanwhile
                if ledger
                else _own_ledger(
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
                layered=True,
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


def _own_ledger(
    organisation: Organisation,
    name: str,
    total: Fraction | None,
    points: Level | None,
    accounting: Accounting,
) -> Ledger:
    """Create the ledger of a new dataset.

    Its totals are not set yet if a second person has to approve them. Raises Conflict for a total
    above the organisation's cap.
    """
    if needs_second(organisation):
        return ledger_create(name=name, total=None, accounting=accounting)
    own = ledger_create(name=name, total=total, accounting=accounting)
    check_cap(organisation, own)
    if points is not None:
        check_cap(organisation, ledger_create_for_points(beside=own, total=points))
    return own


def dataset_update(*, dataset: Dataset, changes: Mapping[str, Any]) -> Dataset:
    """Change declared fields and budgets. After an error, nothing is changed.

    Once a file has been uploaded, a new study area needs a `place`, which holds its name and the
    public source of its outline. Raises Conflict for a frozen field or for a budget that cannot be
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
            _check_unit(stored.ledger, facts["unit"], field="unit", but=stored)
        _set_budgets(stored, changes)
        if facts:
            Dataset.objects.filter(pk=dataset.pk).update(**facts)
        if {"study_area", "time_zone", "unit"} & set(facts):
            # Previews show rows as they were read under the former facts.
            stored.uploads.update(preview="")
        if {*BUDGETS, ACCOUNTING} & set(changes):
            _record_totals(stored)
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
    """Return changes with water left out of the study area if requested, and how it was chosen.

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


def _record_totals(dataset: Dataset) -> None:
    """Record the totals of a dataset's budgets, which a restored database must not exceed."""
    ledger = Ledger.objects.get(pk=dataset.ledger_id)
    points = points_ledger(ledger)
    decision_record(
        TOTAL,
        dataset=dataset.slug,
        notion=ledger.notion,
        delta_exponent=ledger.delta_exponent,
        population=ledger.population,
        units=ledger.total_units,
        points=points.total_units if points else None,
    )


def _check_currency(ledger: Ledger, accounting: Accounting | None) -> None:
    """Raise InvalidInput if a dataset asks for another currency than that of a ledger to share.

    Another delta or population is refused, too: at the ledger's delta, a larger population could
    have a delta above a tenth of one over it.
    """
    if accounting not in (None, Accounting(ledger.delta_exponent, ledger.population)):
        raise InvalidInput(
            "The budget to share counts in another currency; leave this out to share it.",
            field=ACCOUNTING,
        )


def accounting_open(dataset: Dataset) -> bool:
    """Return whether the currency of a dataset's budget may still be changed to the other one."""
    ledger = dataset.ledger
    return not (
        ledger.merged_into_id
        or ledger.promised_at
        or points_ledger(ledger)
        or (needs_second(dataset.organisation) and has_total(dataset))
        or ledger.entries.exists()
        or ledger.datasets.exclude(frozen_at=None).exists()
    )


def _set_accounting(stored: Dataset, accounting: Accounting) -> None:
    """Change the currency of a dataset's budget.

    Raises Conflict if a dataset that shares it has a confirmed upload.
    """
    ledger = stored.ledger
    if Accounting(ledger.delta_exponent, ledger.population) == accounting:
        return
    if ledger.datasets.exclude(frozen_at=None).exists():
        raise Conflict(
            "This was fixed when the first upload was confirmed, because all maps of these people "
            "are paid for in one currency; declare a new dataset about other people.",
            field=ACCOUNTING,
        )
    if needs_second(stored.organisation) and has_total(stored):
        raise Conflict(
            "Your organisation requires a second person for budgets, so the currency of a budget "
            "stays as it was declared; declare another dataset.",
            field=ACCOUNTING,
        )
    ledger_set_accounting(ledger=ledger, accounting=accounting)


def _set_budgets(stored: Dataset, changes: Mapping[str, Any]) -> None:
    """Change the currency and the totals of a dataset's budgets, as far as `changes` names them."""
    if ACCOUNTING in changes:
        _set_accounting(stored, changes[ACCOUNTING])
    if "budget" in changes:
        _budget_set(stored, parse_epsilon(changes["budget"], field="budget"))
    if "points_budget" in changes:
        _budget_set(stored, changes["points_budget"])


def _budget_set(dataset: Dataset, total: Fraction | Level) -> None:
    """Set a budget, or ask a second person to approve it if the organisation requires that.

    A budget that is made smaller protects people better, so it needs no approval.
    """
    if needs_second(dataset.organisation) and _is_raised(dataset.ledger, total):
        budget_propose(dataset=dataset, total=total, by=current_user())
    else:
        _set_total(dataset, total)


def _is_raised(ledger: Ledger, total: Fraction | Level) -> bool:
    if isinstance(total, Fraction):
        return ledger.units_for(total) > ledger.total_units
    points = points_ledger(ledger)
    return points is None or total.pico > points.total_units


def _set_total(dataset: Dataset, total: Fraction | Level) -> None:
    """Set a budget. Raises Conflict, or InvalidInput."""
    if isinstance(total, Fraction):
        check_cap(dataset.organisation, ledger_set_total(ledger=dataset.ledger, total=total))
    else:
        check_cap(dataset.organisation, _set_points_budget(dataset.ledger, total))


def proposal_approve(*, proposal: Proposal, by: User) -> None:
    """Approve and set the budget that another person asked for.

    Raises NotAllowed for the person who asked and for anybody who does not administer the
    organisation, or Conflict if somebody else decided or the budget can no longer be set.
    """
    with transaction.atomic():
        dataset = Dataset.objects.get(pk=proposal.dataset_id)
        locked = ledgers_lock(dataset.ledger_id)
        dataset = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if dataset.ledger_id not in locked:
            raise Conflict("The budget has changed meanwhile; try again.", field="budget")
        proposal_decide(proposal=proposal, by=by, approve=True)
        _set_total(dataset, proposal.total)
        _record_totals(dataset)


def _set_points_budget(ledger: Ledger, total: Level) -> Ledger:
    points = points_ledger(ledger)
    if points is None:
        return ledger_create_for_points(beside=ledger, total=total)
    return ledger_set_total(ledger=points, total=total)


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

    Those datasets are about the same people. Declaring a layer takes the same locks as this
    function.
    """
    sharing = list(same_people(dataset).select_for_update(of=("self",)).order_by("pk"))
    for moment in (each.first_upload_at for each in sharing if each.pk == dataset.pk):
        if moment:
            later = Q(first_upload_at=None) | Q(first_upload_at__gt=moment)
            siblings = Dataset.objects.filter(later, pk__in=[each.pk for each in sharing])
            siblings.update(first_upload_at=moment)


def dataset_share_budget(*, dataset: Dataset, ledger: Ledger) -> Dataset:
    """Make a dataset that has no budget share the budget of another one about the same people.

    Raises Conflict if the dataset has been given a budget in the meantime, or InvalidInput if the
    budget belongs to another organisation or its datasets have another privacy unit.
    """
    with transaction.atomic():
        ledgers_lock(dataset.ledger_id, ledger.pk)
        own = ledger_lock(dataset.ledger)
        if own.total_units or points_ledger(own) or own.entries.exists():
            raise Conflict("This dataset has a budget of its own by now.", field="ledger")
        shared = ledger_lock(ledger)
        others = shared.datasets.exclude(pk=dataset.pk)
        if not others.filter(organisation=dataset.organisation_id).exists():
            raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
        _check_unit(shared, dataset.unit, field="ledger", but=dataset)
        if own.is_zcdp and not shared.is_zcdp:
            raise Conflict(
                "This dataset was declared with a budget in rho, and the other one counts in "
                "epsilon, so they cannot be shared.",
                field="ledger",
            )
        if own.is_zcdp:
            _keep_smaller_delta(shared, own)
        Dataset.objects.filter(pk=dataset.pk).update(ledger=shared)
        event_record(
            EventKind.BUDGET,
            organisation=dataset.organisation_id,
            subject=dataset.slug,
            detail=f"shares {shared.name}",
        )
        if not own.datasets.exists():
            own.delete()
    dataset.refresh_from_db()
    return dataset


def _keep_smaller_delta(shared: Ledger, own: Ledger) -> None:
    """Let a shared ledger in rho fit a population and a delta that were declared beside it.

    The larger population and the smaller delta hold, as after a merger.
    """
    shared.delta_exponent = max(shared.delta_exponent or 0, own.delta_exponent or 0)
    shared.population = max(shared.population or 0, own.population or 0) or None
    shared.save(update_fields=["delta_exponent", "population"])


def dataset_merge_ledgers(*, dataset: Dataset, ledger: Ledger, by: User | None) -> Ledger:
    """Merge another ledger about the same people into a dataset's ledger, and return the latter.

    This cannot be undone: from then on, the merged ledger pays for releases of all datasets that
    used the other one. Only people who may set budgets can merge ledgers; API keys cannot, and the
    software never does so by itself. `by` is None at the console. Raises NotAllowed, InvalidInput
    if the datasets protect different privacy units, or Conflict.
    """
    organisation = dataset.organisation
    others = ledger.datasets.all()
    foreign = others.exclude(organisation=organisation).exists()
    if by is not None and (
        not may_administer(by, organisation)
        or foreign
        or (ledger.recovers and not by.is_superuser and ledger.recovers_for != organisation.name)
    ):
        raise NotAllowed("Only the administrators of this organisation may do this.")
    if foreign:
        raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
    with transaction.atomic():
        other = others.first()
        if other:
            _check_unit(dataset.ledger, other.unit, field="ledger")
        merged = ledger_merge(ledger=ledger, into=dataset.ledger, who=str(by or "console"))
        slugs = [*others.values_list("slug", flat=True)]
        others.update(ledger=merged)
        event_record(
            EventKind.BUDGET,
            by=by,
            organisation=organisation.pk,
            subject=merged.name,
            detail=f"merged with {ledger.name}",
        )
        decision_record(MERGED, datasets=[dataset.slug, *slugs])
    dataset.refresh_from_db()
    logger.info("ledger %s was merged into ledger %s", ledger.pk, merged.pk)
    return merged


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

    It would be fixed with the first file, and wrong from the second on. The days that a map of such
    data covers are those of its window.
    """
    if new_files == NewFiles.APPEND and last:
        raise InvalidInput(
            "Further files are added to these data, so they have no last day; leave it empty.",
            field="covers_until",
        )


def _check_unit(ledger: Ledger, unit: str, *, field: str, but: Dataset | None = None) -> None:
    """Raise InvalidInput if another dataset on a ledger has another privacy unit.

    The dataset `but` is not checked. An epsilon per record and an epsilon per person do not add up:
    a person with k records loses k times the epsilon per record, so the sum of both would not bound
    anyone's privacy loss.
    """
    others = ledger.datasets.exclude(pk=but.pk) if but else ledger.datasets
    other = others.exclude(unit=unit).first()
    if other is not None:
        raise InvalidInput(
            "The budget is shared with {title!r}, which protects each {other_unit} and not each "
            "{unit}; such epsilons do not add up. Choose the same unit, or a budget of its own.",
            title=other.title,
            other_unit=Phrase(other.unit),
            unit=Phrase(unit),
            field=field,
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
    """Return the operator's slug, or one made from the title and numbered if that is taken."""
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
