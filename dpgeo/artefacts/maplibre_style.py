"""MapLibre and Mapbox GL styles (version 8) that match the site's map.

The file names the PMTiles archive stored next to it, so a folder with both files is a complete map.
The API serves the same style with absolute URLs, either for its own tiles or for GeoJSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpgeo.artefacts import geojson, vector_tiles
from dpgeo.artefacts.arrow import layer_shape
from dpgeo.artefacts.formats import StyleFormat
from dpgeo.artefacts.table import extent, summary
from dpgeo.artefacts.view import (
    DOT,
    HATCH,
    LAND,
    MAX_RADIUS,
    MIN_RADIUS,
    NOISE,
    PLAIN,
    View,
    hexadecimal,
    opacity,
    unit_words,
)
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer

SUFFIX = ".style.json"

Expression = list[Any]


def holds(view: View) -> bool:
    """Return whether a layer is small enough to have vector tiles."""
    return len(view.layer) <= min(vector_tiles.MAX_FEATURES, geojson.MAX_FEATURES)


def write(released: Released, view: View, path: Path) -> None:
    """Write the MapLibre style for a layer."""
    text = json.dumps(style(released, view), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def style(released: Released, view: View) -> dict[str, Any]:
    """Return a layer's style; its source is the PMTiles archive next to the style file."""
    name, facts = view.layer.name, summary(released, view.layer)
    west, south, east, north = extent(released, view.layer)
    credit = facts["attribution"] or facts["publisher"]
    archive = f"pmtiles://{name}{vector_tiles.FORMAT.suffix}"
    key = [{"label": rule.label, "colour": hexadecimal(rule.colour)} for rule in view.rules]
    if view.grey_words:
        key.append({"label": view.grey_words, "colour": hexadecimal(NOISE)})
    return {
        "version": 8,
        "name": f"{facts['title']}: {view.layer.title}",
        "metadata": {"unit": unit_words(released, view), "legend": key, "about": facts},
        "center": [round((west + east) / 2, 6), round((south + north) / 2, 6)],
        "zoom": 9,
        "sources": {name: {"type": "vector", "url": archive, "attribution": credit}},
        "layers": [
            {
                "id": "ground",
                "type": "background",
                "paint": {"background-color": hexadecimal(LAND)},
            },
            *({**each, "source": name, "source-layer": name} for each in _layers(view)),
        ],
    }


def _layers(view: View) -> list[dict[str, Any]]:
    name, shape = view.layer.name, layer_shape(view.layer)
    colour = colours(view)
    if shape == "line":
        return [{"id": name, "type": "line", "paint": {"line-color": colour, "line-width": 2}}]
    if shape == "polygon":
        fill = {"id": name, "type": "fill", "paint": {"fill-color": colour}}
        if isinstance(view.layer, BoxLayer):
            fill["paint"] = {"fill-color": colour, "fill-antialias": False}
            return [fill]
        outline = {"line-color": hexadecimal(LAND), "line-width": 1}
        return [fill, {"id": f"{name}-outlines", "type": "line", "paint": outline}]
    paint: dict[str, Any] = {"circle-color": colour, "circle-radius": DOT}
    paint["circle-opacity"] = opacity(view)
    if view.layer.value is not None:
        largest = max(float(view.values.max(initial=0)), 1.0)
        share = ["/", ["max", ["get", "estimate"], 0], largest]
        paint["circle-radius"] = ["max", MIN_RADIUS, ["*", MAX_RADIUS, ["sqrt", share]]]
        paint["circle-stroke-width"] = 1
        paint["circle-stroke-color"] = hexadecimal(LAND)
        if view.least:
            paint["circle-opacity"] = ["case", _standing(view), 1, 0]
            edges = ["case", _standing(view), hexadecimal(LAND), hexadecimal(HATCH)]
            paint["circle-stroke-color"] = edges
    return [{"id": name, "type": "circle", "paint": paint}]


def colours(view: View) -> Expression | str:
    """Return the style expression that computes the colour of a feature."""
    if not view.field:
        return hexadecimal(PLAIN)
    if not view.rules:
        return hexadecimal(NOISE)
    figure: Expression = ["get", view.field]
    if view.divisor:
        figure = ["/", figure, ["get", view.divisor]]
    if view.factor != 1:
        figure = ["*", figure, view.factor]
    lowest, *others = view.rules
    steps: Expression | str = hexadecimal(lowest.colour)
    if others:
        stops = [part for rule in others for part in (rule.low, hexadecimal(rule.colour))]
        steps = ["step", figure, steps, *stops]
    if view.layer.told is not None:
        # The property "told" says whether a mean is shown; it is true or false in GeoJSON, 1 or 0
        # in tiles.
        told = ["==", ["to-number", ["get", "told"]], 1]
        return ["case", told, steps, hexadecimal(NOISE)]
    if not view.least:
        return steps
    return ["case", _standing(view), steps, hexadecimal(NOISE)]


def _standing(view: View) -> Expression:
    """Return the style expression that is true for features whose count can be told from zero."""
    value: Expression = ["get", view.field]
    return ["all", [">", value, 0], [">=", value, ["get", view.least]]]


FORMAT = StyleFormat(
    suffix=SUFFIX,
    media_type="application/json",
    title="MapLibre",
    use="the colours of the map, for web maps of the PMTiles",
    write=write,
    holds=holds,
    at_once=True,
)
