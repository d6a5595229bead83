"""Selection of features from a GeoParquet file, by page or by box.

The files are written by `geoparquet` and have a covering column "bbox". If a row group's statistics
lie outside all boxes of a request, the row group is skipped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""

SIDES = ("xmin", "ymin", "xmax", "ymax")

NOT_PROPERTIES = ("geometry", "bbox")


class Where(Protocol):
    """A condition on features: the columns that it reads, and an Arrow expression."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def expression(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its row in the file, its geometry as GeoJSON text, and its properties."""

    row: int
    geometry: str
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeaturePage:
    """A page of features; `next_row` is the row where the next page starts, or None on the last."""

    features: list[Feature]
    next_row: int | None


class FeatureFile:
    """A GeoParquet file, open for reading from local or remote storage."""

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

    @property
    def schema(self) -> Any:
        """Return the Arrow schema of the properties, without geometry and bounds."""
        import pyarrow as pa

        stored = self._parquet.schema_arrow
        return pa.schema([each for each in stored if each.name not in NOT_PROPERTIES])

    @property
    def geometry_types(self) -> list[str]:
        """Return the OGC names of the geometry types."""
        described = json.loads(self._parquet.metadata.metadata[b"geo"])
        return list(described["columns"]["geometry"]["geometry_types"])

    def page(
        self, start: int, limit: int, boxes: Sequence[Box] = (), where: Where | None = None
    ) -> FeaturePage:
        """Return up to `limit` features from row `start` on.

        With `boxes`, only features that intersect at least one of them are returned; with `where`,
        only features for which that condition is true.
        """
        features: list[Feature] = []
        for group, near in self._found(start, boxes):
            rows = near if where is None else near[self._true(group, where)[near]]
            if not rows.size:
                continue
            wanted = rows[: limit + 1 - len(features)]
            # An extra row beyond the page shows that there is a next page.
            taken = wanted[: limit - len(features)]
            features += self._features(group, taken)
            if len(wanted) > len(taken):
                return FeaturePage(features, int(wanted[-1] + self._starts[group]))
        return FeaturePage(features, None)

    def feature(self, row: int) -> Feature | None:
        """Return the feature in the row `row`, or None if the file has no such row."""
        if not 0 <= row < len(self):
            return None
        return self.page(row, 1).features[0]

    def _found(self, start: int, boxes: Sequence[Box]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each row group that has matching rows, with their indices within the group."""
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
        """Return whether a row group may contain a feature in a box, judging by its statistics."""
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
        """Return whether each row's geometry intersects a box, testing its bounds first."""
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

    def _true(self, group: int, where: Where) -> NDArray[np.bool_]:
        """Return a mask (n,) of the rows in a row group for which a condition is true."""
        import pyarrow as pa

        # A condition that reads no column still needs the number of rows, so read some column.
        table = self._parquet.read_row_group(group, columns=[*where.columns] or ["bbox"])
        numbered = table.append_column("row number", pa.array(np.arange(len(table))))
        mask = np.zeros(len(table), dtype=np.bool_)
        mask[numbered.filter(where.expression)["row number"].to_numpy()] = True
        return mask

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
    """Return a value that JSON can hold: None for infinities and NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
