"""Selection of features of a GeoParquet file, by page or by box.

The files are written by `geoparquet` and have a covering column "bbox". Row groups whose statistics
lie outside all boxes of a request are skipped.
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
    """A feature: its row in the file, its geometry as GeoJSON text, and its properties."""

    row: int
    geometry: str
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeaturePage:
    """A page of features, and the first row of the next page, None on the last page."""

    features: list[Feature]
    next_row: int | None


class FeatureFile:
    """A GeoParquet file that is open for reading, local or in remote storage."""

    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow.parquet

        # Read contiguous ranges at once, since each read from remote storage has a latency.
        self._parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=True)
        metadata = self._parquet.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._starts: NDArray[np.int64] = np.cumsum([0, *sizes])

    def __len__(self) -> int:
        """Return the number of features."""
        return int(self._starts[-1])

    def page(self, start: int, limit: int, boxes: Sequence[Box] = ()) -> FeaturePage:
        """Return up to `limit` features from row `start` on.

        With `boxes`, only features that intersect at least one of them are returned.
        """
        features: list[Feature] = []
        for group, rows in self._found(start, boxes):
            wanted = rows[: limit + 1 - len(features)]
            # One row beyond the page shows that there is a next page.
            taken = wanted[: limit - len(features)]
            features += self._features(group, taken)
            if len(wanted) > len(taken):
                return FeaturePage(features, int(wanted[-1] + self._starts[group]))
        return FeaturePage(features, None)

    def feature(self, row: int) -> Feature | None:
        """Return the feature in this row; None if the file has no such row."""
        if not 0 <= row < len(self):
            return None
        return self.page(row, 1).features[0]

    def _found(self, start: int, boxes: Sequence[Box]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each row group with matching rows, and these rows, counted within the group."""
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
        """Return whether a row group may contain a feature in a box, by its statistics."""
        metadata = self._parquet.metadata.row_group(group)
        statistics: dict[str, Any] = {}
        for index in range(metadata.num_columns):
            column = metadata.column(index)
            if column.path_in_schema.startswith("bbox."):
                statistics[column.path_in_schema.removeprefix("bbox.")] = column.statistics
        if any(statistics.get(side) is None or not statistics[side].has_min_max for side in SIDES):
            return True
        west, south = statistics["xmin"].min, statistics["ymin"].min
        east, north = statistics["xmax"].max, statistics["ymax"].max
        return any(
            west <= right and east >= left and south <= top and north >= low
            for left, low, right, top in boxes
        )

    def _touches(
        self, group: int, rows: NDArray[np.int64], boxes: Sequence[Box]
    ) -> NDArray[np.bool_]:
        """Return whether the geometry of each row intersects a box; bounds are tested first."""
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
    """Return a value for JSON: None for infinities and NaN, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
