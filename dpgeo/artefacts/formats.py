"""What a file format is, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer


def every_layer(layer: Layer) -> bool:
    """What a format that holds any layer says."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFormat:
    """A format that holds one layer a file, named `{layer}{suffix}`.

    `title` and `use` say to people what it is and what it is for. `write` makes the same bytes of
    the same release every time. Layers that it does not hold (`holds`), or of more than
    `max_features`, are not written in this format.
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
