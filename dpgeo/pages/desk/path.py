"""The six steps from choosing a place and a file to publishing a map."""

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
    """One step in the progress bar above a page."""

    number: int
    label: str
    done: bool
    here: bool


def steps(at: int) -> list[Step]:
    """Return all steps, with step number `at` (counted from 1) as the current one."""
    return [
        Step(number, gettext(label), number < at, number == at)
        for number, label in enumerate(STEPS, 1)
    ]
