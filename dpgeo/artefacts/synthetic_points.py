"""Synthetic points made up from a release's counts, for tools that read points.

The files have the columns longitude, latitude, the weight of each point, its slice if the map is
divided into slices, and `made_up`, which is always true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts import csv, geojson, geopackage, geoparquet
from dpgeo.artefacts.codec import encode
from dpgeo.core.released import Released
from dpgeo.phrases import translatable
from dpgeo.postprocess.layers import NO_MARGIN, Layer, PointLayer
from dpgeo.postprocess.synthetic_points import counted_layers, synthetic_points

NAME = "points-synthetic"
TITLE = "Made-up points: nobody was here"
USE = translatable("made-up points: nobody was here")

FORMATS = (geoparquet.FORMAT, geojson.FORMAT, geopackage.FORMAT, csv.FORMAT)

RULE = (
    "Made up; nobody was here. The files {name}.* contain points that are a function of the "
    "layers {layers}, for tools that read points: counts are rounded so that running sums in "
    "Hilbert order are right within one half, and each region's points lie anywhere in its part of "
    "the study area, at places that follow from this release alone. Where there are many people, "
    "a point stands for several of them; its weight says for how many. Noise in empty regions "
    "becomes points, too."
)


def rule(released: Released, shown: Sequence[Layer]) -> list[str]:
    """Return the sentences on how synthetic points are made, or an empty list if there are none."""
    counted = counted_layers(released, shown)
    if not counted:
        return []
    named = ", ".join(layer.name for layer in counted)
    return [RULE.format(name=NAME, layers=named)]


def has_points(released: Released, shown: Sequence[Layer]) -> bool:
    """Return whether a release counts in regions, so that points can be made up from it."""
    return bool(counted_layers(released, shown))


def points_layer(released: Released, shown: Sequence[Layer]) -> PointLayer:
    """Return a release's synthetic points; call it only if `has_points`.

    `shown` lists the layers of the release's map.
    """
    counted = counted_layers(released, shown)
    # A hash of the release decides where points are, so that they are always the same.
    seed = hashlib.sha256(encode(released)).digest()
    points = synthetic_points(counted, released.area, seed)
    size = len(points.longitude)
    columns: dict[str, NDArray[Any]] = {
        "longitude": points.longitude,
        "latitude": points.latitude,
        "weight": points.weight,
    }
    if len(counted) > 1:
        columns["slice"] = np.array([each.title for each in counted], dtype=object)[points.layer]
    columns["made_up"] = np.ones(size, dtype=np.bool_)
    return PointLayer(
        name=NAME,
        title=TITLE,
        kind="inferred",
        margin_label=NO_MARGIN,
        note=" ".join(rule(released, shown)),
        columns=columns,
        longitude=points.longitude,
        latitude=points.latitude,
    )
