"""Files of a release. Each is a deterministic function of a Released object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpgeo.artefacts import (
    card,
    csv,
    geojson,
    geopackage,
    geoparquet,
    geotiff,
    map_array,
    preview,
    statement,
    statement_schema,
    vector_tiles,
)
from dpgeo.artefacts.formats import BuiltFile, LayerFormat
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer, layers

__all__ = ["LAYER_FORMATS", "BuiltFile", "FileKind", "build_files", "file_kind", "files_instead"]

LAYER_FORMATS: tuple[LayerFormat, ...] = (
    geoparquet.FORMAT,
    geojson.FORMAT,
    geopackage.FORMAT,
    csv.FORMAT,
    vector_tiles.FORMAT,
    geotiff.FORMAT,
)
"""The formats of layers. If a layer is too large for a format, the first one is offered instead."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """The title of a file's format, its use in words, and its layer.

    The layer's name is "" for a file that does not belong to one layer.
    """

    title: str
    use: str
    layer: str = ""


WHOLE_RELEASE = {
    map_array.NAME: FileKind("Map array", "what the map on this site draws"),
    preview.NAME: FileKind(preview.TITLE, preview.USE),
    card.NAME: FileKind(card.TITLE, card.USE),
    statement.NAME: FileKind("Privacy statement", "the guarantee, for programs"),
}
"""Files that do not belong to one layer."""


def file_kind(name: str) -> FileKind:
    """Return the kind of the file `name`; for an unknown name all its texts are empty."""
    if name in WHOLE_RELEASE:
        return WHOLE_RELEASE[name]
    for layer_format in LAYER_FORMATS:
        if name.endswith(layer_format.suffix):
            layer = name.removesuffix(layer_format.suffix)
            return FileKind(layer_format.title, layer_format.use, layer)
    return FileKind("", "")


def build_files(released: Released, folder: Path) -> list[BuiltFile]:
    """Write all files of a release into `folder`, always with the same bytes.

    The privacy statement is the last file; it contains the checksums of all other files.
    """
    shown = layers(released)
    built = [file for layer in shown for file in _layer_files(released, layer, folder)]
    drawn = BuiltFile(map_array.NAME, map_array.MEDIA_TYPE, folder / map_array.NAME)
    map_array.write(released, shown, drawn.path)
    picture = BuiltFile(preview.NAME, preview.MEDIA_TYPE, folder / preview.NAME)
    preview.write(released, shown, picture.path)
    linked = BuiltFile(card.NAME, card.MEDIA_TYPE, folder / card.NAME)
    card.write(released, shown, linked.path)
    built += [drawn, picture, linked]
    return [*built, _statement_file(released, built, folder)]


def files_instead(name: str, existing: Sequence[str]) -> str:
    """Return the file to offer instead of the file `name`, which was too large to be written.

    Returns "" if there is no such file among the `existing` ones.
    """
    for layer_format in LAYER_FORMATS:
        if layer_format.max_features and name.endswith(layer_format.suffix):
            other = name.removesuffix(layer_format.suffix) + LAYER_FORMATS[0].suffix
            return other if other in existing else ""
    return ""


def _layer_files(released: Released, layer: Layer, folder: Path) -> list[BuiltFile]:
    built = []
    for layer_format in LAYER_FORMATS:
        most = layer_format.max_features
        if not layer_format.holds(layer) or (most is not None and len(layer) > most):
            continue
        name = layer.name + layer_format.suffix
        layer_format.write(released, layer, folder / name)
        built.append(BuiltFile(name, layer_format.media_type, folder / name))
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
