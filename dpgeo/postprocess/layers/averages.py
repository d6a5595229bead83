"""Layers of averages: the mean of every zone or square, and where none can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import AveragesRelease, GridAverages, ZoneAverages
from dpgeo.postprocess.areas import Cells, Cover, Shapes, squares
from dpgeo.postprocess.fieller import Means, ShareNoise
from dpgeo.postprocess.layers.features import AVERAGES, INTERVAL, MEAN
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, ShapeLayer, unit_boxes
from dpgeo.postprocess.layers.registry import make_layers, make_pairs
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

NAME = "averages"

NOTE = (
    "Interval of 95 %, exact for the noise of the two sums that the mean is made of (Fieller). It "
    "holds over all regions; among those told although they have few records it is a little less "
    "sure. Values beyond the declared limits count as the limits, and nobody has more than the "
    "bound of contributions: neither is in the interval. Where there are too few records for a "
    "mean, mean, mean_low and mean_high are empty."
)


@make_layers.register(ZoneAverages)
def _of_zones(content: ZoneAverages, area: StudyArea) -> list[Layer]:
    zones = content.zones
    place = {
        "key": np.array(zones.keys, dtype=object),
        "name": np.array(zones.names, dtype=object),
    }
    shapes = shapely.orient_polygons(zones.shapes)
    return [_layer(content, shapes, place, content.above, content.below)]


@make_layers.register(GridAverages)
def _of_cells(content: GridAverages, area: StudyArea) -> list[Layer]:
    row, column = np.nonzero(content.grid.inside(area))
    place = {"row": row.astype(np.int32), "column": column.astype(np.int32)}
    shapes = squares(content.grid, unit_boxes(row, column))
    sums = content.above[row, column], content.below[row, column]
    return [_layer(content, shapes, place, *sums)]


def _layer(
    content: AveragesRelease,
    shapes: Shapes,
    place: dict[str, NDArray[Any]],
    above: NDArray[np.int64],
    below: NDArray[np.int64],
) -> ShapeLayer:
    measure = content.measure
    means = ShareNoise(content.noise, measure.steps).means(above, below, len(above))
    return ShapeLayer(
        name=NAME,
        title=measure.heading,
        unit=measure.shown_unit,
        kind="inferred",
        margin_label=EXACT_NOISE,
        note=NOTE,
        features=AVERAGES,
        shapes=shapes,
        told=means.told,
        columns={
            **place,
            MEAN: measure.to_values(means.share),
            INTERVAL[0]: measure.to_values(means.low),
            INTERVAL[1]: measure.to_values(means.high),
            "told": means.told,
            "records": means.records,
            "records_margin": means.records_margin,
        },
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The measured regions of averages, once with each of the two sums of every region."""

    above: Cells | ZoneAreas
    below: Cells | ZoneAreas
    content: AveragesRelease
    regions: int

    def means(self, above: list[Cover], below: list[Cover]) -> Means:
        """Return the mean (n,) of each query region from the covers of both sums."""
        measure, noise = self.content.measure, self.content.noise
        wholes = np.array([sum(each.whole.values()) for each in above], dtype=np.float64)
        squares_of = wholes + [float(np.sum(np.square(each.shares))) for each in above]
        largest = np.where(wholes > 0, 1.0, [float(each.shares.max(initial=0.0)) for each in above])
        return ShareNoise(noise, measure.steps).means_of_sums(
            _sums(above), _sums(below), squares_of, largest, self.regions
        )


def _sums(covers: list[Cover]) -> NDArray[np.float64]:
    return np.array([each.total + float(each.values @ each.shares) for each in covers])


@make_pairs.register(ZoneAverages)
def _zone_pairs(content: ZoneAverages, area: StudyArea) -> Pairs:
    above, below = (
        ZoneAreas(content.zones, sums, content.noise, area)
        for sums in (content.above, content.below)
    )
    return Pairs(above, below, content, len(content.zones))


@make_pairs.register(GridAverages)
def _grid_pairs(content: GridAverages, area: StudyArea) -> Pairs:
    above, below = (
        Cells(content.grid, [sums], content.noise, area) for sums in (content.above, content.below)
    )
    return Pairs(above, below, content, _counted(content.grid, area))


def _counted(grid: Grid, area: StudyArea) -> int:
    return int(np.count_nonzero(grid.inside(area)))
