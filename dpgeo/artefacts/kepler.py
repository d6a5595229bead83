"""Configurations of kepler.gl that colour a layer as the site's map does.

Each one configures the layer's GeoJSON file. kepler.gl can colour by one column only and has no
expressions. So there are configurations only for layers in which a single column decides a
feature's class: all features have the same size and the same threshold.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dpgeo.artefacts import geojson
from dpgeo.artefacts.arrow import shape_of
from dpgeo.artefacts.formats import StyleFormat
from dpgeo.artefacts.table import extent
from dpgeo.artefacts.view import DOT, PLAIN, View, hexadecimal, unit_words
from dpgeo.core.released import Released
from dpgeo.postprocess.layers.features import FLOWS, interval_of
from dpgeo.spatial.projection import MERCATOR_RADIUS_METRES, to_mercator

TILE = 512
"""Width of the world in pixels at zoom 0."""

WINDOW = (700, 500)
"""Width and height of the map in pixels: a laptop's window without the panels of kepler.gl."""

MOST_ZOOM = 16

ARC_COLUMNS = {
    f"{axis}{number}": f"{end}_{name}"
    for number, end in enumerate(("origin", "destination"))
    for axis, name in (("lat", "latitude"), ("lng", "longitude"))
}
"""Names of the columns with a flow's end points, by kepler.gl's own names for these columns."""

ARC_WIDTHS = (1, 12)


def write(released: Released, view: View, path: Path) -> None:
    """Write the kepler.gl configuration for a layer."""
    text = json.dumps(configuration(released, view), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def configuration(released: Released, view: View) -> dict[str, Any]:
    """Return the kepler.gl configuration.

    Its dataset has the name of the GeoJSON file as its id.
    """
    layer = view.layer
    west, south, east, north = extent(released, layer)
    stops = [(limit, hexadecimal(colour), label) for limit, colour, label in view.stops or ()]
    shown: dict[str, Any] = {
        "dataId": layer.name + geojson.FORMAT.suffix,
        "label": unit_words(released, view) if view.field else layer.title,
        "color": list(PLAIN),
        "columns": {"geojson": "_geojson"},
        "isVisible": True,
        "visConfig": {
            "opacity": 0.9,
            "filled": shape_of(layer) != "line",
            "stroked": shape_of(layer) == "line",
            "thickness": 1,
            "radius": 2 * DOT,
        },
    }
    channels: dict[str, Any] = {}
    line, kind = shape_of(layer) == "line", "geojson"
    if layer.features is FLOWS:
        line, kind = False, "arc"
        shown["columns"] = ARC_COLUMNS
        shown["visConfig"] = {"opacity": 0.9, "thickness": 1, "sizeRange": list(ARC_WIDTHS)}
        channels = {"sizeField": {"name": "estimate"}, "sizeScale": "linear"}
    if stops:
        scale = {
            "name": "dpgeo",
            "type": "custom",
            "category": "Custom",
            "colors": [colour for _, colour, _ in stops],
            "colorMap": [[limit, colour] for limit, colour, _ in stops],
            "colorLegends": {colour: label for _, colour, label in stops},
        }
        side = "strokeColor" if line else "color"
        shown["visConfig"][f"{side}Range"] = scale
        # The field's type is not declared: kepler.gl reads whole numbers as integers, and drops the
        # colours of a field that is declared with another type.
        channels |= {f"{side}Field": {"name": view.field}, f"{side}Scale": "custom"}
    entry = {"id": layer.name, "type": kind, "config": shown, "visualChannels": channels}
    tips = ["estimate", "margin"] if layer.value is not None else [view.field] * bool(view.field)
    if layer.told is not None:
        tips += interval_of(view.field)
    fields = [{"name": name, "format": None} for name in tips]
    state = {
        "layers": [entry],
        "filters": [],
        "interactionConfig": {
            "tooltip": {"fieldsToShow": {shown["dataId"]: fields}, "enabled": True}
        },
    }
    place = {
        "longitude": (west + east) / 2,
        "latitude": (south + north) / 2,
        "zoom": _zoom(west, south, east, north),
    }
    return {"version": "v1", "config": {"visState": state, "mapState": place}}


def _zoom(west: float, south: float, east: float, north: float) -> float:
    """Return the zoom at which a box in degrees fills most of a window of usual size."""
    x, y = to_mercator([west, east], [south, north])
    world = 2 * math.pi * MERCATOR_RADIUS_METRES
    sides = (float(x[1] - x[0]) / WINDOW[0], float(y[1] - y[0]) / WINDOW[1])
    metres_per_pixel = max(*sides, world / TILE / 2**MOST_ZOOM)
    return round(math.log2(world / TILE / metres_per_pixel), 2)


FORMAT = StyleFormat(
    suffix=".kepler.json",
    media_type="application/json",
    title="kepler.gl",
    use="the colours of the map, for kepler.gl",
    write=write,
    holds=lambda view: len(view.layer) <= geojson.MAX_FEATURES and view.by_one_column,
)
