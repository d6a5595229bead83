"""`python -m tests.audit`: audits every privacy claim and writes the findings to docs/audit.md.

`--effort 0.1` makes a tenth of the usual number of draws; `--only NAME` audits only the mechanism
with the key NAME, or, if there is none, the cases with NAME in their names. With either option the
page is written only if `--write` is also given. The page then says how many draws were made, and
keeps its lines on claims that were not audited.

`--power` draws nothing. It prints, for each planted fault, how often an attacker who sees
everything that the claim allows would disprove the claim.

The exit code is 1 if a claim was disproved, or if a planted fault that must be caught was not.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from tests.audit.attack import Finding, possible
from tests.audit.cases import CASES, check_complete, factors_of
from tests.audit.points import padded_numbers
from tests.audit.report import PATH, report, verdicts
from tests.audit.tasks import tasks


def main() -> int:
    """Run the audits in as many processes as the command line requests; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=1.0, help="share of the draws")
    parser.add_argument("--only", default="", help="audit this mechanism, or what it names")
    parser.add_argument("--write", action="store_true", help="write the page in any case")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--power", action="store_true", help="print the planned power and end")
    arguments = parser.parse_args()
    check_complete()
    if arguments.power:
        for case in CASES:
            planned = (
                f"{float(factor):g}: {possible(case, factor):.3f}"
                for factor in factors_of(case.wanted, case.catch)
            )
            sys.stdout.write(f"{case.name}, {case.most:,} draws: {'; '.join(planned)}\n")
        return 0
    one, two = padded_numbers()
    assert one == two, "Padding shows how many reports people have."
    # One thread for each process: the arrays are small, and threads would wait for each other.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    findings: list[Finding] = []
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        work = [pool.submit(task) for task in tasks(arguments.only, arguments.effort)]
        for future in as_completed(work):
            for finding in future.result():
                findings.append(finding)
                sys.stdout.write(f"{finding}\n")
                sys.stdout.flush()
    wrong = verdicts(CASES, findings)
    sys.stdout.write("\n".join(wrong or ["Every claim holds, and every fault was caught."]) + "\n")
    if arguments.write or (not arguments.only and arguments.effort == 1):
        PATH.write_text(report(CASES, findings, PATH.read_text()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
