"""Groups of boxes that stand out from the noise only when added up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.postprocess.clear_groups import coloured_from

NOISE = DiscreteLaplace(Fraction(1, 2), 1)
ALONE = float(NOISE.threshold())
SIDE = 64


def squares(size: int) -> np.ndarray:
    """Return boxes (n, 4) of `size` cells a side that fill the map."""
    row, column = (each.ravel() for each in np.mgrid[0:SIDE:size, 0:SIDE:size])
    return np.column_stack([row, row + size, column, column + size]).astype(np.int32)


def least(boxes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    sizes = (boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])
    return coloured_from(boxes, sizes.astype(np.int64), counts, NOISE, SIDE)


def test_neighbours_are_clear_together_where_none_is_alone() -> None:
    boxes = squares(2)
    inside = (boxes[:, 0] < 8) & (boxes[:, 2] < 8)
    counts = np.where(inside, round(ALONE * 0.7), 0)
    found = least(boxes, counts)
    assert (found[inside] < ALONE / 4).all()
    assert (found[~inside] == ALONE).all()


def test_a_clear_box_never_makes_its_neighbours_look_busy() -> None:
    boxes = squares(1)
    counts = np.zeros(len(boxes), dtype=np.int64)
    counts[0] = 1_000_000
    found = least(boxes, counts)
    assert found[0] == ALONE
    assert (found[1:] == ALONE).all()
    assert found[0] <= counts[0]


def test_noise_alone_is_seldom_clear() -> None:
    boxes = squares(1)
    random = np.random.default_rng(3)
    a = float(np.exp(-float(NOISE.rate)))
    groups, drawn = 0, 200
    for _ in range(drawn):
        counts = random.geometric(1 - a, len(boxes)) - random.geometric(1 - a, len(boxes))
        found = least(boxes, counts)
        groups += len(np.unique(found[(found < ALONE)]))
    # There are 1,344 groups on a map, so 1.3 are expected to stand out by chance; boxes in several
    # groups count once.
    assert groups / drawn < 1.4
