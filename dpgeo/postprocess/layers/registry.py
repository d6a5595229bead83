"""Registry of the layers of each kind of content."""

from __future__ import annotations

from functools import singledispatch

from dpgeo.core.released import Content, Released
from dpgeo.postprocess.layers.layer import BoxLayer, Layer
from dpgeo.spatial.area import StudyArea


def layers(released: Released) -> list[Layer]:
    """Return the layers of a release, measured ones first."""
    return make_layers(released.content, released.area)


def box_layers(released: Released) -> list[BoxLayer]:
    """Return the layers of a release that consist of boxes of cells, measured ones first."""
    return [layer for layer in layers(released) if isinstance(layer, BoxLayer)]


@singledispatch
def make_layers(content: Content, area: StudyArea) -> list[Layer]:
    """Build the layers of a content over a study area. Raises TypeError for unknown content."""
    raise TypeError(f"There are no layers for a {type(content).__name__}.")
