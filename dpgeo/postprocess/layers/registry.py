"""Functions that turn a release's content into layers and measured regions.

Each has one implementation for each type of content.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.released import Content, Released
from dpgeo.postprocess.areas import Areas
from dpgeo.postprocess.compared import Compared
from dpgeo.postprocess.layers.layer import BoxLayer, Layer
from dpgeo.postprocess.typical import ValuedAreas
from dpgeo.spatial.area import StudyArea


def layers(released: Released) -> list[Layer]:
    """Return the layers of a release, measured layers first except in a release of trips."""
    return make_layers(released.content, released.area)


def box_layers(released: Released) -> list[BoxLayer]:
    """Return the layers of a release that are boxes of cells, measured layers first."""
    return [layer for layer in layers(released) if isinstance(layer, BoxLayer)]


@singledispatch
def make_layers(content: Content, area: StudyArea) -> list[Layer]:
    """Build the layers of a release's content. Raises TypeError for an unknown content type."""
    raise TypeError(f"There are no layers for a {type(content).__name__}.")


@singledispatch
def make_areas(content: Content, area: StudyArea) -> Areas:
    """Return the regions in which a release counted, with their noisy counts.

    Counts in any other region are estimated from these. Raises Conflict if the content has none.
    """
    raise Conflict("This release has no counts of areas; choose one that has, such as a heatmap.")


@singledispatch
def make_inferred(content: Content, area: StudyArea) -> Areas | None:
    """Return the measured regions of a release that measured each of its parts several times.

    Their answers to range queries are sums of an inferred surface or of reconciled counts
    (`areas.Inferred`). Returns None for other content.
    """
    return None


@singledispatch
def make_valued(content: Content, area: StudyArea) -> ValuedAreas | None:
    """Return the regions for which a release measured averages or quartiles.

    Returns None for other content.
    """
    return None


PARTITIONS = "partitions"
"""Name of the layer of measured counts in a release that also has a layer of inferred counts."""


def no_slices() -> InvalidInput:
    """Return the error for an unknown layer of a release that has no slices."""
    return InvalidInput(
        "This release has no time slices; leave this out, or choose partitions for the "
        "measured counts alone.",
        field="layer",
    )


@singledispatch
def select_slice(content: Content, layer: str) -> Content:
    """Return one slice as a release's content of its own; `layer` is the name of its layer.

    Raises InvalidInput if there is no such layer.
    """
    raise InvalidInput("This release has no slices to choose from; leave this out.", field="layer")


@singledispatch
def can_compare(content: Content) -> bool:
    """Return whether maps of a series with contents like this one can be compared."""
    return False


@singledispatch
def slim(content: Content) -> Content:
    """Return the content without the counts that a comparison of maps does not need.

    Most types of content have none of these, and are returned unchanged.
    """
    return content


def compared(contents: Sequence[Content], area: StudyArea) -> Compared | None:
    """Return the counts of maps of one series, or None if they cannot be compared.

    `contents` are the contents of the maps, from which `slim` may have left out what a comparison
    does not need.
    """
    first = contents[0]
    if any(type(each) is not type(first) or not can_compare(each) for each in contents):
        return None
    return make_compared(first, contents, area)


@singledispatch
def make_compared(first: Content, contents: Sequence[Any], area: StudyArea) -> Compared | None:
    """Return the counts of several maps side by side.

    All `contents` have the type of `first`, by which this function dispatches. Returns None if they
    differ in their regions, their noise or their threshold, or if maps of this type are never
    compared.
    """
    return None
