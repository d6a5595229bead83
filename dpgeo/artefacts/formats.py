"""Description of a file format for layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer


def every_layer(layer: Layer) -> bool:
    """Accept any layer, for formats without restrictions."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFormat:
    """A format that stores one layer in a file named `{layer}{suffix}`.

    `title` and `use` tell readers what it is and what it is for. `write` writes the same bytes for
    the same release every time. Layers that the format does not hold (`holds`), or with more than
    `max_features`, are not written in it.
    """

    suffix: str
    media_type: str
    title: str
    use: str
    write: Callable[[Released, Layer, Path], None]
    holds: Callable[[Layer], bool] = every_layer
    max_features: int | None = None


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file made from a release."""

    name: str
    media_type: str
    path: Path
