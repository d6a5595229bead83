"""Text of the page docs/audit.md: each claim, and what the audit proved about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.audit.attack import BATCH, CHANCE, DELTA, Case, Finding
from tests.audit.points import CATCH, PADDED, PLAIN

PATH = Path(__file__).resolve().parents[2] / "docs" / "audit.md"

HEAD = """# Audit of epsilon

`python -m tests.audit`, a part of `make audit`, wrote this page. It uploads invented files of two
neighbouring datasets, counts them with the engine of the product, and draws many releases of both
with the product's own mechanisms. An attacker who knows everything but whether one person is in the
data sees whole releases: values, structure, order and labels.

**The game.** A coin chooses one of the two datasets, and a release of it is drawn. The attacker
names the dataset or abstains. Under a claim of epsilon, whatever the release shows, a guess is
right with probability at most e^epsilon / (1 + e^epsilon). A bet on every guess, fair under the
claim, multiplies a capital of 1 by {over:,.0f} with probability at most {chance:g}; if it does, the
claim is disproved and the audit ends. The search, the rule by which the attacker guesses and the
guesses that are counted use different draws. Where a case is a total alone, the attacker sees that
number only, and the claim is the part of epsilon that it is measured with.

**The search.** For every claim the datasets are searched first: a person alone, among twenty
others, in one cell or in ten, on the corner of the study area, where four cells meet, and beside as
many people as trees split at. On the pair that promises most, the attacker learns from further
releases: of single numbers, weighted sums of clipped numbers (the likelihood ratio of shifted
Laplace noise), boosted trees of decisions, and the frequency of structures, the one rule whose
guesses promise most is kept for the claim and for every fault.

**Rho.** Under zCDP a rho pays for Gaussian noise. The claim is the epsilon that follows from it at
a delta of {delta:g}, by which few releases may show more: bets lose delta whatever happens. A fault
of 4 is noise for 4 times the rho, which is noise of half the scale. Smaller faults cannot be proved
with so few draws, since the epsilon that follows from a rho is not the least.

**The columns.** A fault of 1.1 is noise for 1.1 times the claimed epsilon, and "none" is the
product as it is. *Proven* is a lower confidence bound on epsilon, rounded down, and bold if the
claim is disproved. *Point* is its estimate, the log-odds of the guesses. *Delta* is a lower
confidence bound on the hockey-stick divergence at the claimed epsilon, which is 0 if the claim
holds. Each is too large with probability at most {chance:g}. *Power* is the probability that the
draws allowed disprove the claim if guesses are right as often as they were in this line; without a
fault, that is the probability of a false alarm. *Draws* are those that were counted, of those
allowed, both datasets together; an audit that ends early has caught its fault. Claims may be
audited one by one: each has the lines of its last audit.
"""

REVEALED = "## What revealed most"

POINTS = """For planar Laplace the two datasets are two places of everybody, 400 m apart, every
published point is a draw, and the rule is a table of cells of the plane. The claim is for that
distance.
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
    """Return the text of docs/audit.md for the audited cases and findings.

    Lines of claims that were not audited this time are kept from `page`, the text so far.
    """
    names = [*(case.name for case in cases), PLAIN, PADDED]
    audited = {one.case for one in findings}
    rules = {f"- {one.case}: {one.pair}; {one.event}." for one in findings}
    lines = [_line(one) for one in sorted(findings, key=lambda one: one.factor)]
    for name in names:
        if name not in audited:
            lines += [line for line in page.splitlines() if line.startswith(f"| {name} | ")]
            found = page.partition(REVEALED)[2].splitlines()
            rules |= {line for line in found if line.startswith(f"- {name}: ")}
    # The sort is stable, so the planted faults of one claim keep their order.
    lines.sort(key=lambda line: names.index(_cells(line)[0]))
    missed = []
    for line in lines:
        name, _, fault, proven, _, _, power, _ = _cells(line)
        if fault != "none" and not proven.startswith("**"):
            missed.append(f"- {name}: a fault of {fault} was not caught; the power was {power}.")
    notes = [f"- {case.name}: {case.note}" for case in cases if case.note]
    parts = [
        HEAD.format(chance=CHANCE, over=1 / CHANCE, delta=float(DELTA)),
        "| claim | epsilon | fault | proven | point | delta | power | draws |",
        "|---|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"An audit of releases looks every {BATCH} draws whether it may end. " + POINTS,
        *_not_run(names, {_cells(line)[0] for line in lines}),
        "## What was not caught",
        "",
        *(missed or ["Every planted fault of the lines above was caught."]),
        "",
        *notes,
        "",
        REVEALED,
        "",
        "The pair of datasets, and the numbers at which the attacker guesses:",
        "",
        *sorted(rules),
        "",
    ]
    return "\n".join(parts)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _not_run(names: Sequence[str], drawn: set[str]) -> list[str]:
    """Return the lines of a paragraph that names the claims for which nothing was drawn.

    Returns an empty list if there are no such claims.
    """
    left = "; ".join(name for name in names if name not in drawn)
    return [f"Not drawn for this page, which says nothing of them: {left}.", ""] if left else []


def _line(one: Finding) -> str:
    fault = "none" if one.factor == 1 else f"{one.factor:g}"
    proven = f"**{one.epsilon:.3f}**" if one.caught else f"{one.epsilon:.3f}"
    delta = f" at {one.claimed_delta:g}" if one.claimed_delta else ""
    return (
        f"| {one.case} | {one.claim:.4g}{delta} | {fault} | {proven} | {one.point:.2f} "
        f"| {one.delta:.4f} | {one.power:.2f} | {one.guesses.draws:,} of {one.most:,} |"
    )
