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
from dpgeo.postprocess.even_places import Regions, places_in
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.hilbert import hilbert_order
from dpgeo.spatial.prepared import prepared_copies

MAX_POINTS = 100_000
"""Largest number of points; if more people are counted, points stand for several."""

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
    counted: Sequence[Layer], area: StudyArea, digest: bytes, most: int = MAX_POINTS
) -> SyntheticPoints:
    """Make `most` points or fewer from the counts of layers over a study area.

    `digest` identifies the release; the same digest gives the same points.
    """
    regions = [regions_of(layer, area) for layer in counted]
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
        places = places_in(regions[index], region, generator)
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
    """Round counts (n,) >= 0 so that, for every i, the sum of the first i is off by at most 1/2."""
    sums = np.floor(np.concatenate([[0.0], np.cumsum(values)]) + 0.5)
    return np.diff(sums).astype(np.int64)


def _shared(people: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Divide the people (n,) of regions among at most `most` points.

    Returns the number of points of each region (n,), and the weight of each point. Each region gets
    one point for every k people or part of k, with the smallest k that `most` allows, and the
    weights of its points add up to its people. If more than `most` regions have people, all points
    have the same weight, and the number of people in the first i regions is off by at most half of
    that weight, for every i.
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


def regions_of(layer: Layer, area: StudyArea) -> Regions:
    """Return the regions of a layer of boxes or shapes.

    Raises TypeError for a layer of points.
    """
    if isinstance(layer, BoxLayer):
        west, south, east, north = area.bounds
        box = layer.grid.box_bounds(layer.boxes).T
        sides = (
            np.clip(box[0], west, east),
            np.clip(box[1], south, north),
            np.clip(box[2], west, east),
            np.clip(box[3], south, north),
        )
        return Regions.of_sides(sides, area, None)
    if isinstance(layer, ShapeLayer):
        shapes = prepared_copies(layer.shapes)
        return Regions.of_sides(tuple(shapely.bounds(shapes).T), area, shapes)
    raise TypeError(f"There are no regions in a {type(layer).__name__}.")
