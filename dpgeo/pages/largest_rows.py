"""Rows of the table with a layer's largest counts."""

from __future__ import annotations

from dataclasses import dataclass

from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer
from dpgeo.postprocess.summary import counted, largest

TABLE_ROWS = 20
"""Number of rows in the table of the largest counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """A large count of a box of cells, a zone or a cluster, with its margin of error.

    `name` is empty for boxes of cells. `latitude` and `longitude` are the middle of the feature in
    degrees; they are None for zones, which have names.
    """

    name: str
    latitude: float | None
    longitude: float | None
    value: float
    margin: float
    cells: int


def rows_of(layer: Layer, most: int = TABLE_ROWS) -> tuple[Row, ...]:
    """Return at most `most` of the largest counts that stand out from the noise, largest first."""
    chosen = largest(layer, most).tolist()
    return tuple(_row(layer, index) for index in chosen)


def _row(layer: Layer, index: int) -> Row:
    latitude, longitude = _middle(layer, index)
    value, margin, _ = counted(layer)
    return Row(
        name=_name(layer, index),
        latitude=latitude,
        longitude=longitude,
        value=float(value[index]),
        margin=float(margin[index]),
        cells=int(layer.cells[index]) if isinstance(layer, BoxLayer) else 1,
    )


def _middle(layer: Layer, index: int) -> tuple[float | None, float | None]:
    """Return the latitude and longitude of a feature's middle; both are None for zones."""
    if isinstance(layer, PointLayer):
        return float(layer.latitude[index]), float(layer.longitude[index])
    if isinstance(layer, BoxLayer):
        west, south, east, north = layer.grid.box_bounds(layer.boxes[[index]])[0]
        return float((south + north) / 2), float((west + east) / 2)
    return None, None


def _name(layer: Layer, index: int) -> str:
    """Return the name of a zone, or the unit and number of a cluster."""
    columns = [layer.columns[key] for key in ("name", "unit", "cluster") if key in layer.columns]
    return ", ".join(str(column[index]) for column in columns)
