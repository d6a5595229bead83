"""Range answers: estimated counts in any box or polygon, from measured counts.

An answer adds up the counts of the measured regions inside the query region. If the query's outline
cuts a measured region, the count is multiplied by the share of the measured region's ground (within
the study area) that lies inside the query region. This assumes that people are evenly spread in the
measured region. Outside the study area every count is 0, which is public.

Inferred counts. If every part of a map was measured several times (auto, adaptive-grid, quadtree),
an answer adds up what was inferred from all counts, which is closer to the truth than any sum of
the last counts alone; see `postprocess.surface_areas` and `postprocess.tree_areas` for the
intervals. What follows is about all other releases, and about the layer of measured partitions.

Which counts. Only counts with fresh noise are used: cells of a grid, the last counts of a partition
or of phases, leaves of a tree, listed cells of a sparse grid, zones. Noisy counts from which a
partition was grown are not used, because the partition depends on their noise and they would be
biased. Of overlapping zones, a disjoint selection that covers much of the query region is used; it
is chosen by the zones' outlines alone.

Intervals. They cover 95 % of the noise of the sum, exactly so if the sum consists of whole counts;
see `postprocess.noise_sums`. Where a query cuts partitions or leaves of a tree, which were chosen
to fit the people in them, the interval also allows for unevenness in them (`areas.UNEVEN_ERRORS`);
where it cuts cells or zones it does not. Intervals estimate the sum of the bounded counts of the
measured regions, in which a person in two regions is counted in both. Such a sum is therefore a
number of sightings. Only a single count of a region in which nobody counts twice is a number of
people.

If nothing was added up there is no estimate: 0 would claim that nobody was there, although nothing
was counted there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import shapely

from dpgeo.core.counted import Counted, counted_in_sum, counted_once, people_between
from dpgeo.core.released import Released
from dpgeo.postprocess.areas import Cover, Inferred, Shapes, check_work
from dpgeo.postprocess.layers import make_areas, make_valued, select_slice
from dpgeo.postprocess.noise_sums import margin_of_shares, margin_of_sum
from dpgeo.postprocess.typical import Average, RegionQuartiles, ValuedAreas
from dpgeo.spatial.coverage import as_array, edges_of
from dpgeo.spatial.prepared import prepared

EXACT = "The interval is exact for the noise."
INFERRED = (
    "The estimate is inferred from all counts of this map together. The interval is a model's, "
    "checked on generated maps: part of it is the noise that is left."
)
UNEVEN = (
    "The other part is how unevenly people may be spread in the measured areas that the region's "
    "edge cuts."
)
UNMEASURED = "No count that was published lies in this region."
CUT = (
    "The region's edge cuts measured areas, which add the share of their ground that lies within. "
    "The interval holds the noise alone: how unevenly people are spread there is unknown."
)
CUT_UNEVENLY = (
    "The region's edge cuts measured areas, which add the share of their ground that lies within. "
    "The interval holds the noise and a model, checked on generated maps, of how unevenly people "
    "may be spread there."
)
TOO_FEW_RECORDS = "There are too few records in the region for a mean or a median."
OUTSIDE = "The region lies outside the study area, where nobody was counted."


class Reason(StrEnum):
    """Reason why a query region has no estimate."""

    OUTSIDE = "outside"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeAnswer:
    """Estimated count in a query region, with the half-width `margin` of its 95 % interval.

    Both are NaN if nothing was added up; `reason` then says why. `noise` is the part of the margin
    that noise causes, and `model` the part for how people may be spread in measured regions that
    the query region cuts; the margin is the root of the sum of their squares. `model` is None if
    the margin does not include such a part. If `exact`, only whole counts were added up, and their
    noise is the only error. `areas` is the number of measured regions used, and `cut` the number of
    these that were used in part. `counted` says what is counted: people, sightings or visits.
    `people` holds the fewest and the most people that the estimate can stand for, if that is known.
    In a release of averages, `average` is the mean; in a release of quartiles, `quartiles` holds
    the quartiles. In both, the estimate is the number of records from which they are computed.
    `notes` are sentences to show with the answer.
    """

    estimate: float
    margin: float
    noise: float
    model: float | None
    exact: bool
    areas: int
    cut: int
    counted: Counted
    people: tuple[int, int] | None
    average: Average | None = None
    quartiles: RegionQuartiles | None = None
    reason: Reason | None = None
    notes: tuple[str, ...]


GEOMETRY_COLLECTION = 7

MAX_BORDER = 200_000
"""Largest number of edges of the study area's outline that may lie near a request's regions.

This many edges take about 0.3 s of CPU time.
"""


class Ranges:
    """Answers to range queries on one release.

    `layer` is the name of a time slice's layer, or "partitions" to add up measured counts where
    answers otherwise come from an inferred surface; if it is empty, all slices are added up. Raises
    Conflict for a release without counts of regions, and InvalidInput (field "layer") for an
    unknown slice.
    """

    def __init__(self, released: Released, *, layer: str = "") -> None:
        self._area, self._released = released.area, released
        content = select_slice(released.content, layer) if layer else released.content
        self._valued = make_valued(content, released.area)
        self._areas = self._valued.areas if self._valued else make_areas(content, released.area)

    def answer(self, regions: Sequence[Any]) -> list[RangeAnswer]:
        """Estimate the counts in valid polygons in degrees, longitude first.

        Raises InvalidInput if the work would take too long.
        """
        within = self._within(as_array(regions))
        inside = np.flatnonzero(shapely.area(within) > 0)
        answers = [self._nothing(Reason.OUTSIDE, (OUTSIDE,))] * len(regions)
        if inside.size:
            found: Iterable[RangeAnswer]
            if self._valued:
                found = self._typical(self._valued, within[inside])
            else:
                found = map(self._answer, self._areas.covers(within[inside]))
            for index, answer in zip(inside.tolist(), found, strict=True):
                answers[index] = answer
        return answers

    def _typical(self, valued: ValuedAreas, regions: Shapes) -> Iterator[RangeAnswer]:
        """Yield, for each query region, the answer with the mean or the quartiles of a measure."""
        for cover, found in valued.typical(regions):
            answer = self._added(cover)
            if answer.reason is not None:
                yield answer
                continue
            yield replace(
                answer,
                estimate=found.records,
                margin=found.margin,
                noise=found.margin,
                people=self._people(answer.counted, found.records, found.margin),
                average=found.average,
                quartiles=found.quartiles,
                notes=(*answer.notes, *(() if found.told else (TOO_FEW_RECORDS,))),
            )

    def _within(self, regions: Shapes) -> Shapes:
        """Return regions (n,) clipped to the study area."""
        regions[shapely.covers(regions, self._area.shape)] = self._area.shape
        beyond = ~shapely.covers(prepared(self._area.shape), regions)
        self._check_border(regions[beyond])
        cut = shapely.intersection(regions[beyond], self._area.shape)
        # If outlines only touch, the intersection also contains lines and points; a buffer of 0
        # drops them.
        mixed = shapely.get_type_id(cut) == GEOMETRY_COLLECTION
        cut[mixed] = shapely.buffer(cut[mixed], 0)
        regions[beyond] = cut
        return regions

    def _check_border(self, regions: Shapes) -> None:
        """Raise InvalidInput if clipping regions (n,) to the study area would take too long.

        The time grows with the number of border edges near each region. Each edge further away
        costs about a tenth as much.
        """
        corners = int(shapely.get_num_coordinates(self._area.shape))
        brief = len(regions) * corners // 10
        check_work(brief, MAX_BORDER)
        frames = shapely.box(*shapely.bounds(regions).T)
        check_work(brief + len(self._border.query(frames)[0]), MAX_BORDER)

    @cached_property
    def _border(self) -> shapely.STRtree:
        """Return a spatial index of the edges of the study area's outline."""
        edges = edges_of(as_array([self._area.shape]))
        starts, ends = np.stack([edges.x0, -edges.y0], 1), np.stack([edges.x1, -edges.y1], 1)
        return shapely.STRtree(shapely.linestrings(np.stack([starts, ends], 1)))

    def _answer(self, cover: Cover | Inferred) -> RangeAnswer:
        return self._inferred(cover) if isinstance(cover, Inferred) else self._added(cover)

    def _inferred(self, cover: Inferred) -> RangeAnswer:
        if not cover.areas:
            return self._nothing(Reason.UNMEASURED, (UNMEASURED,))
        counted = self._counted(False)
        return RangeAnswer(
            estimate=cover.estimate,
            margin=cover.margin,
            noise=cover.noise,
            model=cover.model,
            exact=False,
            areas=cover.areas,
            cut=cover.cut,
            counted=counted,
            people=self._people(counted, cover.estimate, cover.margin),
            notes=(INFERRED, UNEVEN) if cover.cut else (INFERRED,),
        )

    def _added(self, cover: Cover) -> RangeAnswer:
        whole, cut = sum(cover.whole.values()), len(cover.values)
        if not whole + cut:
            return self._nothing(Reason.UNMEASURED, (UNMEASURED, *cover.notes))
        modelled = cut and self._areas.modelled
        notes = (*((CUT_UNEVENLY if modelled else CUT,) if cut else ()), *cover.notes)
        estimate, noise = cover.total + float(cover.values @ cover.shares), _margin(cover)
        model = (cover.uneven if modelled else None) if cut else 0.0
        margin = math.hypot(noise, model) if model else noise
        counted = self._counted(self._areas.once and whole + cut == 1)
        return RangeAnswer(
            estimate=estimate,
            margin=margin,
            noise=noise,
            model=model,
            exact=not notes,
            areas=whole + cut,
            cut=cut,
            counted=counted,
            people=self._people(counted, estimate, margin),
            notes=notes or (EXACT,),
        )

    def _nothing(self, reason: Reason, notes: tuple[str, ...]) -> RangeAnswer:
        return RangeAnswer(
            estimate=math.nan,
            margin=math.nan,
            noise=math.nan,
            model=None,
            exact=False,
            areas=0,
            cut=0,
            counted=self._counted(False),
            people=None,
            reason=reason,
            notes=notes,
        )

    def _counted(self, one: bool) -> Counted:
        """Return what an answer counts: people, sightings or visits.

        `one` is true if the answer is a single count, and false if it is a sum of several counts.
        """
        counting, bound = self._released.counting, self._released.bound
        return counted_once(counting) if one else counted_in_sum(counting, bound)

    def _people(self, counted: Counted, estimate: float, margin: float) -> tuple[int, int] | None:
        """Return the fewest and the most people behind an answer, or None if that is not known.

        It is not given if people are counted, because the answer is then itself a number of people,
        or if low counts were not published.
        """
        if counted is Counted.PEOPLE or not self._areas.complete:
            return None
        unit, bound = self._released.guarantee.unit, self._released.bound
        return people_between(estimate - margin, estimate + margin, unit, bound)


def _margin(cover: Cover) -> float:
    if not cover.values.size:
        return float(margin_of_sum(cover.whole))
    counts = np.array(list(cover.whole.values()), dtype=np.float64)
    scales = np.array([noise.scale for noise in cover.whole])
    # A sum of k counts, each with noise of the same scale, has the variance of one count with noise
    # of scale * sqrt(k).
    some = counts > 0
    spread = scales[some] * np.sqrt(counts[some])
    return margin_of_shares(
        np.concatenate([spread, cover.scales]),
        np.concatenate([np.ones(spread.size), cover.shares]),
        cover.tail,
    )
