"""The opening view of a map: its layer, its unit, and the classes of its colours.

All of it follows from released figures alone, by the same rules for the page, pictures, embedded
maps and the preview, so that they state one figure for one place:

- A map opens on the finest layer on which boxes that stand out hold ENOUGH of the total; where none
  does, on the one on which they hold most. A layer that is made for it (`Layer.opens`) goes first.
- Counts of boxes are stated for one square on the ground, the same on all layers: the smallest
  coloured box rounded up to a round length, or the largest round length within the typical
  coloured box if that is shorter.
- Classes follow the magnitudes of values as far as no class then holds nearly all of the map.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer
from dpgeo.postprocess.layers.slices import stacked

ENOUGH = 0.6
"""Share of the total that boxes which stand out hold on a layer that a map may open on."""

STEPS = 7
"""Most classes: the steps of the colour ramps (`frontend/src/colour/classes.ts`)."""

FULLEST = 0.4
"""Largest share of the coloured cells in a class, where magnitudes can be followed less closely."""

CLOSE = 1.01
"""Factor by which a unit may exceed the typical box, so that 99.5 m still count as 100 m."""

HIGH_QUANTILE = 0.995
"""Quantile of values above which no class begins, so that one crowded place does not flatten the
others."""

_ROUND = (1, 2, 5)
_NICE = np.array([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10])

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a map opens on, its unit, and the classes of each layer that has values.

    `metres` is the side of the square on the ground that counts of boxes are stated for; 0 where
    there are no boxes. `edges` are the lower edges of the classes of each layer by its name, in
    counts per square, or per feature where these are not boxes; the first is the lowest value.

    From the zoom at which `shift` metres are well seen, `dots` names the layer to show in place of
    `layer`; it is "" for maps that do not change by zoom.
    """

    layer: str
    metres: int
    edges: Mapping[str, tuple[float, ...]]
    dots: str
    shift: float


def opening_of(shown: Sequence[Layer]) -> Opening:
    """Return what a map of these layers opens on."""
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
    """Return the layer that a map opens on."""
    made_for_it = [layer for layer in shown if layer.opens and len(layer)]
    slices = [layer for layer in shown if isinstance(layer, BoxLayer) and layer.time_slice]
    if made_for_it:
        return made_for_it[0]
    if slices:
        return max(slices, key=lambda layer: float(layer.value.sum()))
    boxes = [layer for layer in shown if isinstance(layer, BoxLayer)]
    if not boxes or not isinstance(shown[0], BoxLayer):
        return shown[0]
    total = float(boxes[0].value.sum())
    held = {layer.name: _held(layer, total) for layer in boxes}
    clear = [layer for layer in boxes if held[layer.name] >= ENOUGH]
    if clear:
        return min(clear, key=lambda layer: float(layer.cells.mean()))
    return max(boxes, key=lambda layer: held[layer.name])


def standing(layer: Layer) -> NDArray[np.bool_]:
    """Return which features (n,) a map colours: positive counts that reach their threshold."""
    if layer.value is None:
        return np.ones(len(layer), dtype=np.bool_)
    positive = np.asarray(layer.value > 0)
    return positive if layer.threshold is None else positive & (layer.value >= layer.threshold)


def map_metres(shown: Sequence[Layer]) -> int:
    """Return the side in metres of the square for which a map states counts of boxes, or 0."""
    boxes = [layer for layer in shown if isinstance(layer, BoxLayer) and len(layer)]
    coloured = [layer for layer in boxes if standing(layer).any()]
    return min((_metres(layer) for layer in coloured or boxes), default=0)


def _metres(layer: BoxLayer) -> int:
    coloured = standing(layer)
    sides = layer.grid.ground_cell_metres * np.sqrt(_visible_cells(layer).astype(np.float64))
    sides = sides[coloured] if coloured.any() else sides
    smallest, typical = float(sides.min()), float(np.median(sides))
    above = next(metres for metres in _round_lengths() if metres * CLOSE >= smallest)
    within = max((metres for metres in _round_lengths() if metres <= typical * CLOSE), default=1)
    return min(above, within)


def per_square(layer: BoxLayer, metres: int) -> Array:
    """Return counts (n,) per square with sides of this many metres on the ground."""
    cells = (metres / layer.grid.ground_cell_metres) ** 2
    return np.asarray(layer.value / np.maximum(layer.cells, 1) * cells, dtype=np.float64)


def layer_edges(layer: Layer, metres: int) -> tuple[float, ...]:
    """Return the lower edges of a layer's classes, for counts of boxes per square."""
    coloured = standing(layer)
    if not isinstance(layer, BoxLayer):
        values = np.asarray([] if layer.value is None else layer.value, dtype=np.float64)[coloured]
        return class_edges(values, np.ones(len(values)))
    values = per_square(layer, metres)[coloured]
    # No class of boxes begins above every figure that was published, however small some boxes are.
    most = math.inf if layer.is_cells else float(np.max(layer.value[coloured], initial=0))
    return class_edges(values, layer.cells[coloured].astype(np.float64), most)


def class_edges(values: Array, weights: Array, most: float = math.inf) -> tuple[float, ...]:
    """Return lower edges of at most STEPS classes, the first the lowest value.

    Edges a constant factor apart are moved towards edges of equal shares of the weights (n,), step
    by step, until no class holds more than FULLEST of them. No edge but the first is above `most`.
    """
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    if not values.size:
        return ()
    tried = []
    for evenness in (0.0, 0.25, 0.5, 0.75, 1.0):
        edges = _filled(_edges(values, weights, evenness, most), values)
        fullest = float(class_shares(values, weights, edges).max())
        if fullest <= FULLEST:
            return edges
        tried.append((fullest, edges))
    return min(tried)[1]


def class_shares(values: Array, weights: Array, edges: Sequence[float]) -> Array:
    """Return the share of the weights in each class."""
    index = np.searchsorted(edges, values, side="right") - 1
    held = np.bincount(np.maximum(index, 0), weights=weights, minlength=len(edges))
    return np.asarray(held / held.sum(), dtype=np.float64)


def _edges_by_layer(shown: Sequence[Layer], metres: int) -> dict[str, tuple[float, ...]]:
    slices = [layer for layer in shown if isinstance(layer, BoxLayer) and layer.time_slice]
    if slices:
        return dict.fromkeys([each.name for each in slices], layer_edges(stacked(slices), metres))
    return {layer.name: layer_edges(layer, metres) for layer in shown if layer.value is not None}


def _held(layer: BoxLayer, total: float) -> float:
    """Return the share of a total that a layer's boxes hold which stand out; at most 1."""
    if total <= 0:
        return 0.0
    return min(1.0, float(layer.value.sum(where=standing(layer))) / total)


def _visible_cells(layer: BoxLayer) -> NDArray[np.int64]:
    """Return the cells (n,) of the box that is seen at each feature.

    Cells that share out the count of a partition evenly are seen as one box.
    """
    partition = layer.columns.get("partition")
    if partition is None or not layer.is_cells or not len(layer):
        return layer.cells
    _, index, sizes = np.unique(partition, return_inverse=True, return_counts=True)
    low = np.full(len(sizes), np.inf)
    high = np.full(len(sizes), -np.inf)
    np.minimum.at(low, index, layer.value)
    np.maximum.at(high, index, layer.value)
    return np.asarray(sizes[index] if (low == high).all() else layer.cells)


def _edges(values: Array, weights: Array, evenness: float, most: float) -> tuple[float, ...]:
    below = (np.cumsum(weights) - weights / 2) / weights.sum()
    low = float(values[0])
    high = max(low, float(np.interp(HIGH_QUANTILE, below, values)))
    edges = [low]
    for step in range(1, STEPS):
        factor = low * (high / low) ** (step / (STEPS - 0.5))
        share = float(np.interp(step / STEPS, below, values))
        edge = _nice(factor ** (1 - evenness) * share**evenness)
        if edges[-1] < edge <= min(float(values[-1]), most):
            edges.append(edge)
    return tuple(edges)


def _filled(edges: tuple[float, ...], values: Array) -> tuple[float, ...]:
    """Return the edges without those whose class holds no value."""
    starts = np.searchsorted(values, edges, side="left")
    ends = np.append(starts[1:], len(values))
    return tuple(edge for edge, held in zip(edges, ends > starts, strict=True) if held)


def _nice(value: float) -> float:
    """Round to a number that is easy to read."""
    magnitude = 10.0 ** math.floor(math.log10(value))
    best = float(_NICE[np.abs(_NICE - value / magnitude).argmin()])
    return float(f"{best * magnitude:.2g}")


def _round_lengths() -> list[int]:
    return [digit * 10**power for power in range(7) for digit in _ROUND]
