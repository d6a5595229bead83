"""Measurements of quadtree nodes in phases, and the surface inferred from them.

The mechanisms Auto and quadtree share this code. The mechanisms decide which nodes are measured,
and under which labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import PhasedRelease
from dpgeo.postprocess.node_measurements import Masks, NodeMeasurements
from dpgeo.postprocess.partition_choice import boxes
from dpgeo.postprocess.pyramid import padded
from dpgeo.postprocess.surface import infer, quiet, smooth
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid


class Survey:
    """Measures the nodes of a quadtree over a grid and stores the noisy counts.

    The nodes of one measurement are disjoint, so every cell is in at most one of them, and their
    counts have the same sensitivity as the counts of cells (`PrivateCounts.regroup`).
    """

    def __init__(
        self, grid: Grid, cells: PrivateCounts, inside: NDArray[np.bool_], meter: Meter
    ) -> None:
        self.measurements = NodeMeasurements(padded(inside))
        self.noise: list[DiscreteLaplace] = []
        self._boxes: list[NDArray[np.int32]] = []
        self._counts: list[NDArray[np.int64]] = []
        self._grid, self._cells, self._inside, self._meter = grid, cells, inside, meter

    def measure(self, label: str, nodes: Masks) -> NDArray[np.int64]:
        """Measure the counts (n,) of the marked nodes under a label; store and return them."""
        squares = boxes(nodes, self._inside.shape)
        region = np.where(self._inside, box_image(squares, self._inside.shape), -1)
        noise = self._meter.noise(label, self._cells.sensitivity)
        counts = self._meter.measure(label, self._cells.regroup(region, len(squares)))
        self.measurements.add(nodes, counts, 1 / float(noise.rate))
        self.noise.append(noise)
        self._boxes.append(squares)
        self._counts.append(counts)
        return counts

    def content(self) -> PhasedRelease:
        """Return the release, which consists of all measurements and the surface inferred from
        them.
        """
        surface = smooth(self.measurements, quiet(self.measurements, infer(self.measurements)))
        sizes = [len(phase) for phase in self._boxes]
        return PhasedRelease(
            grid=self._grid,
            boxes=np.concatenate(self._boxes),
            phase=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            counts=np.concatenate(self._counts),
            noises=tuple(self.noise),
            surface=np.ascontiguousarray(surface[: self._grid.rows, : self._grid.columns]),
        )
