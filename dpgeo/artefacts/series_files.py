"""Files of a whole series: one array for browsers, and long tables with a column `period`.

They are computed from the released maps alone. The array is a `map_array` file of the newest map,
whose header has a further member `series` with the counts of all periods. Counts are not rounded,
so differences between periods equal those of the published figures. Smoothed counts that do not
stand out from the noise are stored as 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts import csv, geoparquet, map_array
from dpgeo.artefacts.formats import LayerFormat
from dpgeo.core.released import Released
from dpgeo.core.window import Window
from dpgeo.postprocess.compared import Compared, Table
from dpgeo.postprocess.layers import (
    BoxLayer,
    Layer,
    PointLayer,
    ShapeLayer,
    compared,
    layers,
    slim,
)
from dpgeo.postprocess.layers.features import ARRIVALS, FLOWS
from dpgeo.postprocess.layers.layer import same, unit_boxes
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.periods import smoothed
from dpgeo.postprocess.summary import total

ARRAY = "series.bin"

FEATURES = f"all-periods{geoparquet.FORMAT.suffix}"
"""Name of the file from which the site serves features: the table of all periods."""

LONG: Mapping[str, LayerFormat] = {
    f"all-periods{each.suffix}": each for each in (csv.FORMAT, geoparquet.FORMAT)
}
"""Formats of the table of all periods, each by the name of its file."""

MAX_VALUES = 2_000_000
"""Largest number of counts in a file; a file of a longer series has only the newest periods."""

MAX_MAPS = 400
"""Largest number of maps in a file: the daily maps of a year, and the earlier maps with which they
are compared.
"""

SMOOTH_STEP = 0.25
"""Smoothed counts are stored as whole multiples of this."""


@dataclass(frozen=True, slots=True)
class PeriodMap:
    """The released map of a period of a series; `number` is the period's number, counted from 1."""

    number: int
    window: Window
    release: str
    """The id of the map's release."""
    released: Released


def _long(shown: Sequence[Layer]) -> Layer:
    """Return the layer whose features are in the table of all periods.

    For flows that are not divided into slices, this is the layer of flows; for all other maps, the
    measured layer.
    """
    return next(
        (each for each in shown if each.features is FLOWS and not each.sliced),
        next(each for each in shown if each.kind == "measured"),
    )


def _drawn(shown: Sequence[Layer]) -> Layer:
    """Return the layer that browsers draw from series.bin.

    For flows, this is the layer with the number of trips that arrive in each region.
    """
    return next((each for each in shown if each.features is ARRIVALS), _long(shown))


class SeriesMaps:
    """The released maps of a series, in their order; at least one.

    Maps can be compared only if `compared` is not None.
    """

    def __init__(self, newest_first: Iterable[PeriodMap]) -> None:
        """Read maps, newest first, until they fill a file (MAX_VALUES, MAX_MAPS)."""
        counted = 0
        kept: list[tuple[PeriodMap, Layer]] = []
        for each in newest_first:
            shown = layers(each.released)
            layer = _long(shown)
            counted += len(layer)
            if not kept:
                self._shown = _drawn(shown)
            elif counted > MAX_VALUES:
                break
            content = slim(each.released.content)
            one = dataclasses.replace(
                each, released=dataclasses.replace(each.released, content=content)
            )
            kept.append((one, layer))
            if len(kept) == MAX_MAPS:
                break
        self.maps = [each for each, _ in reversed(kept)]
        self._layers = [layer for _, layer in reversed(kept)]

    @property
    def newest(self) -> PeriodMap:
        """The newest map."""
        return self.maps[-1]

    @cached_property
    def compared(self) -> Compared | None:
        """The counts of all maps, or None if maps cannot be compared."""
        contents = [each.released.content for each in self.maps]
        return compared(contents, self.newest.released.area)

    @cached_property
    def _smoothed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Smoothed counts and their standard deviations.

        None if the maps cannot be compared, or list only counts from a threshold on.
        """
        if self.compared is None or self.compared.main.least:
            return None
        return _smoothed(self.compared.main)

    def array(self) -> bytes:
        """Return the bytes of series.bin: the newest map's array with the counts of all periods.

        Raises ValueError if the maps cannot be compared.
        """
        of_all = self.compared
        if of_all is None:
            raise ValueError("These maps cannot be compared.")
        newest, shown = self.newest.released, self._shown
        most = MAX_VALUES // max(of_all.main.counts.shape[1], 1)
        table = dataclasses.replace(of_all.main, counts=of_all.main.counts[-most:])
        if table.keys is not None and isinstance(shown, BoxLayer):
            shown = _cells_listed(shown, table)
        return map_array.encode(
            newest, [shown], lambda add: {"series": self._header(table, shown, of_all, add)}
        )

    def _header(
        self, table: Table, layer: Layer, of_all: Compared, add: Callable[[NDArray[Any]], Any]
    ) -> dict[str, Any]:
        maps = self.maps[-len(table.counts) :]
        of_total = {} if table.least else _of_totals(table)
        listed = self._layers[-len(maps) :] if table.least else [None] * len(maps)
        return {
            "periods": [
                {
                    "number": each.number,
                    "from": each.window.first.isoformat(),
                    "to": each.window.last.isoformat(),
                    "release": each.release,
                    "total": int(row.sum()),
                    **({} if of is None else {"margin": total(of).margin}),
                }
                for each, row, of in zip(maps, table.counts, listed, strict=True)
            ],
            **_counts(table, layer, add),
            **of_total,
            **self._flows(of_all, len(maps), layer, add),
        }

    def _flows(
        self, of_all: Compared, most: int, layer: Layer, add: Callable[[NDArray[Any]], Any]
    ) -> dict[str, Any]:
        departures, pairs = of_all.departures, of_all.pairs
        if departures is None or pairs is None or pairs.keys is None:
            return {}
        n = departures.counts.shape[1]
        of_pairs = dataclasses.replace(pairs, counts=pairs.counts[-most:])
        leaving = dataclasses.replace(departures, counts=departures.counts[-most:])
        return {
            "departures": _counts(leaving, layer, add),
            "pairs": {
                "origin": add((pairs.keys // n).astype(np.int32)),
                "destination": add((pairs.keys % n).astype(np.int32)),
                **_counts(of_pairs, layer, add),
            },
        }

    def write(self, name: str, title: str, path: Path) -> None:
        """Write the table of all periods to a file, one row for each period and feature."""
        lengths = [len(each) for each in self._layers]
        texts = {
            "period": [each.number for each in self.maps],
            "from_day": [each.window.first.isoformat() for each in self.maps],
            "to_day": [each.window.last.isoformat() for each in self.maps],
            "release": [each.release for each in self.maps],
        }
        columns = {
            key: np.repeat(np.array(values, dtype=np.int32 if key == "period" else object), lengths)
            for key, values in texts.items()
        }
        smooth = None if self._layers[-1].features is FLOWS else self._smoothed
        if smooth is not None:
            levels, deviations = smooth
            further = {
                "smoothed": levels.ravel().round(3),
                "smoothed_deviation": deviations.ravel().round(3),
            }
        else:
            further = {}
        newest = self.newest.released
        about = {key: text for key, text in newest.about.items() if not key.endswith("_day")}
        released = dataclasses.replace(newest, about={**about, "title": title})
        LONG[name].write(released, _stacked(self._layers, columns, further), path)


def _smoothed(table: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return smoothed(table.counts.astype(np.float64), table.noise.variance)


def _of_totals(table: Table) -> dict[str, int]:
    """Return the margins of the sum of a map's counts, and of the difference of two such sums."""
    return {
        "total_margin": margin_of_sum({table.noise: table.possible}),
        "total_change_margin": margin_of_sum({table.noise: 2 * table.possible}),
    }


def _counts(table: Table, layer: Layer, add: Callable[[NDArray[Any]], Any]) -> dict[str, Any]:
    """Add a table's counts of all periods to series.bin; return the header's entries for them.

    Smoothed counts are added, too, unless the maps list only counts from a threshold on. If every
    cell of a grid has a count, the arrays have an entry for each cell.
    """
    counts, steps = table.counts, None
    if not table.least:
        levels, deviations = _smoothed(table)
        # A smoothed count stands out if it is as many of its standard deviations above 0 as the
        # threshold of a noisy count is standard deviations of the noise.
        scores = table.noise.threshold() / np.sqrt(table.noise.variance)
        clear = np.where(levels >= scores * deviations, levels, 0)
        steps = np.rint(clear / SMOOTH_STEP).astype(np.int64)
    if isinstance(layer, BoxLayer) and steps is not None:
        place = layer.boxes[:, 0].astype(np.int64) * layer.grid.columns + layer.boxes[:, 2]
        counts, steps = (
            np.array([map_array.spread(each, place, layer.grid.size) for each in values])
            for values in (counts, steps)
        )
    return {
        "regions": counts.shape[1],
        "counts": add(map_array.smallest(counts.ravel())),
        "smoothed": None if steps is None else add(map_array.smallest(steps.ravel())),
        "smooth_step": SMOOTH_STEP,
        **table.facts(),
    }


def _cells_listed(layer: BoxLayer, table: Table) -> BoxLayer:
    """Return a layer with the cells that any map lists, and the counts of the newest map."""
    if table.keys is None:
        raise ValueError("All cells are known.")
    row, column = np.divmod(table.keys, layer.grid.columns)
    facts = table.facts()
    return dataclasses.replace(
        layer,
        boxes=unit_boxes(row, column),
        cells=same(1, row.size),
        value=table.counts[-1],
        margin=same(float(facts["margin"]), row.size),
        threshold=same(float(facts["threshold"]), row.size),
        columns={},
    )


def _stacked(
    stack: Sequence[Layer], columns: dict[str, NDArray[Any]], further: dict[str, NDArray[Any]]
) -> Layer:
    """Concatenate the features of layers that have the same columns, and add further columns.

    `columns` come before the columns of the layers, and `further` after them.
    """
    first = stack[0]
    kinds: tuple[tuple[type[Layer], tuple[str, ...]], ...] = (
        (BoxLayer, ("boxes", "cells")),
        (PointLayer, ("longitude", "latitude")),
        (ShapeLayer, ("shapes",)),
    )
    names = [name for kind, each in kinds if isinstance(first, kind) for name in each]
    names += [name for name in ("value", "margin", "threshold") if getattr(first, name) is not None]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in stack]) for name in names
    }
    own = {name: np.concatenate([each.columns[name] for each in stack]) for name in first.columns}
    return dataclasses.replace(first, **joined, columns={**columns, **own, **further})
