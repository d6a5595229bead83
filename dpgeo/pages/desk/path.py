"""The six steps that lead an owner from a place and a file to a published map."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

STEPS = (
    _("Where?"),
    _("File"),
    _("Check"),
    _("Kind of map"),
    _("Privacy and cost"),
    _("Publish"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step in the row of steps above a page."""

    number: int
    label: str
    done: bool
    here: bool


def steps(at: int) -> list[Step]:
    """Return all steps as they are shown while the step number `at`, counted from 1, is open."""
    return [
        Step(number, gettext(label), number < at, number == at)
        for number, label in enumerate(STEPS, 1)
    ]
