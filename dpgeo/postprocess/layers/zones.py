"""Layer of a zones release: the noisy count of each zone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely

from dpgeo.core.released import ZonesRelease
from dpgeo.postprocess.areas import Areas
from dpgeo.postprocess.compared import Compared, table_of_all
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, ShapeLayer, noise_columns
from dpgeo.postprocess.layers.registry import (
    can_compare,
    make_areas,
    make_compared,
    make_layers,
)
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea


@make_layers.register
def _zone_layers(content: ZonesRelease, area: StudyArea) -> list[Layer]:
    zones = content.zones
    margin, threshold = noise_columns(content.noise, len(zones))
    layer = ShapeLayer(
        name="zones",
        title="Counts of zones",
        kind="measured",
        shapes=shapely.orient_polygons(zones.shapes),
        value=content.counts,
        margin=margin,
        margin_label=EXACT_NOISE,
        note="The margin is the exact 95 % quantile of the noise added to the zone.",
        threshold=threshold,
        columns={
            "key": np.array(zones.keys, dtype=object),
            "name": np.array(zones.names, dtype=object),
            "non_negative": non_negative(content.counts, np.ones(len(zones))),
        },
    )
    return [layer]


@make_areas.register
def _areas(content: ZonesRelease, area: StudyArea) -> Areas:
    return ZoneAreas(content.zones, [content.counts], content.noise, area)


@can_compare.register
def _can_compare(content: ZonesRelease) -> bool:
    return True


@make_compared.register
def _compared(
    first: ZonesRelease, contents: Sequence[ZonesRelease], area: StudyArea
) -> Compared | None:
    if len({(each.noise, each.counts.shape) for each in contents}) > 1:
        return None
    return Compared(table_of_all([each.counts for each in contents], first.noise))
