"""Flows as a matrix of origins and destinations, and in the file format of flowmap.gl.

Each file shows one slice of time. The matrix holds the noisy count of every pair as it was drawn,
which may be negative; cells of pairs that were not drawn are empty. The other file holds the flows
that stand out, between points in their regions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import shapely

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.core.csv_text import csv_line
from dpgeo.core.released import FlowsRelease, Released
from dpgeo.postprocess.layers import Layer
from dpgeo.postprocess.layers.features import FLOWS
from dpgeo.postprocess.layers.flows import Slice, layer_name, slices_of

DECIMALS = 6


def _holds(layer: Layer) -> bool:
    return layer.features is FLOWS


def _slice(released: Released, layer: Layer) -> Slice:
    content = cast(FlowsRelease, released.content)
    number = [layer_name(key) for key in content.keys].index(layer.name)
    return slices_of(content)[number]


def write_matrix(released: Released, layer: Layer, path: Path) -> None:
    """Write a row for each origin and a column for each destination, headed by regions' keys."""
    part = _slice(released, layer)
    keys, n = part.content.zones.keys, part.n
    ends = np.searchsorted(part.pair, np.arange(n + 1) * n)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(["origin", *keys], end="\r\n"))
        for origin in range(n):
            cells: list[int | str] = [""] * n
            some = slice(ends[origin], ends[origin + 1])
            for destination, count in zip(
                (part.pair[some] % n).tolist(), part.count[some].tolist(), strict=True
            ):
                cells[destination] = count
            if not part.content.within:
                cells[origin] = ""
            file.write(csv_line([keys[origin], *cells], end="\r\n"))


def write_flowmap(released: Released, layer: Layer, path: Path) -> None:
    """Write locations and flows as flowmap.gl reads them."""
    part = _slice(released, layer)
    zones = part.content.zones
    points = shapely.get_coordinates(shapely.point_on_surface(zones.shapes)).round(DECIMALS)
    locations = [
        {"id": key, "name": name, "lat": lat, "lon": lon}
        for key, name, (lon, lat) in zip(zones.keys, zones.names, points.tolist(), strict=True)
    ]
    listed = part.listed
    flows = [
        {"origin": zones.keys[pair // part.n], "dest": zones.keys[pair % part.n], "count": count}
        for pair, count in zip(part.pair[listed].tolist(), part.count[listed].tolist(), strict=True)
    ]
    text = json.dumps({"locations": locations, "flows": flows}, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


MATRIX = LayerFormat(
    suffix=".matrix.csv",
    media_type="text/csv; charset=utf-8",
    title="Matrix (CSV)",
    use="origins by destinations, for transport models",
    write=write_matrix,
    holds=_holds,
)

FLOWMAP = LayerFormat(
    suffix=".flowmap.json",
    media_type="application/json",
    title="flowmap.gl",
    use="locations and flows, for flowmap.gl",
    write=write_flowmap,
    holds=_holds,
)
