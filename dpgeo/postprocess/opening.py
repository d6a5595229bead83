"""Opening view of a map: its first layer, its unit, and its colour classes.

Everything follows from released figures alone. The page, pictures, embedded maps and the preview
use the same rules, so they show the same figure for the same place:

- The first layer is the finest one whose coloured boxes hold at least the share ENOUGH of the
  total, or at least the share NEARLY of what the coloured boxes of any other layer hold. A layer
  marked with `Layer.opens` takes precedence. Of slices, the one with the largest sum is first.
- Counts of boxes are stated per square on the ground, of the same size on all layers. The square's
  side is the side of the smallest box that stands out from the noise, rounded up to a round length.
  A longer round length is taken if the legend would print fractions, but at most the longest that
  fits in the typical box that stands out.
- Edges of colour classes are a constant factor apart, unless one class would then hold nearly all
  of the map. Edges below 1 are left out where enough classes remain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer
from dpgeo.postprocess.layers.features import typical_column
from dpgeo.postprocess.layers.slices import stacked
from dpgeo.spatial.grid import Grid

ENOUGH = 0.6
"""A layer may be shown first if its coloured boxes hold at least this share of the map's total."""

NEARLY = 0.75
"""A layer may also be shown first if its coloured boxes hold at least this share of the largest sum
that the coloured boxes of any layer hold.
"""

STEPS = 7
"""Largest number of classes, one for each step of a colour ramp
(`frontend/src/colour/classes.ts`).
"""

FULLEST = 0.4
"""Largest share of the total weight that a colour class should hold.

Class edges that are a constant factor apart are moved until no class holds more, if possible.
"""

CLOSE = 1.05
"""Sides that differ by less than this factor count as equal, so that 97 m are called 100 m.

`frontend/src/geometry/square.ts` has the same factor.
"""

MIN_EDGES = 3
"""Colour classes that begin below 1 are left out only if at least this many remain."""

HIGH_QUANTILE = 0.995
"""No class begins above this quantile of the values.

Otherwise one crowded place could make all others look alike.
"""

_ROUND = (1, 2, 5)
_NICE = np.array([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10])

SAMPLED = 1 << 18
"""For very large layers, classes are computed from a regular sample of about this many
values.
"""

EVERY = slice(None)
"""Python slice of all of a layer's features."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The layer that a map shows first, its unit, and the colour classes of each layer with values.

    `metres` is the side of the ground square that counts of boxes are stated for, or 0 if the map
    has no boxes. `edges` holds, for each layer name, the lower edges of the layer's classes, in
    counts per square, or per feature if the layer has no boxes; the first edge is the lowest value.

    `dots` names the layer that replaces `layer` from the zoom level at which a distance of `shift`
    metres is clearly visible. It is "" for maps that do not change with the zoom.
    """

    layer: str
    metres: int
    edges: Mapping[str, tuple[float, ...]]
    dots: str
    shift: float


def opening_view(shown: Sequence[Layer]) -> Opening:
    """Return the opening view of a map with the given layers."""
    first = opening_layer(shown)
    dots = next((each for each in shown if isinstance(each, PointLayer) and each.shift), None)
    moves = dots is not None and first is not dots
    metres = map_metres(shown)
    return Opening(
        layer=first.name,
        metres=metres,
        edges=_edges_by_layer(shown, metres),
        dots=dots.name if dots and moves else "",
        shift=dots.shift if dots and moves else 0.0,
    )


def opening_layer(shown: Sequence[Layer]) -> Layer:
    """Return the layer that a map shows first."""
    made_for_it = [layer for layer in shown if layer.opens and len(layer)]
    slices = [layer for layer in shown if isinstance(layer, BoxLayer) and layer.sliced]
    if made_for_it:
        return made_for_it[0]
    if slices:
        return max(slices, key=lambda layer: float(layer.value.sum()))
    boxes = [layer for layer in shown if isinstance(layer, BoxLayer)]
    if not boxes or not isinstance(shown[0], BoxLayer):
        return shown[0]
    total = float(boxes[0].value.sum())
    shares = {layer.name: _held(layer, total) for layer in boxes}
    least = min(ENOUGH, NEARLY * max(shares.values()))
    if not least:
        return boxes[0]
    clear = [layer for layer in boxes if shares[layer.name] >= least]
    return min(clear, key=lambda layer: float(layer.cells.mean()))


def standing(layer: Layer) -> NDArray[np.bool_]:
    """Return a mask (n,) of the features that stand out from the noise.

    These features have positive counts that reach the feature's threshold.
    """
    return _reaching(layer, layer.threshold)


def coloured(layer: Layer, part: slice = EVERY) -> NDArray[np.bool_]:
    """Return a mask (n,) of the features in `part` that a map colours.

    These are the features that stand out, and those in a box that stands out; in a layer of means
    or medians, those with enough records for a value.
    """
    if layer.told is not None:
        return layer.told[part]
    least = layer.threshold if layer.coloured_from is None else layer.coloured_from
    return _reaching(layer, least, part)


def _reaching(
    layer: Layer, least: NDArray[np.float64] | None, part: slice = EVERY
) -> NDArray[np.bool_]:
    if layer.value is None:
        return np.ones(len(layer), dtype=np.bool_)[part]
    values = layer.value[part]
    positive = np.asarray(values > 0)
    return positive if least is None else positive & (values >= least[part])


def map_metres(shown: Sequence[Layer]) -> int:
    """Return the side in metres of the square that counts are stated for; 0 without boxes.

    If no box stands out in any layer, the side follows from the first layer of boxes, a measured
    one.
    """
    boxes = [layer for layer in shown if isinstance(layer, BoxLayer) and len(layer)]
    clear = [layer for layer in boxes if standing(layer).any()] or boxes[:1]
    if not clear:
        return 0
    limits = [_metres(layer) for layer in clear]
    least, most = min(low for low, _ in limits), min(high for _, high in limits)
    allowed = [metres for metres in _round_lengths() if least <= metres <= most]
    first = opening_layer(shown)
    read = first if isinstance(first, BoxLayer) else clear[0]
    return next((each for each in allowed[:-1] if _is_readable(read, each)), allowed[-1])


def _metres(layer: BoxLayer) -> tuple[int, int]:
    """Return the smallest and largest square to which a layer's counts may be converted.

    Both are round side lengths in metres: the smallest is about the side of the smallest box that
    stands out, and the largest at most that of the median one.
    """
    clear, cells = standing(layer), visible_cells(layer)
    cells = cells[clear] if clear.any() else cells
    sides = layer.grid.ground_cell_metres * np.sqrt(cells.astype(np.float64))
    smallest, typical = float(sides.min()), float(np.median(sides))
    above = next(metres for metres in _round_lengths() if metres * CLOSE >= smallest)
    within = max((metres for metres in _round_lengths() if metres <= typical * CLOSE), default=1)
    return min(above, within), within


def _is_readable(layer: BoxLayer, metres: int) -> bool:
    """Return whether all class edges but the first, as the legend prints them, are at least 1."""
    return all(edge >= 1 for edge in layer_edges(layer, metres)[1:])


def cells_per_square(grid: Grid, metres: float) -> float:
    """Return the area of a square with a side of `metres` on the ground, in cells of the grid."""
    ratio = metres / grid.ground_cell_metres
    return 1.0 if 1 / CLOSE < ratio < CLOSE else ratio**2


def per_square(layer: BoxLayer, metres: int, features: Any = EVERY) -> Array:
    """Return counts (n,) per square with a side of `metres` on the ground.

    `features` selects the features whose counts are returned: a Python slice, a mask or indices.
    """
    cells = cells_per_square(layer.grid, metres)
    counts = layer.value[features] / np.maximum(layer.cells[features], 1)
    return np.asarray(counts * cells, dtype=np.float64)


def layer_edges(layer: Layer, metres: int) -> tuple[float, ...]:
    """Return the lower edges of a layer's classes, in counts per square if it has boxes."""
    shown = coloured(layer)
    if not isinstance(layer, BoxLayer):
        values = np.asarray([] if layer.value is None else layer.value, dtype=np.float64)[shown]
        return class_edges(values, np.ones(len(values)))
    values = per_square(layer, metres, shown)
    # No class may begin above the largest published count. The counts per square of boxes that are
    # smaller than a square would exceed it.
    most = math.inf if layer.is_cells else float(np.max(layer.value[shown], initial=0))
    edges = class_edges(values, layer.cells[shown].astype(np.float64), most)
    # A fraction of a person says little, so classes below 1 are left out if enough classes remain.
    whole = (*edges[:1], *(edge for edge in edges[1:] if edge >= 1))
    return whole if len(whole) >= MIN_EDGES else edges


def class_edges(values: Array, weights: Array, most: float = math.inf) -> tuple[float, ...]:
    """Return the lower edges of at most STEPS classes; the first edge is the lowest value.

    At first, edges are a constant factor apart. They are then moved step by step towards edges that
    give all classes equal shares of the weights (n,) of the values (n,), until no class holds more
    than the share FULLEST. If a few large boxes hold most of the weight, the same is tried with
    equal weights. No edge except the first is above `most`.
    """
    if not values.size:
        return ()
    tried = []
    for weighed in (weights, np.ones(len(values))):
        spread = _Spread.of(values, weighed)
        for evenness in (0.0, 0.25, 0.5, 0.75, 1.0):
            edges = spread.edges(evenness, most)
            fullest = float(spread.shares(edges).max())
            if fullest <= FULLEST:
                return edges
            tried.append((fullest, edges))
    return min(tried, key=lambda each: each[0])[1]


@dataclass(frozen=True, slots=True)
class _Spread:
    """Weighted distribution of a layer's values: `values` (n,), ascending, each with a weight.

    `below` (n + 1,) holds the sum of the weights before each value, and last the total weight.
    """

    values: Array
    below: Array

    @classmethod
    def of(cls, values: Array, weights: Array) -> _Spread:
        if values.size > 2 * SAMPLED:
            ends = [int(values.argmin()), int(values.argmax())]
            every = np.append(np.arange(0, values.size, values.size // SAMPLED), ends)
            values, weights = values[every], weights[every]
        order = np.argsort(values)
        return cls(values[order], np.concatenate([[0.0], np.cumsum(weights[order])]))

    def edges(self, evenness: float, most: float) -> tuple[float, ...]:
        """Return the lower edges of colour classes, each of which contains at least one value.

        With an `evenness` of 0 the edges are a constant factor apart; with 1, the values in each
        class have about the same total weight; in between, edges are between these two. No edge
        but the first is above `most`.
        """
        low, last = float(self.values[0]), float(self.values[-1])
        high = max(low, self._quantile(HIGH_QUANTILE))
        edges = [low]
        for step in range(1, STEPS):
            ratio = step / (STEPS - 0.5)
            factor = low ** (1 - ratio) * high**ratio
            share = self._quantile(step / STEPS)
            edge = _nice(factor ** (1 - evenness) * share**evenness)
            if edges[-1] < edge <= min(last, most):
                edges.append(edge)
        per_class = np.diff([*np.searchsorted(self.values, edges), len(self.values)])
        return tuple(edge for edge, count in zip(edges, per_class, strict=True) if count)

    def shares(self, edges: Sequence[float]) -> Array:
        starts = np.searchsorted(self.values, edges[1:])
        ends = [0.0, *self.below[starts], self.below[-1]]
        return np.asarray(np.diff(ends) / self.below[-1], dtype=np.float64)

    def _quantile(self, share: float) -> float:
        at = int(np.searchsorted(self.below[1:], share * self.below[-1]))
        return float(self.values[min(at, len(self.values) - 1)])


def _edges_by_layer(shown: Sequence[Layer], metres: int) -> dict[str, tuple[float, ...]]:
    slices = [layer for layer in shown if isinstance(layer, BoxLayer) and layer.sliced]
    if slices:
        alike = dict.fromkeys([each.name for each in slices], layer_edges(stacked(slices), metres))
        return {layer.name: layer_edges(layer, metres) for layer in shown} | alike
    flows = [
        layer
        for layer in shown
        if layer.sliced and not isinstance(layer, BoxLayer) and not typical_column(layer.columns)
    ]
    averages = [layer for layer in shown if typical_column(layer.columns)]
    # All slices share the same classes, so that a colour means the same value in every slice.
    if averages and averages[0].sliced:
        means = dict.fromkeys([each.name for each in averages], mean_edges(*averages))
    else:
        means = {layer.name: mean_edges(layer) for layer in averages}
    counts = {layer.name: layer_edges(layer, metres) for layer in shown if layer.value is not None}
    return means | counts | _common_edges(flows)


def _common_edges(slices: Sequence[Layer]) -> dict[str, tuple[float, ...]]:
    """Return colour classes for flows by time, which are the same in every slice."""
    values = [np.asarray(layer.value, dtype=np.float64)[coloured(layer)] for layer in slices]
    every = np.concatenate(values) if values else np.empty(0)
    edges = class_edges(every, np.ones(every.size))
    return {layer.name: edges if len(layer) else () for layer in slices}


def mean_edges(*averages: Layer) -> tuple[float, ...]:
    """Return the lower edges of at most STEPS equally wide classes with round limits.

    The classes cover the means or medians of the regions that have one.
    """
    means = np.concatenate([_typical(each)[coloured(each)] for each in averages])
    if not means.size:
        return ()
    low, high = float(means.min()), float(means.max())
    width = (high - low) / STEPS
    if not width:
        return (low,)
    step = next(each for each in _round_widths(width) if each >= width)
    first = math.floor(low / step) + 1
    inner = [float(f"{number * step:.6g}") for number in range(first, first + STEPS - 1)]
    edges = [low, *(edge for edge in inner if low < edge <= high)]
    per_class = np.diff([*np.searchsorted(np.sort(means), edges), means.size])
    return tuple(edge for edge, count in zip(edges, per_class, strict=True) if count)


def _typical(layer: Layer) -> Array:
    """Return the means or medians (n,) of a layer that has them."""
    return np.asarray(layer.columns[typical_column(layer.columns) or ""], dtype=np.float64)


def _round_widths(width: float) -> list[float]:
    """Return round numbers of the order of magnitude of `width`, ascending."""
    magnitude = 10.0 ** math.floor(math.log10(width))
    return [float(f"{digit * magnitude:.2g}") for digit in (1, 2, 2.5, 5, 10)]


def _held(layer: BoxLayer, total: float) -> float:
    """Return the share of `total` that is in the boxes that a map colours; at most 1."""
    if total <= 0:
        return 0.0
    return min(1.0, float(layer.value.sum(where=coloured(layer))) / total)


def visible_cells(layer: BoxLayer) -> NDArray[np.int64]:
    """Return, for each box (n,) of a layer, how many cells appear as one box around it on the map.

    If each feature is a cell, and every partition's count is spread evenly over its cells, each
    partition appears as one box.
    """
    partition = layer.columns.get("partition")
    if partition is None or not layer.is_cells or not len(layer):
        return layer.cells
    last = np.zeros(int(partition.max()) + 1)
    last[partition] = layer.value
    even = bool((last[partition] == layer.value).all())
    return np.bincount(partition)[partition] if even else layer.cells


def _nice(value: float) -> float:
    """Round a positive number, however small, to one that is easy to read."""
    digits, exponent = f"{value:e}".split("e")
    best = _NICE[np.abs(_NICE - float(digits)).argmin()]
    return float(f"{best}e{exponent}")


def _round_lengths() -> list[int]:
    return [digit * 10**power for power in range(7) for digit in _ROUND]
