"""Text of the page docs/audit.md: each claim, and what the audit proved about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.audit.attack import BATCH, CHANCE, DELTA, Case, Finding
from tests.audit.points import CATCH, PADDED, PLAIN

PATH = Path(__file__).resolve().parents[2] / "docs" / "audit.md"

HEAD = """# Audit of epsilon

`python -m tests.audit` wrote this page. It counts invented files of two neighbouring datasets with
the product's engine and draws many releases of both with its mechanisms. An attacker who knows
everything but whether one person is in the data sees whole releases.

**The game.** A coin chooses a dataset, a release is drawn, and the attacker names the dataset or
abstains. Under a claim of epsilon a guess is right with probability at most
e^epsilon / (1 + e^epsilon). A bet on every guess, fair under the claim, multiplies a capital of 1
by {over:,.0f} with probability at most {chance:g}; if it does, the claim is disproved. The pair of
datasets and the rule of the attacker (single numbers, weighted sums, boosted trees, frequencies of
structures) are searched with draws of their own, which are not counted.

**Rho.** The claim is the epsilon that follows from a rho at a delta of {delta:g}; bets lose delta.
A fault of 4 is noise for 4 times the rho. For planar Laplace the two datasets
have everyone at places 400 m apart, every published point is a draw, and the claim is for that
distance.

**The columns.** *Proven* is a lower confidence bound on epsilon of the product as it is, rounded
down, and bold if the claim is disproved. *Caught* is the smallest planted fault that was caught: at
1.1, noise for 1.1 times the claimed epsilon is told from the claim. *Missed* are smaller faults
that were planted and not caught, each with the power of the test. *Draws* are those without a
fault. An audit looks every {batch} draws whether it may end.

| claim | epsilon | proven | caught | missed | draws |
|---|---|---|---|---|---|
"""


def verdicts(cases: Iterable[Case], findings: Sequence[Finding]) -> list[str]:
    """Return a sentence for each disproved claim and each missed fault."""
    catches = {case.name: float(case.catch) for case in cases}
    catches |= {PLAIN: float(CATCH), PADDED: float(CATCH)}
    wrong = []
    for one in findings:
        if one.factor == 1 and one.caught:
            wrong.append(f"{one.case}: the claim {one.claim:g} is wrong, {one.epsilon:.3f} proven.")
        if one.factor > 1 and not one.caught and one.factor >= catches[one.case]:
            wrong.append(f"{one.case}: a fault of {one.factor:g} was missed ({one.epsilon:.3f}).")
    return wrong


def report(cases: Sequence[Case], findings: Sequence[Finding], page: str = "") -> str:
    """Return the text of docs/audit.md: a line for each claim of the audited cases.

    Lines of claims that were not audited this time are kept from `page`, the text so far.
    """
    names = [*(case.name for case in cases), PLAIN, PADDED]
    kept = {_name(line): line for line in page.splitlines() if line.startswith("| ")}
    lines = []
    for name in names:
        own = sorted((one for one in findings if one.case == name), key=lambda one: one.factor)
        if own or name in kept:
            lines.append(_line(own) if own else kept[name])
    drawn = {_name(line) for line in lines}
    if left := "; ".join(name for name in names if name not in drawn):
        lines += ["", f"Not drawn for this page, which says nothing of them: {left}."]
    notes = [f"- {case.name}: {case.note}" for case in cases if case.note]
    head = HEAD.format(chance=CHANCE, over=1 / CHANCE, delta=float(DELTA), batch=BATCH)
    return head + "\n".join(
        [*lines, "", "Why some claims catch only larger faults:", "", *notes, ""]
    )


def _name(line: str) -> str:
    """Return the claim that a line of the table is about."""
    return line.split("|")[1].strip()


def _line(findings: Sequence[Finding]) -> str:
    """Return the line of a claim, given its findings in ascending order of the planted fault."""
    first = findings[0]
    delta = f" at {first.claimed_delta:g}" if first.claimed_delta else ""
    proven = draws = ""
    if first.factor == 1:
        proven = f"**{first.epsilon:.3f}**" if first.caught else f"{first.epsilon:.3f}"
        draws = f"{first.guesses.draws:,}"
    planted = [one for one in findings if one.factor > 1]
    caught = next((f"{one.factor:g}" for one in planted if one.caught), "")
    missed = ", ".join(f"{one.factor:g} ({one.power:.2f})" for one in planted if not one.caught)
    return f"| {first.case} | {first.claim:.4g}{delta} | {proven} | {caught} | {missed} | {draws} |"
