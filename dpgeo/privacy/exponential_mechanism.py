"""Exponential mechanism that replaces places within public bins.

What is drawn. Persons are the virtual users that real persons were assigned to
(`privacy.person_records`). Public bins divide the candidate places. For person u and bin b, w(u, b)
is a whole number that was paid for (a noisy count, truncated at 0). Of the n places that u has in
b, the first w in the bin's public order are kept; if n < w, the first w - n places of that order,
repeated cyclically, are appended. Each kept place t is replaced by a candidate c of its bin with
probability proportional to exp(-r q(t, c)), where q(t, c) = min(K, floor(K d(t, c)/D)) is a whole
number from 0 to K, d the distance, D the bin's diameter, and r = epsilon/(2 K l). Then persons get
fresh labels by a uniformly random permutation, and the places of a person are sorted.

Privacy argument. Compare datasets that differ in the at most l places that a real person adds to
one virtual user, whatever else that virtual user has, given the same w. Adding one place to a bin
changes what is kept there by at most one substitution: with w <= n it may push out the last of the
first w, with w > n it takes the place of the last one appended. So the kept places differ in at
most l substitutions, each within a bin. For any t, t', c the weights differ by a factor of at most
e^(rK), and so do their sums over c: the log-ratio of the probabilities of a choice is at most
2 r K = epsilon/l. Draws are independent. An outcome is a multiset of places, whose probability is a
sum, over the assignments of its places to draws, of products in which at most l factors differ,
each by a factor of at most e^(epsilon/l). So the log-ratio of the probabilities of any outcome is
at most epsilon. Fresh labels prevent linking persons between releases.

Finite precision. A candidate is proposed uniformly (by rejection, exactly) and accepted if a
geometric G of rate r, drawn exactly by `sampler`, is at least q: with probability exp(-r q),
exactly. No weight is ever rounded. Distances are computed in floating point, but they enter only
through q, a whole number between 0 and K, and the argument holds for any such q. The mean number of
proposals is at most e^(epsilon/(2 l)) and at most the number of places in the bin. Proposals are
counted cyclically from the place itself, so that random words of 0, as in tests, leave a place
unchanged.

References. McSherry and Talwar 2007 (exponential mechanism); Zhu, Li, Zhou and Yu 2017, section
12.4.3. Their candidates and distances come from private data; here both are public.
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
"""K of the module docstring: the number of distance steps within a bin."""

CHUNK = 1 << 20
"""Places drawn at a time, which bounds memory."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Disjoint public bins of places.

    `of_place` (n,) is the bin of each place, `order` (n,) lists places by bin and rank, `start`
    (bins + 1,) is where each bin starts in `order`, `rank` (n,) is the rank of each place within
    its bin, `diameter` (bins,) is in metres, and `at` are the places' positions.
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
        """Build bins whose places are ranked by `away` (n,), nearest first.

        `away` is each place's distance from the centre of its bin.
        """
        order = np.lexsort((np.arange(len(of_place)), away, of_place))
        start = np.searchsorted(of_place[order], np.arange(bins + 1))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - start[of_place[order]]
        spans = (order[start[each] : start[each + 1]] for each in range(bins))
        diameters = np.array([diameter(Centres(at.x[span], at.y[span])) for span in spans])
        return cls(of_place, order, start.astype(np.int64), rank, diameters, at)


def fit_to_counts(persons: Ints, places: Ints, wanted: Ints, bins: Bins) -> tuple[Ints, Ints]:
    """Truncate or extend each person's places (m,) in a bin to the number in `wanted`.

    `wanted` (persons, bins) is w of the module docstring. Returns the persons and places of all
    places kept or appended.
    """
    group = persons * len(bins) + bins.of_place[places]
    order = np.lexsort((bins.rank[places], group))
    group, places, persons = group[order], places[order], persons[order]
    available = np.bincount(group, minlength=wanted.size)
    first = np.cumsum(available) - available
    early = np.arange(len(group)) - first[group] < wanted.ravel()[group]
    missing = np.maximum(wanted.ravel() - available, 0)
    extended = np.repeat(np.arange(wanted.size), missing)
    turn = np.arange(len(extended)) - np.repeat(np.cumsum(missing) - missing, missing)
    person, bin_number = np.divmod(extended, len(bins))
    size = np.diff(bins.start)[bin_number]
    appended = bins.order[bins.start[bin_number] + turn % size]
    return np.concatenate([persons[early], person]), np.concatenate([places[early], appended])


def replace_places(places: Ints, bins: Bins, rate: Fraction, random: RandomWords) -> Ints:
    """Draw a substitute for each place (m,) from its bin (exponential mechanism)."""
    drawn = np.empty(len(places), dtype=np.int64)
    for begin in range(0, len(places), CHUNK):
        chunk = slice(begin, begin + CHUNK)
        drawn[chunk] = _replace_chunk(places[chunk], bins, rate, random)
    return drawn


def _replace_chunk(places: Ints, bins: Bins, rate: Fraction, random: RandomWords) -> Ints:
    drawn = np.empty(len(places), dtype=np.int64)
    pending = np.arange(len(places))
    while pending.size:
        place = places[pending]
        number = bins.of_place[place]
        size = np.diff(bins.start)[number]
        shift = draw_uniform(size, random)
        proposed = bins.order[bins.start[number] + (bins.rank[place] + shift) % size]
        score = scores(place, proposed, bins)
        accepted = sample_geometric(rate, pending.size, random) >= score
        drawn[pending[accepted]] = proposed[accepted]
        pending = pending[~accepted]
    return drawn


def scores(places: Ints, others: Ints, bins: Bins) -> Ints:
    """Return the distance q from each place to its candidate (n,), in whole steps.

    The module docstring defines q, which is at most STEPS; `others` are the candidates.
    """
    at = bins.at
    distance = ground_metres(
        Centres(at.x[places], at.y[places]), Centres(at.x[others], at.y[others])
    )
    diameters = bins.diameter[bins.of_place[places]]
    share = np.divide(distance, diameters, out=np.zeros_like(distance), where=diameters > 0)
    return np.asarray(np.minimum(STEPS * share, STEPS), dtype=np.int64)


def draw_uniform(size: Ints, random: RandomWords) -> Ints:
    """Draw a whole number from 0 to size - 1 for each size (n,), exactly uniformly."""
    outcomes = size.astype(np.uint64)
    words = random.words(len(size)).copy()
    # The `over` largest words, 2^64 mod size of them, are rejected and drawn again, so that every
    # remainder is equally likely.
    over = (np.uint64(0) - outcomes) % outcomes
    last = ~over
    while (again := np.flatnonzero(words > last)).size:
        words[again] = random.words(again.size)
    return np.asarray(words % outcomes, dtype=np.int64)


def draw_permutation(size: int, random: RandomWords) -> Ints:
    """Draw a uniformly random permutation of 0 to size - 1 (Fisher and Yates)."""
    order = list(range(size))
    swaps = draw_uniform(np.arange(1, size + 1), random).tolist()
    for place in range(size - 1, 0, -1):
        other = swaps[place]
        order[place], order[other] = order[other], order[place]
    return np.array(order, dtype=np.int64)
