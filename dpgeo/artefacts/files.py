"""Files of a release, each computed deterministically from a Released object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpgeo.artefacts import (
    card,
    class_image,
    csv,
    flow_files,
    geojson,
    geopackage,
    geoparquet,
    geotiff,
    kepler,
    map_array,
    maplibre_style,
    preview,
    qgis_style,
    sld,
    statement,
    statement_schema,
    synthetic_points,
    vector_tiles,
)
from dpgeo.artefacts.formats import BuiltFile, LayerFormat, StyleFormat
from dpgeo.artefacts.view import View, views
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import PointLayer, layers

__all__ = [
    "FORMATS",
    "LAYER_FORMATS",
    "BuiltFile",
    "FileKind",
    "build_files",
    "file_kind",
    "files_instead",
]

LAYER_FORMATS: tuple[LayerFormat, ...] = (
    geoparquet.FORMAT,
    geojson.FORMAT,
    geopackage.FORMAT,
    csv.FORMAT,
    vector_tiles.FORMAT,
    geotiff.FORMAT,
    flow_files.MATRIX,
    flow_files.FLOWMAP,
)
"""The file formats for layers. If a layer is too large for one of them, the first one is offered
instead.
"""

STYLE_FORMATS: tuple[StyleFormat, ...] = (
    class_image.FORMAT,
    class_image.LEGEND,
    qgis_style.FORMAT,
    sld.FORMAT,
    maplibre_style.FORMAT,
    kepler.FORMAT,
)
"""The file formats that say how a layer is drawn."""

FORMATS: tuple[LayerFormat | StyleFormat, ...] = (*LAYER_FORMATS, *STYLE_FORMATS)


@dataclass(frozen=True, slots=True)
class FileKind:
    """A file format's title, its use in words, and the layer that the file shows.

    The layer's name is "" for a file that does not belong to one layer. `style` says whether the
    file describes how the layer is drawn, rather than what it contains.
    """

    title: str
    use: str
    layer: str = ""
    style: bool = False


WHOLE_RELEASE = {
    map_array.NAME: FileKind("Map array", "what the map on this site draws"),
    preview.NAME: FileKind(preview.TITLE, preview.USE),
    card.NAME: FileKind(card.TITLE, card.USE),
    statement.NAME: FileKind("Privacy statement", "the guarantee, for programs"),
}
"""The kinds of files that describe the whole release rather than one layer."""

MADE_UP = {
    synthetic_points.NAME + each.suffix: FileKind(each.title, synthetic_points.USE)
    for each in synthetic_points.FORMATS
}
"""The kinds of files with synthetic points, which are not layers of the map."""


def file_kind(name: str) -> FileKind:
    """Return the kind of the file `name`; for an unknown name, all texts in it are empty."""
    if name in WHOLE_RELEASE:
        return WHOLE_RELEASE[name]
    if name in MADE_UP:
        return MADE_UP[name]
    # Try longer suffixes first: cells.classes.tif is a file of the layer cells, not of a layer
    # called cells.classes.
    for layer_format in sorted(FORMATS, key=lambda each: len(each.suffix), reverse=True):
        if name.endswith(layer_format.suffix):
            layer = name.removesuffix(layer_format.suffix)
            style = layer_format in STYLE_FORMATS
            return FileKind(layer_format.title, layer_format.use, layer, style)
    return FileKind("", "")


def build_files(released: Released, folder: Path) -> list[BuiltFile]:
    """Write all files of a release into `folder`; the bytes are the same each time.

    The privacy statement is the last file, because it contains the checksums of all other files.
    """
    shown = layers(released)
    built = [file for view in views(shown) for file in _layer_files(released, view, folder)]
    points = synthetic_points.points_layer(released, shown)
    # This also applies to an empty map: which files exist never depends on counts.
    if points is not None:
        built += _point_files(released, points, folder)
    drawn = BuiltFile(map_array.NAME, map_array.MEDIA_TYPE, folder / map_array.NAME)
    map_array.write(released, shown, drawn.path)
    picture = BuiltFile(preview.NAME, preview.MEDIA_TYPE, folder / preview.NAME)
    preview.write(released, shown, picture.path)
    linked = BuiltFile(card.NAME, card.MEDIA_TYPE, folder / card.NAME)
    card.write(released, shown, linked.path)
    built += [drawn, picture, linked]
    return [*built, _statement_file(released, built, folder)]


def files_instead(name: str, existing: Sequence[str]) -> str:
    """Return the name of the file to offer if the file `name` is too large to be written.

    Returns "" if there is no such file among the `existing` ones.
    """
    for layer_format in LAYER_FORMATS:
        if layer_format.max_features and name.endswith(layer_format.suffix):
            other = name.removesuffix(layer_format.suffix) + LAYER_FORMATS[0].suffix
            return other if other in existing else ""
    return ""


def _layer_files(released: Released, view: View, folder: Path) -> list[BuiltFile]:
    built = []
    layer = view.layer
    for layer_format in LAYER_FORMATS:
        most = layer_format.max_features
        if not layer_format.holds(layer) or (most is not None and len(layer) > most):
            continue
        name = layer.name + layer_format.suffix
        layer_format.write(released, layer, folder / name)
        if layer_format.style:
            layer_format.style(released, view, folder / name)
        built.append(BuiltFile(name, layer_format.media_type, folder / name))
    for style_format in STYLE_FORMATS:
        if style_format.holds(view):
            name = layer.name + style_format.suffix
            style_format.write(released, view, folder / name)
            built.append(BuiltFile(name, style_format.media_type, folder / name))
    return built


def _point_files(released: Released, points: PointLayer, folder: Path) -> list[BuiltFile]:
    built = []
    for layer_format in synthetic_points.FORMATS:
        if layer_format.max_features is None or len(points) <= layer_format.max_features:
            path = folder / (points.name + layer_format.suffix)
            layer_format.write(released, points, path)
            if layer_format.style:
                layer_format.style(released, View(points, metres=0, edges=()), path)
            built.append(BuiltFile(path.name, layer_format.media_type, path))
    return built


def _statement_file(released: Released, built: Sequence[BuiltFile], folder: Path) -> BuiltFile:
    files = [_entry(file) for file in built]
    document = {**statement.statement(released), "files": files}
    path = folder / statement.NAME
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return BuiltFile(statement.NAME, statement.MEDIA_TYPE, path)


def _entry(file: BuiltFile) -> statement_schema.File:
    with file.path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    size = file.path.stat().st_size
    return {"name": file.name, "media_type": file.media_type, "sha256": digest, "size": size}
