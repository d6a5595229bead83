"""Contours of the notification radius r(x) over a study area.

A single task with reward w is planned at every point of a lattice, and halfway between neighbouring
points; r is interpolated linearly between all these points. Lines are drawn at the levels 1, 2, 5,
10, ... metres, and bands between them. If the target cannot be met within the travel limit, r is
infinite: the part of the area outside all bands is out of reach.

Everything is computed from a public surface: this is post-processing and costs no privacy. Bands
have no margin of error of their own; r inherits the noise of the map (see docs/crowdsourcing.md).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import contourpy
import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.postprocess.contours import DECIMALS, polygons_between
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.plan import Plan, Reason, Tasks, plan_tasks
from dpgeo.postprocess.tasks.settings import Conditions, Settings
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.prepared import prepared
from dpgeo.spatial.projection import MAX_LATITUDE, to_degrees, to_mercator

Floats = NDArray[np.float64]

MIN_POINTS, MAX_POINTS = 2, 48
"""Fewest and most points of a lattice along its longer side.

On a map of noise, whose bands have many vertices, 96 x 96 points took 1.2 s of processor time.
"""

MAX_LINES = 6
"""Largest number of lines.

Together with the band below the lowest line, this gives as many bands as the colour ramp has steps.
"""

BEYOND = 2.0
"""Largest radius of a point out of reach, as a multiple of the largest allowed radius.

Radii are extrapolated there only so that contours can be interpolated up to the limit.
"""

PRECISION = 10.0**-DECIMALS
"""Grid that coordinates of contours are rounded to, in degrees."""

BORDER_DEGREES = 1e-6
"""The lattice's outermost rows and columns are moved outwards by this much, so that no sliver of
the study area remains outside the bands.
"""

WORLD = StudyArea.from_bounds(-180, -MAX_LATITUDE, 180, MAX_LATITUDE)
"""Area passed to `plan_tasks`, so that points just outside the study area are planned too.

Without these lattice points, bands would not reach the border of the study area.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lattice:
    """Points in rows and columns over the bounding box of a study area, from edge to edge.

    They are equally spaced in Web Mercator. `longitude` (columns,) and `latitude` (rows,) are in
    ascending order; longitudes continue beyond 180 if the area crosses the antimeridian. `near`
    (rows, columns) marks the corners of lattice cells that intersect the area; only at these
    points are radii computed.
    """

    longitude: Floats
    latitude: Floats
    near: NDArray[np.bool_]

    @classmethod
    def over(cls, area: StudyArea, points: int) -> Lattice:
        """Build a lattice with at most `points` points along each side."""
        west, east = _longitudes(area)
        _, south, _, north = area.bounds
        x, y = to_mercator([0.0, east - west], [south, north])
        width, height = float(x[1] - x[0]), float(y[1] - y[0])
        sides = [max(2, round(points * side / max(width, height))) for side in (width, height)]
        longitude = np.linspace(west, east, sides[0])
        latitude = to_degrees(0.0, np.linspace(y[0], y[1], sides[1]))[1]
        latitude[[0, -1]] = south, north
        return cls(longitude=longitude, latitude=latitude, near=_near(area, longitude, latitude))

    @property
    def halved(self) -> Lattice:
        """The lattice with half the spacing; every second of its points is one of this lattice."""
        longitude, latitude = _halved(self.longitude), _halved(self.latitude)
        near = np.zeros((len(latitude), len(longitude)), dtype=bool)
        near[::2, ::2] = self.near
        # A radius is computed halfway between two or four points of this lattice if it is computed
        # at all of them.
        near[1::2, ::2] = self.near[:-1] & self.near[1:]
        near[:, 1::2] = near[:, :-2:2] & near[:, 2::2]
        return Lattice(longitude=longitude, latitude=latitude, near=near)

    @property
    def positions(self) -> tuple[Floats, Floats]:
        """Longitudes (n,), from -180 to 180, and latitudes (n,) at which radii are computed."""
        longitude, latitude = np.meshgrid(self.longitude, self.latitude)
        longitude = longitude[self.near]
        return np.where(longitude > 180, longitude - 360, longitude), latitude[self.near]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The area in which the notification radius lies between two limits in metres, as a
    MultiPolygon in degrees.
    """

    from_metres: float
    to_metres: float
    shape: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The line along which the notification radius has a given value, as a MultiLineString in
    degrees.

    The value is in metres.
    """

    metres: float
    shape: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadiusMap:
    """The notification radius of a task anywhere in a study area, at one reward.

    `radius` and `notified` (rows, columns) are the values of `tasks.plan.Plan` at the points of the
    lattice, or NaN if a point has none; `reasons` says why. Bands and lines are in ascending order.
    `out_of_reach` is a MultiPolygon, the part of the study area outside all bands.
    """

    lattice: Lattice
    radius: Floats
    notified: Floats
    reasons: NDArray[np.object_]
    bands: Sequence[Band]
    lines: Sequence[Line]
    out_of_reach: Any


def radius_map(
    surface: DensitySurface,
    area: StudyArea,
    lattice: Lattice,
    reward: float,
    conditions: Conditions,
) -> RadiusMap:
    """Plan a task with this reward at each point of the lattice; draw contours of the radius."""
    fine = lattice.halved
    longitude, latitude = fine.positions
    rewards = np.full(len(longitude), float(reward))
    tasks = Tasks(longitude=longitude, latitude=latitude, reward=rewards)
    # Every task has a fixed reward, so there is nothing to divide.
    settings = Settings(**dict(conditions), total_reward=0.0)
    plan = plan_tasks(surface, WORLD, tasks, settings)
    reasons = np.full(fine.near.shape, Reason.OUTSIDE_AREA, dtype=object)
    reasons[fine.near] = np.array(plan.reasons, dtype=object)
    drawn = RadiusMap(
        lattice=lattice,
        radius=_placed(fine, plan.radius)[::2, ::2],
        notified=_placed(fine, np.where(plan.planned, plan.notified, np.nan))[::2, ::2],
        reasons=reasons[::2, ::2],
        bands=[],
        lines=[],
        out_of_reach=_multiple([area.shape], shapely.MultiPolygon),
    )
    if not plan.planned.any():
        return drawn
    reach = conditions.travel_metres
    continued = _placed(fine, _continued(plan, conditions.needed, reach))
    return _with_contours(drawn, area, _generator(fine, continued), continued, reach)


def levels_between(low: float, high: float) -> list[float]:
    """Return the numbers 1, 2, 5, 10, 20, ... above `low` and below `high`, in ascending order.

    If there are more than MAX_LINES, only the highest ones are returned.
    """
    powers = range(max(1, math.ceil(math.log10(high)) + 1))
    steps = [float(digit * 10**power) for power in powers for digit in (1, 2, 5)]
    return [step for step in steps if low < step < high][-MAX_LINES:]


def _with_contours(
    drawn: RadiusMap, area: StudyArea, generator: Any, continued: Floats, reach: float
) -> RadiusMap:
    """Add the bands, the lines and the part of the area out of reach to a radius map.

    `continued` (rows, columns) holds the radii, extrapolated for points out of reach, and
    `generator` makes contours of them.
    """
    highest = min(float(np.nanmax(continued)), reach)
    levels = levels_between(float(np.nanmin(continued)), highest)
    edges = [0.0, *levels, _upper_limit(highest, reach)]
    bands = [
        Band(from_metres=low, to_metres=high, shape=_cut(band, area, shapely.MultiPolygon))
        for low, high in itertools.pairwise(edges)
        for band in [polygons_between(generator, low, high)]
    ]
    lines = [
        Line(metres=level, shape=_cut(line, area, shapely.MultiLineString))
        for level in levels
        for line in [shapely.MultiLineString(generator.lines(level))]
    ]
    within = shapely.make_valid(polygons_between(generator, 0.0, edges[-1]))
    parts = [part for part in (within, _turned_back(within)) if not part.is_empty]
    rest = shapely.difference(area.shape, shapely.union_all(parts), grid_size=PRECISION)
    return dataclasses.replace(
        drawn,
        bands=[band for band in bands if not band.shape.is_empty],
        lines=[line for line in lines if not line.shape.is_empty],
        out_of_reach=_multiple([rest], shapely.MultiPolygon),
    )


def _upper_limit(highest: float, reach: float) -> float:
    """Return the first of the levels 1, 2, 5, 10, ... metres at or above the highest radius.

    It is at most the limit `reach`.
    """
    power = math.floor(math.log10(highest))
    above = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return min(next(level for level in above if level >= highest), reach)


def _continued(plan: Plan, needed: float, reach: float) -> Floats:
    """Return the radii (n,) of a plan, extrapolated beyond the limit for points out of reach.

    At such a point, the expected number H of acceptances within the limit is below the number
    `needed` to meet the target. Far from the task, H grows in proportion to r, so r is extrapolated
    as reach * needed/H, which equals the limit if the target is just met. With these values, the
    edge of the bands is interpolated instead of following the lattice. Points with hardly anybody
    nearby get NaN and are masked.
    """
    accepting = -np.log1p(-np.minimum(plan.success, 1 - 1e-12))
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.clip(reach * needed / accepting, reach, BEYOND * reach)
    out = np.array([reason == Reason.OUT_OF_REACH for reason in plan.reasons], dtype=bool)
    # A radius equal to the limit is still within reach, so extrapolated radii must be larger.
    beyond = np.maximum(beyond, np.nextafter(reach, math.inf))
    return np.where(plan.planned, plan.radius, np.where(out, beyond, np.nan))


def _generator(lattice: Lattice, radius: Floats) -> Any:
    longitude, latitude = lattice.longitude.copy(), lattice.latitude.copy()
    for axis in (longitude, latitude):
        axis[[0, -1]] += -BORDER_DEGREES, BORDER_DEGREES
    return contourpy.contour_generator(
        longitude,
        latitude,
        np.ma.masked_invalid(radius),
        name="serial",
        corner_mask=True,
        line_type=contourpy.LineType.Separate,
        fill_type=contourpy.FillType.OuterOffset,
    )


def _halved(axis: Floats) -> Floats:
    """Return coordinates (2 n - 1,): the `axis` (n,) and the middle of each of its intervals."""
    fine = np.empty(2 * len(axis) - 1)
    fine[::2] = axis
    fine[1::2] = (axis[:-1] + axis[1:]) / 2
    return fine


def _placed(lattice: Lattice, values: Floats) -> Floats:
    """Return an array (rows, columns) with the values (n,) at the lattice points marked in `near`.

    It is NaN at all other points.
    """
    placed = np.full(lattice.near.shape, np.nan)
    placed[lattice.near] = values
    return placed


def _longitudes(area: StudyArea) -> tuple[float, float]:
    """Return the western and eastern longitude of an area; east is above 180 if it crosses 180.

    An area is taken to cross the antimeridian if the widest gap between its parts is wider than the
    gap around the antimeridian.
    """
    west, _, east, _ = area.bounds
    sides = shapely.bounds(shapely.get_parts(area.shape))[:, [0, 2]]
    sides = sides[np.argsort(sides[:, 0])]
    ends = np.maximum.accumulate(sides[:, 1])
    gaps = sides[1:, 0] - ends[:-1]
    if not gaps.size or gaps.max() <= 360 - (east - west):
        return west, east
    widest = int(np.argmax(gaps))
    return float(sides[widest + 1, 0]), float(ends[widest]) + 360


def _near(area: StudyArea, longitude: Floats, latitude: Floats) -> NDArray[np.bool_]:
    """Return a mask (rows, columns) of the corners of lattice cells that intersect the area."""
    near = np.ones((len(latitude), len(longitude)), dtype=bool)
    if area.is_box:
        return near
    west, south = np.meshgrid(longitude[:-1], latitude[:-1])
    east, north = np.meshgrid(longitude[1:], latitude[1:])
    cells = shapely.box(west, south, east, north)
    shape = prepared(area.shape)
    touching = shapely.intersects(shape, cells)
    if longitude[-1] > 180:
        touching |= shapely.intersects(shape, shapely.box(west - 360, south, east - 360, north))
    padded = np.pad(touching, 1)
    return np.asarray(padded[:-1, :-1] | padded[:-1, 1:] | padded[1:, :-1] | padded[1:, 1:])


def _cut(shape: Any, area: StudyArea, kind: type[Any]) -> Any:
    """Clip a shape with longitudes from -180 to 540 to the study area.

    The result is a multi-part geometry of class `kind`.
    """
    shape = shapely.make_valid(shape)
    pieces = [
        shapely.intersection(each, area.shape, grid_size=PRECISION)
        for each in (shape, _turned_back(shape))
        if not each.is_empty
    ]
    return _multiple(pieces, kind)


def _turned_back(shape: Any) -> Any:
    """Return a shape moved west by 360 degrees; an empty one if nothing of it is beyond 180."""
    if shape.is_empty or shape.bounds[2] <= 180 + 2 * BORDER_DEGREES:
        return shapely.MultiPolygon()
    return shapely.transform(shape, lambda degrees: degrees - [360, 0])


def _multiple(shapes: Sequence[Any], kind: type[Any]) -> Any:
    """Return one geometry of class `kind` (MultiPolygon or MultiLineString) from shapes' parts.

    Parts of another type, such as points where a band touches the border, are dropped.
    """
    single = "Polygon" if kind is shapely.MultiPolygon else "LineString"
    parts = shapely.get_parts(shapely.get_parts(np.array(shapes, dtype=object))).tolist()
    chosen = [each for each in parts if each.geom_type == single and not each.is_empty]
    return shapely.orient_polygons(kind(chosen))
