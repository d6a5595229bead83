"""Every file of a release, each a deterministic function of its Released object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from dpgeo.artefacts import csv, geojson, geoparquet, map_array, statement
from dpgeo.artefacts.formats import BuiltFile, LayerFormat
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer, layers

__all__ = ["LAYER_FORMATS", "BuiltFile", "build_files", "files_instead"]

LAYER_FORMATS: tuple[LayerFormat, ...] = (
    geoparquet.FORMAT,
    geojson.FORMAT,
    csv.FORMAT,
)
"""One line a format. The first is the one to take where another is too small."""


def build_files(released: Released, folder: Path) -> list[BuiltFile]:
    """Write all files of a release into a folder; the same bytes for the same release.

    The statement comes last and names the checksum of every other file.
    """
    shown = layers(released)
    built = [file for layer in shown for file in _layer_files(released, layer, folder)]
    picture = BuiltFile(map_array.NAME, map_array.MEDIA_TYPE, folder / map_array.NAME)
    map_array.write(released, shown, picture.path)
    built.append(picture)
    return [*built, _statement_file(released, built, folder)]


def files_instead(name: str, existing: Sequence[str]) -> str:
    """The file to take in place of one that a layer is too large for; "" if there is none."""
    for layer_format in LAYER_FORMATS:
        if layer_format.max_features and name.endswith(layer_format.suffix):
            other = name.removesuffix(layer_format.suffix) + LAYER_FORMATS[0].suffix
            return other if other in existing else ""
    return ""


def _layer_files(released: Released, layer: Layer, folder: Path) -> list[BuiltFile]:
    built = []
    for layer_format in LAYER_FORMATS:
        most = layer_format.max_features
        if most is not None and len(layer) > most:
            continue
        name = layer.name + layer_format.suffix
        layer_format.write(released, layer, folder / name)
        built.append(BuiltFile(name, layer_format.media_type, folder / name))
    return built


def _statement_file(released: Released, built: Sequence[BuiltFile], folder: Path) -> BuiltFile:
    document = statement.statement(released)
    document["files"] = [_entry(file) for file in built]
    path = folder / statement.NAME
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return BuiltFile(statement.NAME, statement.MEDIA_TYPE, path)


def _entry(file: BuiltFile) -> dict[str, str | int]:
    with file.path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    size = file.path.stat().st_size
    return {"name": file.name, "media_type": file.media_type, "sha256": digest, "size": size}
