"""Finished drafts that wait for an approver."""

from __future__ import annotations

from django.db.models import DurationField, ExpressionWrapper, F

from dpgeo.jobs.figures import ends_shown
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState


def drafts_waiting() -> int:
    """Return how many drafts wait for an approver.

    A draft counts from the time at which API keys may learn that its job has ended.
    """
    taken = ExpressionWrapper(F("finished_at") - F("submitted_at"), output_field=DurationField())
    done = Job.objects.annotate(taken=taken).filter(ends_shown(), state=JobState.DONE)
    drafts = Release.objects.filter(state=ReleaseState.DRAFT, publish_when_done=False)
    return drafts.filter(job__in=done.values("pk")).count()
