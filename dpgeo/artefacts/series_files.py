"""Files of a whole series: one array for browsers, and long tables with a column `period`.

They are computed from the released maps alone. The array is a `map_array` file of the newest map,
whose header has a further member `series` with the counts of all periods. Counts are not rounded,
so the differences of two periods equal those of the published figures. Smoothed counts that do not
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
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import Released
from dpgeo.core.window import Window
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer, layers
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.periods import largest_by_noise, smoothed

ARRAY = "series.bin"

FEATURES = f"all-periods{geoparquet.FORMAT.suffix}"
"""Name of the long file from which features are served."""

LONG: Mapping[str, LayerFormat] = {
    f"all-periods{each.suffix}": each for each in (csv.FORMAT, geoparquet.FORMAT)
}
"""Formats of the table of all periods, by the names of its files."""

MOST_VALUES = 2_000_000
"""Largest number of counts in a file; a file of a longer series has only the newest periods."""

MOST_MAPS = 400
"""Largest number of maps in a file: the daily maps of a year, and the maps with which they are
compared."""

SMOOTH_STEP = 0.25
"""Step to which smoothed counts are rounded in the array."""


@dataclass(frozen=True, slots=True)
class PeriodMap:
    """The released map of a period of a series; `number` is the period's, counted from 1."""

    number: int
    window: Window
    release: str
    """The id of the map's release."""
    released: Released

    @property
    def layer(self) -> Layer:
        """The layer with the map's counts."""
        return next(each for each in layers(self.released) if each.kind == "measured")


class SeriesMaps:
    """The released maps of a series, in their order; at least one.

    Maps can be compared only if the series is `regular`: all of them count in the same regions.
    """

    def __init__(self, newest_first: Iterable[PeriodMap]) -> None:
        """Read maps, newest first, until there are enough for a file."""
        counted = 0
        kept: list[tuple[PeriodMap, Layer]] = []
        for each in newest_first:
            layer = each.layer
            counted += len(layer)
            if kept and counted > MOST_VALUES:
                break
            kept.append((each, layer))
            if len(kept) == MOST_MAPS:
                break
        self.maps = [each for each, _ in reversed(kept)]
        self._layers = [layer for _, layer in reversed(kept)]

    @property
    def newest(self) -> PeriodMap:
        """The newest map."""
        return self.maps[-1]

    @cached_property
    def noise(self) -> DiscreteLaplace | None:
        """The noise of every count; None if the maps do not count in the same regions."""
        contents: list[Any] = [each.released.content for each in self.maps]
        if not all(each.comparable for each in contents):
            return None
        noises = {each.noise for each in contents}
        alike = len({len(each) for each in self._layers}) == 1 == len(noises)
        return noises.pop() if alike else None

    @property
    def regular(self) -> bool:
        """Whether all maps count in the same regions."""
        return self.noise is not None

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The counts (periods, regions) of a regular series."""
        return np.array([each.value for each in self._layers], dtype=np.int64)

    @cached_property
    def _smoothed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.noise is None:
            raise ValueError("These maps do not count in the same regions.")
        return smoothed(self.counts.astype(np.float64), self.noise.variance)

    def array(self) -> bytes:
        """Return the `map_array` file of a regular series; the module's docstring describes it."""
        layer = self._layers[-1]
        return map_array.encode(
            self.newest.released, [layer], lambda add: {"series": self._header(layer, add)}
        )

    def _header(self, layer: Layer, add: Callable[[NDArray[Any]], Any]) -> dict[str, Any]:
        noise, counts = self.noise, self.counts
        if noise is None:
            raise ValueError("These maps do not count in the same regions.")
        levels, deviations = self._smoothed
        # A smoothed count stands out if it is as many of its own standard deviations above 0 as a
        # noisy count must be of the noise's.
        clear = levels >= noise.threshold() / np.sqrt(noise.variance) * deviations
        steps = np.rint(np.where(clear, levels, 0) / SMOOTH_STEP).astype(np.int64)
        regions = len(layer)
        if isinstance(layer, BoxLayer):
            place = layer.boxes[:, 0].astype(np.int64) * layer.grid.columns + layer.boxes[:, 2]
            counts, steps = (
                np.array([map_array.spread(each, place, layer.grid.size) for each in values])
                for values in (counts, steps)
            )
        return {
            "periods": [
                {
                    "number": each.number,
                    "from": each.window.first.isoformat(),
                    "to": each.window.last.isoformat(),
                    "release": each.release,
                    "total": int(row.sum()),
                }
                for each, row in zip(self.maps, self.counts, strict=True)
            ],
            "regions": counts.shape[1],
            "counts": add(map_array.smallest(counts.ravel())),
            "smoothed": add(map_array.smallest(steps.ravel())),
            "smooth_step": SMOOTH_STEP,
            "margin": noise.margin(),
            "threshold": noise.threshold(),
            "total_margin": margin_of_sum({noise: regions}),
            "change_margin": margin_of_sum({noise: 2}),
            "total_change_margin": margin_of_sum({noise: 2 * regions}),
            "by_noise": largest_by_noise(noise, regions),
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
        if self.regular:
            levels, deviations = self._smoothed
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


def _stacked(
    stack: Sequence[Layer], columns: dict[str, NDArray[Any]], further: dict[str, NDArray[Any]]
) -> Layer:
    """Concatenate the features of layers that have the same columns, and add further columns.

    `columns` come before those of the layers, and `further` after them.
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
