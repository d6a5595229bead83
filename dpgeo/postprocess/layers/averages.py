"""Layers of averages: the mean of every zone or square, and where none can be told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import AveragesRelease, GridAverages, ZoneAverages
from dpgeo.core.slices import SliceNames
from dpgeo.postprocess.areas import Cells, Cover, Shapes, squares
from dpgeo.postprocess.fieller import Means, ShareNoise
from dpgeo.postprocess.layers.features import AVERAGES, INTERVAL, MEAN, RANKS
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, ShapeLayer, unit_boxes
from dpgeo.postprocess.layers.registry import make_layers, make_pairs, slice_of
from dpgeo.postprocess.layers.slices import index_of_slice, slice_note
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea

NAME = "averages"

NOTE = (
    "Interval of 95 %, exact for the noise of the two sums that the mean is made of (Fieller). It "
    "holds over all regions; among those told although they have few records it is a little less "
    "sure. Values beyond the declared limits count as the limits, and nobody has more than the "
    "bound of contributions: neither is in the interval. rank_best and rank_worst are the ranks "
    "that the mean may have among those told, 1 the highest; they hold for all regions together, "
    "95 times in 100. Where there are too few records for a mean, all of these are empty."
)


@make_layers.register(ZoneAverages)
def _of_zones(content: ZoneAverages, area: StudyArea) -> list[Layer]:
    zones = content.zones
    place = {
        "key": np.array(zones.keys, dtype=object),
        "name": np.array(zones.names, dtype=object),
    }
    return _layers(content, shapely.orient_polygons(zones.shapes), place, ...)


@make_layers.register(GridAverages)
def _of_cells(content: GridAverages, area: StudyArea) -> list[Layer]:
    row, column = np.nonzero(content.grid.inside(area))
    place = {"row": row.astype(np.int32), "column": column.astype(np.int32)}
    return _layers(content, squares(content.grid, unit_boxes(row, column)), place, (row, column))


def _layers(
    content: AveragesRelease, shapes: Shapes, place: dict[str, NDArray[Any]], regions: Any
) -> list[Layer]:
    """Return the layer of the release, or one for each of its slices.

    `regions` is the index that picks the regions, in the order of `shapes`, from a slice's array.
    """
    names = content.slices
    if not names:
        sums = content.above[regions], content.below[regions]
        return [_layer(content, shapes, place, *sums)]
    return [
        replace(
            _layer(content, shapes, place, above[regions], below[regions]),
            name=name,
            title=f"{content.measure.heading}: {title}",
            note=f"{NOTE} {slice_note(names)}",
            sliced=True,
            of=parts,
        )
        for above, below, name, title, parts in zip(
            content.above,
            content.below,
            _slice_names(names),
            names.titles,
            names.parts,
            strict=True,
        )
    ]


def _slice_names(names: SliceNames) -> list[str]:
    return [f"{NAME}-{key}" for key in names.keys]


def _layer(
    content: AveragesRelease,
    shapes: Shapes,
    place: dict[str, NDArray[Any]],
    above: NDArray[np.int64],
    below: NDArray[np.int64],
) -> ShapeLayer:
    measure = content.measure
    regions = len(above) * max(1, len(content.slices))
    noise = ShareNoise(content.noise, measure.steps)
    means = noise.means(above, below, regions)
    best, worst = noise.ranks(above, below, regions)
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
            RANKS[0]: best,
            RANKS[1]: worst,
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
        ZoneAreas(content.zones, _each_slice(sums, 1), content.noise, area)
        for sums in (content.above, content.below)
    )
    return Pairs(above, below, content, len(content.zones) * max(1, len(content.slices)))


@make_pairs.register(GridAverages)
def _grid_pairs(content: GridAverages, area: StudyArea) -> Pairs:
    above, below = (
        Cells(content.grid, _each_slice(sums, 2), content.noise, area)
        for sums in (content.above, content.below)
    )
    regions = int(np.count_nonzero(content.grid.inside(area))) * max(1, len(content.slices))
    return Pairs(above, below, content, regions)


def _each_slice(sums: NDArray[np.int64], dimensions: int) -> list[NDArray[np.int64]]:
    """Return the sums of each slice; those of regions alone have this number of dimensions."""
    return [sums] if sums.ndim == dimensions else list(sums)


@slice_of.register(ZoneAverages)
@slice_of.register(GridAverages)
def _slice(content: AveragesRelease, layer: str) -> AveragesRelease:
    names = _slice_names(content.slices)
    index = index_of_slice(names, layer)
    return replace(content, above=content.above[index], below=content.below[index])
