"""The report of an audit: what each claim is, and what was proven of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.audit.attack import CHANCE, Case, Finding
from tests.audit.cases import POINTS_CAUGHT

PATH = Path(__file__).resolve().parents[2] / "docs" / "audit.md"

HEAD = """# Audit of epsilon

`python -m tests.audit`, a part of `make audit`, wrote this page. It uploads invented files of two
neighbouring datasets, counts them with the engine of the product, and draws many releases of both
with the product's own mechanisms. An attacker who knows everything but whether one person is in the
data learns on a fifth of the releases, chooses an event on another fifth, and is judged by the
rest. The attacker sees whole releases: values, structure, order and labels.

*Proven* is a lower confidence bound on epsilon: the log-ratio of the two probabilities of the
event, by the bounds of Clopper and Pearson. *Delta* is a lower confidence bound on the hockey-stick
divergence at the claimed epsilon, P - e^epsilon Q, which is 0 if the claim holds. Each bound is too
large with probability at most {chance:g}. *Power* is the probability that an audit of this size
proves more than the claim if the event has the probabilities that were seen.

A planted fault of 1.1 is noise for 1.1 times the claimed epsilon. A fault is caught where more than
the claim is proven, or delta is above 0. For every line the datasets are searched first: a person
alone, among twenty others, in one cell or in ten, on the corner of the study area, where four cells
meet, and beside as many people as trees split at; the table names the one on which most was shown.
"""


def verdicts(cases: Iterable[Case], found: Sequence[Finding]) -> list[str]:
    """Return a sentence for each claim proven wrong and each fault that was missed."""
    catches = {case.name: float(case.catch) for case in cases}
    catches["planar-laplace"] = float(POINTS_CAUGHT)
    wrong = []
    for one in found:
        if one.factor == 1 and one.caught:
            wrong.append(f"{one.case}: the claim {one.claim:g} is wrong, {one.epsilon:.3f} proven.")
        missed = not one.caught and one.factor >= catches.get(one.case, float("inf"))
        if one.factor > 1 and missed:
            wrong.append(f"{one.case}: a fault of {one.factor:g} was missed ({one.epsilon:.3f}).")
    return wrong


def report(cases: Sequence[Case], found: Sequence[Finding]) -> str:
    """Return the page."""
    notes = [f"- {case.name}: {case.note}" for case in cases if case.note]
    order = {case.name: number for number, case in enumerate(cases)}
    lines = [
        "| claim | epsilon | fault | proven | delta | power | draws | most shown by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in sorted(found, key=lambda each: (order.get(each.case, len(order)), each.factor)):
        fault = "none" if one.factor == 1 else f"{one.factor:g}"
        proven = f"**{one.epsilon:.3f}**" if one.caught else f"{one.epsilon:.3f}"
        lines.append(
            f"| {one.case} | {one.claim:.4g} | {fault} | {proven} | {one.delta:.4f} "
            f"| {one.power:.2f} | {one.draws:,} | {one.pair}; {one.event} |"
        )
    return "\n".join(
        [HEAD.format(chance=CHANCE), *lines, "", "## What limits detection", "", *notes, ""]
    )
