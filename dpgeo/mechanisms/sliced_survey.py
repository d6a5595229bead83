"""Measurements of quadtree nodes in several slices, and the surfaces inferred from them.

A slice is one of several public, disjoint parts of the records, such as a part of the day. Every
measurement counts nodes of all slices together, as one vector. The functions at the end, for the
cells of all slices and for a sentence in forecasts, are shared by the mechanisms that divide a map
by time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.categories import Category
from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import CountNoise
from dpgeo.core.released import PhasedSlicesRelease
from dpgeo.core.slices import SlicedGrid, Slicing, slicing
from dpgeo.mechanisms.survey import noise_kind, sum_counts
from dpgeo.phrases import Phrase
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import boxes
from dpgeo.postprocess.pyramid import padded
from dpgeo.postprocess.surface import infer, quiet, smooth
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid


class SlicedSurvey:
    """Measures nodes of one quadtree for each slice, and stores the noisy counts.

    Within a slice, the nodes of one measurement are disjoint. So every pair of a slice and a cell
    is in at most one node, and the counts of a measurement have together the same L1 sensitivity as
    those of all pairs (`PrivateCounts.regroup`). If all nodes are single cells, the squared
    sensitivity is the same, too (`PrivateCounts.selected`).
    """

    def __init__(
        self, sliced: SlicedGrid, cells: PrivateCounts, inside: NDArray[np.bool_], meter: Meter
    ) -> None:
        kind = noise_kind(meter)
        self.measurements = [
            NodeMeasurements(padded(inside), kind) for _ in range(len(sliced.slices))
        ]
        self.noise: list[CountNoise] = []
        self._boxes: list[list[NDArray[np.int32]]] = []
        self._counts: list[list[NDArray[np.int64]]] = []
        self._sliced, self._cells, self._inside, self._meter = sliced, cells, inside, meter

    def measure(self, label: str, nodes: Sequence[Masks]) -> list[NDArray[np.int64]]:
        """Measure the marked nodes of each slice under one label; store and return their counts."""
        squares = [boxes(each, self._inside.shape) for each in nodes]
        starts = np.cumsum([0, *map(len, squares)])
        if all(each[-1].sum() == self._inside.sum() for each in nodes):
            private = self._cells.selected(np.broadcast_to(self._inside, self._cells.shape))
        else:
            region = np.stack(
                [
                    np.where(self._inside, box_image(each, self._inside.shape) + start, -1)
                    for each, start in zip(squares, starts[:-1], strict=True)
                ]
            )
            private = self._cells.regroup(region, int(starts[-1]))
        noise = self._meter.noise(label, private)
        measured = self._meter.measure(label, private)
        counts = [measured[start:end] for start, end in pairwise(starts.tolist())]
        for own, marked, values in zip(self.measurements, nodes, counts, strict=True):
            own.add(marked, values, noise.scale)
        self.noise.append(noise)
        self._boxes.append(squares)
        self._counts.append(counts)
        return counts

    def scale_of(self, label: str) -> float:
        """Return the noise scale of the measurement `label` in the plan, for squares of cells."""
        return self._meter.noise(label, sum_counts(self._cells)).scale

    def content(self) -> PhasedSlicesRelease:
        """Return the release: all measurements, and the surfaces inferred from them."""
        grid, slices = self._sliced.grid, self._sliced.slices.names
        surfaces = np.stack([smooth(each, quiet(each, infer(each))) for each in self.measurements])
        phases = [sum(map(len, phase)) for phase in self._counts]
        sizes = [len(counts) for phase in self._counts for counts in phase]
        numbers = np.tile(np.arange(len(slices), dtype=np.int32), len(phases))
        return PhasedSlicesRelease(
            grid=grid,
            keys=slices.keys,
            titles=slices.titles,
            time_zone=slices.time_zone,
            boxes=np.concatenate([each for phase in self._boxes for each in phase]),
            phase=np.repeat(np.arange(len(phases), dtype=np.int32), phases),
            slice_number=np.repeat(numbers, sizes),
            counts=np.concatenate([each for phase in self._counts for each in phase]),
            noises=tuple(self.noise),
            surfaces=np.ascontiguousarray(surfaces[:, : grid.rows, : grid.columns]),
            values=slices.values,
            times=slices.times,
            category=slices.category,
        )


def cells_by_time(
    domain: Domain, cells: int, slices: str, category: Category | None = None
) -> SlicedGrid:
    """Return a grid with `cells` cells along each side in every slice of time.

    If `category` is given, there is a slice for each pair of one of its values and a time. Raises
    InvalidInput for data without times, or for too many slices.
    """
    divided = slicing(slices, category, _local_time_zone(domain))
    if divided is None:
        raise ValueError(f"{slices} does not divide time.")
    return SlicedGrid(Grid.over(domain.area, cells), divided)


def slices_fact(slices: Slicing) -> Phrase:
    """Return a sentence: how many maps there are, and that one contribution bound covers all."""
    titles = slices.names.titles
    return Phrase(
        "There are {count} maps, from {first} to {last}, in local time ({zone}). The "
        "bound on what one person adds holds for all of them together.",
        count=len(titles),
        first=Phrase(titles[0]),
        last=Phrase(titles[-1]),
        zone=slices.time_zone,
    )


def _local_time_zone(domain: Domain) -> str:
    """Return the dataset's time zone. Raises InvalidInput for data without times."""
    if not domain.time_zone:
        raise InvalidInput(
            "This dataset has no time column. Choose another mechanism, or declare a dataset "
            "whose file has one.",
            field="slices",
        )
    return domain.time_zone
