"""Audits as tasks for worker processes, which cannot import functions from `__main__`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.audit.attack import Case, Finding, audit
from tests.audit.cases import CASES, factors_of
from tests.audit.points import CATCH, PADDED, PLAIN, audit_points

Task = Callable[[], list[Finding]]


def audited(case: Case, effort: float) -> list[Finding]:
    """Audit a case without a fault and with each planted fault; return the findings."""
    return list(audit(case, factors_of(case.wanted, case.catch), effort))


def audited_points(effort: float, *, padded: bool) -> list[Finding]:
    """Audit perturbed points without a fault and with each planted fault; return the findings."""
    factors = factors_of(CATCH, CATCH)
    return list(audit_points(padded=padded, factors=factors, effort=effort))


def tasks(only: str, effort: float) -> list[Task]:
    """Return the audits of the mechanism with the key `only`, the slowest first.

    If there is no such mechanism, they are the audits with `only` in their names. Audits of
    perturbed points are selected by their names in any case, and come last.
    """
    cases = sorted(CASES, key=lambda case: case.seconds, reverse=True)
    wanted = [case for case in cases if only == case.key]
    if not wanted:
        wanted = [case for case in cases if only in case.name]
    points = [(PLAIN, False), (PADDED, True)]
    return [
        *(partial(audited, case, effort) for case in wanted),
        *(
            partial(audited_points, effort, padded=padded)
            for name, padded in points
            if only in name
        ),
    ]
