"""Cloud-optimised GeoTIFF of grid cells' colour classes, in the map's colours.

It has one band with a colour table, so every program can draw it as it is. Value 0 means no data, 1
means a count that cannot be told from zero, and 2 and above are the classes from the lowest up.
With four bits per pixel, a legend has at most sixteen entries.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from dpgeo.artefacts.formats import StyleFormat
from dpgeo.artefacts.geotiff import (
    ASCII,
    DEFLATE,
    TILE,
    described,
    holds,
    image_tags,
    pyramid,
    write_images,
)
from dpgeo.artefacts.qgis_style import HEAD, VERSION
from dpgeo.artefacts.table import summary
from dpgeo.artefacts.view import NOISE, TOO_FEW, View, hexadecimal, unit_words
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer

BITS = 4
"""Number of bits per pixel."""

_PALETTE, _UNSIGNED = 3, 1


def write(released: Released, view: View, path: Path) -> None:
    """Write the colour classes of a layer of cells.

    Raises TypeError unless `holds` accepts the layer.
    """
    layer = view.layer
    if not isinstance(layer, BoxLayer) or not holds(layer):
        raise TypeError("Only layers of cells are images.")
    classes = np.zeros((1, *layer.grid.shape), dtype=np.uint8)
    classes[0, layer.boxes[:, 0], layer.boxes[:, 2]] = view.classes + 2
    images = pyramid(classes)
    shorts = {
        258: [BITS],
        259: [DEFLATE],
        262: [_PALETTE],
        277: [1],
        320: _colour_table(view),
        322: [TILE],
        323: [TILE],
        339: [_UNSIGNED],
    }
    tags = [image_tags(layer, image, shorts, "0") for image in images]
    names = (TOO_FEW, *view.labels)
    legend = {f"class_{number}": name for number, name in enumerate(names, 1)}
    facts = {**summary(released, layer), **legend}
    tags[0].append((42112, ASCII, described(facts, [unit_words(released, view)])))
    write_images(path, tags, [list(image.tiles()) for image in images])


def _colour_table(view: View) -> list[int]:
    """Return the colour table: all reds, then all greens, then all blues, from 0 to 65,535."""
    colours = [(0, 0, 0), NOISE, *view.ramp]
    colours += [(0, 0, 0)] * ((1 << BITS) - len(colours))
    return [257 * colour[part] for part in range(3) for colour in colours]


def write_legend(released: Released, view: View, path: Path) -> None:
    """Write the QGIS style that labels the classes in the image's colour table."""
    entries = [(TOO_FEW, NOISE), *((rule.label, rule.colour) for rule in view.rules)]
    root = ET.Element("qgis", version=VERSION, styleCategories="Symbology")
    drawn = ET.SubElement(
        ET.SubElement(root, "pipe"),
        "rasterrenderer",
        {"type": "paletted", "band": "1", "alphaBand": "-1", "opacity": "1"},
    )
    palette = ET.SubElement(drawn, "colorPalette")
    for number, (label, colour) in enumerate(entries, 1):
        words = {"value": str(number), "label": label, "color": hexadecimal(colour), "alpha": "255"}
        ET.SubElement(palette, "paletteEntry", words)
    ET.indent(root)
    path.write_text(HEAD + ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")


LEGEND = StyleFormat(
    suffix=".classes.qml",
    media_type="application/xml",
    title="QML",
    use="the legend of the image of classes, for QGIS",
    write=write_legend,
    holds=lambda view: holds(view.layer),
)

FORMAT = StyleFormat(
    suffix=".classes.tif",
    media_type="image/tiff; application=geotiff; profile=cloud-optimized",
    title="GeoTIFF",
    use="an image in the colours of the map",
    write=write,
    holds=lambda view: holds(view.layer),
)
