"""Auto: a pilot measurement, counts in phases, and a surface inferred from all counts.

Idea. First measure roughly how many records there are, which shows how much detail epsilon can
resolve. Then count a grid of equal squares, whose number follows from this total: about as many as
have counts that stand out from the noise. Then count squares of different sizes: a square is split
if the surface inferred so far expects a count of more than a few noise scales in it. How many times
squares are chosen depends on the total, and for some totals on how concentrated the counts of equal
squares are. So squares are small where there are many people and large elsewhere. The squares of
the last phase are the map of measured counts. The counts of all phases together give one surface of
cells by empirical Bayes estimation: neighbouring squares help to tell how much of a noisy count is
noise.

Privacy argument. Every phase counts disjoint, public squares. Their counts are sums of the same
bounded cells, with every cell in at most one square (`PrivateCounts.regroup`), and a privacy unit
adds at most l to them in total. So measuring this vector of L1 sensitivity l with a share f of
epsilon is (f epsilon)-differentially private. The squares, the share of epsilon and the label of a
phase depend only on public inputs and the noisy counts of earlier phases. Shares are chosen after
the pilot measurement, and for some totals once more after the grid of equal squares, but always add
up exactly to the declared unallocated epsilon (`Meter.divide`). Fix a whole sequence of outputs:
the form of every phase is then the same on any two neighbouring datasets, and the probability of
the sequence changes by at most the product of the factors e^(f epsilon) of its phases, which is
e^epsilon. The surface, the choice of squares and everything else is post-processing. Squares
outside the study area are known to be empty and are not counted.

Under zCDP. A square that adds up a person's cells may change by l, so phases of squares have the
squared sensitivity l^2. Single cells of distinct people have l. If that is at most a quarter of
l^2, the phase after the pilot counts every cell, and the surface is inferred from these counts;
whether it does depends on public numbers alone. Otherwise phases are as above. Their rhos add up
to the declared rho (`Meter.divide`).

Utility. Each square of the last phase carries noise of scale l/(f epsilon), where the phase's share
f is at least LAST_SHARE. For range counts over location maps, the error of the inferred surface is
0.72 times the error of the best other mechanism; docs/mechanisms/accuracy.md gives the figures and
the cases in which auto is worse.

References. Adaptive grids: Qardaji, Yang and Li 2013; least squares on trees: Hay, Rastogi, Miklau
and Suciu 2010; empirical Bayes: Robbins 1956; privacy of adaptively chosen epsilons: Rogers, Roth,
Ullman and Vadhan 2016 (for pure epsilon, a fixed sum suffices).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.parameters import param
from dpgeo.core.released import PhasedRelease
from dpgeo.core.spend import Spend
from dpgeo.mechanisms.survey import (
    FEWER,
    FIRST_SHARE,
    LAST_SHARE,
    LATER,
    PILOT_SHARE,
    UNALLOCATED,
    Phase,
    Survey,
    counts_every_cell,
    level_for,
    looks_twice,
    phases_after,
    phases_after_look,
    whole_scale,
)
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import even, where_expected
from dpgeo.postprocess.surface import infer
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

PILOT = "pilot: number of people"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of Auto."""

    cells: int = param(
        256,
        "Cells along each side of the finest map.",
        low=1,
        high=2048,
        beyond="For finer cells choose privtree, or sparse-grid beyond 4096.",
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare a fiftieth of epsilon for the pilot, and the rest as unallocated."""
    pilot = epsilon * PILOT_SHARE
    return [
        Spend(label=PILOT, epsilon=pilot),
        Spend(label=UNALLOCATED, epsilon=epsilon - pilot, unallocated=True),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> PhasedRelease:
    """Measure the pilot, choose the phases, count in each, and infer the surface."""
    grid = Grid.over(view.domain.area, params.cells)
    inside = grid.inside(view.domain.area)
    cells = view.histogram(grid)
    survey = Survey(grid, cells, inside, meter)
    total = survey.measure(PILOT, even(survey.measurements, 0))
    measurements = survey.measurements
    if counts_every_cell(meter, cells):
        every_cell = Phase(share=1 - PILOT_SHARE, level=measurements.depth)
        _count(survey, meter, UNALLOCATED, [every_cell])
        return survey.content()
    signal = max(float(total[0]), 0.0) / whole_scale(survey.noise[0])
    if looks_twice(signal):
        level = level_for(signal, measurements.inside)
        later = 1 - PILOT_SHARE - FIRST_SHARE
        _count(survey, meter, UNALLOCATED, [Phase(share=FIRST_SHARE, level=level)], later)
        phases = phases_after_look(measurements, infer(measurements).cells, level)
        _count(survey, meter, LATER, phases)
    else:
        _count(survey, meter, UNALLOCATED, phases_after(signal, measurements.inside))
    return survey.content()


def _count(
    survey: Survey,
    meter: Meter,
    remainder: str,
    phases: Sequence[Phase],
    later: Fraction = Fraction(0),
) -> None:
    """Divide the unallocated epsilon labelled `remainder` among phases; count each phase's squares.

    `later` is the share of the whole epsilon that stays unallocated, under the label LATER.
    """
    number = len(survey.noise)
    labels = [_label(each, phase) for each, phase in enumerate(phases, start=number)]
    shares = {label: phase.share for label, phase in zip(labels, phases, strict=True)}
    if later:
        shares[LATER] = later
    whole = sum(shares.values())
    meter.divide(remainder, {label: share / whole for label, share in shares.items()}, rest=LATER)
    for label, phase in zip(labels, phases, strict=True):
        scale = survey.scale_of(label)
        survey.measure(label, _nodes(survey.measurements, phase, scale))


def _nodes(measurements: NodeMeasurements, phase: Phase, scale: float) -> Masks:
    """Return a mask for each level of the quadtree: which squares a phase counts.

    `measurements` are the noisy counts of earlier phases, and `scale` is the phase's noise scale.
    """
    if phase.level is not None:
        return even(measurements, phase.level)
    return where_expected(measurements, infer(measurements).cells, phase.limit * scale)


def _label(number: int, phase: Phase) -> str:
    if phase.level is not None:
        return f"phase {number}: even grid of {1 << phase.level} x {1 << phase.level} squares"
    return f"phase {number}: areas split above {phase.limit:g} times the noise"


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise in the count of a square of the last phase.

    The number of squares depends on the data, so only its maximum is forecast: the number of cells.
    """
    if law.gaussian and law.distinct and bound >= FEWER:
        noise = law.counts(epsilon * (1 - PILOT_SHARE), bound)
        return forecast_cells(domain, params.cells, noise, region="cell", alike=True)
    noise = law.sums(epsilon * LAST_SHARE, bound)
    return forecast_cells(domain, params.cells, noise, region="area", divided=True)


MECHANISM = Mechanism(
    key="auto",
    title="Fine where busy",
    summary="Measures how much detail the budget allows, then counts in small squares where people "
    "crowd and in large ones elsewhere. The best choice unless you know better.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    subjects=(subjects.HEATMAP,),
    regions=usual_regions,
    counted=counted_cells,
)
