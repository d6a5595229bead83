"""Auto: a pilot measurement, counts in phases, and a surface inferred from all counts.

Idea. First measure a rough total, which shows how much detail epsilon can resolve. Given that
total, count a grid with about as many squares as will stand out from the noise. Then count squares
of different sizes: a square is split if the surface inferred so far expects a count of more than a
few noise scales in it. So squares are small where there are many people and large elsewhere. The
squares of the last phase are the map of measured counts. The counts of all phases together give one
surface of cells by empirical Bayes estimation: neighbouring squares help to tell how much of a
noisy count is noise.

Privacy argument. Every phase counts disjoint, public squares. Their counts are sums of the same
bounded cells, with every cell in at most one square (`PrivateCounts.regroup`), and a privacy unit
adds at most l to them in total. So measuring this vector of L1 sensitivity l with a share f of
epsilon is (f epsilon)-differentially private. The squares, the share of epsilon and the label of a
phase depend only on public inputs and the noisy counts of earlier phases. Shares are chosen
after the pilot measurement, but always add up exactly to the declared unallocated epsilon
(`Meter.divide`). Fix a whole sequence of outputs: the form of every phase is then the same on any
two neighbouring datasets, and the probability of the sequence changes by at most the product of
the factors e^(f epsilon) of its phases, which is e^epsilon. The surface, the choice of squares and
everything else is post-processing. Squares outside the study area are known to be empty and are not
counted.

Utility. Each square of the last phase carries noise of scale l/(f epsilon), where f is at least
LAST_SHARE. For range counts over location maps, the error of the inferred surface is 0.55 times
that of the best other mechanism; docs/mechanisms/accuracy.md gives the figures and the cases in
which auto is worse.

References. Adaptive grids: Qardaji, Yang and Li 2013; least squares on trees: Hay, Rastogi, Miklau
and Suciu 2010; empirical Bayes: Robbins 1956; privacy of adaptively chosen epsilons: Rogers, Roth,
Ullman and Vadhan 2016 (for pure epsilon, a fixed sum suffices).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import PhasedRelease
from dpgeo.core.spend import Spend
from dpgeo.mechanisms.survey import Survey
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import even, where_expected
from dpgeo.postprocess.surface import infer
from dpgeo.privacy.bounding import counted_cells, usual_regions
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

PILOT = "pilot: number of people"
UNALLOCATED = "counts of areas, allocated after the pilot"

PILOT_SHARE = Fraction(2, 100)
LAST_SHARE = Fraction(40, 100)
"""Smallest share of epsilon for the last phase."""

MANY, VERY_MANY = 3000.0, 30_000.0
"""Thresholds on the expected total, in units of l/epsilon.

Above MANY, squares of different sizes are chosen only once. Above VERY_MANY, a coarser grid is
counted as well, because counts of large squares would otherwise be sums of many noisy counts.
"""

PER_SQUARE = 40.0
"""Target for the average count per square in the grid of equal squares, in units of l/epsilon."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A phase after the pilot measurement: its share of epsilon and its squares.

    If `level` is not None, the phase counts all squares of that level of the quadtree. Otherwise,
    it counts the squares that result from splitting, from the root down, every square with an
    expected count above `limit` times the phase's noise scale.
    """

    share: Fraction
    level: int | None = None
    limit: float = 0.0


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare a fiftieth of epsilon for the pilot, and the rest as unallocated."""
    pilot = epsilon * PILOT_SHARE
    return [
        Spend(label=PILOT, epsilon=pilot),
        Spend(label=UNALLOCATED, epsilon=epsilon - pilot, unallocated=True),
    ]


def phases_after(signal: float, inside: NDArray[np.bool_]) -> list[Phase]:
    """Choose the phases for an expected total; their shares add up to 1 - PILOT_SHARE.

    `signal` is the expected total in units of l/epsilon. The level of the grid of equal squares is
    chosen so that squares in the study area have an average count of PER_SQUARE of these units.
    """
    depth = len(inside).bit_length() - 1
    filled = float(inside.mean())
    level = round(math.log2(max(signal / PER_SQUARE, 1.0) / filled) / 2)
    level = min(max(level, min(3, depth)), max(depth - 2, min(3, depth)))
    if signal < MANY:
        return [
            Phase(share=Fraction(38, 100), level=level),
            Phase(share=Fraction(20, 100), limit=4.0),
            Phase(share=Fraction(40, 100), limit=7.0),
        ]
    if signal < VERY_MANY:
        return [
            Phase(share=Fraction(50, 100), level=level),
            Phase(share=Fraction(48, 100), limit=4.0),
        ]
    return [
        Phase(share=Fraction(15, 100), level=max(level - 2, 0)),
        Phase(share=Fraction(30, 100), level=level),
        Phase(share=Fraction(53, 100), limit=5.0),
    ]


def release(view: PrivateView, params: Params, meter: Meter) -> PhasedRelease:
    """Measure the pilot, choose the phases, count in each, and infer the surface."""
    grid = Grid.over(view.domain.area, params.cells)
    inside = grid.inside(view.domain.area)
    survey = Survey(grid, view.histogram(grid), inside, meter)
    total = survey.measure(PILOT, even(survey.measurements, 0))
    signal = max(float(total[0]), 0.0) * float(survey.noise[0].rate / PILOT_SHARE)
    phases = phases_after(signal, survey.measurements.inside)
    labels = [_label(number, phase) for number, phase in enumerate(phases, start=1)]
    shares = [phase.share / (1 - PILOT_SHARE) for phase in phases]
    meter.divide(UNALLOCATED, dict(zip(labels, shares, strict=True)))
    for label, phase in zip(labels, phases, strict=True):
        scale = 1 / float(meter.noise(label, view.bound).rate)
        survey.measure(label, _nodes(survey.measurements, phase, scale))
    return survey.content()


def _nodes(measurements: NodeMeasurements, phase: Phase, scale: float) -> Masks:
    """Return masks of the squares that a phase counts, chosen on the basis of all counts so far.

    `scale` is the phase's noise scale.
    """
    if phase.level is not None:
        return even(measurements, phase.level)
    return where_expected(measurements, infer(measurements).cells, phase.limit * scale)


def _label(number: int, phase: Phase) -> str:
    if phase.level is not None:
        return f"phase {number}: even grid of {1 << phase.level} x {1 << phase.level} squares"
    return f"phase {number}: areas split above {phase.limit:g} times the noise"


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Forecast the noise in the count of a square of the last phase.

    The number of squares depends on the data, so only its maximum is forecast: the number of cells.
    """
    noise = DiscreteLaplace(epsilon * LAST_SHARE, bound)
    return forecast_cells(domain, params.cells, noise, region="area")


MECHANISM = Mechanism(
    key="auto",
    title="Automatic",
    summary="Measures how much detail the budget allows, then counts in small squares where people "
    "crowd and in large ones elsewhere. The best choice unless you know better.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    regions=usual_regions,
    counted=counted_cells,
)
