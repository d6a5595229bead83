"""Database table of background jobs, which is the authoritative queue.

The message broker is used only to wake workers.
"""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.utils import timezone

from dpgeo.jobs.phrase_field import PhraseField, read_phrase
from dpgeo.jobs.slots import public_slot
from dpgeo.phrases import Phrase


class JobState(models.TextChoices):
    """State of a job. API keys learn that a job has ended only at certain fixed times (`slots`)."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


UNFINISHED = (JobState.QUEUED, JobState.RUNNING)


class Job(models.Model):
    """One background job, leased to at most one worker at a time."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.CharField(max_length=100, help_text="Name of the Celery task that runs it.")
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    step = models.CharField(max_length=100, blank=True)
    progress_done = models.BigIntegerField(default=0)
    progress_total = models.BigIntegerField(default=0)
    lease = models.UUIDField(null=True, blank=True, help_text="Token of the worker that holds it.")
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    drawing = models.BooleanField(default=False, help_text="Noise may have been drawn: no refund.")
    failure = PhraseField(blank=True, help_text="Private: for those who see private facts.")
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(
        default=timezone.now, help_text="When it was requested, or last tried again."
    )
    woken_at = models.DateTimeField(
        null=True, blank=True, help_text="When a worker was last asked to take it."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "lease_until"])]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=JobState.values), name="job_state_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(lease__isnull=True) | models.Q(state=JobState.RUNNING),
                name="job_leased_only_while_running",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.state}"

    @property
    def end_shown_at(self) -> datetime | None:
        """Time at which API keys learn that the job has ended, or None if it has not ended."""
        return self.finished_at and public_slot(self.submitted_at, self.finished_at)

    @property
    def is_end_shown(self) -> bool:
        """Whether API keys may already learn that the job has ended."""
        shown_at = self.end_shown_at
        return shown_at is not None and shown_at <= timezone.now()

    @property
    def state_shown(self) -> JobState:
        """The job's state as shown to users without access to private details.

        It stays `running` until these users may learn of the job's end.
        """
        return JobState(self.state) if self.is_end_shown else JobState.RUNNING

    @property
    def step_phrase(self) -> Phrase:
        """The current step as a translatable phrase."""
        return read_phrase(self.step)


class Alert(models.Model):
    """The level of a problem in the last message to operators (`releases.alerts`).

    It prevents the same message from being sent twice. `level` is a number that grows only while
    the problem gets worse, such as the number of failed jobs.
    """

    name = models.CharField(max_length=20, unique=True)
    level = models.BigIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
