"""Layers of a release of PriLocation: counts by cluster, by unit (such as a district), and by bin,
the part of a cluster in one unit; and the places drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import LocationsRelease
from dpgeo.postprocess.layers.features import CLUSTERS
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    NO_MARGIN,
    NOMINAL,
    Layer,
    PointLayer,
    ShapeLayer,
    noise_columns,
)
from dpgeo.postprocess.layers.registry import make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, areas_of_influence
from dpgeo.spatial.places import EVERYWHERE, unit_name

EXACT = "The margin is the exact 95 % quantile of the noise added to the count."

ADDED = (
    "Counts of several bins are added up here; the margin is that of one count times the square "
    "root of their number, which is never too narrow."
)

DRAWN = (
    "Each place was drawn as the replacement of one that was kept or added, so nobody need have "
    "been there. Persons are virtual users, to whom real people were assigned at random. Noise "
    "adds places to each, so most may stand for nothing."
)


@make_layers.register
def _location_layers(content: LocationsRelease, area: StudyArea) -> list[Layer]:
    centres = Centres.from_degrees(content.centre_longitude, content.centre_latitude)
    clusters = _Summed(content, content.bin_cluster, len(centres))
    number = np.arange(1, len(centres) + 1, dtype=np.int32)
    shapes = areas_of_influence(centres, area)
    non_empty = np.flatnonzero(~shapely.is_empty(shapes))
    return [
        _bins(content),
        PointLayer(
            name="clusters",
            features=CLUSTERS,
            title="Clusters",
            kind="inferred",
            margin_label=clusters.label,
            note=clusters.note,
            value=clusters.value,
            margin=clusters.margin,
            threshold=clusters.threshold,
            columns={"cluster": number},
            longitude=content.centre_longitude,
            latitude=content.centre_latitude,
        ),
        ShapeLayer(
            name="areas",
            title="Areas of clusters",
            kind="inferred",
            margin_label=clusters.label,
            note=clusters.note,
            value=clusters.value[non_empty],
            margin=clusters.margin[non_empty],
            threshold=clusters.threshold[non_empty],
            columns={"cluster": number[non_empty]},
            shapes=shapes[non_empty],
        ),
        *_units(content),
        PointLayer(
            name="places",
            title="Places drawn",
            kind="inferred",
            margin_label=NO_MARGIN,
            note=DRAWN,
            columns={"person": content.person, "place": content.place},
            longitude=content.longitude[content.place],
            latitude=content.latitude[content.place],
        ),
    ]


def _bins(content: LocationsRelease) -> PointLayer:
    """Return the layer of bins with their measured counts.

    A bin is the part of a cluster that lies within one unit; it is shown at the mean position of
    its places.
    """
    pair = content.bin_unit * np.int64(len(content.centre_longitude)) + content.bin_cluster
    own = content.unit * np.int64(len(content.centre_longitude)) + content.cluster
    bin_number = np.searchsorted(pair, own)
    longitude, latitude = _middles(content, bin_number, len(pair))
    margin, threshold = noise_columns(content.noise, len(pair))
    return PointLayer(
        name="bins",
        features=CLUSTERS,
        title="Clusters within units",
        kind="measured",
        margin_label=EXACT_NOISE,
        note=EXACT,
        value=content.counts,
        margin=margin,
        threshold=threshold,
        columns={
            "unit": _names(content.unit_paths)[content.bin_unit],
            "cluster": content.bin_cluster + np.int32(1),
            "non_negative": non_negative(content.counts, np.ones(len(pair))),
        },
        longitude=longitude,
        latitude=latitude,
    )


def _middles(
    content: LocationsRelease, group: NDArray[np.integer[Any]], groups: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean longitude and the mean latitude of each group of places.

    `group` holds the index of each place's group.
    """
    size = np.bincount(group, minlength=groups)
    return (
        np.bincount(group, content.longitude, groups) / size,
        np.bincount(group, content.latitude, groups) / size,
    )


def _units(content: LocationsRelease) -> list[PointLayer]:
    """Return a layer of units (such as districts) for each visible level of the hierarchy.

    The layer of the largest units comes first.
    """
    levels = content.levels or (EVERYWHERE,)
    return [
        _units_of(content, depth, level, "units" if depth == len(levels) else f"units-{depth}")
        for depth, level in enumerate(levels, 1)
    ]


def _units_of(content: LocationsRelease, depth: int, level: str, name: str) -> PointLayer:
    """Return the layer of the units (such as districts) of one level of the places' hierarchy.

    `depth` is the number of names in a unit's path: one for the unit and one for each unit that
    contains it.
    """
    own = [path[:depth] for path in content.unit_paths]
    paths = sorted(set(own))
    number = {path: index for index, path in enumerate(paths)}
    group = np.array([number[path] for path in own], dtype=np.int32)
    units = _Summed(content, group[content.bin_unit], len(paths))
    longitude, latitude = _middles(content, group[content.unit], len(paths))
    return PointLayer(
        name=name,
        features=CLUSTERS,
        title=level[:1].upper() + level[1:],
        kind="inferred",
        margin_label=units.label,
        note=units.note,
        value=units.value,
        margin=units.margin,
        threshold=units.threshold,
        columns={"unit": _names(paths)},
        longitude=longitude,
        latitude=latitude,
    )


def _names(paths: Sequence[tuple[str, ...]]) -> NDArray[np.object_]:
    return np.array([unit_name(path) for path in paths], dtype=object)


class _Summed:
    """Counts of bins summed by group; a bin is the part of a cluster within one unit (district).

    `group` (b,) holds the index of each bin's group. The sums, margins and thresholds have the
    shape (groups,).
    """

    def __init__(self, content: LocationsRelease, group: NDArray[np.int32], groups: int) -> None:
        noise: DiscreteLaplace = content.noise
        self.value = np.zeros(groups, dtype=np.int64)
        np.add.at(self.value, group, content.counts)
        size = np.bincount(group, minlength=groups)
        self.label = EXACT_NOISE if size.max() <= 1 else NOMINAL
        self.note = EXACT if size.max() <= 1 else ADDED
        # A cluster without places has no part in any unit, so its count is 0, without noise.
        self.margin = np.sqrt(size) * noise.margin()
        self.threshold = np.maximum(np.sqrt(size) * noise.threshold(), 1.0)
