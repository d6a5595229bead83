"""Exponential mechanism that replaces places within public bins.

What is drawn. "Persons" here are the virtual users to which real persons were assigned
(`privacy.person_records`). Public bins divide the candidate places. For person u and bin b, w(u, b)
is a noisy count, truncated at 0, that has already been paid for. Of the n places that u has in b,
the first w in the bin's public order are kept. If n < w, the first w - n places of that order,
repeated cyclically, are appended. Each resulting place t is replaced by a candidate c of its bin
with probability proportional to exp(-r q(t, c)). Here q(t, c) = min(K, floor(K d(t, c)/D)) is an
integer from 0 to K, the number of steps (STEPS), d is the distance, D the bin's diameter, and r =
epsilon/(2 K l), where l is the contribution bound. Then persons get new labels by a uniformly
random permutation, and the places of each person are sorted.

Privacy argument. Take datasets that differ in one real person, who adds at most l places to one
virtual user. The other places of that virtual user are arbitrary, and w, which was paid for before,
is given. Adding one place to a bin changes the places to be replaced by at most one substitution:
if w <= n, it may displace the last of the first w; if w > n, it displaces the last appended place.
So these places differ in at most l substitutions, each within a bin. For any t, t', c the weights
differ by a factor of at most e^(rK), and so do their sums over c. The log-ratio of the
probabilities of a choice is therefore at most 2 r K = epsilon/l. Draws are independent. An outcome
is a multiset of places. Its probability is a sum over the assignments of its places to draws; each
term is a product in which at most l factors differ, each by a factor of at most e^(epsilon/l). So
the log-ratio of the probabilities of any outcome is at most epsilon. New labels prevent linking
persons between releases.

Finite precision. A candidate is proposed exactly uniformly (by rejection). It is accepted if a
geometric G of rate r, drawn exactly by `sampler`, is at least q, which has a probability of exactly
exp(-r q). No weight is ever rounded. Distances are computed in floating point, but they enter only
through q, an integer between 0 and K, and the argument holds for any such q. The mean number of
proposals is at most e^(epsilon/(2 l)) and at most the number of places in the bin. A proposal is
drawn as a number of steps along the bin's list of candidates, cyclically, starting at the place
itself, so that tests whose random words are all 0 leave places unchanged.

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
"""K in the module docstring: distances within a bin are rounded down to one of K steps."""

CHUNK = 1 << 20
"""Number of places drawn at a time, which limits the memory used."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Disjoint public bins of places.

    `of_place` (n,) is the bin of each place, and `rank` (n,) its rank in that bin, by distance from
    the bin's centre. `order` (n,) lists the places by bin and rank; the places of bin b are
    `order[start[b]:start[b + 1]]`. `diameter` (bins,) is the largest distance between two places of
    a bin, in metres. `at` holds the positions of the places.
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
        """Build `bins` bins, in which places are ranked by their distances `away` (n,).

        These are distances from the centre of the place's bin, `of_place` (n,).
        """
        order = np.lexsort((np.arange(len(of_place)), away, of_place))
        start = np.searchsorted(of_place[order], np.arange(bins + 1))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - start[of_place[order]]
        spans = (order[start[each] : start[each + 1]] for each in range(bins))
        diameters = np.array([diameter(Centres(at.x[span], at.y[span])) for span in spans])
        return cls(of_place, order, start.astype(np.int64), rank, diameters, at)


def fit_to_counts(persons: Ints, places: Ints, wanted: Ints, bins: Bins) -> tuple[Ints, Ints]:
    """Truncate or extend each person's places in each bin to the number in `wanted`.

    `persons` (m,) and `places` (m,) are pairs of a person and a place. `wanted` (people, bins) is w
    in the module docstring. Returns the pairs that are kept, followed by the appended ones.
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
    """Return q (n,): how far each of the `places` (n,) is from the candidate in `others` (n,).

    The candidate may replace the place and is in the same bin. q is their distance in steps of
    1/STEPS of the bin's diameter, rounded down: an integer from 0 to STEPS.
    """
    at = bins.at
    distance = ground_metres(
        Centres(at.x[places], at.y[places]), Centres(at.x[others], at.y[others])
    )
    diameters = bins.diameter[bins.of_place[places]]
    share = np.divide(distance, diameters, out=np.zeros_like(distance), where=diameters > 0)
    return np.asarray(np.minimum(STEPS * share, STEPS), dtype=np.int64)


def draw_uniform(size: Ints, random: RandomWords) -> Ints:
    """Draw an exactly uniform integer from 0 to s - 1 for each entry s of `size` (n,)."""
    outcomes = size.astype(np.uint64)
    words = random.words(len(size)).copy()
    # The 2^64 mod size largest 64-bit words are redrawn, so that every remainder is equally likely.
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
