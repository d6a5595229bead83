"""GeoJSON (RFC 7946): a feature for every box, counterclockwise, longitude first, no crs member.

Text is joined from columns of strings, for a dictionary per feature would take ten times as long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import CHUNK, columns, edges, envelope, summary
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer

MAX_FEATURES = 200_000
"""Browsers and editors choke on more; GeoParquet holds any number."""


RING = "[[[%s,%s],[%s,%s],[%s,%s],[%s,%s],[%s,%s]]]"


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer as a FeatureCollection, one feature a line."""
    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = envelope(layer)
    west, south = longitude[left], latitude[bottom]
    east, north = longitude[right], latitude[top]
    collection = {
        "type": "FeatureCollection",
        "name": layer.name,
        "bbox": [float(side) for side in (west, south, east, north)],
        "about": summary(released, layer),
    }
    head = json.dumps(collection, ensure_ascii=False)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head[:-1] + ', "features": [\n')
        for start in range(0, len(layer.boxes), CHUNK):
            lines = ",\n".join(_features(layer, slice(start, start + CHUNK)))
            file.write((",\n" if start else "") + lines)
        file.write("\n]}\n")


def _features(layer: Layer, part: slice) -> Iterator[str]:
    """The text of some features; Python writes the shortest number that reads back exactly."""
    table = columns(layer)
    label = json.dumps(layer.margin_label).replace("%", "%%")
    properties = ",".join([*(f'"{name}":%s' for name in table), f'"margin_label":{label}'])
    feature = (
        f'{{"type":"Feature","properties":{{{properties}}},'
        f'"geometry":{{"type":"Polygon","coordinates":{RING}}}}}'
    )
    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = layer.boxes[part].T
    west, south = longitude[left], latitude[bottom]
    east, north = longitude[right], latitude[top]
    ring = (west, south, east, south, east, north, west, north, west, south)
    values = [column[part] for column in table.values()]
    for row in zip(*(column.tolist() for column in (*values, *ring)), strict=True):
        yield feature % row


FORMAT = LayerFormat(
    suffix=".geojson",
    media_type="application/geo+json",
    write=write,
    max_features=MAX_FEATURES,
)
