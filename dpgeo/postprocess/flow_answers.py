"""Answers on flows: numbers of trips from one area to another, added up from measured pairs.

The trips between two areas are the sum of the noisy counts of all pairs of an origin in the first
area and a destination in the second. If an area cuts a region, the count of a pair is multiplied by
the share of the region's ground that lies in the area; if both areas cut the pair's regions, it is
multiplied by both shares. If only the origin (or the destination) is given, measured departures (or
arrivals) are added up, with the noise of one count for each region. The interval covers the noise
as in `postprocess.ranges`, but not how unevenly trips are spread within a region.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.counted import Counted, counted_in_sum, counted_once, people_between
from dpgeo.core.errors import Conflict
from dpgeo.core.noise import CountNoise
from dpgeo.core.released import FlowsRelease, Released
from dpgeo.postprocess.areas import check_work, clipped_shares
from dpgeo.postprocess.layers import select_slice
from dpgeo.postprocess.layers.flows import slices_of
from dpgeo.postprocess.noise_sums import margin_of_shares, margin_of_sum
from dpgeo.postprocess.ranges import CUT, EXACT, UNMEASURED, RangeAnswer, Reason
from dpgeo.postprocess.zone_areas import MAX_CLIPPED_PIECES
from dpgeo.spatial.coverage import as_array
from dpgeo.spatial.prepared import prepared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNLISTED = (
    "Flows whose noisy counts stayed below {least:,} were not drawn and add nothing; what they "
    "hold is not in the interval."
)


class FlowAnswers:
    """Answers to queries with an origin, a destination or both.

    `layer` is the name of the flows of one slice of time; if it is empty, all slices are added up.
    Raises Conflict for a release without flows, and InvalidInput for an unknown slice.
    """

    def __init__(self, released: Released, *, layer: str = "") -> None:
        content = select_slice(released.content, layer) if layer else released.content
        if not isinstance(content, FlowsRelease):
            raise Conflict("This release has no flows; ask with bbox, or choose one that has.")
        self._released, self._content = released, content
        self._shapes = content.zones.shapes.copy()
        self._tree = shapely.STRtree(self._shapes)

    def answer(self, origin: Any | None, destination: Any | None) -> RangeAnswer:
        """Estimate the trips from one valid polygon in degrees to another; None means anywhere."""
        given = [each for each in (origin, destination) if each is not None]
        touched = [np.sort(self._tree.query(each)) for each in given]
        work = sum(map(self._work, given, touched))
        # A request may name two areas, and its limit applies to the work for both together.
        check_work(work, MAX_CLIPPED_PIECES)
        shares_of_ends = [self._shares(*each) for each in zip(given, touched, strict=True)]
        if len(given) == 1:
            values, shares = self._ends(shares_of_ends[0], arriving=origin is None)
            return self._added(values, shares, self._content.sum_noise)
        values, shares = self._pairs(*shares_of_ends)
        answer_notes: tuple[str, ...] = ()
        if self._content.sparse:
            answer_notes = (UNLISTED.format(least=self._content.threshold),)
        single = len(values) == 1
        return self._added(values, shares, self._content.noise, answer_notes, single=single)

    def _work(self, area: Any, touched: Ints) -> int:
        """Return the work of clipping the regions with the indices `touched` to `area`.

        It is counted in vertices: for each region, its own and those of `area`.
        """
        corners = shapely.get_num_coordinates(self._shapes[touched]).sum()
        return int(corners + len(touched) * shapely.get_num_coordinates(area))

    def _shares(self, area: Any, touched: Ints) -> Floats:
        """Return the share (n,) of each region's ground in an area.

        `touched` (m,) are the indices of the regions near the area; all others have the share 0.
        """
        shares = np.zeros(len(self._shapes))
        if len(touched):
            areas = as_array([prepared(area)] * len(touched))
            shares[touched] = clipped_shares(self._shapes[touched], areas, self._released.area)
        return shares

    def _ends(self, shares: Floats, *, arriving: bool) -> tuple[Floats, Floats]:
        content, used = self._content, shares > 0
        counts = content.arriving if arriving else content.leaving
        values = counts[:, used].astype(np.float64).ravel()
        return values, np.tile(shares[used], len(counts))

    def _pairs(self, origin: Floats, destination: Floats) -> tuple[Floats, Floats]:
        """Return the noisy counts (m,) of pairs between two areas, and their weights (m,).

        `origin` and `destination` (n,) are the shares of the regions' ground in the two areas; a
        pair's weight is the product of its two shares.
        """
        n = len(self._shapes)
        if not self._content.sparse:
            return self._dense(origin, destination)
        values, shares = [], []
        for part in slices_of(self._content):
            start, end = part.pair // n, part.pair % n
            share = origin[start] * destination[end]
            used = share > 0
            if not self._content.within:
                used &= start != end
            values.append(part.count[used].astype(np.float64))
            shares.append(share[used])
        return np.concatenate(values), np.concatenate(shares)

    def _dense(self, origin: Floats, destination: Floats) -> tuple[Floats, Floats]:
        """Return the counts and weights of `_pairs` for a release with the counts of all pairs.

        `origin` and `destination` (n,) are the shares of the regions' ground in the two areas.
        """
        n, rows, columns = len(self._shapes), np.flatnonzero(origin), np.flatnonzero(destination)
        counts = self._content.pairs.reshape(-1, n, n)[:, rows[:, None], columns]
        shares = np.outer(origin[rows], destination[columns])
        used = shares > 0
        if not self._content.within:
            used &= rows[:, None] != columns
        return counts[:, used].astype(np.float64).ravel(), np.tile(shares[used], len(counts))

    def _added(
        self,
        values: Floats,
        shares: Floats,
        noise: CountNoise,
        notes: tuple[str, ...] = (),
        *,
        single: bool = False,
    ) -> RangeAnswer:
        """Return the answer whose estimate is the sum of `values`, each times its share.

        `single` is true if the sum consists of a single pair. `notes` are sentences to show with
        the answer.
        """
        released = self._released
        counted = counted_in_sum(released.counting, released.bound)
        if single:
            counted = counted_once(released.counting)
        if not values.size:
            nothing = float("nan")
            return RangeAnswer(
                estimate=nothing,
                margin=nothing,
                noise=nothing,
                model=None,
                exact=False,
                areas=0,
                cut=0,
                counted=counted,
                people=None,
                reason=Reason.UNMEASURED,
                notes=(UNMEASURED, *notes),
            )
        cut = int(np.count_nonzero(shares < 1.0))
        estimate = float(values @ shares)
        if cut:
            margin = margin_of_shares(np.full(shares.size, noise.scale), shares, noise.tail(0.025))
        else:
            margin = float(margin_of_sum({noise: shares.size}))
        people = None
        if counted is not Counted.PEOPLE and not notes:
            ends = estimate - margin, estimate + margin
            people = people_between(*ends, released.guarantee.unit, released.bound)
        said = (*((CUT,) if cut else ()), *notes)
        return RangeAnswer(
            estimate=estimate,
            margin=margin,
            noise=margin,
            model=None if cut else 0.0,
            exact=not said,
            areas=int(shares.size),
            cut=cut,
            counted=counted,
            people=people,
            notes=said or (EXACT,),
        )
