"""An attacker that looks for what releases reveal, and the attacker's findings about a claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import Released
from dpgeo.core.totals import TotalsPlan
from dpgeo.core.zcdp import epsilon_at
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.totals import PEOPLE, SIGHTINGS, VISITS, WEIGHTS
from tests.audit.bounds import (
    Guesses,
    best_gaussian_guesses,
    best_guesses,
    disproved,
    least_delta,
    least_epsilon,
    power,
)
from tests.audit.datasets import PAIRS, TORN, Pair, neighbours, torn
from tests.audit.faults import epsilon_times
from tests.audit.guessing import DrawMany, Floats, Rule, Score, best_rule, play
from tests.randomness import SeededEntropy
from tests.statistical.audit import Counted, Difference, Draw, Seen, linear_scores, padded, watch
from tests.statistical.bounds import seed
from tests.statistical.test_empirical_epsilon import BOUND, chosen_of

CHANCE = 1e-5
"""Probability that one claim is disproved wrongly, or that one bound is too large."""

DELTA = Fraction(1, 1000)
"""Delta of claims that follow from a rho, large enough to be noticed in thousands of draws."""

BATCH = 500
"""Number of draws between checks of whether an audit can stop."""

SEARCHED, LEARNED = 250, 4000
"""Numbers of releases drawn from each of two neighbouring datasets.

SEARCHED is for each pair of datasets in the search for the pair that reveals most, and LEARNED for
training the attacker on that pair. Neither is counted as evidence.
"""


LABELS = {"people": PEOPLE, "sightings": SIGHTINGS, "visits": VISITS}
"""Labels of the measurements of noisy totals, by the fields of `core.totals.Totals`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism to audit, with at most `most` releases of the two datasets together as evidence.

    A fault is a factor on epsilon. `catch` is the smallest planted fault that has to be caught. It
    equals `wanted`, the fault that should be caught, unless `note` says what limits detection. If
    `total` names one of the noisy totals that a release can pay for, the attacker sees only that
    number of each release, and the claim is the part of epsilon that it is measured with.
    """

    name: str
    key: str
    wanted: Fraction
    most: int
    catch: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(2)
    rho: Fraction | None = None
    """The rho that pays for Gaussian noise; the claim is then its epsilon at DELTA."""
    bounding: Bounding = Bounding.RANDOM
    totals: TotalsPlan | None = None
    total: str = ""
    counting: Counting = Counting.VISITS
    bound: int = BOUND
    chosen: Mapping[str, object] = field(default_factory=dict)
    """Parameters; all others are from `chosen_of`, with which releases usually reveal most."""
    pairs: tuple[Pair, ...] = PAIRS
    note: str = ""
    learned: int = 0
    """Number of releases of each dataset that train the attacker; 0 means LEARNED."""
    seconds: int = 60
    """Approximate duration of the audit, used to start the longest audits first."""

    def __post_init__(self) -> None:
        if not self.catch:
            object.__setattr__(self, "catch", self.wanted)

    @property
    def claim(self) -> Fraction:
        """Upper bound on epsilon that the mechanism claims for what the attacker sees."""
        if self.rho is not None:
            return epsilon_at(self.rho, DELTA)
        if not self.total or self.totals is None:
            return self.epsilon
        weight = WEIGHTS[self.counting][LABELS[self.total]]
        return self.epsilon * Fraction(self.totals.percent, 100) * weight

    @property
    def delta(self) -> Fraction:
        """The delta of the claim, which is 0 unless a rho is paid."""
        return Fraction(0) if self.rho is None else DELTA


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one audit of a case: how often the attacker guessed right and wrong.

    Noise was drawn for `factor` times the claimed epsilon or rho; above 1, it is a planted fault.
    """

    case: str
    factor: float
    claim: float
    claimed_delta: float = 0.0
    pair: str
    event: str
    guesses: Guesses
    most: int
    """Number of draws after which the audit stops even without a result."""

    @property
    def point(self) -> float:
        """Point estimate of epsilon, from the guesses."""
        return self.guesses.log_odds

    @property
    def epsilon(self) -> float:
        """Lower confidence bound on epsilon, at the delta of the claim."""
        return least_epsilon(self.guesses, CHANCE, self.claimed_delta)

    @property
    def delta(self) -> float:
        """Lower confidence bound on the hockey-stick divergence at the claimed epsilon."""
        return least_delta(self.guesses, self.claim, CHANCE)

    @property
    def power(self) -> float:
        """Probability of disproving the claim if guesses are right as often as in this audit."""
        counts, draws = self.guesses, max(1, self.guesses.draws)
        return power(
            counts.right / draws,
            counts.wrong / draws,
            claim=self.claim,
            draws=self.most,
            batch=max(1, self.most // 50),
            chance=CHANCE,
            delta=self.claimed_delta,
        )

    @property
    def caught(self) -> bool:
        """Whether the guesses disprove the claim."""
        return disproved(self.guesses, self.claim, CHANCE, self.claimed_delta)


def possible(case: Case, factor: Fraction) -> float:
    """Return the best power with which an attacker could detect a planted fault.

    This is the power of the best guesses about counts with Laplace or Gaussian noise.
    """
    claim, delta = float(case.claim), float(case.delta)
    if case.rho is None:
        right, wrong = best_guesses(float(case.claim * factor))
    else:
        right, wrong = best_gaussian_guesses(float(case.rho * factor), claim)
    return power(
        right, wrong, claim=claim, draws=case.most, batch=BATCH, chance=CHANCE, delta=delta
    )


def learned_scores(taught: list[Floats], *, thorough: bool) -> dict[str, Score]:
    """Return functions, by name, that score how likely a release comes from the second dataset.

    They are learned from releases (n, columns) of both datasets: each column by itself, weighted
    sums of clipped columns (the likelihood ratio, for shifted Laplace noise) and, if `thorough`,
    boosted decision trees.
    """
    scores: dict[str, Score] = {
        f"number {place}": partial(_number, place) for place in range(taught[0].shape[1])
    }
    for name in ("joint weights", "separate weights"):
        scores[name] = partial(_linear, taught, name)
    if thorough:
        scores["boosted trees"] = _boosted(taught)
    return scores


def _number(place: int, releases: Floats) -> Floats:
    return releases[:, place]


def _linear(taught: list[Floats], name: str, releases: Floats) -> Floats:
    columns = [np.concatenate([taught[0], releases]), taught[1]]
    return linear_scores(columns, slice(len(taught[0])))[name][0][len(taught[0]) :]


def _boosted(taught: list[Floats]) -> Score:
    from sklearn.ensemble import HistGradientBoostingClassifier

    label = np.repeat([0, 1], [len(side) for side in taught])
    trees = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=8, min_samples_leaf=40
    ).fit(np.concatenate(taught), label)
    return lambda releases: np.round(trees.decision_function(releases), 3)


def draws_of(case: Case, view: Counted, first_seed: int) -> Draw:
    """Return a function that draws a release of the dataset in `view` with the production code."""
    mechanism = MECHANISMS[case.key]
    params = parse_parameters(mechanism.params, chosen_of(mechanism) | dict(case.chosen))
    entropy = SeededEntropy(seed(first_seed))

    def draw() -> Released:
        return run(
            mechanism,
            view,
            params,
            case.rho or case.epsilon,
            entropy,
            {},
            case.bounding,
            case.totals,
            delta=case.delta or None,
        )

    return draw


def watched(case: Case, draw: Draw, difference: Difference, runs: int) -> Seen:
    """Draw `runs` releases with `draw`, and return what the case's attacker sees in them."""
    if not case.total:
        return watch(draw, difference, runs)
    totals = [getattr(draw().totals, case.total) for _ in range(runs)]
    return Seen([[float(each.count)] for each in totals], [0] * runs)


@dataclass(frozen=True, slots=True)
class Target:
    """Two neighbouring datasets in real files, whose releases are drawn and turned into numbers."""

    views: tuple[Counted, Counted]
    difference: Difference

    @staticmethod
    def of(pair: Pair, folder: Path, case: Case) -> Target:
        """Write a pair's two datasets to files in `folder`, ready for mechanisms to count."""
        *views, difference = (
            torn(folder)
            if pair.name == TORN.name
            else neighbours(pair, folder, counting=case.counting, bound=case.bound)
        )
        return Target((views[0], views[1]), difference)

    def seen(self, case: Case, runs: int, first_seed: int) -> list[Seen]:
        """Draw `runs` releases of each dataset, and return what an attacker sees in them."""
        return [
            watched(case, draws_of(case, view, first_seed + side), self.difference, runs)
            for side, view in enumerate(self.views)
        ]

    def many(self, case: Case, reading: Reading, first_seed: int) -> DrawMany:
        """Return a function that draws releases of either dataset and turns them into numbers."""
        draws = [draws_of(case, view, first_seed + side) for side, view in enumerate(self.views)]
        return lambda side, runs: reading.columns(watched(case, draws[side], self.difference, runs))


@dataclass(frozen=True, slots=True)
class Reading:
    """Converts releases to arrays: a row for each release, a column for each number in it.

    A further, last column is the score of the release's structure, that is, of which parts it has:
    how much more often the second of two neighbouring datasets had releases of that structure than
    the first, in the releases from which this was learned.
    """

    width: int
    odds: dict[int, float]

    @staticmethod
    def taught(sides: list[Seen]) -> Reading:
        """Learn how to convert releases from the releases of two neighbouring datasets.

        The number of columns is that of the longest release. A structure (which parts a release
        has) scores how many more releases of the second dataset than of the first had it.
        """
        odds: dict[int, float] = {}
        for sign, side in zip((-1, 1), sides, strict=True):
            for structure in side.structures:
                odds[structure] = odds.get(structure, 0.0) + sign
        return Reading(max(len(row) for side in sides for row in side.numbers), odds)

    def columns(self, seen: Seen) -> Floats:
        """Return an array (n, width + 1): each release's numbers, then its structure's score.

        Numbers beyond the first `width` are left out; where a release has fewer, the rest are 0.
        """
        rows = padded([row[: self.width] for row in seen.numbers], self.width)
        structures = [self.odds.get(one, 0.0) for one in seen.structures]
        return np.column_stack([rows, structures])


def learned(
    case: Case, target: Target, runs: int, first_seed: int, *, thorough: bool
) -> tuple[Reading, Rule]:
    """Return a `Reading` and a guessing rule, learned from `runs` releases of each dataset.

    Two fifths of the releases train the scores; the others choose the rule. If `thorough`, boosted
    decision trees are among the scores.
    """
    seen = target.seen(case, runs, first_seed)
    some = 2 * runs // 5
    reading = Reading.taught([Seen(one.numbers[:some], one.structures[:some]) for one in seen])
    columns = [reading.columns(one) for one in seen]
    scores = learned_scores([side[:some] for side in columns], thorough=thorough)
    return reading, best_rule(scores, [side[some:] for side in columns], case.most)


def strongest(case: Case, runs: int) -> Pair:
    """Return the pair of datasets on which the guesses look most promising after a few releases."""
    promises = []
    for number, pair in enumerate(case.pairs if len(case.pairs) > 1 else ()):
        with TemporaryDirectory() as folder:
            target = Target.of(pair, Path(folder), case)
            _, rule = learned(case, target, runs, 100 * number, thorough=False)
            promises.append(rule.promise)
    return case.pairs[int(np.argmax(promises))] if promises else case.pairs[0]


def audit(case: Case, factors: tuple[Fraction, ...], effort: float = 1.0) -> Iterator[Finding]:
    """Audit a case once for each factor on epsilon, on the pair of datasets that reveals most.

    The pair and the guessing rule are chosen only once, with the smallest fault that must be caught
    planted. `effort` is the share of the usual number of draws.
    """
    most = max(BATCH, int(case.most * effort))
    with TemporaryDirectory() as folder:
        with epsilon_times(case.catch):
            pair = strongest(case, max(200, int(SEARCHED * effort)))
            target = Target.of(pair, Path(folder), case)
            runs = max(400, int((case.learned or LEARNED) * effort))
            reading, rule = learned(case, target, runs, 10_000, thorough=True)
        for number, factor in enumerate(factors):
            first_seed = 20_000 + 100 * number
            with epsilon_times(factor):
                guesses = play(
                    target.many(case, reading, first_seed),
                    rule,
                    claim=float(case.claim),
                    most=most,
                    batch=min(BATCH, most // 4),
                    chance=CHANCE,
                    coin=seed(first_seed + 10),
                    delta=float(case.delta),
                )
            yield Finding(
                case=case.name,
                factor=float(factor),
                claim=float(case.claim),
                claimed_delta=float(case.delta),
                pair=pair.name,
                event=rule.event,
                guesses=guesses,
                most=most,
            )
