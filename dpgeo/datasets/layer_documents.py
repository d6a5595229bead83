"""Reading of public layers' files as GeoJSON documents.

GeoJSON files and CSV tables of places are text, which is read here. Zipped shapefiles, GeoPackage,
FlatGeobuf and GeoParquet are read in the sandbox (`ingest.layer_file`).
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.preview_slots import preview_slot
from dpgeo.datasets.storage import work_folder
from dpgeo.ingest.layer_file import LayerChoices, is_layer_file, read_layer_file
from dpgeo.phrases import InvalidValue
from dpgeo.spatial.gazetteer import read_gazetteer

MAX_BYTES = 32 * 1024 * 1024
"""Largest file of a layer, in bytes; the file is read into memory."""


BARE_SHAPES = b"\x00\x00\x27\x0a"
"""First bytes of a .shp file, which may have been sent without the rest of the shapefile."""


def read_document(file: BinaryIO, choices: LayerChoices) -> dict[str, Any]:
    """Read a file as a GeoJSON document in degrees; `choices` may name the levels of places.

    Raises ValueError if the file is too large or in a format that is not supported, InvalidInput if
    it cannot be read in the sandbox or an option does not apply to it, or Conflict if this machine
    is too busy to read it.
    """
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InvalidValue(
            "The file is larger than {most} MiB; simplify the outlines.",
            most=MAX_BYTES // 1024**2,
        )
    if is_layer_file(content):
        return _sandboxed(content, choices)
    if content.startswith(BARE_SHAPES):
        raise InvalidValue(
            "A shapefile needs its table too: zip the files .shp, .shx, .dbf and .prj together."
        )
    if choices.layer:
        raise InvalidInput("Leave this out: only a GeoPackage has layers.", field="file_layer")
    if choices.crs:
        raise InvalidInput(
            "Leave this out: GeoJSON and CSV are in degrees. Other formats may be in any system.",
            field="file_crs",
        )
    document = _text_document(content, choices)
    if choices.levels:
        document["levels"] = list(choices.levels)
    return document


def _sandboxed(content: bytes, choices: LayerChoices) -> dict[str, Any]:
    with preview_slot(), work_folder() as folder:
        source, empty = folder / "sent", folder / "work"
        source.write_bytes(content)
        empty.mkdir()
        return read_layer_file(source, choices, empty)


def _text_document(content: bytes, choices: LayerChoices) -> dict[str, Any]:
    """Read a GeoJSON file, or a CSV table of places, as GeoJSON.

    Raises ValueError if the content is neither.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidValue(
            "Is neither a zipped shapefile, a GeoPackage, FlatGeobuf or GeoParquet file nor UTF-8 "
            "text; export it again."
        ) from None
    if choices.kind == LayerKind.PLACES and not text.lstrip().startswith(("{", "[")):
        return read_gazetteer(text, key=choices.key, name=choices.name)
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidValue("Is not GeoJSON: it is nested too deeply; export it again.") from None
    except ValueError as error:
        raise InvalidValue("Is not GeoJSON: {problem}.", problem=str(error)[:200]) from None
    if not isinstance(document, dict):
        raise InvalidValue("Must be a GeoJSON FeatureCollection.")
    return document


def _refuse_constant(name: str) -> None:
    raise InvalidValue("{name} is no coordinate", name=name)
