"""The search for what a release reveals, and what was found of a claim."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import beta

from dpgeo.core.guarantees import Bounding
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy.mechanism import run
from tests.audit.datasets import PAIRS, TORN, Counted, Pair, neighbours, torn
from tests.audit.faults import epsilon_times
from tests.randomness import SeededEntropy
from tests.statistical.audit import (
    Draw,
    Floats,
    Proof,
    linear_scores,
    prove,
    single_scores,
    watch,
)
from tests.statistical.bounds import seed
from tests.statistical.test_empirical_epsilon import chosen_of

CHANCE = 1e-7
"""Probability that one bound is too large; an audit of a hundred is wrong one time in 1e5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism to audit, with `runs` releases of each dataset.

    The smallest planted fault that has to be caught is `catch`, which is `wanted` except where
    `note` says what limits detection.
    """

    name: str
    key: str
    wanted: Fraction
    runs: int
    catch: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(2)
    bounding: Bounding = Bounding.RANDOM
    pairs: tuple[Pair, ...] = PAIRS
    note: str = ""

    def __post_init__(self) -> None:
        if not self.catch:
            object.__setattr__(self, "catch", self.wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one audit of a case proved, with noise of `factor` times the claimed epsilon."""

    case: str
    factor: float
    claim: float
    pair: str
    event: str
    draws: int
    epsilon: float
    """The lower confidence bound."""
    delta: float
    """Lower confidence bound on the hockey-stick divergence at the claimed epsilon."""
    power: float
    """Probability that an audit of this size proves more than the claim, were the shares true."""

    @property
    def caught(self) -> bool:
        """Whether the claim was proven wrong, by either estimate."""
        return self.epsilon > self.claim or self.delta > 0


def boosted_scores(columns: list[Floats], teach: slice) -> dict[str, tuple[Floats, Floats]]:
    """Score by trees of decisions on all numbers, boosted on the training releases."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    taught = np.concatenate([side[teach] for side in columns])
    label = np.repeat([0, 1], len(taught) // 2)
    trees = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=50
    ).fit(taught, label)
    first, second = (np.round(trees.decision_function(side), 3) for side in columns)
    return {"boosted trees": (first, second)}


SCORES = (linear_scores, single_scores, boosted_scores)


def hockey_stick(proof: Proof, claim: float) -> float:
    """Return a lower confidence bound on max(0, P(event) - e^claim Q(event)).

    A mechanism with this epsilon has 0 for every event, which is chosen on other releases.
    """
    least = beta.ppf(CHANCE / 2, proof.more, proof.trials - proof.more + 1) if proof.more else 0.0
    most = beta.ppf(1 - CHANCE / 2, proof.less + 1, proof.trials - proof.less)
    return max(0.0, float(least - math.exp(claim) * most))


def power(proof: Proof, claim: float) -> float:
    """Return how often an audit of this size would prove more than the claim.

    The event's two probabilities are taken to be the shares seen.
    """
    random = np.random.default_rng(1)
    again = (
        dataclasses.replace(proof, more=int(more), less=int(less))
        for more, less in zip(
            *(
                random.binomial(proof.trials, count / proof.trials, 400)
                for count in (proof.more, proof.less)
            ),
            strict=True,
        )
    )
    return float(np.mean([each.epsilon(CHANCE) > claim for each in again]))


def draws_of(case: Case, view: Counted, first_seed: int) -> Draw:
    """Return a function that releases a dataset under a case, with the product's own code."""
    mechanism = MECHANISMS[case.key]
    params = parse_parameters(mechanism.params, chosen_of(mechanism))
    entropy = SeededEntropy(seed(first_seed))

    def draw() -> Released:
        return run(mechanism, view, params, case.epsilon, entropy, {}, case.bounding)

    return draw


def proof_of(case: Case, pair: Pair, runs: int, first_seed: int, folder: Path) -> Proof:
    """Draw so many releases of both datasets of a pair, and prove what they reveal."""
    if pair.name == TORN.name:
        *views, difference = torn(folder)
    else:
        *views, difference = neighbours(pair, folder)
    sides = [
        watch(draws_of(case, view, first_seed + number), difference, runs)
        for number, view in enumerate(views)
    ]
    return prove(sides, SCORES)


def strongest(case: Case, runs: int) -> Iterator[tuple[float, Pair]]:
    """Yield what a few releases of each pair promise to prove."""
    for number, pair in enumerate(case.pairs):
        with TemporaryDirectory() as folder:
            proof = proof_of(case, pair, runs, 100 * number, Path(folder))
        # A little of the promise counts also where the bound itself is 0.
        share = math.log((proof.more + 1) / (proof.less + 1)) / 1000
        yield proof.epsilon(0.05) + share, pair


def audit(case: Case, factor: Fraction, effort: float = 1.0) -> Finding:
    """Audit a case under a planted factor, on the pair of datasets that reveals most."""
    runs = max(300, int(case.runs * effort))
    with epsilon_times(factor):
        # The claim itself is tried on the pair on which a fault would show best.
        with epsilon_times(max(factor, case.catch)):
            found = max(strongest(case, max(200, runs // 10)), key=lambda each: each[0])
        with TemporaryDirectory() as folder:
            proof = proof_of(case, found[1], runs, 10_000, Path(folder))
    claim = float(case.epsilon)
    return Finding(
        case=case.name,
        factor=float(factor),
        claim=claim,
        pair=found[1].name,
        event=f"{proof.score} from {proof.threshold:.4g}",
        draws=runs,
        epsilon=proof.epsilon(CHANCE),
        delta=hockey_stick(proof, claim),
        power=power(proof, claim),
    )
