"""The estimates of the audit of epsilon, on events of known probability."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace

from tests.requirements import need

need(importlib.util.find_spec("sklearn"), "scikit-learn and SciPy: make packages-full")

from tests.audit.attack import CHANCE, Finding, hockey_stick, power  # noqa: E402
from tests.audit.cases import CASES, check_complete  # noqa: E402
from tests.audit.report import report, verdicts  # noqa: E402
from tests.statistical.audit import Proof  # noqa: E402

TRIALS = 40_000
CLAIM = 2.0


def proof_of(epsilon: float) -> Proof:
    """Return what is seen of an event of probability 1/2 under so much epsilon."""
    less = round(TRIALS / 2 * math.exp(-epsilon))
    return Proof("score", 0.0, TRIALS // 2, less, TRIALS)


def found(factor: float, epsilon: float, case: str = "uniform-grid") -> Finding:
    """Return a finding that proves an epsilon."""
    return Finding(
        case=case,
        factor=factor,
        claim=CLAIM,
        pair="alone",
        event="score from 1",
        draws=TRIALS,
        epsilon=epsilon,
        delta=0.0,
        power=0.9,
    )


def test_a_tenth_more_than_the_claim_is_proven_and_the_claim_itself_is_not() -> None:
    honest, faulty = proof_of(CLAIM), proof_of(1.1 * CLAIM)
    assert honest.epsilon(CHANCE) < CLAIM < faulty.epsilon(CHANCE) < 1.1 * CLAIM
    assert hockey_stick(honest, CLAIM) == 0 < hockey_stick(faulty, CLAIM)
    assert power(honest, CLAIM) == 0
    assert power(faulty, CLAIM) > 0.9


def test_power_falls_with_the_number_of_draws() -> None:
    few = replace(proof_of(1.1 * CLAIM), more=500, less=55, trials=1000)
    assert power(few, CLAIM) < 0.1


def test_an_event_unseen_in_the_other_dataset_proves_a_finite_epsilon() -> None:
    never = Proof("score", 0.0, 100, 0, 100)
    assert 0 < never.epsilon(CHANCE) < math.inf
    assert Proof("score", 0.0, 0, 0, 100).epsilon(CHANCE) == 0
    assert hockey_stick(Proof("score", 0.0, 0, 0, 100), CLAIM) == 0


def test_a_wrong_claim_and_a_missed_fault_fail_the_audit() -> None:
    grid = CASES[0]
    assert verdicts([grid], [found(1, 1.9), found(1.1, 2.1), found(2, 3.0)]) == []
    [wrong] = verdicts([grid], [found(1, 2.1)])
    assert "is wrong" in wrong
    [missed] = verdicts([grid], [found(1.1, 1.9)])
    assert "was missed" in missed


def test_the_report_has_a_line_for_every_finding_and_says_what_limits_detection() -> None:
    check_complete()
    page = report(CASES, [found(1.1, 2.1), found(1, 1.9), found(1.4, 1.4, case="planar-laplace")])
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    assert [line.split("|")[3].strip() for line in lines] == ["fault", "none", "1.1", "1.4"]
    assert "**2.100**" in page
    assert "- privtree: " in page


def test_a_case_that_catches_only_larger_faults_says_why() -> None:
    assert all(case.note for case in CASES if case.catch > case.wanted)
