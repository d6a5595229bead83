"""Zone counts: one noisy count for every declared zone, such as wards or tracts.

Idea. If the regions of interest are known and public, count only the records in these regions.

Privacy argument. The zones were declared from a map and do not depend on the data. A privacy unit
adds at most l in total to the counts of all zones together: the view keeps at most l pairs of a
person and a zone (people) or of a record and a zone (visits), whether zones overlap or not. So the
vector's L1 sensitivity is l, and one `measure` with epsilon is epsilon-differentially private.

Under zCDP. If distinct people are counted, a privacy unit changes at most l counts, each by at most
1, so the squares of the changes add up to at most l. Discrete Gaussian noise with s = l/(2 rho) is
therefore rho-zCDP (`privacy.meter`). If visits are counted, all l may be in one zone, and
the squared sensitivity is l^2.

Utility. Every zone carries noise of scale about l/epsilon, whatever its size and however many zones
there are. A person in more than l zones is counted in only l of them, so counts come out too small.
Records outside all zones are not counted.

References. Dwork, McSherry, Nissim and Smith 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpgeo.core import subjects
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.kinds import ZONES
from dpgeo.core.parameters import param
from dpgeo.core.released import ZonesRelease
from dpgeo.core.spend import Spend
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism, single_sample
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.zones import Zones

LABEL = "zone counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of zone counts."""

    zones: str = param(
        "",
        "The declared layer of zones to count in; empty for the only one.",
        layer=LayerKind.ZONES,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare one measurement, of the zones' counts, with the whole epsilon."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> ZonesRelease:
    """Measure every zone once."""
    zones = view.domain.layer(params.zones, Zones)
    counts = view.zone_counts(zones)
    noise = meter.noise(LABEL, counts)
    return ZonesRelease(zones=zones, counts=meter.measure(LABEL, counts), noise=noise)


def regions(params: Params, domain: Domain) -> Zones:
    """Return the zones; popular bounding ranks zones by their popularity.

    If a privacy unit is in more zones than the bound, the most popular of these are kept.
    """
    return domain.layer(params.zones, Zones)


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a zone's count, measured with the whole epsilon."""
    zones = domain.layer(params.zones, Zones)
    return Forecast(
        region="zone",
        regions=len(zones),
        noise=law.counts(epsilon, bound),
        ground_metres=zones.smallest_side_metres,
        alike=True,
    )


MECHANISM = Mechanism(
    key="zones",
    title="Counts of zones",
    summary="One count for each of your declared zones, such as wards or tracts.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=ZONES,
    subjects=(subjects.DISTRICTS,),
    regions=regions,
    counted=regions,
    serial=single_sample,
)
