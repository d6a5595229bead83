"""`python -m tests.audit`: audits every claim, and writes what was found to docs/audit.md.

`--effort 0.1` draws a tenth and writes nothing. Ends with exit code 1 if a claim was proven wrong
or a planted fault that has to be caught was not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from functools import partial

from tests.audit.attack import Case, Finding, audit
from tests.audit.cases import CASES, FACTORS, POINTS_CAUGHT, POINTS_DRAWS, check_complete
from tests.audit.points import audit_points, padded_numbers
from tests.audit.report import PATH, report, verdicts

Task = Callable[[], Finding]


def tasks(cases: tuple[Case, ...], effort: float) -> Iterator[Task]:
    """Yield the audits; of faults larger than what has to be caught, a quarter of the draws."""
    for case in cases:
        for factor in sorted({*FACTORS, case.catch}):
            if factor == 1 or factor >= case.wanted:
                share = 1.0 if factor <= case.catch else 0.25
                yield partial(audit, case, factor, effort * share)


def points_tasks(effort: float) -> Iterator[Task]:
    """Yield the audits of perturbed points, without and with padding."""
    for factor in FACTORS:
        if factor == 1 or factor >= POINTS_CAUGHT:
            draws = int(POINTS_DRAWS * effort * (1 if factor <= POINTS_CAUGHT else 0.25))
            yield partial(audit_points, padded=False, factor=factor, draws=draws)
    yield partial(audit_points, padded=True, factor=Fraction(1), draws=int(POINTS_DRAWS * effort))


def main() -> int:
    """Run the audits on every processor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=1.0, help="share of the draws")
    parser.add_argument("--only", help="audit the cases whose names contain this")
    arguments = parser.parse_args()
    check_complete()
    cases = tuple(case for case in CASES if (arguments.only or "") in case.name)
    work = list(tasks(cases, arguments.effort))
    if not arguments.only or arguments.only in "planar-laplace":
        work += points_tasks(arguments.effort)
        one, two = padded_numbers()
        assert one == two, "Padding shows how many reports people have."
    found = []
    with ProcessPoolExecutor() as pool:
        for future in as_completed([pool.submit(task) for task in work]):
            finding = future.result()
            found.append(finding)
            sys.stdout.write(f"{finding}\n")
            sys.stdout.flush()
    wrong = verdicts(cases, found)
    sys.stdout.write("\n".join(wrong or ["Every claim holds, and every fault was caught."]) + "\n")
    if not arguments.only and arguments.effort == 1:
        PATH.write_text(report(cases, found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
