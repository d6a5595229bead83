"""QGIS layer styles (.qml) that colour a layer as the site's map does.

There is a rule for each class of the legend, under a heading with the unit; features that do not
stand out from the noise are grey. The rules use only the columns of the files, so one style fits
every format. QGIS loads `cells.qml` automatically if it is in the same folder as `cells.geojson`,
and a GeoPackage holds the same style in its table `layer_styles`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from dpgeo.artefacts import geotiff
from dpgeo.artefacts.arrow import layer_shape
from dpgeo.artefacts.formats import StyleFormat
from dpgeo.artefacts.table import columns
from dpgeo.artefacts.view import (
    DOT,
    HATCH,
    INK,
    LAND,
    MAX_RADIUS,
    MIN_RADIUS,
    NOISE,
    PLAIN,
    Colour,
    Rule,
    View,
    hexadecimal,
    opacity,
    unit_words,
)
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer

VERSION = "3.22.16"
"""The QGIS version that defines this form of style; later versions read it too."""

HEAD = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"

MILLIMETRES = 25.4 / 96
"""Millimetres in a CSS pixel."""

ALIASES = {
    "estimate": "estimate ({unit})",
    "margin": "margin of error (95 %)",
    "threshold": "least that noise alone hardly reaches",
}
"""Names under which QGIS shows the columns in forms and tables."""


def write(released: Released, view: View, path: Path) -> None:
    """Write the QGIS style for a layer."""
    path.write_text(style(released, view), encoding="utf-8")


def style(released: Released, view: View) -> str:
    """Return the style for a layer as QGIS XML."""
    categories = "Symbology|Labeling|Fields|MapTips"
    root = ET.Element("qgis", version=VERSION, styleCategories=categories)
    renderer = ET.SubElement(
        root,
        "renderer-v2",
        type="RuleRenderer",
        symbollevels="0",
        forceraster="0",
        enableorderby="0",
    )
    rules = ET.SubElement(renderer, "rules", key="{rules}")
    symbols = ET.SubElement(renderer, "symbols")
    if view.field:
        heading = ET.SubElement(rules, "rule", key="{unit}", label=unit_words(released, view))
    for number, rule in enumerate(view.rules):
        wanted = _filter(view, rule)
        _rule(heading, number, rule.label, wanted)
        symbols.append(_symbol(view, number, rule.colour))
    if not view.field:
        _rule(rules, 0, view.layer.title, None)
        symbols.append(_symbol(view, 0, PLAIN))
    elif view.grey_words:
        number = len(view.rules)
        _rule(heading, number, view.grey_words, "ELSE")
        symbols.append(_symbol(view, number, None))
    _labels(root, view)
    unit = unit_words(released, view) if view.factor == 1 and not view.divisor else "in the feature"
    aliases = ET.SubElement(root, "aliases")
    for index, name in enumerate(columns(view.layer)):
        alias = ALIASES.get(name, "").format(unit=unit)
        ET.SubElement(aliases, "alias", field=name, index=str(index + 1), name=alias)
    if view.layer.value is not None and view.layer.margin is not None:
        tip = ET.SubElement(root, "mapTip")
        tip.text = '[% round("estimate", 1) %] \u00b1 [% round("margin", 1) %]'
    ET.SubElement(root, "layerGeometryType").text = str(SHAPES.index(layer_shape(view.layer)))
    _raster(root, view)
    ET.indent(root)
    return HEAD + ET.tostring(root, encoding="unicode") + "\n"


SHAPES = ("point", "line", "polygon")


def _raster(root: ET.Element, view: View) -> None:
    """Add a style for the image of estimates, because QGIS applies `cells.qml` to `cells.tif`, too.

    If no single column decides the class, the image is drawn in shades of grey, which do not stand
    for classes.
    """
    if not geotiff.holds(view.layer):
        return
    pipe = ET.SubElement(root, "pipe")
    stops = view.stops
    if stops is None:
        _shades(pipe, view)
    else:
        _classes(pipe, stops)


def _shades(pipe: ET.Element, view: View) -> None:
    """Add a renderer that draws an image in greys, from white for 0 to black for the highest class.

    That class is black from its lower limit on. Without classes, the highest value is black.
    """
    drawn = ET.SubElement(
        pipe,
        "rasterrenderer",
        {
            "type": "singlebandgray",
            "grayBand": "1",
            "gradient": "WhiteToBlack",
            "alphaBand": "-1",
            "opacity": "1",
        },
    )
    most = view.edges[-1] if view.edges else float(view.values.max(initial=0.0))
    highest = most / view.factor
    stretch = ET.SubElement(drawn, "contrastEnhancement")
    ET.SubElement(stretch, "minValue").text = "0"
    ET.SubElement(stretch, "maxValue").text = repr(max(highest, sys.float_info.min))
    ET.SubElement(stretch, "algorithm").text = "StretchToMinimumMaximum"


def _classes(pipe: ET.Element, stops: list[tuple[float | None, Colour, str]]) -> None:
    """Add a renderer that draws an image in the colours of classes.

    `stops` holds each class's upper limit, colour and label.
    """
    drawn = ET.SubElement(
        pipe,
        "rasterrenderer",
        {"type": "singlebandpseudocolor", "band": "1", "alphaBand": "-1", "opacity": "1"},
    )
    shader = ET.SubElement(
        ET.SubElement(drawn, "rastershader"),
        "colorrampshader",
        {"colorRampType": "DISCRETE", "classificationMode": "1", "clip": "0"},
    )
    for limit, colour, label in stops:
        # QGIS includes the upper limit in a class, so use the next smaller number.
        value = "inf" if limit is None else repr(float(np.nextafter(limit, -np.inf)))
        words = {"value": value, "label": label, "color": hexadecimal(colour), "alpha": "255"}
        ET.SubElement(shader, "item", words)


def figure(view: View) -> str:
    """Return the expression for the value that decides a feature's class."""
    text = f'"{view.field}"'
    if view.divisor:
        text += f' / "{view.divisor}"'
    return text if view.factor == 1 else f"{text} * {view.factor!r}"


def _filter(view: View, rule: Rule) -> str:
    """Return the condition for a class, such as "estimate" >= "threshold"."""
    terms = []
    if view.layer.told is not None:
        terms.append(f'"{view.field}" IS NOT NULL')
    if view.least:
        terms += [f'"{view.field}" > 0', f'"{view.field}" >= "{view.least}"']
    if rule.low is not None:
        terms.append(f"{figure(view)} >= {rule.low!r}")
    if rule.high is not None:
        terms.append(f"{figure(view)} < {rule.high!r}")
    return " AND ".join(terms) or "TRUE"


def _rule(parent: ET.Element, number: int, label: str, wanted: str | None) -> None:
    rule = ET.SubElement(parent, "rule", key=f"{{class-{number}}}", symbol=str(number), label=label)
    if wanted:
        rule.set("filter", wanted)


def _symbol(view: View, number: int, colour: Colour | None) -> ET.Element:
    """Return the symbol of a class; `colour` is None if it does not stand out from the noise."""
    shape = layer_shape(view.layer)
    kind = {"point": "marker", "line": "line", "polygon": "fill"}[shape]
    symbol = ET.Element(
        "symbol", type=kind, name=str(number), alpha=f"{opacity(view):g}", clip_to_extent="1"
    )
    filled = NOISE if colour is None else colour
    if shape == "polygon":
        cells = isinstance(view.layer, BoxLayer)
        # An outline in the cell's own colour closes the hairline gap that anti-aliasing leaves.
        options = {
            "color": rgba(filled),
            "outline_color": rgba(filled if cells else LAND),
            "outline_style": "solid",
            "outline_width": "0.1" if cells else "0.26",
            "outline_width_unit": "MM",
            "style": "solid",
        }
        symbol_layer(symbol, "SimpleFill", options)
    elif shape == "line":
        options = {"line_color": rgba(filled), "line_width": "0.5", "line_width_unit": "MM"}
        symbol_layer(symbol, "SimpleLine", options)
    else:
        valued = view.layer.value is not None
        hollow = colour is None
        options = {
            "name": "circle",
            "color": rgba(filled, 0 if hollow else 255),
            "outline_color": rgba(HATCH if hollow else LAND),
            "outline_style": "solid" if valued else "no",
            "outline_width": "0.3",
            "size": f"{2 * (10 if valued else DOT) * MILLIMETRES:.3g}",
            "size_unit": "MM",
        }
        element = symbol_layer(symbol, "SimpleMarker", options)
        if valued:
            _sized(element, view)
    return symbol


def _sized(element: ET.Element, view: View) -> None:
    """Make the areas of circles proportional to their counts, as on the map."""
    largest = max(float(view.values.max(initial=0)), 1.0)
    radius = f'max({MIN_RADIUS}, {MAX_RADIUS} * sqrt(max("estimate", 0) / {largest!r}))'
    properties = ET.SubElement(ET.SubElement(element, "data_defined_properties"), "Option")
    properties.set("type", "Map")
    ET.SubElement(properties, "Option", name="name", type="QString", value="")
    inner = ET.SubElement(properties, "Option", name="properties", type="Map")
    size = ET.SubElement(inner, "Option", name="size", type="Map")
    ET.SubElement(size, "Option", name="active", type="bool", value="true")
    expression = f"{radius} * {2 * MILLIMETRES:.4g}"
    ET.SubElement(size, "Option", name="expression", type="QString", value=expression)
    ET.SubElement(size, "Option", name="type", type="int", value="3")
    ET.SubElement(properties, "Option", name="type", type="QString", value="collection")


def symbol_layer(symbol: ET.Element, kind: str, options: dict[str, str]) -> ET.Element:
    """Add a layer of a kind such as "SimpleFill" to a symbol."""
    layer = ET.SubElement(
        symbol, "layer", {"class": kind, "enabled": "1", "locked": "0", "pass": "0"}
    )
    listed = ET.SubElement(layer, "Option", type="Map")
    for name, value in options.items():
        ET.SubElement(listed, "Option", name=name, type="QString", value=value)
    return layer


def _labels(root: ET.Element, view: View) -> None:
    """Label contour lines with their density, and each cluster that stands out with its count."""
    shape = layer_shape(view.layer)
    if shape == "line" and view.field:
        text = f'round("{view.field}", if("{view.field}" < 100, 1, 0)) || \' per km\u00b2\''
    elif shape == "point" and view.layer.value is not None:
        shown = f'"estimate" > 0 AND "estimate" >= "{view.least}"' if view.least else "TRUE"
        text = f'if({shown}, format_number("estimate", 0), NULL)'
    else:
        return
    add_labels(root, text, along_lines=shape == "line")


def add_labels(root: ET.Element, text: str, along_lines: bool) -> None:
    """Label features with the value of the expression `text`, on or beside them."""
    settings = ET.SubElement(ET.SubElement(root, "labeling", type="simple"), "settings")
    written = ET.SubElement(
        settings,
        "text-style",
        fieldName=text,
        isExpression="1",
        fontSize="8",
        textColor=rgba(INK),
    )
    ET.SubElement(
        written,
        "text-buffer",
        bufferDraw="1",
        bufferSize="0.8",
        bufferColor="252,252,250,255",
        bufferSizeUnits="MM",
    )
    # Placement 2 runs labels along lines; 6 puts them around points, at the smallest distance.
    placement = (
        {"placement": "2", "placementFlags": "9"}
        if along_lines
        else {"placement": "6", "dist": "0", "offsetType": "1"}
    )
    ET.SubElement(settings, "placement", placement)
    ET.SubElement(settings, "rendering", drawLabels="1", obstacle="1")


def rgba(colour: Colour, alpha: int = 255) -> str:
    """Return a colour as QGIS writes it; `alpha` is the opacity, from 0 to 255."""
    return ",".join(map(str, (*colour, alpha)))


FORMAT = StyleFormat(
    suffix=".qml",
    media_type="application/xml",
    title="QML",
    use="the colours of the map, for QGIS",
    write=write,
)
