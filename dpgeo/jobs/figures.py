"""Figures on jobs for operators: how many are unfinished, how long they took, how many failed.

Privacy argument. When a job ends depends on the private data. These figures leave this
installation, for instance to a monitoring system that many people read, so a job is counted as
ended only from the public time at which API keys may learn of it (`slots`). After that, only the
class to which the job's duration belongs is shown; the limits of the classes are the public times.
No figure is given for a single dataset. API keys do not see the number of failed jobs; operators
need it, and it is shown only to those who also receive the logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, DurationField, ExpressionWrapper, F, Min, Q
from django.utils import timezone

from dpgeo.jobs.models import Job, JobState

LAST_SLOTS = timedelta(hours=1)
"""Interval between the public times that follow the last one listed in the settings."""


@dataclass(frozen=True, slots=True)
class JobFigures:
    """Figures on all jobs, as far as they may be shown at present.

    `ended` maps the name of each class of durations to the number of ended jobs in the class. A
    class is named by its longest duration, such as "5m", and the last class is "longer". `oldest`
    is the age in seconds of the oldest unfinished job, and 0 if there is none.
    """

    unfinished: int
    oldest: float
    failed: int
    ended: dict[str, int]


def job_figures() -> JobFigures:
    """Return figures on all jobs; a job counts as ended only once its end may be shown."""
    now = timezone.now()
    taken = ExpressionWrapper(F("finished_at") - F("submitted_at"), output_field=DurationField())
    classes = list(_classes(now))
    hidden, shown = Q(finished_at=None), Q(pk=None)
    for _, is_in, is_shown in classes:
        shown |= is_in & is_shown
        hidden |= is_in & ~is_shown
    # Negating `is_shown` with ~ in SQL would lose jobs whose `finished_at` or `submitted_at` is
    # null, but all jobs in a class have both.
    counts = {f"c{n}": Count("pk", filter=each[1] & each[2]) for n, each in enumerate(classes)}
    figures = Job.objects.annotate(taken=taken).aggregate(
        unfinished=Count("pk", filter=hidden),
        since=Min("submitted_at", filter=hidden),
        failed=Count("pk", filter=shown & Q(state=JobState.FAILED)),
        **counts,
    )
    since = figures["since"]
    return JobFigures(
        unfinished=figures["unfinished"],
        oldest=max(0.0, (now - since).total_seconds()) if since else 0.0,
        failed=figures["failed"],
        ended={each[0]: figures[f"c{n}"] for n, each in enumerate(classes)},
    )


def ends_shown() -> Q:
    """Return a filter for the ended jobs whose public time has come, so their end may be shown.

    The jobs must be annotated with `taken`, their duration.
    """
    shown = Q(pk=None)
    for _, is_in, is_shown in _classes(timezone.now()):
        shown |= is_in & is_shown
    return shown


def _classes(now: datetime) -> Iterator[tuple[str, Q, Q]]:
    """Yield each class of job durations, such as up to 5 minutes, from the shortest.

    A class consists of its name, a filter for the ended jobs in it, and a filter that tells for
    these jobs whether their end may be shown at `now`.
    """
    ended = Q(finished_at__isnull=False)
    slots = [timedelta(minutes=each) for each in settings.DPGEO_JOB_SLOTS]
    if not slots:
        yield "any", ended, Q(submitted_at__lte=now)
        return
    before = None
    for minutes, slot in zip(settings.DPGEO_JOB_SLOTS, slots, strict=True):
        longer = Q(taken__gt=before) if before is not None else Q()
        yield f"{minutes}m", ended & longer & Q(taken__lte=slot), Q(submitted_at__lte=now - slot)
        before = slot
    # The end of a job that takes longer than the last of `slots` may be shown once a whole number
    # of hours has passed since the request, so an hour after its end at the latest.
    yield "longer", ended & Q(taken__gt=before), Q(finished_at__lte=now - LAST_SLOTS)
