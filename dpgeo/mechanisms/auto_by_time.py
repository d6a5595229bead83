"""Adaptive heatmap by time: counts in phases in every time slice, with inferred surfaces.

Idea. Do in every public slice of local time what `auto` does for a single map, under one
contribution bound and one division of epsilon. A pilot measurement counts the records in each
slice. Then equal squares are counted in each slice, of a size that suits the slice's number of
records, and after that squares of different sizes: a square is split if the surface of its slice,
as inferred so far, expects a count of more than a few noise scales in it. At the end, the counts of
all phases give a surface of cells for each slice.

Privacy argument. Every phase, the pilot included, counts pairs of a public slice and a public
square. Within a slice the squares are disjoint, so every pair of a slice and a cell is in at most
one counted pair (`PrivateCounts.regroup`). The slice of a record depends on its own time, and on
its own value of the category if there is one; a record without a time is in no slice. A privacy
unit adds at most l to the counts of all slices together, since the contribution bound holds over
all of them. So the vector of a phase, over all slices, has L1 sensitivity l, and measuring it with
a share f of epsilon is (f epsilon)-differentially private. (A bound of l for each of s slices would
make the sensitivity s l.) One division of epsilon serves all slices. The squares, the shares of
epsilon and the labels of a phase depend only on public inputs and the noisy counts of earlier
phases, of whichever slice. Shares are chosen after the pilot measurement, but always add up exactly
to the declared unallocated epsilon (`Meter.divide`). Fix a whole sequence of outputs: the form of
every phase is then the same on any two neighbouring datasets, and the probability of the sequence
changes by at most the product of the factors e^(f epsilon) of its phases, which is e^epsilon. The
surfaces, the choice of squares and everything else are post-processing. Squares outside the study
area are known to be empty and are not counted.

Under zCDP. Squares that add up a person's cells have the squared sensitivity l^2, over all slices
together. Single cells of distinct people have l, also over all slices. If that is at most a quarter
of l^2, the phase after the pilot counts every cell of every slice. The argument is that of `auto`.

Utility. Each square of the last phase carries noise of scale l/(f epsilon), where the phase's share
f is at least LAST_SHARE; the square's noisy count is released along with the surface.
docs/mechanisms/auto-by-time.md compares the errors with those of `time-slices`.

References. The references of `auto`; for counts over time slices as one vector, Dwork, McSherry,
Nissim and Smith 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.categories import find_category
from dpgeo.core.domain import Domain
from dpgeo.core.parameters import param
from dpgeo.core.released import PhasedSlicesRelease
from dpgeo.core.slices import SlicedGrid, slices_param
from dpgeo.core.spend import Spend
from dpgeo.mechanisms.sliced_survey import SlicedSurvey, cells_by_time, slices_fact
from dpgeo.mechanisms.survey import (
    FEWER,
    LAST_SHARE,
    PILOT_SHARE,
    UNALLOCATED,
    Phase,
    counts_every_cell,
    level_for,
    phases_after,
    whole_scale,
)
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import even, where_expected
from dpgeo.postprocess.surface import infer
from dpgeo.privacy.bounding import usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView

PILOT = "pilot: number of people in each slice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of automatic heatmaps by time."""

    cells: int = param(
        128,
        "Cells along each side of the finest map of a slice.",
        low=1,
        high=512,
        beyond="For finer cells choose auto, which counts all times together.",
    )
    slices: str = slices_param()
    category: str = param(
        "",
        "The declared category by which the map is divided, too; empty for none.",
        category=True,
        optional=True,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare a fiftieth of epsilon for the pilot of all slices, and the rest as unallocated."""
    pilot = epsilon * PILOT_SHARE
    return [
        Spend(label=PILOT, epsilon=pilot),
        Spend(label=UNALLOCATED, epsilon=epsilon - pilot, unallocated=True),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> PhasedSlicesRelease:
    """Measure the pilot, choose the phases, count in each over all slices, and infer surfaces."""
    sliced = counted(params, view.domain)
    inside = sliced.grid.inside(view.domain.area)
    cells = view.sliced_histogram(sliced)
    survey = SlicedSurvey(sliced, cells, inside, meter)
    totals = survey.measure(PILOT, [even(each, 0) for each in survey.measurements])
    scale = whole_scale(survey.noise[0])
    signals = [max(float(total[0]), 0.0) / scale for total in totals]
    phases = phases_after(float(np.mean(signals)), survey.measurements[0].inside)
    if every := counts_every_cell(meter, cells):
        phases = [Phase(share=1 - PILOT_SHARE, level=survey.measurements[0].depth)]
    labels = [_label(number, phase) for number, phase in enumerate(phases, start=1)]
    shares = [phase.share / (1 - PILOT_SHARE) for phase in phases]
    meter.divide(UNALLOCATED, dict(zip(labels, shares, strict=True)))
    for label, phase in zip(labels, phases, strict=True):
        if every:
            survey.measure(label, [even(own, own.depth) for own in survey.measurements])
            continue
        scale = survey.scale_of(label)
        pairs = zip(survey.measurements, signals, strict=True)
        survey.measure(label, [_nodes(own, signal, phase, scale) for own, signal in pairs])
    return survey.content()


def _nodes(measurements: NodeMeasurements, signal: float, phase: Phase, scale: float) -> Masks:
    """Return a mask for each level of a slice's quadtree: which squares a phase counts.

    `signal` is the expected number of records in the slice in units of l/epsilon, and `scale` the
    phase's noise scale.
    """
    if phase.level is None:
        return where_expected(measurements, infer(measurements).cells, phase.limit * scale)
    return even(measurements, max(level_for(signal, measurements.inside) - phase.coarser, 0))


def _label(number: int, phase: Phase) -> str:
    if phase.level is not None:
        size = "coarse" if phase.coarser else "equal"
        return f"phase {number}: {size} squares in each slice, by its total"
    return f"phase {number}: areas of each slice split above {phase.limit:g} times the noise"


def counted(params: Params, domain: Domain) -> SlicedGrid:
    """Return the cells of all slices.

    Raises InvalidInput for data without times, or without the category.
    """
    category = find_category(domain.categories, params.category) if params.category else None
    return cells_by_time(domain, params.cells, params.slices, category)


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise in the count of a square of the last phase.

    The number of squares depends on the data, so only its maximum is forecast: the number of cells
    of all slices. Raises InvalidInput for data without times, or without the category.
    """
    sliced = counted(params, domain)
    noise = law.sums(epsilon * LAST_SHARE, bound)
    every = law.gaussian and law.distinct and bound >= FEWER
    if every:
        noise = law.counts(epsilon * (1 - PILOT_SHARE), bound)
    return Forecast(
        region="cell" if every else "area",
        regions=len(sliced.slices) * int(np.count_nonzero(sliced.grid.inside(domain.area))),
        noise=noise,
        ground_metres=sliced.grid.ground_cell_metres,
        facts=(slices_fact(sliced.slices),),
        alike=every,
        divided=not every,
        maps=len(sliced.slices),
    )


MECHANISM = Mechanism(
    key="auto-by-time",
    title="Fine where busy, by time",
    summary="A map for each part of the day or day of the week: small squares where people crowd, "
    "large ones elsewhere, and a surface inferred from all counts of its slice.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    subjects=(subjects.TIMES,),
    by_time=True,
    regions=usual_regions,
    counted=counted,
)
