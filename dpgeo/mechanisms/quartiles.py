"""Quartiles: the median and both quartiles of a declared measure in every zone or square.

Idea. Divide the range between the declared limits into equally wide bins. For every region count
the values in each bin. The noisy counts below and above a value show whether it can be the median.

Privacy argument. The regions, the limits and the numbers of steps and bins are public, and so are
slices of local time or of a declared category. Records and their steps are the same as for averages
(`mechanisms.averages`): the view keeps at most l contributions of a privacy unit over all regions
and slices together, either records with a value or, if people are counted, one value for each
region that a person was in, the mean of their own values there. Each step lies in exactly one bin,
whatever the other rows are. So a contribution adds 1 to a single pair of a region and a bin; adding
or removing a privacy unit changes all counts together by at most l. This is the exact L1
sensitivity of the whole array. It also holds for overlapping zones, because a row in two zones
makes two contributions. One `measure` with the whole epsilon, discrete Laplace noise of rate
epsilon/l on each count, is epsilon-differentially private. Quantiles, intervals, and the choice of
regions to show are post-processing of the noisy counts (`postprocess.quantiles`).

Under zCDP. A privacy unit changes at most l counts, each by at most 1, if it has one value a region
(distinct people), so the squared sensitivity is l. Otherwise all l records may be in one bin of one
region, and it is l^2.

Utility. The count below a value adds up the noise of many bins: the rank of a median is known to
about (l/epsilon) sqrt(2 bins) records, and its value to the width of a bin. Many bins give finer
values, and few bins less noise. Unlike a mean, a median does not move with the limits or with a few
extreme values.

References. Dwork, McSherry, Nissim and Smith 2006; Xu et al. 2013 (noisy histograms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.kinds import AVERAGES
from dpgeo.core.measures import Measure, find_measure
from dpgeo.core.parameters import param
from dpgeo.core.released import GridQuartiles, QuartilesRelease, ZoneQuartiles
from dpgeo.core.slices import slices_param
from dpgeo.core.spend import Spend
from dpgeo.phrases import Phrase
from dpgeo.postprocess.quantiles import HistogramNoise
from dpgeo.privacy.divided_regions import DividedRegions
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.zones import Zones

LABEL = "counts by value"

MAX_COUNTS = 8_000_000
"""Largest total number of counts in all regions, slices and bins; they take 64 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of quartiles."""

    measure: str = param(
        "",
        "The declared column of numbers; empty for the first.",
        measure=True,
    )
    bins: int = param(
        50,
        "Parts into which the range between the limits is divided. An interval is never finer than "
        "one of them, and more of them carry more noise.",
        low=8,
        high=200,
        beyond="Finer bins hold too few records each.",
    )
    zones: str = param(
        "",
        "The declared layer of zones; empty for squares.",
        layer=LayerKind.ZONES,
        optional=True,
    )
    cells: int = param(
        16,
        "Squares along each side, where no zones are named.",
        low=1,
        high=128,
        beyond="Finer squares hold too few records for a median.",
    )
    slices: str = slices_param(optional=True)
    category: str = param(
        "",
        "The declared category by which the map is divided, too; empty for none.",
        category=True,
        optional=True,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare one measurement, of all regions' histograms together, with the whole epsilon."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> QuartilesRelease:
    """Measure the histogram of every region once."""
    regions, measure = _counted(params, view.domain)
    places, names = regions.places, regions.names
    histogram = view.value_histogram(regions.valued, measure, params.bins)
    noise = meter.noise(LABEL, histogram)
    counts = meter.measure(LABEL, histogram)
    if isinstance(places, Zones):
        return ZoneQuartiles(
            zones=places, measure=measure, counts=counts, noise=noise, slices=names
        )
    inside = places.inside(view.domain.area)[..., None]
    return GridQuartiles(
        grid=places,
        measure=measure,
        counts=np.where(inside, counts, 0),
        noise=noise,
        slices=names,
    )


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a bin's count.

    Raises InvalidInput if the data lack a named layer, category or measure, or if there are too
    many counts.
    """
    regions, measure = _counted(params, domain)
    count = regions.size_in_area
    noise = HistogramNoise(law.counts(epsilon, bound), params.bins)
    return Forecast(
        region=regions.word,
        regions=count,
        noise=noise.noise,
        ground_metres=regions.ground_metres,
        facts=_facts(measure, noise, count),
        records=(math.ceil(noise.records_margin), math.ceil(noise.least_records(count))),
    )


def _counted(params: Params, domain: Domain) -> tuple[DividedRegions, Measure]:
    """Return the regions to count in, and the measure whose values are counted.

    Raises InvalidInput if the data lack one of them, if the measure has yes-or-no answers, or if
    there are too many counts.
    """
    measure = find_measure(domain.measures, params.measure)
    if measure.is_answer:
        raise InvalidInput(
            "{title} holds answers of yes or no, which have no median; choose averages for the "
            "share of yes.",
            title=measure.title,
            field="measure",
        )
    regions = DividedRegions.of(params, domain)
    count = regions.size * params.bins
    if count > MAX_COUNTS:
        raise InvalidInput(
            "This makes {count:,} counts, more than {most:,}; choose fewer squares, slices or "
            "bins.",
            count=count,
            most=MAX_COUNTS,
            field="bins",
        )
    return regions, measure


def _facts(measure: Measure, noise: HistogramNoise, count: int) -> tuple[Phrase, ...]:
    least = noise.least_records(count)
    width = (measure.high - measure.low) / noise.bins
    return (
        Phrase(
            "Quartiles are told where the noisy number of records reaches {least:,.0f}. With twice "
            "as many, the median's interval takes in about {part:.0f} % of the records to either "
            "side, and then reaches to the edges of bins that are {width} wide.",
            least=math.ceil(least),
            part=100 * noise.half_width(2 * least),
            width=Phrase("{half:.3g} {unit}", half=width, unit=measure.unit),
        ),
    )


MECHANISM = Mechanism(
    key="quartiles",
    title="Medians and quartiles",
    summary="The median and both quartiles of a column of numbers, such as a rent or a waiting "
    "time, in each zone or square.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=AVERAGES,
    subjects=(subjects.AVERAGES, subjects.AVERAGES_BY_DISTRICT),
)
