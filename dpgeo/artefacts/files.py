"""Files of a release, each computed deterministically from a Released object."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpgeo.artefacts import (
    card,
    csv,
    flow_files,
    geojson,
    geopackage,
    geoparquet,
    geotiff,
    map_array,
    maplibre_style,
    preview,
    qgis_style,
    statement,
    statement_schema,
    synthetic_points,
    trip_files,
    vector_tiles,
)
from dpgeo.artefacts.formats import BuiltFile, LayerFormat, PlannedFile, StyleFormat
from dpgeo.artefacts.view import View, views
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer, layers
from dpgeo.postprocess.made_up_trips import makes_trips
from dpgeo.postprocess.opening import opening_view

__all__ = [
    "FORMATS",
    "LAYER_FORMATS",
    "BuiltFile",
    "FileKind",
    "PlannedFile",
    "build_files",
    "file_kind",
    "files_instead",
    "planned_files",
    "write_files",
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
    qgis_style.FORMAT,
    maplibre_style.FORMAT,
)
"""File formats that hold a style: how programs draw a layer."""

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

MADE_UP_POINTS = {
    synthetic_points.NAME + each.suffix: FileKind(each.title, synthetic_points.USE)
    for each in synthetic_points.FORMATS
}

MADE_UP_TRIPS = {
    trip_files.NAME + each.format.suffix: FileKind(each.format.title, trip_files.USE)
    for each in trip_files.FILES
}

MADE_UP = MADE_UP_POINTS | MADE_UP_TRIPS
"""The kinds of files with made-up points or trips, which are not layers of the map."""


# Longer suffixes come first: flows.matrix.csv is no file of a layer called flows.matrix.
BY_SUFFIX = sorted(FORMATS, key=lambda each: len(each.suffix), reverse=True)


@functools.lru_cache(maxsize=4096)
def file_kind(name: str) -> FileKind:
    """Return the kind of the file `name`; for an unknown name, all texts in it are empty."""
    if name in WHOLE_RELEASE:
        return WHOLE_RELEASE[name]
    if name in MADE_UP:
        return MADE_UP[name]
    for layer_format in BY_SUFFIX:
        if name.endswith(layer_format.suffix):
            layer = name.removesuffix(layer_format.suffix)
            style = layer_format in STYLE_FORMATS
            return FileKind(layer_format.title, layer_format.use, layer, style)
    return FileKind("", "")


def planned_files(released: Released) -> list[PlannedFile]:
    """Return all files that can be made from a release, the privacy statement last.

    Which files these are, and which of them are written at once, depends on the release alone. The
    statement contains the checksums of the other files that are written at once, and the names of
    the files that are written on request.
    """
    shown = layers(released)
    # Classes of a million cells take time, so all pictures and styles share them.
    opens = opening_view(shown)
    planned = [file for view in views(shown, opens) for file in _layer_files(released, view)]
    planned += _point_files(released, shown)
    planned += _trip_files(released)
    write = functools.partial(map_array.write, released, shown)
    planned.append(PlannedFile(map_array.NAME, map_array.MEDIA_TYPE, write, at_once=True))
    opening = View.opening(shown, opens)
    for picture in (preview, card):
        write = functools.partial(picture.write, released, opening)
        planned.append(PlannedFile(picture.NAME, picture.MEDIA_TYPE, write, at_once=True))
    write = functools.partial(_write_statement, released, shown, tuple(planned))
    return [*planned, PlannedFile(statement.NAME, statement.MEDIA_TYPE, write, at_once=True)]


def build_files(
    released: Released, folder: Path, wanted: Callable[[PlannedFile], bool] = lambda _: True
) -> list[BuiltFile]:
    """Write the `wanted` files of a release into `folder`, by default all that can be made.

    The bytes are the same each time. The privacy statement is written last. It states the checksums
    of the files that are written with the release, so they must be in the folder by then.
    """
    return write_files(filter(wanted, planned_files(released)), folder)


def write_files(wanted: Iterable[PlannedFile], folder: Path) -> list[BuiltFile]:
    """Write planned files into `folder`, in their order."""
    built = []
    for planned in wanted:
        path = folder / planned.name
        planned.write(path)
        built.append(BuiltFile(planned.name, planned.media_type, path))
    return built


def files_instead(name: str, existing: Sequence[str]) -> str:
    """Return the name of the file to offer if the file `name` is too large to be written.

    Returns "" if there is no such file among the `existing` ones.
    """
    for layer_format in LAYER_FORMATS:
        if layer_format.max_features and name.endswith(layer_format.suffix):
            other = name.removesuffix(layer_format.suffix) + LAYER_FORMATS[0].suffix
            return other if other in existing else ""
    return ""


def _layer_files(released: Released, view: View) -> Iterator[PlannedFile]:
    layer = view.layer
    for layer_format in LAYER_FORMATS:
        most = layer_format.max_features
        if not layer_format.holds(layer) or (most is not None and len(layer) > most):
            continue
        yield PlannedFile(
            layer.name + layer_format.suffix,
            layer_format.media_type,
            functools.partial(_write_layer, layer_format, released, lambda: view),
            layer_format.at_once(layer),
            large=len(layer) > (layer_format.most_unasked or len(layer)),
        )
    for style_format in STYLE_FORMATS:
        if style_format.holds(view):
            yield PlannedFile(
                layer.name + style_format.suffix,
                style_format.media_type,
                functools.partial(style_format.write, released, view),
                style_format.at_once,
            )


def _point_files(released: Released, shown: Sequence[Layer]) -> Iterator[PlannedFile]:
    """Yield the files of synthetic points, which are made up only when a file is written.

    There are never too many points for a format, and an empty map has these files, too: which files
    there are never depends on counts.
    """
    if not synthetic_points.has_points(released, shown):
        return

    @functools.cache
    def view() -> View:
        return View(synthetic_points.points_layer(released, shown), metres=0, edges=())

    for layer_format in synthetic_points.FORMATS:
        yield PlannedFile(
            synthetic_points.NAME + layer_format.suffix,
            layer_format.media_type,
            functools.partial(_write_layer, layer_format, released, view),
            at_once=False,
        )


def _trip_files(released: Released) -> Iterator[PlannedFile]:
    """Yield the files of made-up trips, which are drawn only when a file is written."""
    if not makes_trips(released.content):
        return
    for each in trip_files.FILES:

        def view(make: Callable[[Released], Layer] = each.layer) -> View:
            return View(make(released), metres=0, edges=())

        yield PlannedFile(
            trip_files.NAME + each.format.suffix,
            each.format.media_type,
            functools.partial(_write_layer, each.format, released, view),
            at_once=False,
        )


def _write_layer(
    layer_format: LayerFormat, released: Released, view: Callable[[], View], path: Path
) -> None:
    layer_format.write(released, view().layer, path)
    if layer_format.style:
        layer_format.style(released, view(), path)


def _write_statement(
    released: Released, shown: Sequence[Layer], others: Sequence[PlannedFile], path: Path
) -> None:
    document = {
        **statement.statement(released, shown),
        "files": [_entry(file, path.parent) for file in others if file.at_once],
        "files_on_request": [
            {"name": file.name, "media_type": file.media_type}
            for file in others
            if not file.at_once
        ],
    }
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _entry(file: PlannedFile, folder: Path) -> statement_schema.File:
    path = folder / file.name
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {
        "name": file.name,
        "media_type": file.media_type,
        "sha256": digest,
        "size": path.stat().st_size,
    }
