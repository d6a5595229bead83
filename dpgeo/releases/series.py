"""Services of series: declare one, record which days are complete, draw due periods, end it.

The reaper calls `series_draw_due` every few seconds. That function requests at most one period of a
series at a time, and only if the period before is committed and API keys may know that no other job
runs. Nothing here reads data: whether a period is due depends on the calendar and on the days that
the owner declared complete.
"""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.budgets.merging import ledger_lock
from dpgeo.budgets.selectors import ledger_for
from dpgeo.budgets.services import budget_debit, budget_refund, check_decided, check_fits
from dpgeo.core.epsilon import format_epsilon, to_micro
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Notion, Unit, guarantee, whole_units
from dpgeo.core.parameters import layers_named
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.core.series import Protection, Terms
from dpgeo.core.series_request import SeriesRequest, broken_rules
from dpgeo.core.window import Window
from dpgeo.core.zcdp import epsilon_at, exponent_for_delta
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.datasets.same_people import check_answered
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.texts import clean_text
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import job_restart
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.phrases import translatable
from dpgeo.privacy.mechanism import Forecast
from dpgeo.releases.blobs import has_other_draw, has_stored_blob
from dpgeo.releases.models import Release, Series
from dpgeo.releases.quotes import release_forecast
from dpgeo.releases.requests import (
    PricedRequest,
    has_times,
    ledger_rho,
    price_request,
)
from dpgeo.releases.selectors import jobs_of_keys
from dpgeo.releases.series_state import has_state
from dpgeo.releases.services import SALT_BYTES, period_request

logger = logging.getLogger(__name__)

ENDINGS: Mapping[str, str] = {
    "owner": translatable("It was ended by its owner."),
    "complete": translatable("All of its maps are drawn."),
    "failed": translatable("A map could not be drawn; its page says why."),
    "budget": translatable("The budget does not pay for another map."),
    "restored": translatable(
        "A backup was restored, so it is not known what people have used of the series."
    ),
}
"""Reasons why a series ended, by their keys."""


def series_mechanisms() -> list[str]:
    """Return the keys of the mechanisms that can draw the periods of a series."""
    return [each.key for each in MECHANISMS.values() if each.serial is not None]


def series_terms(dataset: Dataset, asked: SeriesRequest) -> Terms:
    """Return the privacy terms of a series. Raises InvalidInput, with the field at fault.

    If the dataset's budget counts in rho, the epsilon is meant at the budget's delta, and is
    converted to a rho.
    """
    if Unit(dataset.unit) is not Unit.PERSON:
        raise InvalidInput(
            "This dataset does not say which rows are of one person, and a series has to know; "
            "declare a dataset with a person column.",
            field="protection",
        )
    for refusal in broken_rules(asked):
        raise refusal
    rho = ledger_rho(dataset.ledger, asked.epsilon)
    delta = None if rho is None else dataset.ledger.delta
    terms = Terms(
        period=asked.period,
        protection=asked.protection,
        each=asked.each,
        most=1 if asked.most is None or asked.protection is Protection.ONE else asked.most,
        epsilon=asked.epsilon if rho is None or delta is None else epsilon_at(rho, delta),
        rho=rho,
        delta=delta,
    )
    if terms.amount_of_map <= 0:
        raise InvalidInput(
            "Less than a millionth would be left for each map; give more.", field="epsilon"
        )
    return terms


def price_map(dataset: Dataset, terms: Terms, asked: ReleaseRequest) -> PricedRequest:
    """Return the priced request of one map of a series. Raises InvalidInput.

    The map costs an epsilon or a rho, like the series (`terms`). Every mechanism that can draw a
    series can add Gaussian noise, as a cost in rho requires.
    """
    cost = guarantee(terms.cost.notion, terms.amount_of_map, Unit.PERSON, terms.delta)
    request = price_request(dataset, asked, cost=cost)
    serial = request.definition.serial
    if serial is None:
        raise InvalidInput(
            "{key} cannot be drawn as a series; choose one of {keys}.",
            key=request.mechanism,
            keys=", ".join(series_mechanisms()),
            field="mechanism",
        )
    if terms.protection is Protection.PERSON and not serial(request.params, request.counting):
        raise InvalidInput(
            "People are counted apart from their contexts, and one allowance for the whole series "
            "bounds one count. Count visits, leave out contexts, or choose another protection.",
            field="counting",
        )
    return request


def series_read(dataset: Dataset, asked: SeriesRequest) -> tuple[Terms, PricedRequest]:
    """Return the terms of a declared series, and the request that each of its maps repeats.

    Raises InvalidInput, with the field at fault.
    """
    terms = series_terms(dataset, asked)
    one = ReleaseRequest(
        mechanism=asked.mechanism,
        parameters=asked.parameters,
        counting=asked.counting,
        bound=terms.bound,
        totals=0,
    )
    return terms, price_map(dataset, terms, one)


def series_forecast(dataset: Dataset, request: PricedRequest) -> Forecast:
    """Forecast the noise of one map of a series. Raises InvalidInput."""
    return release_forecast(dataset=dataset, request=request)


def series_declare(
    *,
    dataset: Dataset,
    asked: SeriesRequest,
    by: User | None,
) -> Series:
    """Declare a series; if it protects a person over the whole series, pay for all maps.

    `by` is None for the operator at the console. Raises NotAllowed, InvalidInput or BudgetExceeded,
    or Conflict in the same cases as `release_request`.
    """
    _check_may(dataset, by)
    clean_title = clean_text(asked.title, field="title", longest=150, required=True)
    clean_description = clean_text(asked.description, field="description", longest=20_000)
    terms, request = series_read(dataset, asked)
    if not has_times(dataset):
        raise InvalidInput(
            "The rows of this dataset have no time, so no days can be chosen.", field="first_day"
        )
    check_answered(dataset, by)
    by_key = bool(by and by.acting_key)
    may_publish = by is None or may(by, dataset, "publish")
    series_forecast(dataset, request)
    with transaction.atomic():
        check_decided(dataset.ledger.lifetime_units)
        series = Series.objects.create(
            dataset=dataset,
            title=clean_title,
            description=clean_description,
            request=request.part(ReleaseRequest),
            period=terms.period.value,
            first_day=asked.first_day,
            protection=terms.protection.value,
            each=terms.each,
            most=terms.most,
            epsilon_units=to_micro(terms.epsilon),
            rho_units=whole_units(Notion.ZCDP, terms.rho) if terms.rho else None,
            delta_exponent=exponent_for_delta(terms.delta) if terms.delta else None,
            publish_when_done=asked.publish_when_done and may_publish,
            all_files=asked.all_files,
            salt=os.urandom(SALT_BYTES),
            by_key=by_key,
            created_by=by,
        )
        names = layers_named(request.params)
        series.layers.set(PublicLayer.objects.filter(dataset=dataset, name__in=names))
        ledger, cost = ledger_for(dataset.ledger, terms.cost.notion), terms.cost
        if by_key:
            check_fits(ledger=ledger_lock(ledger), cost=cost, refunds=False)
        if series.is_paid_once:
            budget_debit(
                ledger=ledger,
                job=series.pk,
                cost=cost,
                what=f"{clean_title} (a series, {request.mechanism})",
                who=str(by or "console"),
            )
        else:
            check_fits(ledger=ledger, cost=request.cost(Unit.PERSON))
        _record(series, by, f"series, epsilon {format_epsilon(terms.epsilon)}")
    return series


def series_complete(*, series: Series, through: object, by: User | None) -> Series:
    """Record that the data are complete through a day. The recorded day is never moved back.

    Raises InvalidInput for a day that is not past in the dataset's time zone or is earlier than the
    day recorded before, NotAllowed if the user may not do this, or Conflict if the series has
    ended.
    """
    _check_may(series.dataset, by)
    said = Window.parse(through, through)
    if said is None:
        raise InvalidInput("Give the last day that is complete.", field="through")
    if said.first >= local_today(series.dataset):
        raise InvalidInput("This day is not over yet; give an earlier one.", field="through")
    _check_open(series)
    not_later = Q(complete_through=None) | Q(complete_through__lte=said.first)
    with transaction.atomic():
        stored = Series.objects.filter(not_later, pk=series.pk, ended_at=None)
        if stored.update(complete_through=said.first):
            _record(series, by, f"complete through {said.first.isoformat()}")
    _check_open(series)
    if series.complete_through and said.first < series.complete_through:
        raise InvalidInput(
            "It was said before that the data are complete through {day}.",
            day=series.complete_through.isoformat(),
            field="through",
        )
    return series


def series_end(*, series: Series, by: User | None) -> Series:
    """End a series, so that no further map is drawn.

    The series' cost stays spent, unless no map was requested yet. `by` is None for the operator at
    the console. Raises NotAllowed or Conflict.
    """
    _check_may(series.dataset, by)
    _check_open(series)
    with transaction.atomic():
        stored = Series.objects.select_for_update().get(pk=series.pk)
        _end(stored, "owner")
        if not stored.releases.exists() and not has_stored_blob(stored.job_id(1)):
            budget_refund(job=stored.pk)
        _record(stored, by, "series ended")
    series.refresh_from_db()
    return series


def series_resume(*, series: Series, by: User | None) -> Series:
    """Go on with a series that ended because a map failed before any noise was drawn for it.

    The map's job is queued again. Only a series that one debit pays for can be resumed: in any
    other, each map is paid for on its own, so a new series would do as well. Raises NotAllowed, or
    Conflict if noise may have been drawn, or if the state that says how much each person has used
    is not stored any more.

    Privacy argument. No noise of the failed map was drawn, so none is discarded, and the state is
    that before the map. All later maps are drawn as if the failure had not been. API keys resume
    only series that a key declared. Noise of their maps counts as drawn when the data are opened,
    so a key cannot have the data read again and again for one debit, and does not learn from the
    answer whether a map failed before or after its noise. Any other series is refused to keys in
    the same way, whatever its state.
    """
    _check_may(series.dataset, by)
    if by and by.acting_key and not series.by_key:
        raise NotAllowed("API keys resume only series that a key declared; use the desk.")
    with transaction.atomic():
        stored = Series.objects.select_for_update().get(pk=series.pk)
        release = _resumable(stored)
        if release is None:
            raise Conflict("This series cannot go on; declare a new one.")
        job_restart(job=release.job)
        Series.objects.filter(pk=stored.pk).update(ended_at=None, ending="")
        _record(stored, by, "series resumed")
    series.refresh_from_db()
    return series


def can_resume(series: Series) -> bool:
    """Return whether a series that ended because of a failed map can go on.

    Only members may be shown the answer, because it tells whether noise was drawn.
    """
    release = _resumable(series)
    return release is not None and not release.job.drawing


def _resumable(series: Series) -> Release | None:
    """Return the failed map with which a series can go on; None if its job drew noise."""
    release = series.releases.filter(number=series.drawn + 1).select_related("job").first()
    if (
        release is None
        or release.blob_name
        or series.ending != "failed"
        or not series.is_paid_once
        or has_stored_blob(release.job_id)
        or not has_state(series)
    ):
        return None
    return release


def _end(series: Series, why: str) -> None:
    Series.objects.filter(pk=series.pk, ended_at=None).update(ended_at=timezone.now(), ending=why)


def series_end_all(why: str) -> int:
    """End every series that is open; return how many.

    Series that had ended because a map failed cannot be resumed afterwards.
    """
    series_end_failed(why)
    return Series.objects.filter(ended_at=None).update(ended_at=timezone.now(), ending=why)


def series_end_failed(why: str) -> None:
    """Prevent every series with a failed map from being resumed.

    A series that ended because a map failed gets the ending `why`. A series with a failed map may
    not have ended yet, because API keys may not know of the failure. It ends later as usual, but
    its failed job is marked as one that drew noise, so it cannot be resumed then.
    """
    Series.objects.filter(ending="failed").update(ending=why)
    lost = Release.objects.filter(series__isnull=False, series__ended_at=None, blob_name="")
    Job.objects.filter(state=JobState.FAILED, pk__in=lost.values("job")).update(drawing=True)


def local_today(dataset: Dataset) -> date:
    """Return today's date in a dataset's time zone."""
    return datetime.now(ZoneInfo(dataset.time_zone)).date()


def due_periods(series: Series) -> Sequence[Window]:
    """Return the days of the periods that are due and not drawn, in their order."""
    said = series.complete_through
    if said is None or series.ended_at is not None:
        return []
    through = min(said, local_today(series.dataset) - timedelta(days=1))
    due, number = [], series.drawn + 1
    while series.has_map(number) and (window := series.window(number)).last <= through:
        due.append(window)
        number += 1
    return due


COMING = 4
"""Number of coming periods that the desk shows."""


def coming_periods(series: Series) -> Sequence[Window]:
    """Return the next periods that are not over yet, at most COMING; none for an ended series.

    The periods follow from the calendar alone.
    """
    if series.ended_at is not None:
        return []
    today, number = local_today(series.dataset), series.drawn + 1
    while series.window(number).last < today:
        number += 1
    coming = [number + after for after in range(COMING)]
    return [series.window(each) for each in coming if series.has_map(each)]


@dataclass(frozen=True, slots=True)
class Seen:
    """The progress of a series: how many maps are drawn, how many due, and whether it ended."""

    drawn: int
    due: int
    ended: bool


def series_seen(series: Series, *, public: bool) -> Seen:
    """Return the progress of a series; with `public`, the progress that API keys may know.

    Keys learn that a map is drawn when the end of its job is shown to them; if the job fails, they
    learn at the same time that the series has ended.
    """
    ended = series.ended_at is not None
    if not public:
        return Seen(series.drawn, len(due_periods(series)), ended)
    releases = series.releases.select_related("job")
    hidden = [each for each in releases if not each.job.is_end_shown]
    drawn = series.drawn - sum(1 for each in hidden if (each.number or 0) <= series.drawn)
    shown = copy.copy(series)
    shown.drawn = drawn
    return Seen(drawn, len(due_periods(shown)), ended)


def series_draw_due() -> int:
    """Request the next due map of every open series; return how many were requested."""
    open_series = Series.objects.filter(ended_at=None).exclude(complete_through=None)
    return sum(_draw_next(series) for series in open_series.select_related("dataset__ledger"))


def _draw_next(series: Series) -> bool:
    """Request a series' next map if it is due; end the series if its last map has failed."""
    number = series.drawn + 1
    started = Release.objects.filter(series=series, number=number).select_related("job").first()
    if started is not None:
        lost = started.job.state in (JobState.FAILED, JobState.CANCELLED) and not started.blob_name
        # API keys can notice that a series has ended, so the series ends only when they may know
        # that the failed job has ended.
        if lost and started.job.is_end_shown:
            _end(series, "failed")
        return False
    if not _is_shown(series, series.drawn):
        return False
    if not series.has_map(number):
        _end(series, "complete")
        return False
    if not due_periods(series) or ready_upload(series.dataset) is None:
        return False
    try:
        with transaction.atomic():
            return _may_start(series) and series_request_period(series, number) is not None
    except BudgetExceeded:
        _end(series, "budget")
    # This is tried again later: either an approver must first answer whether another dataset is
    # about the same people, or another process has requested the period already.
    except Conflict as problem:
        logger.warning("series %s: not drawn yet: %s", series.pk, problem.message)
    return False


def _may_start(series: Series) -> bool:
    """Return whether a map can be requested without revealing to API keys when another job ended.

    If a map had to wait for a file to be read, it would be requested as soon as the job that reads
    it ended, and so reveal that time. Maps of several series, requested together, would show how
    long one of them takes (`api.access`). So all jobs that keys may have started must be shown to
    them as done. Call it in a transaction: the organisation is locked, so that two processes cannot
    start two jobs.
    """
    if not settings.DPGEO_JOB_SLOTS:
        return True
    organisation = series.dataset.organisation_id
    Organisation.objects.select_for_update().get(pk=organisation)
    return all(job.is_end_shown for job in jobs_of_keys(organisation))


def _is_shown(series: Series, number: int) -> bool:
    """Return whether API keys may know that period `number` is drawn.

    The next period is requested only then. If it were requested earlier, the new request would show
    keys when the previous job ended.
    """
    before = Release.objects.filter(series=series, number=number).select_related("job").first()
    return before is None or before.job.is_end_shown


class _DrawnBefore(Exception):
    """Raised if a draw of a period exists that was made from other data, before a restore.

    The map made from that draw may have been published. The series does not pay for a second draw,
    and the budget may have nothing left for one.
    """


def series_request_period(series: Series, number: int) -> Release | None:
    """Request the map of period `number` of a series, and return the release.

    Returns None if the map was requested before, or if the series has ended.

    Raises BudgetExceeded, or Conflict if the dataset cannot be released now.
    """
    dataset = series.dataset
    window = series.window(number)
    days = {"from_day": window.first, "to_day": window.last}
    request = price_map(dataset, series.terms, series.request.model_copy(update=days))
    try:
        with transaction.atomic():
            stored = Series.objects.select_for_update().get(pk=series.pk)
            if stored.ended_at is not None or stored.drawn != number - 1:
                return None
            if not stored.is_paid_once:
                check_answered(dataset, None)
            release = period_request(series=stored, number=number, request=request)
            if has_other_draw(release):
                raise _DrawnBefore
            return release
    except _DrawnBefore:
        _end(series, "restored")
        return None
    except IntegrityError:  # Another process requested the period at the same time.
        return None


def _check_may(dataset: Dataset, by: User | None) -> None:
    if by is not None and not may(by, dataset, "request"):
        raise NotAllowed("You may not request releases of this dataset; ask its stewards.")


def _check_open(series: Series) -> None:
    series.refresh_from_db()
    if series.ended_at is not None:
        raise Conflict("This series has ended; declare a new one.")


def _record(series: Series, by: User | None, detail: str) -> None:
    event_record(
        EventKind.REQUESTED,
        by=by,
        organisation=series.dataset.organisation_id,
        subject=f"{series.dataset.slug} {series.pk}",
        detail=detail,
    )
