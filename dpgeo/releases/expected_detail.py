"""Detail and totals to expect for a guessed number of people, from public inputs alone.

Mechanisms that divide a map where people crowd make squares about as small as the noise allows: a
square is divided if it seems to hold more people than stand out from the noise. How small squares
become therefore depends on how many people there are, which only the publisher can guess. The side
of a square is computed, without noise, from people invented as for a rehearsal
(`spatial.invented_people`), whose number is scaled to the guess, so it is close to what the
rehearsal shows. In rehearsals, the side of the median square was between half and twice the
computed one for *Fine where busy*, and between a fifth and five times for DPCube and adaptive
grids. No private data are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.counted import Counted
from dpgeo.core.guarantees import Notion, Unit
from dpgeo.datasets.models import Dataset
from dpgeo.privacy.law import Law
from dpgeo.privacy.mechanism import Forecast
from dpgeo.privacy.totals import PEOPLE, SIGHTINGS, VISITS
from dpgeo.privacy.totals import split as split_totals
from dpgeo.releases.requests import PricedRequest
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.invented_people import invent_people

SAMPLE = 10_000
"""Number of invented people, each of whom stands for a share of the guessed number."""


@dataclass(frozen=True, slots=True)
class ExpectedTotal:
    """A total that a request pays for, with its margin, for a guessed number of people.

    `counted` says what is added up. One person adds at most `most`; the total is lost in its noise
    unless the average person adds at least `needed`.
    """

    counted: Counted
    margin: int
    needed: int
    most: int

    @property
    def lost(self) -> bool:
        """Whether the total is below its margin of error even if everybody adds `most`."""
        return self.needed > self.most

    @property
    def unsure(self) -> bool:
        """Whether it depends on the data if the total exceeds its margin of error."""
        return 1 < self.needed <= self.most


def expected_totals(request: PricedRequest, people: int) -> tuple[ExpectedTotal, ...]:
    """Return the totals that a request pays for, as they would be if there were `people` people."""
    plan = request.totals_plan
    spends, _ = split_totals(request.amount, plan, request.counting)
    if plan is None:
        return ()
    law = Law(gaussian=request.notion is Notion.ZCDP)
    most = {
        PEOPLE: (Counted.PEOPLE, 1),
        SIGHTINGS: (Counted.SIGHTINGS, plan.sightings),
        VISITS: (Counted.VISITS, plan.visits),
    }
    expected = []
    for spend in spends:
        counted, each = most[spend.label]
        margin = law.sums(spend.amount, each).margin()
        expected.append(ExpectedTotal(counted, margin, margin // people + 1, each))
    return tuple(expected)


def usual_side(
    dataset: Dataset, request: PricedRequest, forecast: Forecast, people: int
) -> float | None:
    """Return the side in metres of the square in which the median person would be counted.

    It is None if the regions of the map do not depend on how many people there are.
    """
    least = forecast.stands_out_from
    if not forecast.divided or least is None:
        return None
    bound = request.bound if Unit(dataset.unit) is Unit.PERSON else None
    places = _places(dataset.area, bound)
    whole = Grid.over(dataset.area, 1).ground_cell_metres
    depth = max(0, round(log2(whole / forecast.ground_metres)))
    level = _median_level(places, depth, least * forecast.maps * SAMPLE / people)
    return forecast.ground_metres if level == depth else whole / 2**level


@lru_cache(maxsize=16)
def _places(area: StudyArea, bound: int | None) -> NDArray[np.float64]:
    """Return where SAMPLE invented people are counted, as fractions (n, 2) of the study area's box.

    Each person is counted at most `bound` times or, if it is None, at each of their sightings.
    """
    invented = invent_people(area, SAMPLE)
    person = invented.person
    first = np.searchsorted(person, person)
    kept = slice(None) if bound is None else np.arange(len(person)) - first < bound
    box = Grid.over(area, 1)
    across = (invented.x[kept] - box.west) / box.cell
    down = (box.north - invented.y[kept]) / box.cell
    return np.clip(np.column_stack([across, down]), 0, np.nextafter(1, 0))


def _median_level(places: NDArray[np.float64], depth: int, limit: float) -> int:
    """Return the median, over positions (n, 2), of the level of the square that holds a position.

    At level 0 the square is the whole box. A square with more than `limit` of the positions is
    divided into four squares of the next level, up to the level `depth`.
    """
    levels = np.zeros(len(places), dtype=np.int64)
    open_ = np.arange(len(places))
    for level in range(depth):
        side = 1 << level
        at = np.floor(places[open_] * side).astype(np.int64) @ np.array([1, side])
        _, square, count = np.unique(at, return_inverse=True, return_counts=True)
        open_ = open_[count[square] > limit]
        levels[open_] = level + 1
    return ceil(float(np.median(levels)))
