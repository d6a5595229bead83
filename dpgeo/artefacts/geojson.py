"""GeoJSON files (RFC 7946) with one feature per line and longitudes first.

The text is joined from columns of strings, since building dictionaries would take ten times as
long. There is no member "crs", because RFC 7946 removed it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import (
    CHUNK,
    POINT_DECIMALS,
    columns,
    decimals,
    extent,
    is_text,
    sides,
    summary,
)
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer

MAX_FEATURES = 200_000
"""Largest number of features in a file; browsers and editors fail on larger files. GeoParquet has
no such limit.
"""

BOX = '{"type":"Polygon","coordinates":[[[%s,%s],[%s,%s],[%s,%s],[%s,%s],[%s,%s]]]}'
POINT = '{"type":"Point","coordinates":[%s,%s]}'


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer as a FeatureCollection with one feature per line."""
    places = decimals(layer.grid) if isinstance(layer, BoxLayer) else POINT_DECIMALS
    collection = {
        "type": "FeatureCollection",
        "name": layer.name,
        "bbox": [round(side, places) for side in extent(released, layer)],
        "about": summary(released, layer),
    }
    head = json.dumps(collection, ensure_ascii=False)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head[:-1] + ', "features": [\n')
        for start in range(0, len(layer), CHUNK):
            lines = ",\n".join(_features(layer, slice(start, start + CHUNK)))
            file.write((",\n" if start else "") + lines)
        file.write("\n]}\n")


def is_drawn(layer: Layer) -> bool:
    """Return whether the site's map draws a layer from its GeoJSON file."""
    return isinstance(layer, ShapeLayer) and layer.on_map


def _features(layer: Layer, part: slice) -> Iterator[str]:
    """Yield the features as text; each number is the shortest text that reads back exactly."""
    table = columns(layer)
    properties = [f'"{name}":%s' for name in table]
    if layer.margin is not None:
        properties.append(f'"margin_label":{json.dumps(layer.margin_label)}'.replace("%", "%%"))
    geometry, coordinates = _geometry(layer, part)
    feature = f'{{"type":"Feature","properties":{{{",".join(properties)}}},"geometry":{geometry}}}'
    values = [_texts(column[part]) for column in table.values()]
    for row in zip(*values, *coordinates, strict=True):
        yield feature % row


def _texts(values: NDArray[Any]) -> list[Any]:
    if is_text(values):
        return [json.dumps(text, ensure_ascii=False) for text in values.tolist()]
    if values.dtype.kind == "b":
        return ["true" if each else "false" for each in values.tolist()]
    if values.dtype.kind == "f":
        return ["null" if math.isnan(each) else each for each in values.tolist()]
    return list(values.tolist())


def _geometry(layer: Layer, part: slice) -> tuple[str, list[list[Any]]]:
    """Return a template for a geometry's text, and the columns of values that fill it."""
    if isinstance(layer, BoxLayer):
        west, south, east, north = (side.tolist() for side in sides(layer, part))
        return BOX, [west, south, east, south, east, north, west, north, west, south]
    if isinstance(layer, PointLayer):
        pair = (layer.longitude[part], layer.latitude[part])
        return POINT, [side.round(POINT_DECIMALS).tolist() for side in pair]
    if isinstance(layer, ShapeLayer):
        return "%s", [shapely.to_geojson(layer.shapes[part]).tolist()]
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


FORMAT = LayerFormat(
    suffix=".geojson",
    media_type="application/geo+json",
    title="GeoJSON",
    use="shapes, for web maps",
    write=write,
    max_features=MAX_FEATURES,
    at_once=is_drawn,
)
