"""Private choice of the contribution bound l, by the exponential mechanism.

What is drawn. Let c be the number of a person's contributions: of counted regions if people are
counted, of rows in counted regions if visits are counted. Let N be the number of people with c >=
1, and A(l) the number of those with c <= l. Public candidates are the numbers of `candidates` from
1 to the public limit m of the request. Their utility is u(l) = -|A(l) - q N| for the public q =
`QUANTILE`: it is 0 where l is a q-quantile of the contributions. l is drawn with a probability
proportional to w(l) exp(epsilon_l u(l)/(2 D)), where w(l) is a public weight and D = max(q, 1 - q),
and it is published. The map is then measured with the bound l.

Privacy argument. Adding a person with c contributions changes A(l) - q N by 1 - q where l >= c, and
by -q where l < c; a person with c = 0 changes nothing. So by the triangle inequality u(l) changes
by at most D = max(q, 1 - q) for each l. A weight w(l) exp(epsilon_l u(l)/(2 D)) therefore changes
by a factor between exp(-epsilon_l/2) and exp(epsilon_l/2), and so does the sum of all weights. The
probability of any l, which is the quotient of the two, changes by a factor of at most
exp(epsilon_l), so the draw is epsilon_l-differentially private (McSherry and Talwar 2007). Removing
a person is the same change backwards. The changes have both signs (q where l is above the quantile,
-q where it is below), so the factor 2 cannot be left out. N is private, and only enters through u;
the w(l) are public and cancel.

Given l, each person's contributions are bounded to l by a function of that person's own rows
(`privacy.bounding`), and everything that is measured afterwards has the sensitivity that belongs to
l, whatever the data. l follows from an answer that is paid for. So by adaptive composition the draw
and the map, measured with epsilon - epsilon_l, are epsilon-differentially private together. l holds
for all cells, slices and phases of the map at once, like a bound that the request names.

Under zCDP. The logarithms of the quotients of the two probabilities, over all l, lie in an interval
of length epsilon_l, because the logarithms of the weights' quotients do, and the sums are the same
for all l. This makes the draw (epsilon_l^2/8)-zCDP (Cesar and Rogers 2021). To see it, let L be
this logarithm for an l drawn from the second distribution, and K(a) = log E exp(a L). Then K(0) =
K(1) = 0, and K'' is the variance of L under a tilted distribution, at most epsilon_l^2/4. So K(a) -
a (a - 1) epsilon_l^2/8 is concave in a and 0 at 0 and 1, hence at most 0 for a > 1: the Renyi
divergence of order a is at most a epsilon_l^2/8. Of a share rho_l of rho, the largest epsilon_l
with eight decimals and epsilon_l^2/8 <= rho_l is used (`epsilon_for`).

Households. A household of k people that has epsilon together gives each of them epsilon/k, of which
the draw gets its share. The argument above holds for each person, so k of them lose k times as
much, or k^2 times the rho, as with any other measurement.

Drawn once. The worker stores l before it measures anything else, and an attempt that follows a
killed one uses the stored l (`releases.private_draw`). So how long the counting takes, or how much
memory it needs, which depends on l, cannot select among draws of l. If a person is erased between
the attempts, l stays as it was drawn from the older data: it was paid for, and there is no second
draw.

Finite precision. q is a/`PARTS` for an integer a, so `PARTS` u is an integer of sensitivity max(a,
`PARTS` - a). A candidate is proposed with a probability exactly proportional to w(l), which is an
integer, and accepted if a geometric variable of rate epsilon_l/(2 max(a, `PARTS` - a)) is at least
`PARTS` (max u - u(l)), which has a probability of exactly exp(-epsilon_l (max u - u(l))/(2 D)). No
weight is ever rounded.

References. McSherry and Talwar 2007 (exponential mechanism); Cesar and Rogers 2021 (bounded range).
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.bound_choice import PARTS, QUANTILE
from dpgeo.core.errors import PrivacyError
from dpgeo.core.spend import Spend
from dpgeo.phrases import translatable
from dpgeo.privacy.counts import Opaque
from dpgeo.privacy.exponential_mechanism import draw_uniform
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sampler import sample_geometric

BOUND = translatable("choice of the bound")

STEPS = (1, 2, 3, 5, 7)
"""Candidate bounds are these numbers times powers of ten, and the largest bound allowed."""

PROPOSALS = 256
"""Number of candidate bounds that are proposed at a time.

The first candidate that is accepted becomes the bound.
"""

PRECISION = 10**8

TWICE = 2 * max(QUANTILE.numerator, PARTS - QUANTILE.numerator)
"""Twice the sensitivity of u(l), the utility of a bound l, in units of 1/PARTS.

The module docstring defines u(l).
"""

Ints = NDArray[np.int64]


class PrivateContributions(Opaque):
    """The number of people with each number of contributions; only a Meter can read it.

    `people[c]`, int64 (most + 2,), is the number of people with c contributions, and the last entry
    the number of people with more than `most`. `people[0]` is 0. One person adds 1 to one entry.
    """

    __slots__ = ("__people", "_most")

    __people: Ints
    _most: int

    def __init__(self, people: NDArray[np.integer[Any]]) -> None:
        if people.dtype.kind not in "iu" or people.ndim != 1 or len(people) < 3 or people[0]:
            raise TypeError("Contributions are numbers of people, by how many each person has.")
        object.__setattr__(self, "_PrivateContributions__people", people.astype(np.int64))
        object.__setattr__(self, "_most", len(people) - 2)

    @property
    def most(self) -> int:
        """The largest number of contributions with a count of people of its own.

        It is public. People with more contributions are counted together.
        """
        return self._most

    def _read_by_meter(self) -> Ints:
        """Return the numbers of people by number of contributions. Only a Meter may call this."""
        return self.__people

    def __repr__(self) -> str:
        return f"PrivateContributions(most={self._most})"


def split(epsilon: Fraction, percent: int) -> tuple[list[Spend], Fraction]:
    """Return the spend, in a list, that pays for the choice of the bound, and its epsilon.

    Its epsilon is `percent` per cent of `epsilon`; the list is empty if that is 0.
    """
    if percent == 0:
        return [], Fraction(0)
    spent = epsilon * Fraction(percent, 100)
    return [Spend(label=BOUND, epsilon=spent)], spent


def candidates(most: int) -> Ints:
    """Return the public candidates for a bound of at most `most`, ascending."""
    powers = range(len(str(operator.index(most))))
    numbers = {step * 10**power for power in powers for step in STEPS}
    return np.array(sorted({each for each in numbers if each < most} | {most}), dtype=np.int64)


def weights(most: int) -> Ints:
    """Return the public weight of each candidate bound l, an integer of about most/l.

    If there are so few people that the candidates' utilities differ little, the weights make small
    bounds, which need little noise, more likely.
    """
    return most // candidates(most)


def penalties(people: Ints) -> Ints:
    """Return how far the utility u(l) of each candidate l is below the best utility.

    The result is an integer, in units of 1/PARTS. The module docstring defines u. `people` holds
    the number of people by number of contributions (`PrivateContributions`).
    """
    below = np.cumsum(people)[candidates(len(people) - 2)]
    distance = np.abs(PARTS * below - QUANTILE.numerator * int(people.sum()))
    return np.asarray(distance - distance.min(), dtype=np.int64)


def draw(people: Ints, epsilon: Fraction, random: RandomWords) -> int:
    """Draw a contribution bound.

    `people` holds the number of people by number of contributions (`PrivateContributions`).
    """
    numbers, penalty = candidates(len(people) - 2), penalties(people)
    ends = np.cumsum(weights(len(people) - 2))
    while True:
        ticket = draw_uniform(np.full(PROPOSALS, ends[-1]), random)
        proposed = np.searchsorted(ends, ticket, side="right")
        accepted = sample_geometric(epsilon / TWICE, PROPOSALS, random) >= penalty[proposed]
        if accepted.any():
            return int(numbers[proposed[np.argmax(accepted)]])


def epsilon_for(rho: Fraction) -> Fraction:
    """Return the largest epsilon, with eight decimals, of which epsilon^2/8 is at most `rho`.

    Raises PrivacyError if there is none.
    """
    units = math.isqrt(int(8 * rho * PRECISION**2))
    if not units:
        raise PrivacyError("So little rho cannot pay for a choice of the bound.", field="epsilon")
    return Fraction(units, PRECISION)
