"""Descriptions of file formats for layers, and of files that were written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpgeo.artefacts.view import View
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer

MAX_UNCONFIRMED = 1_000_000
"""A file with a row for each feature, if it has more rows than this, is written only on request.

A million features take a quarter of a gigabyte as a GeoPackage, and a tenth as CSV.
"""


def every_layer(layer: Layer) -> bool:
    """Return True for every layer; used for formats that can store any layer."""
    return True


def every_view(view: View) -> bool:
    """Return True for every view; used for files that can describe how any layer is drawn."""
    return True


def no_layer(layer: Layer) -> bool:
    """Return False for every layer; used for formats that are written only on request."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFormat:
    """A format for files with one layer, named `{layer}{suffix}`.

    `title` is the format's name for readers, and `use` says what it is for. `write` always writes
    the same bytes for the same release. `holds` returns whether the format can store a layer. Files
    are written only for layers that the format can store and, unless `max_features` is None, that
    have at most that many features. If `style` is given, it adds the map's colours to a written
    file. `at_once` returns whether a layer's file is written with the release because the site
    itself reads it; all other files are written when somebody first asks for them. A file of more
    than `most_unasked` features waits until then even if the publisher wants all files at once.
    """

    suffix: str
    media_type: str
    title: str
    use: str
    write: Callable[[Released, Layer, Path], None]
    holds: Callable[[Layer], bool] = every_layer
    max_features: int | None = None
    style: Callable[[Released, View, Path], None] | None = None
    at_once: Callable[[Layer], bool] = no_layer
    most_unasked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleFormat:
    """A format for files with a layer's colours: a style to draw it by, or a coloured picture.

    The files are named `{layer}{suffix}`; `holds` returns whether a layer has such a file.
    `at_once` says whether it is written with the release rather than on request.
    """

    suffix: str
    media_type: str
    title: str
    use: str
    write: Callable[[Released, View, Path], None]
    holds: Callable[[View], bool] = every_view
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that can be written from a release.

    `write` writes it to a path, always with the same bytes. `at_once` says whether it is written
    with the release rather than on request, and `large` whether it has too many features to be
    written before somebody asks for it.
    """

    name: str
    media_type: str
    write: Callable[[Path], None]
    at_once: bool
    large: bool = False


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file written from a release."""

    name: str
    media_type: str
    path: Path
