"""Colours, classes and legend texts of a layer, shared by all pictures and styles.

The classes and the unit are those that the site's map shows first (`postprocess.opening`), and the
colours are the site's (`frontend/src/ui/tokens.css`). Features that the map does not colour,
because they do not stand out from the noise, are grey.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts.counted_words import noun_of_layer, released_nouns
from dpgeo.artefacts.table import EVERY, parts
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer
from dpgeo.postprocess.layers.contours import DENSITY, FROM
from dpgeo.postprocess.layers.features import MEAN, MEDIAN
from dpgeo.postprocess.opening import (
    Opening,
    cells_per_square,
    coloured,
    opening_view,
    per_square,
)

Colour = tuple[int, int, int]

NOISE: Colour = (214, 220, 219)
"""The colour of features that do not stand out from the noise."""

TIDE: tuple[Colour, ...] = (
    (248, 232, 139),
    (168, 200, 163),
    (43, 194, 186),
    (55, 141, 162),
    (0, 101, 122),
    (20, 44, 119),
    (10, 10, 36),
)
"""The colour ramp of the site's map: the hue changes, and each colour is darker than the last."""

PLAIN = TIDE[5]
"""The colour of features without values, such as moved points."""

TOO_FEW = "Too few to tell from none"

NO_ESTIMATE = "No estimate: too few records"

MAX_RADIUS = 26.0
"""Radius in pixels of the circle of the largest cluster (`frontend/src/layers/clusters/`)."""

MIN_RADIUS = 4.0
"""Radius in pixels of the smallest circle for a cluster."""

DOT = 2.5
"""Radius in pixels of a point without a value (`frontend/src/layers/points/`)."""

LAND: Colour = (251, 251, 248)
"""The colour of the map's background, in which outlines between zones are drawn."""

INK: Colour = (20, 32, 42)
"""The colour of labels and of plain lines."""

HATCH: Colour = (134, 147, 146)
"""The colour for what is uncertain, such as the outlines of hollow circles, or out of reach."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A colour class from `low` (inclusive) to `high` (exclusive); None means no limit."""

    low: float | None
    high: float | None
    colour: Colour
    label: str


@dataclass(frozen=True)
class View:
    """A layer as the site's map draws it.

    Counts of boxes are converted to counts per square with sides of `metres`.

    `edges` holds the lower limits of the colour classes; it is empty if the layer has no classes.
    """

    layer: Layer
    metres: int
    edges: tuple[float, ...]

    @classmethod
    def opening(cls, shown: Sequence[Layer], opens: Opening | None = None) -> View:
        """Return the view that a map of these layers shows first.

        `opens` is the layer, unit and classes that the map shows first, computed here if None.
        """
        opens = opens or opening_view(shown)
        return next(view for view in views(shown, opens) if view.layer.name == opens.layer)

    @property
    def values(self) -> NDArray[np.float64]:
        """Return an array (n,) with each feature's value, which determines its colour."""
        return self._values(EVERY)

    def _values(self, features: Any) -> NDArray[np.float64]:
        """Return the values of the features in a Python slice or with the given indices."""
        layer = self.layer
        if isinstance(layer, BoxLayer):
            return per_square(layer, self.metres, features)
        values = layer.value if self.column is None else layer.columns[self.column]
        values = np.zeros(len(layer)) if values is None else values
        return np.asarray(values[features], dtype=np.float64)

    @property
    def column(self) -> str | None:
        """Return the name of the column of densities, means or medians, or None for layers of
        counts.
        """
        return next(
            (name for name in (FROM, DENSITY, MEAN, MEDIAN) if name in self.layer.columns), None
        )

    @property
    def field(self) -> str:
        """Return the name of the column in files that decides the colours, or "" for layers without
        values.
        """
        return self.column or ("" if self.layer.value is None else "estimate")

    @property
    def divisor(self) -> str:
        """Return the name of the column with each box's number of cells, or "" if none is needed.

        A style divides a box's count by it, and multiplies the count per cell by `factor`.
        """
        layer = self.layer
        return "cells" if isinstance(layer, BoxLayer) and not layer.is_cells else ""

    @property
    def factor(self) -> float:
        """Return the factor from counts per cell to counts per square; 1 without boxes."""
        layer = self.layer
        if not isinstance(layer, BoxLayer):
            return 1.0
        return cells_per_square(layer.grid, self.metres)

    @property
    def least(self) -> str:
        """Return the name of the column with the lowest value at which a map colours each feature.

        Returns "" if every feature is coloured.
        """
        if self.layer.coloured_from is not None:
            return "coloured_from"
        return "" if self.layer.threshold is None else "threshold"

    @property
    def grey_words(self) -> str:
        """Return the legend's text for grey features; "" if the layer never has any."""
        if self.layer.told is not None:
            return NO_ESTIMATE
        return "" if self.layer.threshold is None else TOO_FEW

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the classes from the lowest up, without the class of grey features."""
        highs = (*self.edges[1:], None)
        lows = (None, *self.edges[1:])
        return tuple(
            Rule(low, high, colour, label)
            for low, high, colour, label in zip(lows, highs, self.ramp, self.labels, strict=False)
        )

    @property
    def by_one_column(self) -> bool:
        """Whether one column decides the class: all features have the same size and threshold.

        This does not depend on the counts, so noise never decides which files exist.
        """
        layer = self.layer
        if self.divisor or layer.coloured_from is not None:
            return False
        return layer.threshold is None or bool((layer.threshold == layer.threshold[:1]).all())

    @property
    def stops(self) -> list[tuple[float | None, Colour, str]] | None:
        """Return the upper limit, colour and label of each class; limits are values of one column.

        The grey class comes first, if there is one. Limits are exclusive; the last one is None.
        Returns None if no single column decides the class, because features differ in size or
        threshold.
        """
        least = self.layer.threshold
        if not self.rules or not self.by_one_column:
            return None
        stops: list[tuple[float | None, Colour, str]] = [
            (None if rule.high is None else rule.high / self.factor, rule.colour, rule.label)
            for rule in self.rules
        ]
        if least is None:
            return stops
        return [(max(float(least[0]), np.finfo(float).tiny), NOISE, TOO_FEW), *stops]

    @property
    def ramp(self) -> tuple[Colour, ...]:
        """Return the colours of the classes, spread over the whole colour ramp."""
        last, classes = len(TIDE) - 1, len(self.edges)
        if classes == 1:
            return (TIDE[len(TIDE) // 2],)
        return tuple(TIDE[int(number * last / (classes - 1) + 0.5)] for number in range(classes))

    @property
    def labels(self) -> tuple[str, ...]:
        """Return labels of the classes, such as "20 to 50" or, for the lowest, "less than 5"."""
        digits = 3 if self.column else 6
        edges = [f"{float(f'{edge:.{digits}g}'):,.6g}" for edge in self.edges]
        if self.column == DENSITY:
            return tuple(edges)
        if len(edges) <= 1:
            return tuple(f"{edge} or more" for edge in edges)
        inner = [f"{low} to {high}" for low, high in itertools.pairwise(edges[1:])]
        lowest = f"{edges[0]} to {edges[1]}" if self.column else f"less than {edges[1]}"
        return (lowest, *inner, f"{edges[-1]} or more")

    @functools.cached_property
    def classes(self) -> NDArray[np.int8]:
        """Return an array (n,) of the features' classes, counted from 0; -1 means grey.

        Several files of a map show the classes, so they are computed only once.
        """
        classes = np.full(len(self.layer), -1, dtype=np.int8)
        # Features are classified in parts, to bound memory. Most cells of a fine grid are grey and
        # need no value.
        for part in parts(self.layer):
            shown = part.start + np.flatnonzero(coloured(self.layer, part))
            classes[shown] = np.searchsorted(self.edges, self._values(shown), side="right") - 1
        return classes

    @property
    def palette(self) -> NDArray[np.uint8]:
        """Return an array (classes + 1, 3): the colour of grey features, then those of classes."""
        return np.array((NOISE, *self.ramp), dtype=np.uint8)

    def colours(self) -> NDArray[np.uint8]:
        """Return an array (n, 3) with the colour of every feature."""
        if self.layer.value is None and self.layer.told is None and not self.edges:
            return np.full((len(self.layer), 3), PLAIN, dtype=np.uint8)
        return self.palette[self.classes + 1]


def views(shown: Sequence[Layer], opens: Opening | None = None) -> list[View]:
    """Return a `View` of each layer of a map.

    `opens` is the layer, unit and classes that the map shows first, computed here if None.
    """
    opens = opens or opening_view(shown)
    return [View(layer, opens.metres, _edges(layer, opens)) for layer in shown]


def _edges(layer: Layer, opens: Opening) -> tuple[float, ...]:
    for name in (FROM, DENSITY):
        if name in layer.columns:
            return tuple(layer.columns[name].tolist())
    return opens.edges.get(layer.name, ())


def hexadecimal(colour: Colour) -> str:
    """Return a colour as in CSS, such as "#2bc2ba"."""
    return "#" + bytes(colour).hex()


def opacity(view: View) -> float:
    """Return the opacity of dots without values; the more dots there are, the lower it is."""
    if view.layer.value is not None or not isinstance(view.layer, PointLayer):
        return 1.0
    return round(max(0.12, min(0.8, 40 / math.sqrt(len(view.layer) + 1))), 3)


def unit_words(released: Released, view: View) -> str:
    """Return the heading of the legend, which says what its figures count, as on the site's map."""
    nouns = released_nouns(released)
    counted = nouns.sum.capitalize()
    if isinstance(view.layer, BoxLayer):
        if not view.metres:
            # The map has no layer with counts per square, so the heading is the title alone.
            return view.layer.title
        # If a square has several cells, a person may be counted in several of them.
        cells = view.factor
        if cells <= 1:
            counted = nouns.one.capitalize()
        of = "in a" if view.layer.is_cells and cells == 1 else "per"
        length = f"{view.metres} m" if view.metres < 1000 else f"{view.metres // 1000} km"
        time = f", {view.layer.title}" if view.layer.sliced else ""
        return f"{counted} {of} {length} square{time}"
    if view.column in (MEAN, MEDIAN):
        return view.layer.title
    if view.column:
        return f"{counted} per square kilometre"
    return f"{view.layer.title} ({noun_of_layer(released, view.layer)})"
