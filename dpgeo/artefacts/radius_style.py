"""Styles of the tables of radius maps, in the colours of the planner's map.

The strongest colour marks the smallest radius; the area out of reach is hatched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from dpgeo.artefacts import qgis_style
from dpgeo.artefacts.geopackage import TableStyle
from dpgeo.artefacts.view import HATCH, INK, LAND, TIDE, Colour
from dpgeo.postprocess.tasks.radius_map import RadiusMap

BANDS, LINES, OUT_OF_REACH = "radius_bands", "radius_lines", "radius_out_of_reach"
"""Names of the tables of a radius map."""

UNIT = "Notification radius, in metres"
OUT_OF_REACH_WORDS = "Out of reach: nobody near enough accepts"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Class:
    """A class of a legend: the features with `value` in `column`, or all if it is ""."""

    label: str
    column: str = ""
    value: float = 0.0
    colour: Colour = HATCH


def radius_styles(drawn: RadiusMap) -> dict[str, TableStyle]:
    """Return the style of each table of a radius map, by the table's name."""
    bands = [
        _Class(
            label=f"{band.from_metres:g} to {band.to_metres:g} m",
            column="from_metres",
            value=band.from_metres,
            colour=_colour(len(drawn.bands) - 1 - index, len(drawn.bands)),
        )
        for index, band in enumerate(drawn.bands)
    ]
    tables = (
        (BANDS, UNIT, _qml(BANDS, bands, _solid)),
        (LINES, UNIT, _qml(LINES, [_Class(label=UNIT, colour=INK)], _line)),
        (
            OUT_OF_REACH,
            OUT_OF_REACH_WORDS,
            _qml(OUT_OF_REACH, [_Class(label=OUT_OF_REACH_WORDS)], _hatch),
        ),
    )
    return {
        table: TableStyle(table=table, qml=qml, description=description)
        for table, description, qml in tables
    }


def _colour(index: int, classes: int) -> Colour:
    """Return the map's colour for class `index` of `classes` classes; 0 is the palest."""
    if classes <= 1:
        return TIDE[len(TIDE) // 2]
    return TIDE[int(index * (len(TIDE) - 1) / (classes - 1) + 0.5)]


def _qml(
    table: str, classes: Sequence[_Class], symbol: Callable[[ET.Element, Colour], None]
) -> str:
    root = ET.Element(
        "qgis", version=qgis_style.VERSION, styleCategories="Symbology|Labeling|MapTips"
    )
    renderer = ET.SubElement(root, "renderer-v2", type="RuleRenderer", symbollevels="0")
    rules = ET.SubElement(renderer, "rules", key="{rules}")
    symbols = ET.SubElement(renderer, "symbols")
    kind = "line" if table == LINES else "fill"
    for number, each in enumerate(classes):
        rule = ET.SubElement(
            rules, "rule", key=f"{{class-{number}}}", symbol=str(number), label=each.label
        )
        if each.column:
            rule.set("filter", f'"{each.column}" = {each.value!r}')
        drawn = ET.SubElement(symbols, "symbol", type=kind, name=str(number), alpha="1")
        symbol(drawn, each.colour)
    if table == LINES:
        qgis_style.add_labels(root, "\"metres\" || ' m'", along_lines=True)
    if table == BANDS:
        tip = '[% "from_metres" %] to [% "to_metres" %] m'
        ET.SubElement(root, "mapTip").text = tip
    shape = "line" if table == LINES else "polygon"
    ET.SubElement(root, "layerGeometryType").text = str(qgis_style.SHAPES.index(shape))
    ET.indent(root)
    return qgis_style.HEAD + ET.tostring(root, encoding="unicode") + "\n"


def _solid(symbol: ET.Element, colour: Colour) -> None:
    options = {
        "color": qgis_style.rgba(colour),
        "outline_color": qgis_style.rgba(LAND),
        "outline_style": "solid",
        "outline_width": "0.26",
        "outline_width_unit": "MM",
        "style": "solid",
    }
    qgis_style.symbol_layer(symbol, "SimpleFill", options)


def _hatch(symbol: ET.Element, colour: Colour) -> None:
    options = {
        "color": qgis_style.rgba(colour),
        "outline_color": qgis_style.rgba(colour),
        "outline_style": "solid",
        "outline_width": "0.3",
        "outline_width_unit": "MM",
        "style": "b_diagonal",
    }
    qgis_style.symbol_layer(symbol, "SimpleFill", options)


def _line(symbol: ET.Element, colour: Colour) -> None:
    options = {
        "line_color": qgis_style.rgba(colour),
        "line_width": "0.3",
        "line_width_unit": "MM",
    }
    qgis_style.symbol_layer(symbol, "SimpleLine", options)
