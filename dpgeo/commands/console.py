"""Shared code of the commands: acting user, progress, waiting for jobs, errors."""

from __future__ import annotations

import time
from argparse import ArgumentParser, _ArgumentGroup
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TextIO, TypeAlias
from uuid import UUID

from django.core.management.base import CommandError, OutputWrapper
from django.utils import timezone

from dpgeo.accounts.models import User
from dpgeo.core.declared import Declared, Typed, hint_of, kind_of_field
from dpgeo.core.errors import DpgeoError, InvalidInput
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.lease import ProgressCallback
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import WAITING_FOR_SPACE, WAKE_AFTER, job_give_up
from dpgeo.phrases import Phrase

Output: TypeAlias = OutputWrapper | TextIO

PATIENCE_SECONDS = 3.0
"""Seconds to wait for a worker to pick up a job before this process runs it."""

POLL_SECONDS = 0.25

ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


class ProgressLine:
    """Display of progress: one overwritten line on a terminal, otherwise one line per step."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._live = output.isatty()
        self._shown = ""
        self._step = ""

    def __call__(self, step: Phrase, done: int, total: int) -> None:
        """Show the progress of a step, as `done` of `total`."""
        words = str(step)
        share = f" {min(100, 100 * done // total)} %" if total else ""
        text = f"{words}{share}"
        if not words or text == self._shown or (not self._live and words == self._step):
            return
        if self._live:
            self._output.write("\r" + text.ljust(len(self._shown)), ending="")  # type: ignore[call-arg]
        else:
            self._output.write(words)
        self._output.flush()
        self._shown, self._step = text, words

    def close(self) -> None:
        """End the progress line."""
        if self._live and self._shown:
            self._output.write("")
        self._shown = self._step = ""


def job_wait(
    *,
    job_id: UUID,
    run: Callable[[ProgressCallback], bool],
    output: OutputWrapper,
    patience: float | None = None,
) -> Job:
    """Wait until a job ends; if no worker picks it up, run it in this process.

    A worker has `patience` seconds to pick up the job, or PATIENCE_SECONDS if `patience` is None.
    After that, `run` leases and runs the job in this process, as a worker would. Progress is
    written to `output`.
    """
    patience = PATIENCE_SECONDS if patience is None else patience
    line = ProgressLine(output)
    start = time.monotonic()
    while (job := Job.objects.get(pk=job_id)).state not in ENDED:
        if read_disk_space().short:
            line(WAITING_FOR_SPACE, 0, 0)
            time.sleep(POLL_SECONDS)
        elif not _is_nobodys(job, time.monotonic() - start, patience):
            line(
                job.step_phrase or Phrase("Waiting for a worker"),
                job.progress_done,
                job.progress_total,
            )
            time.sleep(POLL_SECONDS)
        elif not job_give_up(job=job):
            line.close()
            output.write("No worker has taken the job; doing it in this process.")
            run(line)
    line.close()
    return job


def _is_nobodys(job: Job, waited: float, patience: float) -> bool:
    if job.state == JobState.QUEUED:
        offered = job.woken_at if job.step_phrase == WAITING_FOR_SPACE else None
        if offered and offered > timezone.now() - WAKE_AFTER:
            return False
        return waited > patience
    return job.lease_until is not None and job.lease_until < timezone.now()


@contextmanager
def plain_errors(options: Mapping[str, str]) -> Iterator[None]:
    """Turn errors that a user can fix into CommandErrors that name the option at fault.

    `options` maps a field to its option if that is not "--" followed by the field's name.
    """
    try:
        yield
    except DpgeoError as error:
        option = options.get(error.field, f"--{error.field.replace('_', '-')}")
        raise CommandError(f"{option}: {error.message}" if error.field else error.message) from None


def add_options(
    parser: ArgumentParser | _ArgumentGroup,
    model: type[Declared],
    *,
    without: Collection[str] = (),
    required: bool = True,
) -> None:
    """Add an option for each field of a model, except those of `without`.

    An option for a list may be repeated. Unless `required`, none is.
    """
    for name, field in model.model_fields.items():
        if name not in without:
            kind = kind_of_field(field)
            choices = [each.value for each in kind] if issubclass(kind, StrEnum) else [name.upper()]
            typed = hint_of(field, Typed)
            words = [text for text in (typed and typed.hint, field.description) if text]
            facts: dict[str, Any] = {
                "required": required and field.is_required(),
                "help": " ".join(words).replace("%", "%%"),
            }
            if issubclass(kind, bool):
                facts |= {"action": "store_const", "const": True}
            else:
                facts |= {"metavar": "|".join(choices)}
            if issubclass(kind, tuple):
                facts |= {"action": "append"}
            parser.add_argument(f"--{name.replace('_', '-')}", **facts)


def given_options(options: Mapping[str, Any], model: type[Declared]) -> dict[str, Any]:
    """Return the options that were given for fields of a model, by field."""
    return {name: options[name] for name in model.model_fields if options.get(name) is not None}


def acting_user(name: str) -> User | None:
    """Return the active user with this name, or None, for the operator, if the name is empty.

    Raises InvalidInput if there is no such user.
    """
    if not name:
        return None
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise InvalidInput("There is no active user {name!r}.", name=name, field="user")
    return user
