"""Layers of averages: all zones or squares, each with its mean unless that is withheld."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import AveragesRelease, GridAverages, ZoneAverages
from dpgeo.core.slices import SliceNames
from dpgeo.postprocess.areas import Areas, Cells, Cover, Shapes, squares
from dpgeo.postprocess.fieller import ShareNoise
from dpgeo.postprocess.layers.features import AVERAGES, MEAN, RANKS, interval_columns
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, ShapeLayer, unit_boxes
from dpgeo.postprocess.layers.registry import make_layers, make_valued, select_slice
from dpgeo.postprocess.layers.slices import index_of_slice, slice_note
from dpgeo.postprocess.typical import (
    Average,
    Typical,
    ValuedAreas,
    largest_shares,
    squared_shares,
)
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

NAME = "averages"

NOTE = (
    "Interval of 95 %, exact for the noise of the two sums that the mean is made of (Fieller). It "
    "holds over all regions; among those told although they have few records it is a little less "
    "sure. Values beyond the declared limits count as the limits, and nobody has more than the "
    "bound of contributions: neither is in the interval. rank_best and rank_worst are the ranks "
    "that the mean may have among those told, 1 the highest; they hold for all regions together, "
    "95 times in 100. Where there are too few records for a mean, all of these are empty."
)


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The regions (n,) of a layer: declared zones, or the cells of a grid in the study area.

    `shapes` are their polygons, and `columns` holds their names. Applied to an array of all the
    release's counts, `index` gives those of these regions, in the order of `shapes`.
    """

    shapes: Shapes
    columns: dict[str, NDArray[Any]]
    index: Any


def zone_regions(zones: Zones) -> Regions:
    """Return declared zones as regions."""
    columns = {
        "key": np.array(zones.keys, dtype=object),
        "name": np.array(zones.names, dtype=object),
    }
    return Regions(shapely.orient_polygons(zones.shapes), columns, ...)


def cell_regions(grid: Grid, area: StudyArea) -> Regions:
    """Return, as regions, the cells of a grid that intersect the study area."""
    row, column = np.nonzero(grid.inside(area))
    columns = {"row": row.astype(np.int32), "column": column.astype(np.int32)}
    return Regions(squares(grid, unit_boxes(row, column)), columns, (row, column))


def by_slice(
    names: SliceNames,
    layer: Callable[[Any], ShapeLayer],
    *,
    name: str,
    heading: str,
    note: str,
) -> list[Layer]:
    """Return a list of one layer, or of one layer for each slice if the release is divided.

    `layer` builds the layer of the slice with a given index; for a release without slices, the
    index is an Ellipsis (...). The names, titles and notes of the layers of slices begin with
    `name`, `heading` and `note`.
    """
    if not names:
        return [layer(...)]
    return [
        replace(
            layer(number),
            name=key,
            title=f"{heading}: {title}",
            note=f"{note} {slice_note(names)}",
            sliced=True,
            of=parts,
        )
        for number, (key, title, parts) in enumerate(
            zip(slice_names(names, name), names.titles, names.parts, strict=True)
        )
    ]


def slice_names(names: SliceNames, name: str) -> list[str]:
    """Return the name of each slice's layer."""
    return [f"{name}-{key}" for key in names.keys]


@make_layers.register(ZoneAverages)
def _of_zones(content: ZoneAverages, area: StudyArea) -> list[Layer]:
    return _layers(content, zone_regions(content.zones))


@make_layers.register(GridAverages)
def _of_cells(content: GridAverages, area: StudyArea) -> list[Layer]:
    return _layers(content, cell_regions(content.grid, area))


def _layers(content: AveragesRelease, regions: Regions) -> list[Layer]:
    def layer(index: Any) -> ShapeLayer:
        sums = (each[index][regions.index] for each in (content.above, content.below))
        return _layer(content, regions, *sums)

    heading = content.measure.heading
    return by_slice(content.slices, layer, name=NAME, heading=heading, note=NOTE)


def _layer(
    content: AveragesRelease,
    regions: Regions,
    above: NDArray[np.int64],
    below: NDArray[np.int64],
) -> ShapeLayer:
    measure = content.measure
    every = len(above) * max(1, len(content.slices))
    noise = ShareNoise(content.noise, measure.steps)
    means = noise.means(above, below, every)
    best, worst = noise.ranks(above, below, every)
    low, high = interval_columns(MEAN)
    return ShapeLayer(
        name=NAME,
        title=measure.heading,
        unit=measure.shown_unit,
        kind="inferred",
        margin_label=EXACT_NOISE,
        note=NOTE,
        features=AVERAGES,
        shapes=regions.shapes,
        told=means.told,
        columns={
            **regions.columns,
            MEAN: measure.to_values(means.share),
            low: measure.to_values(means.low),
            high: measure.to_values(means.high),
            "told": means.told,
            "records": means.records,
            "records_margin": means.records_margin,
            RANKS[0]: best,
            RANKS[1]: worst,
        },
    )


class Pairs(ValuedAreas):
    """The measured regions of a release of averages, with the two noisy sums that give each
    mean.
    """

    def __init__(self, content: AveragesRelease, areas: Areas, regions: int, axes: int) -> None:
        self.areas, self._content, self._regions = areas, content, regions
        self._sums = [_each_slice(sums, axes) for sums in (content.above, content.below)]

    def typical(self, regions: Shapes) -> Iterator[tuple[Cover, Typical]]:
        """Yield each query region's cover and its mean.

        The counts in a cover are not numbers of records, but noisy sums over records: of the steps
        of each value from the measure's lower limit (`above` of the content).
        """
        covers, (above, below) = self.areas.sums_of_each(regions, self._sums)
        measure = self._content.measure
        wholes, squares_of = squared_shares(covers)
        noise = ShareNoise(self._content.noise, measure.steps)
        largest = np.where(wholes > 0, 1.0, largest_shares(covers))
        means = noise.means_of_sums(above, below, squares_of, largest, self._regions)
        ends = [measure.to_values(each) for each in (means.share, means.low, means.high)]
        for index, cover in enumerate(covers):
            value, low, high = (float(each[index]) for each in ends)
            yield (
                cover,
                Typical(
                    records=float(means.records[index]),
                    margin=float(means.records_margin[index]),
                    told=bool(means.told[index]),
                    average=Average(
                        title=measure.title,
                        unit=measure.shown_unit,
                        value=value,
                        low=low,
                        high=high,
                    ),
                ),
            )


@make_valued.register(ZoneAverages)
def _zone_pairs(content: ZoneAverages, area: StudyArea) -> Pairs:
    areas = ZoneAreas(content.zones, [], content.noise, area)
    return Pairs(content, areas, len(content.zones) * max(1, len(content.slices)), 1)


@make_valued.register(GridAverages)
def _grid_pairs(content: GridAverages, area: StudyArea) -> Pairs:
    areas = Cells(content.grid, [], content.noise, area)
    regions = int(np.count_nonzero(content.grid.inside(area))) * max(1, len(content.slices))
    return Pairs(content, areas, regions, 2)


def _each_slice(sums: NDArray[np.int64], dimensions: int) -> list[NDArray[np.int64]]:
    """Return a list with an array of noisy sums for each slice, or `sums` alone without slices.

    The sums of one slice have `dimensions` axes; with slices, `sums` has one more, its first.
    """
    return [sums] if sums.ndim == dimensions else list(sums)


@select_slice.register(ZoneAverages)
@select_slice.register(GridAverages)
def _slice(content: AveragesRelease, layer: str) -> AveragesRelease:
    index = index_of_slice(slice_names(content.slices, NAME), layer)
    return replace(content, above=content.above[index], below=content.below[index])
