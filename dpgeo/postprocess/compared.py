"""Counts of the same features in several maps of a series, from which readers see changes.

Everything is computed from published counts, so it costs no privacy. Three kinds of maps can be
compared: maps with all counts of a grid, of zones or of places; maps with lists of cells or of
pairs of regions, in which a count is known only if it reached a public threshold; and flows that
are not divided into slices, which consist of departures, arrivals and a list of pairs.

Lists. A feature that is not listed in a map has a noisy count below the threshold T. If a feature
is listed in both of two maps, the change is the difference of the two counts. If it is listed in
one map only, with the count z, its two noisy counts differ by at least z - (T - 1). If it is listed
in neither map, nothing is known about a change. So the rule that changes above a limit c stand out
(`postprocess.periods`) holds with n possible features, listed or not: if the known difference, or
the lower bound on it, is larger than c, the difference of the two noisy counts is larger than c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.periods import largest_by_noise

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Counts of n features in p maps.

    `counts`, int64 (p, n), have independent noise of the distribution `noise`. If `least` is 0, all
    counts are known. Otherwise only counts from `least` on are known, and 0 stands for unknown
    counts; `keys`, int64 (n,), ascending, are the numbers of the features that are listed in any
    map, out of `possible` features that might have been listed.
    """

    counts: Ints
    noise: CountNoise
    possible: int
    least: int = 0
    keys: Ints | None = None

    @property
    def by_noise(self) -> int:
        """The largest difference between two maps' counts of a feature that noise alone may cause.

        In 19 of 20 pairs of maps between which nothing changed, no possible feature differs more.
        """
        return largest_by_noise(self.noise, self.possible)

    def facts(self) -> dict[str, Any]:
        """Return what a page needs to distinguish counts and changes from noise, as JSON values.

        In maps that list counts, the margin of a count (`sparse.selected_margin`) is "reach" if the
        count is at least "reach" above the threshold, else the larger of the count and "margin".
        "change_reach" and the listed "change_margin" give margins that fail half as often, so that
        the sum of two of them is a margin of the change from one map to another.
        """
        listed = {
            "least": self.least,
            "reach": self.noise.reach(1 / 40),
            "change_reach": self.noise.reach(1 / 80),
            "change_margin": self.noise.margin(0.975),
        }
        return {
            "margin": self.noise.margin(),
            "threshold": max(self.least, self.noise.threshold()),
            "change_margin": margin_of_sum({self.noise: 2}),
            "by_noise": self.by_noise,
            "listed": listed if self.least else None,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The counts in several maps; for flows, also of departures and of listed pairs.

    For flows, `main` holds the arrivals, and the key of a pair is origin * n + destination.
    """

    main: Table
    departures: Table | None = None
    pairs: Table | None = None


def table_of_all(rows: Sequence[Ints], noise: CountNoise) -> Table:
    """Return the table of maps that publish the count of every feature.

    Each of `rows` holds one map's n counts, in the order of the features.
    """
    counts = np.array(rows, dtype=np.int64)
    return Table(counts=counts, noise=noise, possible=counts.shape[1])


def table_of_lists(
    maps: Sequence[tuple[Ints, Ints]], noise: CountNoise, possible: int, least: int
) -> Table:
    """Return the table of maps that list counts; each map is a pair (keys, counts).

    Keys are the numbers of the listed features, ascending. A map lists counts from `least` on;
    `possible` is the number of keys that it might have listed.
    """
    keys = np.unique(np.concatenate([keys for keys, _ in maps]))
    counts = np.zeros((len(maps), keys.size), dtype=np.int64)
    for row, (listed, values) in zip(counts, maps, strict=True):
        row[np.searchsorted(keys, listed)] = values
    return Table(counts=counts, noise=noise, possible=possible, least=least, keys=keys)
