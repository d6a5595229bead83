"""Layers of clusters: counts at the clusters' centres and on their areas of influence."""

from __future__ import annotations

import numpy as np
import shapely

from dpgeo.core.released import ClustersRelease
from dpgeo.postprocess.layers.features import CLUSTERS
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    Layer,
    PointLayer,
    ShapeLayer,
    noise_columns,
)
from dpgeo.postprocess.layers.registry import make_layers
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, areas_of_influence

NOTE = (
    "The margin is the exact 95 % quantile of the noise added to the count of those nearest to the "
    "centre. Centres were placed by noisy sums; their error is not in it."
)


@make_layers.register
def _cluster_layers(content: ClustersRelease, area: StudyArea) -> list[Layer]:
    centres = Centres.from_degrees(content.longitude, content.latitude)
    shapes = areas_of_influence(centres, area)
    number = np.arange(1, len(centres) + 1, dtype=np.int32)
    margin, threshold = noise_columns(content.noise, len(number))
    projected = non_negative(content.counts, np.ones(len(number)))
    non_empty = np.flatnonzero(~shapely.is_empty(shapes))
    return [
        PointLayer(
            name="clusters",
            features=CLUSTERS,
            title="Clusters",
            kind="measured",
            margin_label=EXACT_NOISE,
            note=NOTE,
            value=content.counts,
            margin=margin,
            threshold=threshold,
            columns={"cluster": number, "non_negative": projected},
            longitude=content.longitude,
            latitude=content.latitude,
        ),
        ShapeLayer(
            name="areas",
            title="Areas of clusters",
            kind="measured",
            margin_label=EXACT_NOISE,
            note=NOTE,
            value=content.counts[non_empty],
            margin=margin[non_empty],
            threshold=threshold[non_empty],
            columns={"cluster": number[non_empty], "non_negative": projected[non_empty]},
            shapes=shapes[non_empty],
        ),
    ]
