"""Planar Laplace: every report moved by noise, and the density recovered from where they went.

Idea. Each report is published at a place drawn around its own, nearer places being likelier: the
density falls by a factor e for every 1/epsilon metres. From many such points the density behind
them can be worked out, for it is known how the noise spreads it.

Privacy argument. The notion is geo-indistinguishability (Andres et al. 2013), not differential
privacy of presence: moving one unit's reports x to as many x' changes the odds of any output by at
most exp(sum e d(x_i, x'_i)), e = level/radius, hence by e^level for a report that is moved by the
radius. That a report was made, and how many, is seen by anybody; where units are padded, that they
are in the data is, and a report that is made up instead of made changes the odds by at most
exp(e D), D across the area. Positions are snapped to a public
grid; each is moved by one `perturb` (the argument is in `privacy.planar_laplace_sampler`, what
finite precision costs in `core.noise.PlanarLaplace`); the output is snapped, brought into the area
by a map of the output alone, and sorted by itself. Raw positions d apart are at most d + 1.5 steps
apart once snapped. Which reports of a person are kept where there are more than the bound follows
from their times alone, all of one time or none; where more than the bound have the same time or
none, nothing is drawn. So a report that is moved changes neither which are kept nor whether any
are. Times, where they are published at all, are published as declared and protected by nothing. So
are attributes that the publisher declared public: neighbours differ in where reports are made and
in nothing else, the values come from a declared list, and that they follow from no position is what
the declaration says. The density, and the map that puts points where a public prior says that their
reports were likeliest made, use what came out and the prior alone; the prior is a declared layer
that never changes, so it cannot follow the data.

Utility. Half of the reports move less than 1.68/epsilon metres and 95 % less than 4.74/epsilon: at
ln 4 within 200 m, 244 m and 688 m. A bare histogram of the points is a smear; on two cities of 40
km in 128 x 128 cells the recovered density had little more than half of its error. A prior that is
right brings each point nearer to its report, and makes bare histograms of the points worse.

References. Andres, Bordenabe, Chatzikokolakis and Palamidessi, CCS 2013; Agrawal and Aggarwal,
PODS 2001; Chatzikokolakis, ElSalamouny and Palamidessi, PoPETs 2017(4), for the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.attributes import Attribute
from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Notion
from dpgeo.core.kinds import Kind
from dpgeo.core.levels import LEVEL_PATTERN, make_level, parse_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import PointsRelease
from dpgeo.core.spend import Spend
from dpgeo.phrases import phrase_of
from dpgeo.postprocess.deconvolution import recover
from dpgeo.postprocess.remapping import Remapping, idle
from dpgeo.privacy.mechanism import Forecast, Mechanism, Sharded
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.planar_laplace_sampler import Perturbed, gather
from dpgeo.privacy.positions import WHOLE, Shard
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid, grid_step
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import UNITS, Truncation

LABEL = "reports"

MOST_PADDED = 100
"""Points that everybody is given at most: there are as many in all as people times these."""

TIME_STEPS = {"dropped": None, "day": 86_400, "hour": 3_600, "exact": 1}
"""What is published of a report's time, and to how many seconds it is rounded down (in UTC)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of planar Laplace."""

    level: str = param(
        "ln 4",
        "How much the odds may change for a report that is moved by the radius: e to the power of "
        "this, such as ln(4) for four to one.",
        read=parse_level,
        pattern=LEVEL_PATTERN,
    )
    radius: int = param(
        200,
        "Metres within which the level holds.",
        low=1,
        high=100_000,
        beyond="Beyond that the earth has no cities to hide in.",
    )
    cells: int = param(
        128,
        "Cells along each side of the density that is recovered from the points.",
        low=1,
        high=512,
    )
    time: str = param(
        "dropped",
        "What is published of a report's time. Times are protected by nothing, and those of one "
        "person can be told together.",
        choices=list(TIME_STEPS),
    )
    attributes: bool = param(
        False,
        "Publish beside every point what was declared public of its report. It is protected by "
        "nothing, and by it reports of one person can be told together.",
    )
    prior: str = param(
        "",
        "A declared public density by which every moved point is put where its report was most "
        "likely made. It brings points nearer to their reports, and gathers them where people are "
        "expected.",
        layer=LayerKind.DENSITY,
        optional=True,
    )
    padded: bool = param(
        False,
        "Give everybody in the data exactly as many points as the bound allows: who made fewer "
        "reports gets points of made-up ones anywhere in the study area, so that their number does "
        "not show. Times and attributes have to be dropped.",
    )


def price(params: Params, bound: int, area: StudyArea) -> Fraction:
    """Epsilon per metre of one unit's reports: as many times level/radius.

    Raises InvalidInput where the radius reaches beyond the study area, or the area holds no point
    of the grid, or where times or attributes are asked for of points that are made up, or too many
    of these.
    """
    if params.padded and bound > MOST_PADDED:
        raise InvalidInput(
            "Must be at most {most} where everybody is given so many points; choose a lower "
            "bound, or leave everybody the points they have.",
            most=MOST_PADDED,
            field="bound",
        )
    if params.padded and TIME_STEPS[params.time] is not None:
        raise InvalidInput(
            "Points that are made up have no times; choose dropped, or leave everybody the points "
            "they have.",
            field="time",
        )
    if params.padded and params.attributes:
        raise InvalidInput(
            "Points that are made up have no attributes, and drawn ones would tell them from the "
            "others; drop these, or leave everybody the points they have.",
            field="attributes",
        )
    level = make_level(params.level, params.radius)
    across = _metres_across(area)
    if params.radius > across:
        raise InvalidInput(
            "Is larger than the study area, which is {across:,.0f} m across; within it nothing "
            "could be told apart. Choose a smaller radius.",
            across=across,
            field="radius",
        )
    _noise(params, level.epsilon, 1)
    _truncation(params, area)
    return bound * level.epsilon


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """The whole of epsilon for the reports."""
    return [Spend(label=LABEL, epsilon=epsilon)]


def release(view: PrivateView, params: Params, meter: Meter) -> PointsRelease:
    """Move every report, then work with what came out."""
    return content(move(view, params, meter), params, view.domain)


def move(view: PrivateView, params: Params, meter: Meter, shard: Shard = WHOLE) -> Perturbed:
    """Move every report of a share of the units."""
    _attributes(params, view.domain)
    reports = view.positions(
        time_step=TIME_STEPS[params.time], attributes=params.attributes, shard=shard
    )
    area = _truncation(params, view.domain.area)
    # Made again afterwards: what cannot be made has to fail before anything is drawn.
    epsilon = price(params, view.bound, view.domain.area)
    _remapping(params, _noise(params, epsilon, view.bound), view.domain)
    return meter.perturb(LABEL, reports, area, padded=params.padded)


def content(moved: Perturbed, params: Params, domain: Domain) -> PointsRelease:
    """The density recovered from moved points, and the points where a prior puts them."""
    area, bound = domain.area, moved.noise.sensitivity
    grid = Grid.over(area, params.cells)
    prior = domain.layer(params.prior, Density) if params.prior else None
    recovered = recover(
        moved.longitude / UNITS,
        moved.latitude / UNITS,
        moved.noise,
        grid,
        area,
        None if prior is None else prior.on(grid),
    )
    remapping = _remapping(params, moved.noise, domain)
    shown = moved if remapping is None else _remapped(moved, remapping, _truncation(params, area))
    return PointsRelease(
        longitude=shown.longitude,
        latitude=shown.latitude,
        time=_array(shown.time, np.int64),
        noise=shown.noise,
        grid=grid,
        density=recovered.density,
        updates=recovered.updates,
        prior=params.prior,
        padded=bound if params.padded and bound > 1 else 0,
        attributes=_attributes(params, domain),
        combination=_array(shown.attributes, np.int32),
    )


def _array(values: NDArray[Any] | None, dtype: type[Any]) -> NDArray[Any]:
    """The values (n,), none of them where there are none."""
    return np.empty(0, dtype=dtype) if values is None else values


def _attributes(params: Params, domain: Domain) -> tuple[Attribute, ...]:
    """The attributes that are published. Raises InvalidInput where none was declared public."""
    if not params.attributes:
        return ()
    if not domain.attributes:
        raise InvalidInput(
            "No attribute of this dataset was declared public before its first file was "
            "confirmed; leave them out.",
            field="attributes",
        )
    return domain.attributes


def _remapping(params: Params, noise: PlanarLaplace, domain: Domain) -> Remapping | None:
    if not params.prior:
        return None
    return Remapping(noise, domain.layer(params.prior, Density), domain.area)


def _remapped(moved: Perturbed, remapping: Remapping, truncation: Truncation) -> Perturbed:
    """Points put where their reports were likeliest made, in the area, sorted anew."""
    put = remapping.apply(moved.longitude / UNITS, moved.latitude / UNITS)
    return gather(moved.noise, [(*truncation.apply(*put), moved.time, moved.attributes)])


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Every report is moved by the same noise. Raises InvalidInput for attributes not declared."""
    _attributes(params, domain)
    grid = Grid.over(domain.area, params.cells)
    noise = _noise(params, epsilon, bound)
    prior = domain.layer(params.prior, Density) if params.prior else None
    return Forecast(
        region="cell",
        regions=int(np.count_nonzero(grid.inside(domain.area))),
        noise=noise,
        ground_metres=grid.ground_cell_metres,
        cautions=tuple(idle(noise, prior, domain.area)) if prior else (),
    )


def _noise(params: Params, epsilon: Fraction, bound: int) -> PlanarLaplace:
    return PlanarLaplace(epsilon, bound, grid_step(params.radius))


def _truncation(params: Params, area: StudyArea) -> Truncation:
    try:
        return Truncation(area, GroundGrid(grid_step(params.radius)))
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="radius") from None


def _metres_across(area: StudyArea) -> float:
    """The furthest that two corners of the area's bounds can be apart, on the sphere."""
    west, south, east, north = np.radians(area.bounds)
    low = 0.0 if south < 0 < north else min(abs(south), abs(north))
    return float(
        EARTH_RADIUS_METRES * min(np.pi, np.hypot(north - south, (east - west) * np.cos(low)))
    )


MECHANISM = Mechanism(
    key="planar-laplace",
    title="Moved points",
    summary="Every report as a point, moved by noise so that nobody can tell where it was made. "
    "That it was made shows.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    price=price,
    kind=Kind.POINTS,
    notion=Notion.GEO_IND,
    sharded=Sharded(move=move, content=content),
)
