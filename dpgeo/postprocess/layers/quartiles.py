"""Layers of quartiles: all zones or squares, each with its median unless that is withheld."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import GridQuartiles, QuartilesRelease, ZoneQuartiles
from dpgeo.postprocess.areas import Areas, Cells, Cover, Shapes
from dpgeo.postprocess.layers.averages import (
    Regions,
    by_slice,
    cell_regions,
    slice_names,
    zone_regions,
)
from dpgeo.postprocess.layers.features import QUARTILE_COLUMNS, QUARTILES, RANKS, interval_columns
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, ShapeLayer
from dpgeo.postprocess.layers.registry import make_layers, make_valued, select_slice
from dpgeo.postprocess.layers.slices import index_of_slice
from dpgeo.postprocess.quantiles import HistogramNoise, Quartiles
from dpgeo.postprocess.typical import (
    Quartile,
    RegionQuartiles,
    Typical,
    ValuedAreas,
    largest_shares,
    squared_shares,
)
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea

NAME = "quartiles"

NOTE = (
    "Intervals hold the true quartile of the counted records at least 95 times in 100, however "
    "values are spread: they come from a test of the noisy counts below and above each value, and "
    "reach to the edges of bins. Where values lie within a bin is not known; the estimate takes "
    "them as evenly spread. Values beyond the declared limits count as the limits, and nobody has "
    "more than the bound of contributions: neither is in the interval. Among regions told although "
    "they have few records, intervals are a little less sure. rank_best and rank_worst are the "
    "ranks that the median may have among those told, 1 the highest; they hold for all regions "
    "together, 95 times in 100. Where there are too few records, columns are empty."
)


@make_layers.register(ZoneQuartiles)
def _of_zones(content: ZoneQuartiles, area: StudyArea) -> list[Layer]:
    return _layers(content, zone_regions(content.zones))


@make_layers.register(GridQuartiles)
def _of_cells(content: GridQuartiles, area: StudyArea) -> list[Layer]:
    return _layers(content, cell_regions(content.grid, area))


def _layers(content: QuartilesRelease, regions: Regions) -> list[Layer]:
    def layer(index: Any) -> ShapeLayer:
        return _layer(content, regions, content.counts[index][regions.index])

    heading = _heading(content)
    return by_slice(content.slices, layer, name=NAME, heading=heading, note=NOTE)


def _heading(content: QuartilesRelease) -> str:
    return f"Median: {content.measure.heading}"


def _layer(content: QuartilesRelease, regions: Regions, counts: NDArray[np.int64]) -> ShapeLayer:
    measure, every = content.measure, len(counts) * max(1, len(content.slices))
    noise = HistogramNoise(content.noise, content.bins)
    found = noise.quartiles(counts, every)
    best, worst = noise.ranks(counts, every)
    return ShapeLayer(
        name=NAME,
        title=_heading(content),
        unit=measure.shown_unit,
        kind="inferred",
        margin_label=EXACT_NOISE,
        note=NOTE,
        features=QUARTILES,
        shapes=regions.shapes,
        told=found.told,
        columns={
            **regions.columns,
            **_columns(content, found),
            "told": found.told,
            "records": found.records,
            "records_margin": found.records_margin,
            RANKS[0]: best,
            RANKS[1]: worst,
        },
    )


def _columns(content: QuartilesRelease, found: Quartiles) -> dict[str, NDArray[np.float64]]:
    columns = {}
    for number, name in enumerate(QUARTILE_COLUMNS):
        values = (found.share[:, number], found.low[:, number], found.high[:, number])
        for column, shares in zip((name, *interval_columns(name)), values, strict=True):
            columns[column] = content.measure.to_values(shares)
    return columns


class Histograms(ValuedAreas):
    """The measured regions of a release of quartiles, each with a noisy histogram of the measure.

    If the release has slices, the counts of all slices are added up.
    """

    def __init__(self, content: QuartilesRelease, areas: Areas, regions: int, axes: int) -> None:
        self.areas, self._content, self._regions = areas, content, regions
        sliced = content.counts.ndim > axes + 1
        self._slices = len(content.counts) if sliced else 1
        counts = content.counts.sum(axis=0) if sliced else content.counts
        self._bins = [[counts[..., number]] for number in range(content.bins)]

    def typical(self, regions: Shapes) -> Iterator[tuple[Cover, Typical]]:
        """Yield each query region's cover and quartiles.

        The counts in a cover are only those of the first bin of each histogram.
        """
        covers, sums = self.areas.sums_of_each(regions, self._bins)
        _, squares = squared_shares(covers)
        noise = HistogramNoise(self._content.noise, self._content.bins)
        found = noise.quartiles_of_sums(
            sums.T, self._slices * squares, largest_shares(covers), self._regions
        )
        columns = _columns(self._content, found)
        for index, cover in enumerate(covers):
            lower, median, upper = (
                Quartile(
                    estimate=float(columns[name][index]),
                    low=float(columns[interval_columns(name)[0]][index]),
                    high=float(columns[interval_columns(name)[1]][index]),
                )
                for name in QUARTILE_COLUMNS
            )
            measure = self._content.measure
            yield (
                cover,
                Typical(
                    records=float(found.records[index]),
                    margin=float(found.records_margin[index]),
                    told=bool(found.told[index]),
                    quartiles=RegionQuartiles(
                        title=measure.title,
                        unit=measure.shown_unit,
                        lower=lower,
                        median=median,
                        upper=upper,
                    ),
                ),
            )


@make_valued.register(ZoneQuartiles)
def _zone_histograms(content: ZoneQuartiles, area: StudyArea) -> Histograms:
    areas = ZoneAreas(content.zones, [], content.noise, area)
    return Histograms(content, areas, len(content.zones) * max(1, len(content.slices)), 1)


@make_valued.register(GridQuartiles)
def _grid_histograms(content: GridQuartiles, area: StudyArea) -> Histograms:
    areas = Cells(content.grid, [], content.noise, area)
    regions = int(np.count_nonzero(content.grid.inside(area))) * max(1, len(content.slices))
    return Histograms(content, areas, regions, 2)


@select_slice.register(ZoneQuartiles)
@select_slice.register(GridQuartiles)
def _slice(content: QuartilesRelease, layer: str) -> QuartilesRelease:
    index = index_of_slice(slice_names(content.slices, NAME), layer)
    return replace(content, counts=content.counts[index])
