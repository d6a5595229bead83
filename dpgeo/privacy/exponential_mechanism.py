"""Replacing places: as many of each person's as a noisy count says, each by one of its bin.

What is drawn. People are the made-up ones that real people were dealt to
(`privacy.person_records`). Public bins divide the candidate places. For person u and bin b, w(u, b)
is a whole number that was paid for (a noisy count, cut at 0). Of the n places that u has in b, the
w that come first in the bin's public order are kept; if n < w, the first w - n places of that
order, over and over, are appended. Each kept place t is replaced by a candidate c of its bin with a
probability proportional to exp(-r q(t, c)), where q(t, c) = min(K, floor(K d(t, c)/D)) is a whole
number from 0 to K, d the distance, D the bin's diameter, and r = epsilon/(2 K l). Then people get
fresh labels by a uniformly random permutation, and places of a person are sorted.

Privacy argument. Datasets are compared that differ in the at most l places that a real person adds
to one made-up person, whatever else that one has, given the same w. Adding one place to a bin
changes what is kept there by at most one substitution: with w <= n it may push out the last of the
first w, with w > n it takes the place of the last one appended. So the kept places differ in at
most l substitutions, each within a bin. For any t, t', c the weights differ by a factor of at most
e^(rK), and so do their sums over c: the log-ratio of the probabilities of a choice is at most
2 r K = epsilon/l. Draws are independent; a multiset's probability is a sum over assignments of
products in which at most l factors differ, each by at most e^(epsilon/l): in all at most epsilon.
Fresh labels keep people of one release apart from those of the next. []

Finite precision. A candidate is proposed uniformly (by rejection, exactly) and accepted if a
geometric G of rate r, drawn exactly by `sampler`, is at least q: with probability exp(-r q),
exactly. No weight is ever rounded. Distances are in floating point, but enter through the whole
number q between 0 and K alone, and the argument holds for any such q. On average it takes at most
e^(epsilon/(2 l)) proposals and no more than the bin has places. Proposals are counted from the
place itself on, so that words of zeros leave it where it is.

References. McSherry and Talwar 2007 (exponential mechanism); Zhu, Li, Zhou and Yu 2017, section
12.4.3, whose candidates and distances come from private data and are public here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.sampler import sample_geometric
from dpgeo.spatial.centres import Centres, ground_metres
from dpgeo.spatial.places import diameter

STEPS = 4096
"""K of the module: how finely distances within a bin are told apart."""

MOST_DRAWN = 1 << 20
"""Places drawn at a time, which bounds the memory."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Disjoint public bins of places: the bin of each (n,), places in order of bin and rank, where
    each bin starts in that order (bins + 1,), the rank of each place, and diameters in metres.
    """

    of_place: Ints
    order: Ints
    start: Ints
    rank: Ints
    diameter: NDArray[np.float64]
    at: Centres

    def __len__(self) -> int:
        return len(self.diameter)

    @classmethod
    def ranked(cls, of_place: Ints, bins: int, at: Centres, away: NDArray[np.float64]) -> Bins:
        """Bins whose places are ordered by `away` (n,), their distance from the bin's centre."""
        order = np.lexsort((np.arange(len(of_place)), away, of_place))
        start = np.searchsorted(of_place[order], np.arange(bins + 1))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - start[of_place[order]]
        spans = (order[start[each] : start[each + 1]] for each in range(bins))
        wide = np.array([diameter(Centres(at.x[held], at.y[held])) for held in spans])
        return cls(of_place, order, start.astype(np.int64), rank, wide, at)


def kept(persons: Ints, places: Ints, wanted: Ints, bins: Bins) -> tuple[Ints, Ints]:
    """Persons (m,) and places (m,) that are kept or appended; `wanted` is w (people, bins)."""
    group = persons * len(bins) + bins.of_place[places]
    order = np.lexsort((bins.rank[places], group))
    group, places, persons = group[order], places[order], persons[order]
    held = np.bincount(group, minlength=wanted.size)
    first = np.cumsum(held) - held
    early = np.arange(len(group)) - first[group] < wanted.ravel()[group]
    missing = np.maximum(wanted.ravel() - held, 0)
    lacking = np.repeat(np.arange(wanted.size), missing)
    turn = np.arange(len(lacking)) - np.repeat(np.cumsum(missing) - missing, missing)
    who, bin_number = np.divmod(lacking, len(bins))
    size = np.diff(bins.start)[bin_number]
    appended = bins.order[bins.start[bin_number] + turn % size]
    return np.concatenate([persons[early], who]), np.concatenate([places[early], appended])


def replaced(places: Ints, bins: Bins, rate: Fraction, random: RandomWords) -> Ints:
    """A place for each (m,), of the same bin, drawn by the exponential mechanism; see above."""
    found = np.empty(len(places), dtype=np.int64)
    for begin in range(0, len(places), MOST_DRAWN):
        part = slice(begin, begin + MOST_DRAWN)
        found[part] = _replaced(places[part], bins, rate, random)
    return found


def _replaced(places: Ints, bins: Bins, rate: Fraction, random: RandomWords) -> Ints:
    found = np.empty(len(places), dtype=np.int64)
    open_ = np.arange(len(places))
    while open_.size:
        place = places[open_]
        number = bins.of_place[place]
        size = np.diff(bins.start)[number]
        shift = uniform(size, random)
        proposed = bins.order[bins.start[number] + (bins.rank[place] + shift) % size]
        score = scores(place, proposed, bins)
        accepted = sample_geometric(rate, open_.size, random) >= score
        found[open_[accepted]] = proposed[accepted]
        open_ = open_[~accepted]
    return found


def scores(places: Ints, others: Ints, bins: Bins) -> Ints:
    """q of the module (n,), whole numbers from 0 to STEPS."""
    at = bins.at
    away = ground_metres(Centres(at.x[places], at.y[places]), Centres(at.x[others], at.y[others]))
    wide = bins.diameter[bins.of_place[places]]
    share = np.divide(away, wide, out=np.zeros_like(away), where=wide > 0)
    return np.asarray(np.minimum(STEPS * share, STEPS), dtype=np.int64)


def uniform(size: Ints, random: RandomWords) -> Ints:
    """A whole number from 0 to size - 1 for each size (n,), every one exactly as likely."""
    outcomes = size.astype(np.uint64)
    words = random.words(len(size)).copy()
    # 2^64 mod size; words from the last, incomplete round on are drawn again.
    over = (np.uint64(0) - outcomes) % outcomes
    last = ~over
    while (again := np.flatnonzero(words > last)).size:
        words[again] = random.words(again.size)
    return np.asarray(words % outcomes, dtype=np.int64)


def permutation(size: int, random: RandomWords) -> Ints:
    """A uniformly random permutation of 0 to size - 1 (Fisher and Yates)."""
    found = list(range(size))
    swaps = uniform(np.arange(1, size + 1), random).tolist()
    for place in range(size - 1, 0, -1):
        other = swaps[place]
        found[place], found[other] = found[other], found[place]
    return np.array(found, dtype=np.int64)
