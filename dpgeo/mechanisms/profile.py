"""Profile: noisy counts by hour of the week, for the whole area or for every zone.

Idea. Divide the local week into its 168 hours or its 7 days, or the day into its 24 hours. Count
the records of the whole study area, or of each declared zone, in each part.

Privacy argument. Pairs of a zone and a part of the week are public; the parts are disjoint, and a
record's part depends on its own time alone. A record without a time is in no part. A privacy unit
adds at most l in total to all counts together: the view keeps at most l pairs of a person and a
count (people), or of a record and a count (visits), whether zones overlap or not. So the L1
sensitivity of all counts is l, and one `measure` with epsilon is epsilon-differentially private.
The smoothed table is post-processing (`postprocess.two_way`).

Under zCDP. If distinct people are counted, a privacy unit changes at most l counts, each by at most
1, so the squares of the changes add up to at most l. Discrete Gaussian noise with s = l/(2 rho) is
therefore rho-zCDP (`privacy.meter`). If visits are counted, all l may be in one zone and
part of the week, and the squared sensitivity is l^2.

Utility. Every count carries noise of scale about l/epsilon. A person may be present at many hours,
and only l of these are kept: with l = 1, every person is counted in a single hour. If days are
alike, the smoothed estimate of an hour is closer to the truth than its noisy count.

References. Dwork, McSherry, Nissim and Smith 2006; Xu et al. 2013 (histograms by hour).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.kinds import PROFILE
from dpgeo.core.parameters import param
from dpgeo.core.released import ProfileRelease
from dpgeo.core.slices import SlicedGrid, SlicedZones, Slicing
from dpgeo.core.spend import Spend
from dpgeo.core.time_slices import PARTS
from dpgeo.phrases import Phrase, translatable
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

LABEL = "counts by time"

WHOLE, WHOLE_NAME = "area", translatable("Whole area")
"""Key and name of the zone that is the whole study area."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of a profile."""

    zones: str = param(
        "",
        "The declared layer of zones to count in; empty for the whole area.",
        layer=LayerKind.ZONES,
        optional=True,
    )
    parts: str = param(
        "hours of the week",
        "How local time is divided: the hours of the week, the hours of the day, or the days of "
        "the week.",
        choices=list(PARTS),
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare the whole epsilon for all counts together."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> ProfileRelease:
    """Measure the counts of all pairs of a zone and a part of the week, once."""
    slices = _slices(params, view.domain)
    zones, sliced = _regions(params, view.domain, slices)
    counts = view.sliced_histogram(sliced)
    noise = meter.noise(LABEL, counts)
    drawn = meter.measure(LABEL, counts).reshape(len(slices), len(zones))
    names = slices.names
    return ProfileRelease(
        zones=zones,
        keys=names.keys,
        titles=names.titles,
        time_zone=names.time_zone,
        counts=np.ascontiguousarray(drawn.T),
        noise=noise,
    )


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a count. Raises InvalidInput for data without times."""
    slices = _slices(params, domain)
    zones, _ = _regions(params, domain, slices)
    return Forecast(
        region="zone",
        regions=len(slices) * len(zones),
        noise=law.counts(epsilon, bound),
        ground_metres=zones.smallest_side_metres,
        facts=(
            Phrase(
                "There are {count} counts for each zone, in local time ({zone}). The bound on what "
                "one person adds holds for all of them together.",
                count=len(slices),
                zone=slices.time_zone,
            ),
        ),
    )


def _slices(params: Params, domain: Domain) -> Slicing:
    if not domain.time_zone:
        raise InvalidInput(
            "This dataset has no time column. Choose another mechanism, or declare a dataset "
            "whose file has one.",
            field="parts",
        )
    return Slicing(PARTS[params.parts], domain.time_zone)


def _regions(
    params: Params, domain: Domain, slices: Slicing
) -> tuple[Zones, SlicedZones | SlicedGrid]:
    """Return the zones, and their pairs with parts of the week, which are the regions to count in.

    Without declared zones, the whole area is the only zone, counted as a grid of one cell.
    """
    if params.zones:
        zones = domain.layer(params.zones, Zones)
        return zones, SlicedZones(zones, slices)
    shapes = np.array([domain.area.shape], dtype=object)
    whole = Zones(keys=(WHOLE,), names=(WHOLE_NAME,), shapes=shapes)
    return whole, SlicedGrid(Grid.over(domain.area, 1), slices)


MECHANISM = Mechanism(
    key="profile",
    title="Profile of the week",
    summary="Counts for each hour of the week, of the whole area or of each zone, as a table of "
    "hours and days.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=PROFILE,
    subjects=(subjects.WEEK,),
    by_time=True,
)
