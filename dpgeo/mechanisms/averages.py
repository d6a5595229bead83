"""Averages: the mean of a declared measure in every zone or square, with its interval.

Idea. Clip each value to declared limits and round it to one of K + 1 evenly spaced steps. For every
region, measure two sums over its records: U, the sum of the values' distances from the lower limit,
and D, the sum of their distances from the upper limit, both in steps. With n records, U + D = n K,
so U + D gives the number of records, and U/(U + D) the mean as a fraction of the range.

Privacy argument. The regions, the limits and K are public. If the regions are divided by slices of
local time or of a declared category, these are public, too; a region is then a pair of a place and
a slice, and a record's slice depends on its own row alone. A record's step k, from 0 to K, depends
on its own row alone (`ingest.measures`). The view keeps at most l contributions of a privacy unit
over all regions together: records with a value or, if people are counted, one value for each region
that a person was in, the mean of their own values there, rounded to a step. A contribution adds (k,
K - k) to the pair (U, D) of one region, and k + (K - k) = K whatever k is. So the array of all
pairs has exactly the L1 sensitivity l K, and one measurement with the whole epsilon is
epsilon-differentially private (`privacy.value_shares`). Means, intervals, and the choice of regions
to show are post-processing of the noisy pairs. Which records are kept depends on a keyed hash of
the row without the measured value; the value matters only between rows that are equal in everything
else.

Under zCDP. The squared sensitivity of both sums of all regions together is l K^2 if each privacy
unit has one value a region (distinct people), and l^2 K^2 otherwise; `privacy.value_shares` has the
proof.

Utility. The mean of a region with n records has a standard error of about l/(epsilon n) of the
range between the limits, so narrow limits give accurate means. Regions with few records get no
estimate. If a person has more than l contributions, only l of them count, and a value beyond a
limit counts as the limit; the interval covers neither of these errors.

References. Dwork, McSherry, Nissim and Smith 2006; Fieller 1954 (intervals of ratios).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.kinds import AVERAGES
from dpgeo.core.measures import Measure, find_measure
from dpgeo.core.parameters import param
from dpgeo.core.released import AveragesRelease, GridAverages, ZoneAverages
from dpgeo.core.slices import slices_param
from dpgeo.core.spend import Spend
from dpgeo.phrases import Phrase
from dpgeo.postprocess.fieller import ShareNoise
from dpgeo.privacy.divided_regions import DividedRegions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.zones import Zones

LABEL = "sums above and below"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of averages."""

    measure: str = param(
        "",
        "The declared column to average; empty for the first.",
        measure=True,
    )
    zones: str = param(
        "",
        "The declared layer of zones to average in; empty for squares.",
        layer=LayerKind.ZONES,
        optional=True,
    )
    cells: int = param(
        32,
        "Squares along each side, where no zones are named.",
        low=1,
        high=128,
        beyond="Finer squares hold too few records for a mean.",
    )
    slices: str = slices_param(optional=True)
    category: str = param(
        "",
        "The declared category by which the map is divided, too; empty for none.",
        category=True,
        optional=True,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare one measurement, of all regions' pairs of sums, with the whole epsilon."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> AveragesRelease:
    """Measure the sums of values' distances from both limits (U and D) once for every region."""
    regions = DividedRegions.of(params, view.domain)
    places, names = regions.places, regions.names
    measure = find_measure(view.domain.measures, params.measure)
    shares = view.value_shares(regions.valued, measure)
    noise = meter.noise(LABEL, shares)
    above, below = meter.measure(LABEL, shares)
    if isinstance(places, Zones):
        return ZoneAverages(
            zones=places, measure=measure, above=above, below=below, noise=noise, slices=names
        )
    inside = places.inside(view.domain.area)
    return GridAverages(
        grid=places,
        measure=measure,
        above=np.where(inside, above, 0),
        below=np.where(inside, below, 0),
        noise=noise,
        slices=names,
    )


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a region's two sums, U and D, in steps to which values are rounded.

    Raises InvalidInput if the data lack a named layer, category or measure.
    """
    measure = find_measure(domain.measures, params.measure)
    regions = DividedRegions.of(params, domain)
    count = regions.size_in_area
    noise = ShareNoise(law.shares(epsilon, bound, measure.steps), measure.steps)
    return Forecast(
        region=regions.word,
        regions=count,
        noise=noise.noise,
        ground_metres=regions.ground_metres,
        facts=_facts(measure, noise, count),
        records=(math.ceil(noise.records_margin), math.ceil(noise.least_records(count))),
    )


def _facts(measure: Measure, noise: ShareNoise, count: int) -> tuple[Phrase, ...]:
    least = noise.least_records(count)
    half = noise.half_width(2 * least) * (measure.high - measure.low)
    width = Phrase("{half:.3g} {unit}", half=half, unit=measure.unit)
    if measure.is_answer:
        width = Phrase("{points:.2g} percentage points", points=100 * half)
    return (
        Phrase(
            "A mean is told where the noisy number of records reaches {least:,.0f}. With twice as "
            "many it is within {width} of the true one, 95 times in 100.",
            least=math.ceil(least),
            width=width,
        ),
    )


MECHANISM = Mechanism(
    key="averages",
    title="Averages",
    summary="The mean of a column of numbers, such as a speed or a price, in each zone or square, "
    "or the share of yes.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=AVERAGES,
    subjects=(subjects.AVERAGES, subjects.AVERAGES_BY_DISTRICT),
)
