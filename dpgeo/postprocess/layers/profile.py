"""Layers of a profile: the counts of all hours of each zone, and the zones' totals."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import ProfileRelease
from dpgeo.core.time_slices import DAYS
from dpgeo.postprocess.areas import Areas
from dpgeo.postprocess.layers.features import HOURS
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    Layer,
    PointLayer,
    ShapeLayer,
    noise_columns,
    same,
)
from dpgeo.postprocess.layers.registry import make_areas, make_layers, select_slice
from dpgeo.postprocess.layers.slices import index_of_slice
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.two_way import two_way_estimate
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea

NAME = "profile"

NOTE = (
    "The margin is the exact 95 % quantile of the noise added to the count. smoothed is an "
    "estimate from the rows and columns of the zone's table of hours and days; it has no margin. "
    "Local time ({zone}); whoever was there in several hours is in each of them. Each row "
    "stands at a point within its zone."
)

TOTALS_NOTE = "Sums of the zone's counts over all times, with the exact margin of their noise."


@make_layers.register
def _profile_layers(content: ProfileRelease, area: StudyArea) -> list[Layer]:
    zones, (count, bins) = content.zones, content.counts.shape
    within = shapely.point_on_surface(zones.shapes)
    margin, threshold = noise_columns(content.noise, content.counts.size)
    names = np.array(zones.names, dtype=object)
    times = np.array(content.titles, dtype=object)
    both = [f"{name}, {time}" for name in zones.names for time in content.titles]
    whole = PointLayer(
        name=NAME,
        title="Counts by hour and zone",
        kind="measured",
        features=HOURS,
        value=content.counts.ravel(),
        margin=margin,
        margin_label=EXACT_NOISE,
        note=NOTE.format(zone=content.time_zone),
        threshold=threshold,
        on_map=False,
        columns={
            "zone_key": np.repeat(np.array(zones.keys, dtype=object), bins),
            "zone": np.repeat(names, bins),
            "name": np.array(both, dtype=object) if count > 1 else times,
            "time_slice": np.tile(np.array(content.keys, dtype=object), count),
            **_days_and_hours(content),
            "non_negative": non_negative(content.counts.ravel(), np.ones(content.counts.size)),
            "smoothed": np.concatenate([smoothed(content, index) for index in range(count)]),
        },
        longitude=np.repeat(shapely.get_x(within), bins),
        latitude=np.repeat(shapely.get_y(within), bins),
    )
    return [whole, _totals(content)]


def _totals(content: ProfileRelease) -> ShapeLayer:
    zones, bins = content.zones, content.counts.shape[1]
    margin = float(margin_of_sum({content.noise: bins}))
    deviation = float(np.sqrt(bins * content.noise.variance))
    return ShapeLayer(
        name="zones",
        title="Totals of zones",
        kind="inferred",
        shapes=shapely.orient_polygons(zones.shapes),
        value=content.counts.sum(axis=1),
        margin=same(margin, len(zones)),
        margin_label=EXACT_NOISE,
        note=TOTALS_NOTE,
        threshold=same(np.ceil(3.5 * deviation), len(zones)),
        opens=True,
        columns={
            "key": np.array(zones.keys, dtype=object),
            "name": np.array(zones.names, dtype=object),
        },
    )


def _days_and_hours(content: ProfileRelease) -> dict[str, NDArray[Any]]:
    """Return the columns "day" and "hour" (n,), or only those by which time is divided."""
    count, bins = content.counts.shape
    columns: dict[str, NDArray[Any]] = {}
    if bins % 7 == 0:
        days = np.repeat(np.array(DAYS, dtype=object), bins // 7)
        columns["day"] = np.tile(days, count)
    if bins % 24 == 0:
        columns["hour"] = np.tile(np.arange(24, dtype=np.int32), count * bins // 24)
    return columns


def smoothed(content: ProfileRelease, zone: int) -> NDArray[Any]:
    """Return empirical Bayes estimates (b,) of one zone's true counts in b parts of the week.

    `postprocess.two_way` describes the method.
    """
    table = table_of(content, zone)
    return two_way_estimate(table, content.noise.variance).ravel()


def table_of(content: ProfileRelease, zone: int) -> NDArray[Any]:
    """Return one zone's counts as a table of days by hours.

    If time is not divided by both days and hours, the table has a single row.
    """
    counts: NDArray[np.int64] = content.counts[zone]
    return counts.reshape(7, 24) if counts.size == 7 * 24 else counts[None, :]


@make_areas.register
def _areas(content: ProfileRelease, area: StudyArea) -> Areas:
    return ZoneAreas(content.zones, list(content.counts.T), content.noise, area)


@select_slice.register
def _slice(content: ProfileRelease, layer: str) -> ProfileRelease:
    index = index_of_slice(content.keys, layer)
    return dataclasses.replace(content, counts=content.counts[:, [index]])
