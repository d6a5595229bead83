"""Errors and coverage of range answers, as the API gives them, by size of the box."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks.evaluation.arrays import AREA
from dpgeo.core.released import Released
from dpgeo.postprocess.ranges import Ranges
from dpgeo.spatial.grid import Grid

SIZES = (0, 1 / 64, 1 / 16, 1 / 4, 1)
"""Limits of the classes of boxes, as shares of the map's cells; each class includes its upper
limit.
"""

AT_ONCE = 250
"""Number of boxes in one request; larger requests might be refused as too much work."""


def size_classes(boxes: NDArray[np.int64], cells: int) -> dict[str, NDArray[np.bool_]]:
    """Return masks (n,) of the boxes (n, 4) in each class of SIZES, by the class's name."""
    share = (boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2]) / cells**2
    pairs = itertools.pairwise(SIZES)
    return {f"to_{round(high * 64)}_64ths": (share > low) & (share <= high) for low, high in pairs}


def answer_errors(
    released: Released,
    counts: NDArray[Any],
    boxes: NDArray[np.int64],
    truth: NDArray[np.float64],
) -> dict[str, float]:
    """Return errors of a release's answers to range queries, by the name of the measure.

    The release is of `counts` (cells, cells). "answer_mae" is the mean absolute error over the
    boxes (n, 4), whose true counts are `truth` (n,). For each class of box sizes (`size_classes`),
    "answer_covered_..." is the share of intervals that hold the true count, and
    "answer_margin_..." the mean half-width of the intervals.
    """
    west, south, east, north = Grid.over(AREA, len(counts)).box_bounds(boxes).T
    regions, ranges = list(shapely.box(west, south, east, north)), Ranges(released)
    requests = [regions[start : start + AT_ONCE] for start in range(0, len(regions), AT_ONCE)]
    answers = [answer for request in requests for answer in ranges.answer(request)]
    estimate = np.array([each.estimate for each in answers])
    margin = np.array([each.margin for each in answers])
    error = np.abs(estimate - truth)
    measures = {"answer_mae": float(error.mean())}
    for name, chosen in size_classes(boxes, len(counts)).items():
        if chosen.any():
            covered = error[chosen] <= margin[chosen] + 1e-9
            measures[f"answer_covered_{name}"] = float(covered.mean())
            measures[f"answer_margin_{name}"] = float(margin[chosen].mean())
    return measures
