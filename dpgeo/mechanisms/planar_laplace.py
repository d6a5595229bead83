"""Planar Laplace: reports perturbed by noise, and a density estimated from them.

Idea. Each report is published at a random position around its true one. Nearer positions are more
likely: the probability density falls by a factor of e for every 1/epsilon metres. The density of
the reports can be estimated from many such points by deconvolution, since the distribution of the
noise is known.

Privacy argument. The guarantee is geo-indistinguishability (Andres et al. 2013), not differential
privacy of presence. Suppose that one privacy unit's reports x_i are moved to x'_i, and let h =
level/radius be the epsilon per metre. The probability of any output changes by at most a factor of
exp(sum of h (d(x_i, x'_i) + s)) over the moved reports, where s, for snapping, is 0.75 % of the
radius. The output shows that reports were made, and how many. With padding it shows only how many
privacy units are in the data; replacing a real report by a padding report changes the probability
by at most a factor of exp(h D), where D is the distance across the area.

Positions are snapped to a public grid. Each is perturbed once, by `Meter.perturb` (the argument is
in `privacy.planar_laplace_sampler`, the cost of finite precision in `core.noise.PlanarLaplace`).
The output is snapped, mapped into the area by a function of the output alone, and sorted. Snapping
increases the distance between two positions by at most 1.5 steps of the grid, and a radius is 200
steps, which gives s. If a person has more reports than the contribution bound, which ones are kept
depends only on their times and, among reports with the same time or none, on fresh random words.
So moving a report changes neither which reports are kept nor their number, and nothing is refused.

Published times are declared as such and not protected. The same holds for attributes declared
public: neighbouring datasets differ only in the positions of reports, the values come from a
declared list, and the declaration states that they do not depend on positions. The density, and the
remapping by a public prior, use only the perturbed points and the prior. The prior is a declared
layer that never changes, so it cannot depend on the data.

Utility. Half of the reports move by less than 1.68/epsilon metres and 95 % by less than
4.74/epsilon: for level ln 4 within 200 m, 244 m and 688 m. A histogram of the points is blurred by
the noise. On two cities of 40 km with 128 x 128 cells, the deconvolved density had little more than
half the error of the histogram. A correct prior brings each point nearer to its report, but makes
plain histograms of the points worse.

References. Andres, Bordenabe, Chatzikokolakis and Palamidessi, CCS 2013; Agrawal and Aggarwal, PODS
2001; Chatzikokolakis, ElSalamouny and Palamidessi, PoPETs 2017(4), for the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core import subjects
from dpgeo.core.attributes import Attribute
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Notion
from dpgeo.core.kinds import POINTS
from dpgeo.core.levels import LEVEL_PATTERN, make_level, parse_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import PointsRelease
from dpgeo.core.spend import Spend
from dpgeo.phrases import phrase_of
from dpgeo.postprocess.deconvolution import recover
from dpgeo.postprocess.remapping import Remapping, idle
from dpgeo.privacy.mechanism import Forecast, Mechanism, forecast_cells
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.planar_laplace_sampler import Perturbed, gather
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid, grid_step, input_step
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS, Truncation

LABEL = "reports"

MAX_PADDED = 100
"""Largest contribution bound with padding; it limits the number of padding reports."""

TIME_STEPS = {"dropped": None, "day": 86_400, "hour": 3_600, "exact": 1}
"""Steps in seconds to which published times are rounded down, in UTC; None drops the times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of planar Laplace."""

    level: str = param(
        "ln 4",
        "How much the odds may change if a report is made a radius away: by a factor of e to "
        "the power of this, such as 4 for ln(4); snapping adds less than 1 % of it.",
        read=parse_level,
        pattern=LEVEL_PATTERN,
    )
    radius: int = param(
        200,
        "Metres within which the level holds.",
        low=1,
        high=100_000,
        beyond="A larger radius would be wider than any city.",
    )
    cells: int = param(
        128,
        "Cells along each side of the density estimated from the points.",
        low=1,
        high=512,
    )
    time: str = param(
        "dropped",
        "How much of a report's time is published. Nothing protects times, and they can link "
        "the reports of one person.",
        choices=list(TIME_STEPS),
    )
    attributes: bool = param(
        False,
        "Publish the declared public attributes with every point. Nothing protects them, and "
        "they can link the reports of one person.",
    )
    prior: str = param(
        "",
        "A declared public density, used to put every moved point where its report was most "
        "likely made. This brings points nearer to their reports, and gathers them where "
        "people are expected.",
        layer=LayerKind.DENSITY,
        optional=True,
    )
    padded: bool = param(
        False,
        "Give everybody in the data exactly as many points as the bound allows: people with "
        "fewer reports get invented ones anywhere in the study area, so that the number of "
        "their reports does not show. Times and attributes must be dropped.",
    )


def price(params: Params, bound: int, area: StudyArea) -> Fraction:
    """Return the epsilon per metre of a privacy unit's reports: `bound` times level/radius.

    Raises InvalidInput if the radius exceeds the study area, if the area contains no point of the
    grid to which positions are snapped, if invented points (padding) are combined with times or
    attributes, or if `bound` is too large for padding.
    """
    if params.padded and bound > MAX_PADDED:
        raise InvalidInput(
            "Must be at most {most} if points are padded; choose a lower bound, or do not pad.",
            most=MAX_PADDED,
            field="bound",
        )
    if params.padded and TIME_STEPS[params.time] is not None:
        raise InvalidInput(
            "Padding points have no times; choose dropped, or do not pad.",
            field="time",
        )
    if params.padded and params.attributes:
        raise InvalidInput(
            "Padding points have no attributes, and random ones would give them away; drop the "
            "attributes, or do not pad.",
            field="attributes",
        )
    level = make_level(params.level, params.radius)
    across = _metres_across(area)
    if params.radius > across:
        raise InvalidInput(
            "Is larger than the study area, which is {across:,.0f} m across, so that no two "
            "places in it could be told apart. Choose a smaller radius.",
            across=across,
            field="radius",
        )
    _noise(params, level.epsilon, 1)
    _truncation(params, area)
    return bound * level.epsilon


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare the whole epsilon for the reports."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> PointsRelease:
    """Perturb every report, then estimate the density."""
    return content(move(view, params, meter), params, view.domain)


def move(view: PrivateView, params: Params, meter: Meter) -> Perturbed:
    """Perturb every report."""
    _attributes(params, view.domain)
    reports = view.positions(time_step=TIME_STEPS[params.time], attributes=params.attributes)
    area = _truncation(params, view.domain.area)
    epsilon = price(params, view.bound, view.domain.area)
    # The result is not used. The call raises an error before noise is drawn if the remapping is
    # impossible. `content` builds the remapping again when the release is made.
    _remapping(params, _noise(params, epsilon, view.bound), view.domain)
    return meter.perturb(
        LABEL, reports, area, input_step=input_step(params.radius), padded=params.padded
    )


def content(perturbed: Perturbed, params: Params, domain: Domain) -> PointsRelease:
    """Return the release: the estimated density, and points remapped if there is a prior."""
    area, bound = domain.area, perturbed.noise.sensitivity
    grid = Grid.over(area, params.cells)
    prior = domain.layer(params.prior, Density) if params.prior else None
    recovered = recover(
        perturbed.longitude / UNITS,
        perturbed.latitude / UNITS,
        perturbed.noise,
        grid,
        area,
        None if prior is None else prior.on(grid),
    )
    remapping = _remapping(params, perturbed.noise, domain)
    published = (
        perturbed
        if remapping is None
        else _remapped(perturbed, remapping, _truncation(params, area))
    )
    return PointsRelease(
        longitude=published.longitude,
        latitude=published.latitude,
        time=_array(published.time, np.int64),
        noise=published.noise,
        grid=grid,
        density=recovered.density,
        updates=recovered.updates,
        prior=params.prior,
        padded=bound if params.padded and bound > 1 else 0,
        attributes=_attributes(params, domain),
        combination=_array(published.attributes, np.int32),
    )


def _array(values: NDArray[Any] | None, dtype: type[Any]) -> NDArray[Any]:
    """Return `values` (n,), or an empty array if `values` is None."""
    return np.empty(0, dtype=dtype) if values is None else values


def _attributes(params: Params, domain: Domain) -> tuple[Attribute, ...]:
    """Return the attributes to publish, or () if the parameters ask for none.

    Raises InvalidInput if the parameters ask for attributes and the dataset has no public ones.
    """
    if not params.attributes:
        return ()
    if not domain.attributes:
        raise InvalidInput(
            "No attribute of this dataset was declared public before its first file was "
            "confirmed; leave this off.",
            field="attributes",
        )
    return domain.attributes


def _remapping(params: Params, noise: PlanarLaplace, domain: Domain) -> Remapping | None:
    if not params.prior:
        return None
    return Remapping(noise, domain.layer(params.prior, Density), domain.area)


def _remapped(perturbed: Perturbed, remapping: Remapping, truncation: Truncation) -> Perturbed:
    """Remap points by the prior, truncate them to the study area, and sort them again."""
    remapped = remapping.apply(perturbed.longitude / UNITS, perturbed.latitude / UNITS)
    reports = (*truncation.apply(*remapped), perturbed.time, perturbed.attributes)
    return gather(perturbed.noise, [reports])


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Forecast the noise of a report. Raises InvalidInput for undeclared attributes."""
    _attributes(params, domain)
    noise = _noise(params, epsilon, bound)
    prior = domain.layer(params.prior, Density) if params.prior else None
    return forecast_cells(
        domain,
        params.cells,
        noise,
        region="cell",
        cautions=tuple(idle(noise, prior, domain.area)) if prior else (),
    )


def _noise(params: Params, epsilon: Fraction, bound: int) -> PlanarLaplace:
    return PlanarLaplace(epsilon, bound, grid_step(params.radius), input_step(params.radius))


def _truncation(params: Params, area: StudyArea) -> Truncation:
    try:
        return Truncation(area, GroundGrid(grid_step(params.radius)))
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="radius") from None


def _metres_across(area: StudyArea) -> float:
    """Return an upper bound on the distance in metres between any two points of an area."""
    west, south, east, north = np.radians(area.bounds)
    low = 0.0 if south < 0 < north else min(abs(south), abs(north))
    return float(
        EARTH_RADIUS_METRES * min(np.pi, np.hypot(north - south, (east - west) * np.cos(low)))
    )


MECHANISM = Mechanism(
    key="planar-laplace",
    title="Moved points",
    summary="Every report as a point, moved by noise that hides where it was made, but not that it "
    "was made.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    price=price,
    kind=POINTS,
    subjects=(subjects.REPORTS,),
    notion=Notion.GEO_IND,
)
