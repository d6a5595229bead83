"""Synthetic points made from a map of counts (Xiao et al., DPCube, 2012, sect. 3).

*Privacy argument.* The points are a function of the released object alone: the places within a
region come from a generator whose key is the object's own digest. So the points are post-processing
and cost nothing, and anybody can make the same points again.

Counts are first rounded so that, in Hilbert order, the sum over the first i regions is right to
within one half for every i: n_i = floor(C_i + 1/2) - floor(C_{i-1} + 1/2), where C is the running
sum. A compact area consists of a few runs of consecutive regions in that order, and its sum is off
by at most the number of these runs. Each region's points are then spread evenly over the ground of
its part of the study area. They show nothing that the counts do not show: noise in empty regions
becomes points, too.

If there are more people than points, a point stands for several people of its own region, so that
the weights of a region's points still sum to n_i. Points of equal weight would not sum to it: on a
map of a million people, each point would stand for ten people, and sums over areas would be off by
a few multiples of ten.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.hilbert import hilbert_order

MOST_POINTS = 100_000
"""Largest number of points; if more people are counted, points stand for several."""

DECIMALS = 7
"""Decimal places of coordinates in degrees, enough for about a centimetre on the ground."""

TRIES = 24
"""Rounds of rejection sampling, first in a region's box, then in the box of its part of the study
area.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticPoints:
    """Points (n,) in degrees; point i stands for `weight[i]` counted people or visits.

    `weight` (n,) holds whole numbers from 1. `layers` are the layers from whose counts the points
    were made; `layer` (n,) is each point's index among them.
    """

    longitude: Floats
    latitude: Floats
    layer: NDArray[np.int32]
    weight: NDArray[np.int32]
    layers: tuple[Layer, ...]


def counted_layers(released: Released, shown: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers among `shown` whose counts are turned into points.

    These are all time slices if there are any, else one layer, preferably an inferred one. The
    result is empty for a release that already contains points, or that counts trips.
    """
    if released.content.product != "Summary statistics":
        return ()
    counts = [
        layer
        for layer in shown
        if isinstance(layer, BoxLayer | ShapeLayer)
        and layer.value is not None
        and layer.features.counts
        and not layer.features.trips
    ]
    slices = [layer for layer in counts if layer.sliced]
    inferred = [layer for layer in counts if layer.kind == "inferred"]
    return tuple(slices or inferred[-1:] or counts[:1])


def synthetic_points(
    counted: Sequence[Layer], area: StudyArea, digest: bytes, most: int = MOST_POINTS
) -> SyntheticPoints:
    """Make `most` points or fewer from the counts of layers over a study area.

    `digest` identifies the release; the same digest gives the same points.
    """
    regions = [_Regions.of(layer, area) for layer in counted]
    orders = [hilbert_order(each.west + each.east, each.south + each.north) for each in regions]
    values = [
        non_negative_counts(layer)[order] for layer, order in zip(counted, orders, strict=True)
    ]
    points, weights = _shared(_rounded(np.concatenate([np.empty(0), *values])), most)
    longitude, latitude, number = [np.empty(0)], [np.empty(0)], [np.empty(0, dtype=np.int32)]
    weight = [np.empty(0, dtype=np.int32)]
    for index, (layer, order) in enumerate(zip(counted, orders, strict=True)):
        region = np.repeat(order, points[: order.size])
        own, points = weights[: region.size], points[order.size :]
        weights = weights[region.size :]
        key = hashlib.sha256(digest + layer.name.encode()).digest()[:16]
        generator = np.random.Philox(key=int.from_bytes(key, "little"))
        places = _places(regions[index], region, generator)
        longitude.append(places[0])
        latitude.append(places[1])
        weight.append(own[: len(places[0])])
        number.append(np.full(len(places[0]), index, dtype=np.int32))
    return SyntheticPoints(
        longitude=np.concatenate(longitude),
        latitude=np.concatenate(latitude),
        layer=np.concatenate(number),
        weight=np.concatenate(weight),
        layers=tuple(counted),
    )


def _rounded(values: Floats) -> NDArray[np.int64]:
    """Round counts (n,) >= 0 so that the sum of the first i is off by at most one half."""
    sums = np.floor(np.concatenate([[0.0], np.cumsum(values)]) + 0.5)
    return np.diff(sums).astype(np.int64)


def _shared(people: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Divide the people (n,) of regions among at most `most` points.

    Returns the number of points of each region (n,), and the weight of each point. Each region gets
    one point for every k people or part of k, with the smallest k that `most` allows, and the
    weights of its points add up to its people. If more than `most` regions have people, all points
    have the same weight, and each running sum of the regions is right to within half of that
    weight.
    """
    if np.count_nonzero(people) > most:
        weight = math.ceil(people.sum() / most)
        sums = np.concatenate([[0], np.cumsum(people)])
        points = np.diff((sums + weight // 2) // weight)
        return points, np.full(points.sum(), weight, dtype=np.int32)
    low, high = 1, max(1, int(people.max(initial=0)))
    while low < high:
        middle = (low + high) // 2
        if int(np.sum(-(-people // middle))) <= most:
            high = middle
        else:
            low = middle + 1
    points = -(-people // low)
    region = np.repeat(np.arange(people.size), points)
    place = np.arange(region.size) - np.repeat(np.cumsum(points) - points, points)
    least, more = np.divmod(people[region], points[region])
    return points, (least + (place < more)).astype(np.int32)


def non_negative_counts(layer: Layer) -> Floats:
    """Return the counts (n,) of a layer's features, with negative counts raised to 0.

    If the layer also publishes non-negative counts, these are returned instead.
    """
    values = layer.columns.get("non_negative", layer.value)
    return np.maximum(np.asarray(values, dtype=np.float64), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Regions:
    """Boxes (n,) in degrees, and shapes within the boxes in which points must lie.

    `shapes` is None if points may lie anywhere in the study area.
    """

    west: Floats
    south: Floats
    east: Floats
    north: Floats
    area: StudyArea
    shapes: NDArray[np.object_] | None

    @classmethod
    def of(cls, layer: Layer, area: StudyArea) -> _Regions:
        if isinstance(layer, BoxLayer):
            west, south, east, north = area.bounds
            box = layer.grid.box_bounds(layer.boxes).T
            sides = (
                np.clip(box[0], west, east),
                np.clip(box[1], south, north),
                np.clip(box[2], west, east),
                np.clip(box[3], south, north),
            )
            return cls._from(sides, area, None)
        if isinstance(layer, ShapeLayer):
            shapely.prepare(layer.shapes)
            return cls._from(tuple(shapely.bounds(layer.shapes).T), area, layer.shapes)
        raise TypeError(f"There are no regions in a {type(layer).__name__}.")

    @classmethod
    def _from(
        cls, sides: Sequence[Floats], area: StudyArea, shapes: NDArray[np.object_] | None
    ) -> _Regions:
        west, south, east, north = (np.nan_to_num(side) for side in sides)
        return cls(west=west, south=south, east=east, north=north, area=area, shapes=shapes)

    def covers(
        self, region: NDArray[np.intp], longitude: Floats, latitude: Floats
    ) -> NDArray[np.bool_]:
        """Return a mask (n,) of the positions that lie in their regions' parts of the study area.

        `region` (n,) holds the index of each position's region.
        """
        inside = np.asarray(self.area.covers(longitude, latitude))
        if self.shapes is not None:
            inside &= shapely.intersects_xy(self.shapes[region], longitude, latitude)
        return inside

    def narrowed(self, region: NDArray[np.intp]) -> _Regions:
        """Return the regions with the boxes of some shrunk to their parts of the study area.

        `region` holds the indices of the regions to shrink.
        """
        chosen = np.unique(region)
        sides = np.array([self.west, self.south, self.east, self.north])
        parts = shapely.intersection(shapely.box(*sides[:, chosen]), self.area.shape)
        if self.shapes is not None:
            parts = shapely.intersection(parts, self.shapes[chosen])
        sides[:, chosen] = shapely.bounds(parts).T
        return self._from(tuple(sides), self.area, self.shapes)


def _places(
    regions: _Regions, region: NDArray[np.intp], generator: np.random.Philox
) -> tuple[Floats, Floats]:
    """Return longitudes (n,) and latitudes (n,) drawn evenly in the regions `region` (n,).

    If no position is found for a point, because its region only touches the study area or is
    thinner than a centimetre, the point gets the position of the previous point.
    """
    longitude, latitude = np.zeros(region.size), np.zeros(region.size)
    missing = np.arange(region.size)
    for attempt in range(2 * TRIES):
        if not missing.size:
            break
        if attempt == TRIES:
            regions = regions.narrowed(region[missing])
        tried = _drawn(regions, region[missing], generator)
        covers = regions.covers(region[missing], *tried)
        longitude[missing[covers]], latitude[missing[covers]] = tried[0][covers], tried[1][covers]
        missing = missing[~covers]
    placed = np.ones(region.size, dtype=np.bool_)
    placed[missing] = False
    if not placed.any():
        return np.empty(0), np.empty(0)
    last = np.maximum.accumulate(np.where(placed, np.arange(region.size), np.argmax(placed)))
    return longitude[last], latitude[last]


def _drawn(
    regions: _Regions, region: NDArray[np.intp], generator: np.random.Philox
) -> tuple[Floats, Floats]:
    """Draw positions (n,), evenly on the sphere, in the boxes of the regions `region` (n,)."""
    raw = generator.random_raw(2 * region.size).reshape(2, -1)
    across, up = (raw >> np.uint64(11)) * 2.0**-53
    west, east = regions.west[region], regions.east[region]
    low, high = (np.sin(np.radians(side[region])) for side in (regions.south, regions.north))
    longitude = west + across * (east - west)
    latitude = np.degrees(np.arcsin(low + up * (high - low)))
    return longitude.round(DECIMALS), latitude.round(DECIMALS)
