"""Styled Layer Descriptors (SLD) for GeoServer, MapServer and other GIS.

They colour a layer as the site's map does. The version is OGC Styled Layer Descriptor 1.0 (02-070),
which all of these programs read. Each class is a rule whose title states the unit, because most
legends show only the titles of rules.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from dpgeo.artefacts.arrow import shape_of
from dpgeo.artefacts.formats import StyleFormat
from dpgeo.artefacts.view import (
    DOT,
    HATCH,
    LAND,
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

SLD, OGC = "http://www.opengis.net/sld", "http://www.opengis.net/ogc"

CIRCLE = 9
"""Diameter in pixels of the circle for every count; SLD 1.0 cannot derive sizes from counts."""


def write(released: Released, view: View, path: Path) -> None:
    """Write the SLD style for a layer."""
    path.write_text(style(released, view), encoding="utf-8")


def style(released: Released, view: View) -> str:
    """Return the SLD style for a layer as XML."""
    unit = unit_words(released, view)
    root, rules = document(view.layer.name, unit)
    if not view.field:
        _rule(rules, view, view.layer.title, PLAIN, [])
    for rule in view.rules:
        _rule(rules, view, f"{rule.label} ({_lowered(unit)})", rule.colour, _terms(view, rule))
    if view.grey_words:
        _rule(rules, view, view.grey_words, None, [_grey(view)])
    return text_of(root)


def document(layer: str, title: str) -> tuple[ET.Element, ET.Element]:
    """Return an empty style for the layer of this name, and the element that takes its rules."""
    root = ET.Element("StyledLayerDescriptor", {"version": "1.0.0", "xmlns": SLD, "xmlns:ogc": OGC})
    named = ET.SubElement(root, "NamedLayer")
    ET.SubElement(named, "Name").text = layer
    user = ET.SubElement(named, "UserStyle")
    ET.SubElement(user, "Name").text = layer
    ET.SubElement(user, "Title").text = title
    return root, ET.SubElement(user, "FeatureTypeStyle")


def text_of(root: ET.Element) -> str:
    """Return a style as the text of a file."""
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _rule(
    parent: ET.Element, view: View, title: str, colour: Colour | None, terms: list[ET.Element]
) -> None:
    """Add a rule; `colour` is None for features that do not stand out from the noise."""
    rule = ET.SubElement(parent, "Rule")
    ET.SubElement(rule, "Title").text = title
    if terms:
        wanted = ET.SubElement(rule, "ogc:Filter")
        (wanted if len(terms) == 1 else ET.SubElement(wanted, "ogc:And")).extend(terms)
    filled = hexadecimal(NOISE if colour is None else colour)
    shape = shape_of(view.layer)
    if shape == "polygon":
        drawn = ET.SubElement(rule, "PolygonSymbolizer")
        parameters(ET.SubElement(drawn, "Fill"), fill=filled)
        if not isinstance(view.layer, BoxLayer):
            parameters(ET.SubElement(drawn, "Stroke"), stroke=hexadecimal(LAND), stroke_width="1")
    elif shape == "line":
        drawn = ET.SubElement(rule, "LineSymbolizer")
        parameters(ET.SubElement(drawn, "Stroke"), stroke=filled, stroke_width="2")
    else:
        graphic = ET.SubElement(ET.SubElement(rule, "PointSymbolizer"), "Graphic")
        mark = ET.SubElement(graphic, "Mark")
        ET.SubElement(mark, "WellKnownName").text = "circle"
        seen = "0" if colour is None else f"{opacity(view):g}"
        parameters(ET.SubElement(mark, "Fill"), fill=filled, fill_opacity=seen)
        if view.layer.value is not None:
            edge = hexadecimal(HATCH if colour is None else LAND)
            parameters(ET.SubElement(mark, "Stroke"), stroke=edge, stroke_width="1")
        size = 2 * DOT if view.layer.value is None else CIRCLE
        ET.SubElement(graphic, "Size").text = f"{size:g}"


def parameters(parent: ET.Element, **values: str) -> None:
    """Add style parameters to a symbol; underscores in their names stand for hyphens."""
    for name, value in values.items():
        ET.SubElement(parent, "CssParameter", name=name.replace("_", "-")).text = value


def _terms(view: View, rule: Rule) -> list[ET.Element]:
    terms = []
    if view.layer.told is not None:
        terms.append(_not(_is_null(view.field)))
    if view.least:
        terms += [
            _compared("GreaterThan", _name(view.field), _number(0)),
            _compared("GreaterThanOrEqualTo", _name(view.field), _name(view.least)),
        ]
    if rule.low is not None:
        terms.append(_compared("GreaterThanOrEqualTo", _figure(view), _number(rule.low)))
    if rule.high is not None:
        terms.append(_compared("LessThan", _figure(view), _number(rule.high)))
    return terms


def _grey(view: View) -> ET.Element:
    """Return the condition for grey features.

    `ElseFilter` would be simpler, but some programs draw it wrongly.
    """
    if view.layer.told is not None:
        return _is_null(view.field)
    either = ET.Element("ogc:Or")
    either.append(_compared("LessThanOrEqualTo", _name(view.field), _number(0)))
    either.append(_compared("LessThan", _name(view.field), _name(view.least)))
    return either


def equals(column: str, value: float) -> ET.Element:
    """Return the condition that a column equals `value`."""
    return _compared("EqualTo", _name(column), _number(value))


def _is_null(column: str) -> ET.Element:
    element = ET.Element("ogc:PropertyIsNull")
    element.append(_name(column))
    return element


def _not(condition: ET.Element) -> ET.Element:
    element = ET.Element("ogc:Not")
    element.append(condition)
    return element


def _compared(how: str, left: ET.Element, right: ET.Element) -> ET.Element:
    element = ET.Element(f"ogc:PropertyIs{how}")
    element.extend([left, right])
    return element


def _figure(view: View) -> ET.Element:
    element = _name(view.field)
    if view.divisor:
        element = _computed("Div", element, _name(view.divisor))
    return element if view.factor == 1 else _computed("Mul", element, _number(view.factor))


def _computed(how: str, left: ET.Element, right: ET.Element) -> ET.Element:
    element = ET.Element(f"ogc:{how}")
    element.extend([left, right])
    return element


def _name(column: str) -> ET.Element:
    element = ET.Element("ogc:PropertyName")
    element.text = column
    return element


def _number(value: float) -> ET.Element:
    element = ET.Element("ogc:Literal")
    element.text = repr(value)
    return element


FORMAT = StyleFormat(
    suffix=".sld",
    media_type="application/vnd.ogc.sld+xml",
    title="SLD",
    use="the colours of the map, for GeoServer and other GIS",
    write=write,
)
