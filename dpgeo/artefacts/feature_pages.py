"""Some features of a GeoParquet file: those of a page, or those in a box. No whole file is read.

The files are this package's own: a covering column "bbox" and row groups in the order of the
layer, so that what lies elsewhere is passed over by its statistics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import shapely
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""

SIDES = ("xmin", "ymin", "xmax", "ymax")

NOT_PROPERTIES = ("geometry", "bbox")


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature: its row in the file, its geometry as GeoJSON text, and its values."""

    row: int
    geometry: str
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeaturePage:
    """Consecutive features, and the row at which the next page starts or None on the last."""

    features: list[Feature]
    next_row: int | None


class FeatureFile:
    """A GeoParquet file that is open for reading, local or in a remote store."""

    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow.parquet

        # What lies together is read at once: each read from a remote store takes its time.
        self._parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=True)
        metadata = self._parquet.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._starts: NDArray[np.int64] = np.cumsum([0, *sizes])

    def __len__(self) -> int:
        """How many features it holds."""
        return int(self._starts[-1])

    def page(self, start: int, limit: int, boxes: Sequence[Box] = ()) -> FeaturePage:
        """Up to `limit` features from row `start` on; with boxes, those that touch one of them."""
        features: list[Feature] = []
        for group, rows in self._found(start, boxes):
            wanted = rows[: limit + 1 - len(features)]
            # A row beyond the page says that there is a next one; it is not read.
            taken = wanted[: limit - len(features)]
            features += self._features(group, taken)
            if len(wanted) > len(taken):
                return FeaturePage(features, int(wanted[-1] + self._starts[group]))
        return FeaturePage(features, None)

    def feature(self, row: int) -> Feature | None:
        """One feature by its row, None where the file has no such row."""
        if not 0 <= row < len(self):
            return None
        return self.page(row, 1).features[0]

    def _found(self, start: int, boxes: Sequence[Box]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Row groups with rows that were asked for, and these rows, counted within the group."""
        for group in range(len(self._starts) - 1):
            first, end = self._starts[group], self._starts[group + 1]
            if end <= start or (boxes and not self._may_touch(group, boxes)):
                continue
            rows = np.arange(max(0, start - first), end - first)
            if boxes:
                rows = rows[self._touches(group, rows, boxes)]
            if rows.size:
                yield group, rows

    def _may_touch(self, group: int, boxes: Sequence[Box]) -> bool:
        """Whether the statistics of a row group leave it possible that it has a feature there."""
        metadata = self._parquet.metadata.row_group(group)
        found: dict[str, Any] = {}
        for index in range(metadata.num_columns):
            column = metadata.column(index)
            if column.path_in_schema.startswith("bbox."):
                found[column.path_in_schema.removeprefix("bbox.")] = column.statistics
        if any(found.get(side) is None or not found[side].has_min_max for side in SIDES):
            return True
        west, south = found["xmin"].min, found["ymin"].min
        east, north = found["xmax"].max, found["ymax"].max
        return any(
            west <= right and east >= left and south <= top and north >= low
            for left, low, right, top in boxes
        )

    def _touches(
        self, group: int, rows: NDArray[np.int64], boxes: Sequence[Box]
    ) -> NDArray[np.bool_]:
        """Which rows' geometries intersect a box; bounds first, for they are cheap."""

        bounds = self._parquet.read_row_group(group, columns=["bbox"])["bbox"].combine_chunks()
        west, south, east, north = (bounds.field(side).to_numpy()[rows] for side in SIDES)
        near = np.zeros(rows.size, dtype=np.bool_)
        for left, low, right, top in boxes:
            near |= (west <= right) & (east >= left) & (south <= top) & (north >= low)
        if near.any():
            stored = self._parquet.read_row_group(group, columns=["geometry"])["geometry"]
            shapes = shapely.from_wkb(stored.to_numpy()[rows[near]])
            areas = [shapely.box(*box) for box in boxes]
            near[near] = np.any([shapely.intersects(shapes, area) for area in areas], axis=0)
        return near

    def _features(self, group: int, rows: NDArray[np.int64]) -> list[Feature]:

        if not rows.size:
            return []
        table = self._parquet.read_row_group(group).take(rows)
        shapes = shapely.to_geojson(shapely.from_wkb(table["geometry"].to_numpy()))
        values = table.drop_columns(list(NOT_PROPERTIES)).to_pylist()
        ids = (rows + self._starts[group]).tolist()
        return [
            Feature(row, shape, {name: _json_value(each) for name, each in properties.items()})
            for row, shape, properties in zip(ids, shapes, values, strict=True)
        ]


def _json_value(value: Any) -> Any:
    """A value as JSON has it: no infinities, and none that is not a number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
