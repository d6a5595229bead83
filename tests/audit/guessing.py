"""An attacker's rule for guessing the dataset of a release, and the game that tests the rule.

The rule is chosen on draws that do not count in the game (`tests.audit.bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.audit.bounds import Guesses, disproved

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]
"""Function that scores releases (n, columns); higher scores mean the second dataset is likelier."""

DrawMany = Callable[[int, int], Floats]
"""Function that draws releases (n, columns) of one dataset; the arguments are the dataset (0 or 1)
and n.
"""

CAUTION = 3.0, 4.5
"""Numbers of standard errors subtracted from a rule's log-odds when rules are compared.

The first applies to the draws that choose the rule, because the best of many rules looks too good
by chance. The second applies to the draws still to come.
"""

TAILS = np.linspace(0.02, 0.98, 25)
"""Quantiles of the scores that are tried as guessing thresholds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that names the first dataset for scores up to `low`, and the second from `high` on."""

    name: str
    score: Score
    low: float
    high: float
    promise: float
    """How good the rule looks: log-odds of a right guess, less the standard errors in CAUTION."""

    def guesses(self, side: int, releases: Floats) -> Guesses:
        """Count right guesses, wrong ones and abstentions on releases of dataset `side`, 0 or 1."""
        scores = self.score(releases)
        first = int(np.sum(scores <= self.low))
        second = int(np.sum(scores >= self.high))
        right, wrong = (second, first) if side else (first, second)
        return Guesses(right, wrong, len(scores) - first - second)

    @property
    def event(self) -> str:
        """A text that says for which scores this rule guesses; otherwise it abstains."""
        return f"{self.name}: at most {self.low:.4g}, or at least {self.high:.4g}"


def best_rule(scores: Mapping[str, Score], sides: list[Floats], draws: int) -> Rule:
    """Return the most promising rule for the given number of draws.

    The rules are compared on releases (n, columns) of both datasets that were not used to train the
    scores.
    """
    rules = [
        _thresholds(f"{name}{' reversed' if sign < 0 else ''}", _signed(score, sign), sides, draws)
        for name, score in scores.items()
        for sign in (1, -1)
    ]
    return max(rules, key=lambda rule: rule.promise)


def _signed(score: Score, sign: int) -> Score:
    return lambda releases: sign * score(releases)


def _thresholds(name: str, score: Score, sides: list[Floats], draws: int) -> Rule:
    """Return the rule with the best two thresholds for a score.

    One of them may be infinite; the rule then never names the dataset on that side.
    """
    first, second = (score(side) for side in sides)
    together = np.concatenate([first, second])
    values = np.unique(np.quantile(together, TAILS, method="nearest"))
    low, high = np.append(values, -np.inf), np.append(values, np.inf)
    # Shares of right and of wrong guesses, as arrays (low thresholds, high thresholds).
    right = _share(first, low)[:, None] + _share(-second, -high)[None, :]
    wrong = _share(second, low)[:, None] + _share(-first, -high)[None, :]
    # Where there were no wrong guesses in this sample, assume one: they are still possible.
    wrong = np.maximum(wrong, 1 / len(first))
    with np.errstate(divide="ignore"):
        error = np.sqrt(1 / right + 1 / wrong)
        lower = error * math.hypot(CAUTION[0] / len(first) ** 0.5, CAUTION[1] / (draws / 2) ** 0.5)
        promise = np.where(low[:, None] < high, np.log(right / wrong) - lower, -np.inf)
    row, column = np.unravel_index(np.argmax(promise), promise.shape)
    return Rule(name, score, float(low[row]), float(high[column]), float(promise[row, column]))


def _share(scores: Floats, thresholds: Floats) -> Floats:
    """Return, for each threshold, the share of the scores that are at or below it."""
    return np.asarray(np.searchsorted(np.sort(scores), thresholds, side="right") / len(scores))


def play(
    draw: DrawMany,
    rule: Rule,
    *,
    claim: float,
    most: int,
    batch: int,
    chance: float,
    coin: int,
    delta: float = 0.0,
) -> Guesses:
    """Play the game for at most `most` draws; end as soon as a batch of draws disproves the claim.

    The claim is an epsilon at `delta`. `coin` is the seed of the coin that chooses the dataset of
    each draw.
    """
    random = np.random.default_rng(coin)
    total = Guesses()
    while total.draws < most and not disproved(total, claim, chance, delta):
        size = min(batch, most - total.draws)
        # The rule is fixed, so the order of draws within a batch does not matter.
        second = int(random.binomial(size, 0.5))
        for side, number in enumerate((size - second, second)):
            if number:
                total += rule.guesses(side, draw(side, number))
    return total
