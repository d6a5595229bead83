"""The guessing game that audits epsilon: what guesses prove, how attackers learn to guess."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.requirements import need

need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")

from tests.audit.attack import BATCH, CHANCE, Finding  # noqa: E402
from tests.audit.bounds import (  # noqa: E402
    Guesses,
    best_guesses,
    disproved,
    least_delta,
    least_epsilon,
    log_capital,
    power,
)
from tests.audit.cases import CASES, check_complete, factors_of  # noqa: E402
from tests.audit.guessing import Floats, best_rule, play  # noqa: E402
from tests.audit.report import verdicts  # noqa: E402

CLAIM = 2.0


def expected(epsilon: float, draws: int) -> Guesses:
    """Return the best attacker's expected right and wrong guesses about a count with Laplace noise.

    The noise is for `epsilon`, and `draws` is the number of noisy counts.
    """
    right, wrong = (round(share * draws) for share in best_guesses(epsilon))
    return Guesses(right, wrong, draws - right - wrong)


def found(factor: float, guesses: Guesses, case: str = "uniform-grid") -> Finding:
    """Return the finding of an audit in which the adversary's guesses were `guesses`."""
    return Finding(
        case=case,
        factor=factor,
        claim=CLAIM,
        pair="alone",
        event="score from 1",
        guesses=guesses,
        most=24_000,
    )


HONEST, FAULTY = expected(CLAIM, 24_000), expected(1.1 * CLAIM, 24_000)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_the_capital_is_not_expected_to_grow_under_the_claim(epsilon: float, delta: float) -> None:
    # The claim allows P(right) <= e^epsilon P(wrong) + delta. These guesses reach that limit.
    for wrong in (0.0, 0.02, 0.1):
        right = math.exp(epsilon) * wrong + delta
        if right + wrong <= 1:
            shares = np.array([right, wrong, 1 - right - wrong])
            one_draw = log_capital(np.eye(3), epsilon, delta)
            assert shares @ np.exp(one_draw) <= 1 + 1e-12


def test_a_claim_is_seldom_disproved_at_any_time_while_it_holds() -> None:
    right, wrong = best_guesses(CLAIM)
    for chance in (0.2, 0.02):
        assert power(right, wrong, claim=CLAIM, draws=5000, batch=10, chance=chance) <= chance


def test_a_tenth_more_than_the_claim_is_proven_and_the_claim_itself_is_not() -> None:
    assert 1.8 < least_epsilon(HONEST, CHANCE) < CLAIM
    assert CLAIM < least_epsilon(FAULTY, CHANCE) < 1.1 * CLAIM
    assert least_delta(HONEST, CLAIM, CHANCE) == 0 < least_delta(FAULTY, CLAIM, CHANCE)
    # The true epsilon is 2.2, and CLAIM is 2. To cover the excess, delta has to be 1 - e^(-0.2) of
    # the probability of the releases on which the attacker guesses, which are half of all.
    assert least_delta(FAULTY, CLAIM, CHANCE) < 0.5 * (1 - math.exp(-0.1 * CLAIM))


def test_no_guess_or_no_wrong_guess_proves_a_finite_epsilon() -> None:
    assert least_epsilon(Guesses(0, 0, 1000), CHANCE) == 0
    assert 0 < least_epsilon(Guesses(100, 0, 900), CHANCE) < 4
    assert least_epsilon(Guesses(0, 100, 0), CHANCE) == 0


@pytest.mark.parametrize(("factor", "caught"), [(1.0, False), (1.1, True)])
def test_an_attacker_learns_the_rule_of_laplace_noise(factor: float, *, caught: bool) -> None:
    random = np.random.default_rng(7)

    def draw(side: int, size: int) -> Floats:
        noise = random.laplace(0, 10 / (factor * CLAIM), size)
        return np.column_stack([random.normal(size=size), noise + 10 * side])

    scores = {"nothing": lambda seen: seen[:, 0], "count": lambda seen: seen[:, 1]}
    rule = best_rule(scores, [draw(side, 4000) for side in (0, 1)], 24_000)
    assert rule.name.startswith("count")
    guesses = play(draw, rule, claim=CLAIM, most=40_000, batch=BATCH, chance=CHANCE, coin=5)
    assert disproved(guesses, CLAIM, CHANCE) is caught
    assert (guesses.draws < 40_000) is caught
    assert guesses.log_odds == pytest.approx(factor * CLAIM, abs=0.15)


def test_every_mechanism_is_audited_with_power_and_says_why_it_catches_only_larger_faults() -> None:
    check_complete()
    assert factors_of(Fraction(5, 4), Fraction(5, 4)) == tuple(map(Fraction, (1, 1.25, 1.5, 2)))


def test_a_wrong_claim_and_a_missed_fault_fail_the_audit() -> None:
    assert verdicts(CASES, [found(1, HONEST), found(1.1, FAULTY)]) == []
    [wrong] = verdicts(CASES, [found(1, FAULTY)])
    assert "is wrong" in wrong
    [missed] = verdicts(CASES, [found(1.1, HONEST)])
    assert "was missed" in missed
