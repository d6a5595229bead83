"""Progress of jobs, for pages and for the script that refreshes them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.jobs.models import UNFINISHED, Job, JobState
from dpgeo.jobs.services import WAITING_FOR_SPACE
from dpgeo.pages.desk.access import dataset_of_job, need, person, sees_counts
from dpgeo.pages.rendering import say
from dpgeo.pages.templatetags.figures import figure

STATE_WORDS = {
    JobState.QUEUED: _("Waiting for a worker"),
    JobState.RUNNING: _("Running"),
    JobState.DONE: _("Done"),
    JobState.FAILED: _("Failed"),
    JobState.CANCELLED: _("Cancelled"),
}


STEPS = {
    "releases.run": (_("Counting"), _("Drawing noise"), _("Writing files")),
    "datasets.ingest": (_("Reading rows"), _("Storing")),
}
"""Beginnings of the progress messages of each step, in order, for each kind of job."""

OTHER_STEPS = (
    _("Moving points"),
    _("Deleting older versions"),
    _("Publishing"),
    _("Waiting for free space"),
)
"""Progress messages that begin no step of STEPS, listed only so that they are translated."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A job's progress in words and per cent. It can contain numbers of rows, which are private."""

    id: uuid.UUID
    state: str
    active: bool
    step: str
    detail: str
    percent: int
    segments: list[int]
    failure: str

    def to_json(self) -> dict[str, Any]:
        """Return the progress as plain JSON for the page's script."""
        return {
            "state": self.state,
            "active": self.active,
            "step": self.step,
            "detail": self.detail,
            "percent": self.percent,
            "segments": self.segments,
            "failure": self.failure,
        }


def job_progress(user: User, job: Job) -> Progress:
    """Return the progress of a job, as far as the user may see it.

    Users without the right to see private facts learn only whether the job waits, runs or is done.
    """
    dataset = dataset_of_job(job)
    sees_private = may(user, dataset, "see_private")
    state = JobState(job.state) if sees_private else job.state_shown
    has_step = state is JobState.RUNNING or job.step_phrase == WAITING_FOR_SPACE
    done, total = job.progress_done, job.progress_total
    counted = sees_private and state is JobState.RUNNING and total > 0
    numbered = counted and not job.step_phrase.values and sees_counts(user, dataset)
    percent = min(100, 100 * done // total) if counted else 0
    return Progress(
        id=job.id,
        state=state.value,
        active=state in UNFINISHED,
        step=(say(job.step_phrase) if sees_private and state in UNFINISHED and has_step else "")
        or gettext(STATE_WORDS[state]),
        detail=so_far(done, total) if numbered else "",
        percent=percent,
        segments=progress_segments(job, percent) if sees_private else [0],
        failure=say(job.failure) if sees_private else "",
    )


def so_far(done: int, total: int) -> str:
    """Return the progress as a phrase such as "3 of 7"."""
    return gettext("{done} of {total}").format(done=figure(done), total=figure(total))


def progress_segments(job: Job, percent: int) -> list[int]:
    """Return how much of each step of a job is done, in per cent.

    `percent` is how much of the current step is done.
    """
    steps = STEPS.get(job.task, ("",))
    places = [place for place, step in enumerate(steps) if str(job.step_phrase).startswith(step)]
    at = places[0] if places and job.state == JobState.RUNNING else -1
    return [100 if place < at else percent if place == at else 0 for place in range(len(steps))]


def job_context(user: User, job: Job) -> dict[str, Any]:
    """Return the template context for a page that shows a job."""
    return {"job": job, "progress": job_progress(user, job)}


@login_required
@require_safe
@never_cache
def job(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Return a job's progress as JSON; only for users who may view its dataset."""
    the_job = get_object_or_404(Job, id=job_id)
    need(person(request), dataset_of_job(the_job), "view")
    return JsonResponse(job_progress(person(request), the_job).to_json())
