"""What a file format is, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFormat:
    """A format that holds one layer a file, named `{layer}{suffix}`.

    `write` makes the same bytes of the same release every time. Layers of more than
    `max_features` are not written in this format.
    """

    suffix: str
    media_type: str
    write: Callable[[Released, Layer, Path], None]
    max_features: int | None = None


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file made from a release."""

    name: str
    media_type: str
    path: Path
