"""The one way from a release to what it shows: each kind of content registers its own."""

from __future__ import annotations

from functools import singledispatch

from dpgeo.core.released import Content, Released
from dpgeo.postprocess.layers.layer import BoxLayer, Layer
from dpgeo.spatial.area import StudyArea


def layers(released: Released) -> list[Layer]:
    """The layers of a release, what was measured first."""
    return make_layers(released.content, released.area)


def box_layers(released: Released) -> list[BoxLayer]:
    """The layers of a release that consist of boxes of cells, what was measured first."""
    return [layer for layer in layers(released) if isinstance(layer, BoxLayer)]


@singledispatch
def make_layers(content: Content, area: StudyArea) -> list[Layer]:
    """The layers of a content over a study area. Raises TypeError where nobody registered any."""
    raise TypeError(f"There are no layers for a {type(content).__name__}.")
