"""What right and wrong guesses prove about epsilon, after any number of draws.

The game. A fair coin chooses one of two neighbouring datasets, a release of it is drawn, and the
attacker names the dataset or abstains. If the claim epsilon holds, then given any release that
makes the attacker guess, the guess is right with probability at most p = e^epsilon/(1 + e^epsilon):
the odds are 1 before the release, and no release multiplies them by more than e^epsilon.

The bound. Start with a capital of 1, and choose x between 0 and 1. Multiply the capital by 1 + x
e^-epsilon after each right guess, and by 1 - x after each wrong one. If the claim holds, the
expected capital never grows (p (1 + x e^-epsilon) + (1 - p) (1 - x) = 1 for the largest p), so the
probability that the capital ever reaches 1/chance is at most `chance` (Ville 1939). This holds for
the mean over several x, too, and after every draw, so an audit may stop as soon as the capital
suffices. The rule by which the attacker guesses is fixed before the draws that are counted.

Delta. Let Z be 1 for a right guess, -e^epsilon for a wrong one and 0 for an abstention. The mean of
Z is half the sum of P(E) - e^epsilon Q(E) and Q(F) - e^epsilon P(F), where P and Q are the
distributions of the releases of the two datasets, E is the set of releases for which the attacker
names the first dataset, and F that for which the attacker names the second. So this mean is at most
the hockey-stick divergence, which the claim says is 0. Bets on Z - delta in place of Z bound the
divergence from below; for delta = 0 they are the bets above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BETS = np.array([0.03, 0.06, 0.1, 0.16, 0.24, 0.36, 0.55, 0.85])
"""Values of x, the share of the capital that is bet; each has a capital of its own.

For a claim of 2, 0.16 is the best one if the true epsilon is 1.1 times as large.
"""

STEP = 0.002
"""Step between the values of epsilon that `least_epsilon` tries in turn."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """Numbers of right guesses, wrong guesses and abstentions."""

    right: int = 0
    wrong: int = 0
    abstained: int = 0

    @property
    def draws(self) -> int:
        """Number of releases drawn from both datasets together."""
        return self.right + self.wrong + self.abstained

    @property
    def log_odds(self) -> float:
        """Log-odds of a right guess, with half a guess added to the right and to the wrong ones.

        Without this, they would be infinite if there were no right or no wrong guesses.
        """
        return math.log((self.right + 0.5) / (self.wrong + 0.5))

    def __add__(self, other: Guesses) -> Guesses:
        return Guesses(
            self.right + other.right, self.wrong + other.wrong, self.abstained + other.abstained
        )


def log_capital(counts: Floats, epsilon: float, delta: float = 0.0) -> Floats:
    """Return the log of the capital won by betting against epsilon and delta, as an array (...).

    `counts` (..., 3) are the right guesses, wrong guesses and abstentions. If epsilon and delta
    hold, the log ever reaches log(1/chance) with probability at most `chance`.
    """
    # A wrong guess has Z - delta = -(e^epsilon + delta). Bets are divided by e^epsilon + delta, so
    # that a wrong guess loses at most the whole capital.
    most = math.exp(epsilon) + delta
    bets = BETS / most
    factors = np.log1p([bets * (1 - delta), -bets * most, -bets * delta])
    return np.asarray(np.logaddexp.reduce(counts @ factors, axis=-1) - math.log(BETS.size))


def disproved(guesses: Guesses, epsilon: float, chance: float, delta: float = 0.0) -> bool:
    """Return whether the guesses disprove epsilon and delta.

    If the claim holds, this is wrongly true with probability at most `chance`.
    """
    counts = np.array([guesses.right, guesses.wrong, guesses.abstained], dtype=np.float64)
    return bool(log_capital(counts, epsilon, delta) >= -math.log(chance))


def least_epsilon(guesses: Guesses, chance: float, delta: float = 0.0) -> float:
    """Return a lower confidence bound on epsilon at `delta`.

    The guesses disprove every lower epsilon.
    """
    steps = 0
    while disproved(guesses, steps * STEP, chance, delta):
        steps += 1
    return max(0, steps - 1) * STEP


def least_delta(guesses: Guesses, epsilon: float, chance: float) -> float:
    """Return a lower confidence bound on the hockey-stick divergence at epsilon, in steps of
    0.0001.
    """
    steps = 0
    while steps < 10_000 and disproved(guesses, epsilon, chance, steps / 10_000):
        steps += 1
    return max(0, steps - 1) / 10_000


def power(
    right: float,
    wrong: float,
    *,
    claim: float,
    draws: int,
    batch: int,
    chance: float,
    delta: float = 0.0,
) -> float:
    """Return the simulated probability that at most `draws` draws disprove a claim.

    The claim is an epsilon at `delta`. It is checked after each batch. `right` and `wrong` are the
    probabilities of a right and of a wrong guess in one draw.
    """
    random = np.random.default_rng(1)
    shares = [right, wrong, max(0.0, 1 - right - wrong)]
    seen = random.multinomial(batch, shares, (1000, max(1, draws // batch))).cumsum(axis=1)
    capital = log_capital(seen.astype(np.float64), claim, delta)
    return float(np.mean(capital.max(axis=1) >= -math.log(chance)))


def best_guesses(epsilon: float) -> tuple[float, float]:
    """Return the probabilities of a right and a wrong guess about one count with Laplace noise.

    The attacker guesses on the half of each dataset's releases in which the noisy count is below
    the smaller count or above the larger one. No attacker can guess better under pure differential
    privacy.
    """
    return 0.5, 0.5 * math.exp(-epsilon)


def best_gaussian_guesses(rho: float, epsilon: float) -> tuple[float, float]:
    """Return the probabilities of a right and a wrong guess about counts with Gaussian noise.

    The attacker guesses where the likelihood ratio exceeds e^epsilon, which is best against a claim
    of epsilon at a delta (Neyman and Pearson). If the noise is for `rho`, the logarithm of the
    ratio is normal with mean rho and variance 2 rho.
    """
    deviation = math.sqrt(2 * rho)
    log_ratio = NormalDist()
    return log_ratio.cdf((rho - epsilon) / deviation), log_ratio.cdf((-rho - epsilon) / deviation)
