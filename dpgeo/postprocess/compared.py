"""Counts of the same features in several maps of a series, from which readers see changes.

Everything is computed from published counts, so it costs no privacy. Three kinds of maps can be
compared: maps with all counts of a grid, of zones or of places; maps with lists of cells or of
pairs of regions, in which a count is known only if it reached a public threshold; and flows that
are not divided into slices, which consist of departures, arrivals and a list of pairs.

Lists. A feature that is not listed in a map has a noisy count below the threshold T. If a feature
is listed in both of two maps, the change is the difference of the two counts. If it is listed in
one map only, with the count z, its two noisy counts differ by at least z - (T - 1). If it is listed
in neither map, nothing is known about a change. So the rule for changes that stand out
(`postprocess.periods`) holds with n possible features, listed or not: if the known difference, or
the lower bound on it, is larger than c, the difference of the two noisy counts is larger than c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import (
    Content,
    FlowsRelease,
    GridRelease,
    PlacesRelease,
    SparseRelease,
    ZonesRelease,
)
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.periods import largest_by_noise
from dpgeo.spatial.area import StudyArea

Ints = NDArray[np.int64]

MOST_PLACES = 200_000
"""Largest number of places in a map that can be compared with others. A map of more places does not
store the counts of all of them.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Counts of n features in p maps.

    `counts`, int64 (p, n), have independent noise of the distribution `noise`. If `least` is 0, all
    counts are known. Otherwise only counts from `least` on are known, and 0 stands for the others;
    `keys`, int64 (n,), ascending, are the numbers of the features that are listed in any map, out
    of `possible` features that could have been.
    """

    counts: Ints
    noise: DiscreteLaplace
    possible: int
    least: int = 0
    keys: Ints | None = None

    @property
    def by_noise(self) -> int:
        """The largest difference that noise may cause in any of the possible features."""
        return largest_by_noise(self.noise, self.possible)

    def facts(self) -> dict[str, Any]:
        """Return what a page needs to distinguish counts and changes from noise, as JSON values.

        A listed count has the margin of `selected_margin`: `reach` if it is at least that far above
        the threshold, else the larger of the count and `margin`. Margins with `change_` in their
        names fail half as often, so that the sum of two such margins is a margin of the change.
        """
        rate = float(self.noise.rate)
        listed = {
            "least": self.least,
            "reach": math.ceil(math.log(40) / rate),
            "change_reach": math.ceil(math.log(80) / rate),
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
    """The counts that a map shows; for flows, departures and listed pairs, too.

    For flows, `main` holds the arrivals, and the key of a pair is origin * n + destination.
    """

    main: Table
    departures: Table | None = None
    pairs: Table | None = None


def can_compare(content: Content) -> bool:
    """Return whether maps with contents like this one can be compared."""
    if isinstance(content, PlacesRelease):
        return len(content.keys) <= MOST_PLACES
    if isinstance(content, FlowsRelease):
        return len(content.keys) == 1
    return isinstance(content, (GridRelease, ZonesRelease, SparseRelease))


def slim(content: Content) -> Content:
    """Return a content without the counts of pairs that no map lists, which may be very many."""
    if not isinstance(content, FlowsRelease) or content.sparse or not can_compare(content):
        return content
    pair = np.flatnonzero(content.pairs >= content.threshold)
    return replace(content, sparse=True, listed=pair, pairs=content.pairs[pair])


def compared(contents: Sequence[Content], area: StudyArea) -> Compared | None:
    """Return the counts of maps of one series, or None if they cannot be compared.

    Contents of flows must be slim.
    """
    first = contents[0]
    alike: list[Any] = [each for each in contents if type(each) is type(first)]
    if len(alike) < len(contents) or not all(map(can_compare, contents)):
        return None
    if len({each.noise for each in alike}) > 1:
        return None
    noise: DiscreteLaplace = alike[0].noise
    if isinstance(first, FlowsRelease):
        return _flows(alike)
    if isinstance(first, SparseRelease):
        if len({(each.threshold, each.grid) for each in alike}) > 1:
            return None
        possible = first.grid.inside_runs(area).size
        listed = [(each.cells, each.counts) for each in alike]
        return Compared(_listed(listed, noise, possible, first.threshold))
    if isinstance(first, GridRelease):
        inside = first.grid.inside(area)
        rows = [each.counts[inside] for each in alike if each.counts.shape == inside.shape]
    else:
        rows = [each.counts for each in alike]
    if len(rows) < len(alike) or len({each.size for each in rows}) > 1:
        return None
    return Compared(_all(rows, noise))


def _flows(contents: Sequence[FlowsRelease]) -> Compared | None:
    first = contents[0]
    n = len(first.zones)
    facts = {(len(each.zones), each.sum_noise, each.threshold) for each in contents}
    if len(facts) > 1:
        return None
    pairs = []
    for each in contents:
        apart = each.listed // n != each.listed % n
        pairs.append((each.listed[apart], each.pairs[apart]))
    return Compared(
        main=_all([each.arriving[0] for each in contents], first.sum_noise),
        departures=_all([each.leaving[0] for each in contents], first.sum_noise),
        pairs=_listed(pairs, first.noise, n * (n - 1), first.threshold),
    )


def _all(rows: Sequence[Ints], noise: DiscreteLaplace) -> Table:
    counts = np.array(rows, dtype=np.int64)
    return Table(counts=counts, noise=noise, possible=counts.shape[1])


def _listed(
    maps: Sequence[tuple[Ints, Ints]], noise: DiscreteLaplace, possible: int, least: int
) -> Table:
    """Return the table of maps that list counts; each map is a pair (keys, counts).

    Keys are ascending. `possible` and `least` are explained at `Table`.
    """
    keys = np.unique(np.concatenate([keys for keys, _ in maps]))
    counts = np.zeros((len(maps), keys.size), dtype=np.int64)
    for row, (listed, values) in zip(counts, maps, strict=True):
        row[np.searchsorted(keys, listed)] = values
    return Table(counts=counts, noise=noise, possible=possible, least=least, keys=keys)
