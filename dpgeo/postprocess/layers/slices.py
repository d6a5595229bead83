"""Layers of a sliced heatmap: the noisy cells of each slice of time or of a category."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.released import GridRelease, SlicesRelease
from dpgeo.core.slices import SliceNames
from dpgeo.phrases import listed
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.layers.grids import cells_layer
from dpgeo.postprocess.layers.layer import BoxLayer, Layer
from dpgeo.postprocess.layers.registry import make_areas, make_layers, select_slice
from dpgeo.spatial.area import StudyArea


def slice_names(content: SlicesRelease) -> list[str]:
    """Return the name of each slice's layer of cells."""
    return [f"cells-{key}" for key in content.keys]


def slice_grids(content: SlicesRelease) -> list[GridRelease]:
    """Return each slice as a separate GridRelease."""
    return [
        GridRelease(grid=content.grid, counts=counts, noise=content.noise)
        for counts in content.counts
    ]


def stacked(slices: Sequence[BoxLayer]) -> BoxLayer:
    """Concatenate the cells of all slices; column "name" holds the title of each cell's slice."""
    first = slices[0]
    return dataclasses.replace(
        first,
        name="cells",
        boxes=np.concatenate([layer.boxes for layer in slices]),
        cells=np.concatenate([layer.cells for layer in slices]),
        value=np.concatenate([layer.value for layer in slices]),
        margin=np.concatenate([layer.margin for layer in slices]),
        threshold=np.concatenate([layer.threshold for layer in slices]),
        coloured_from=None
        if first.coloured_from is None
        else np.concatenate([_coloured_from(layer) for layer in slices]),
        columns={
            "name": np.repeat(
                np.array([layer.title for layer in slices], dtype=object),
                [len(layer) for layer in slices],
            )
        },
    )


def _coloured_from(layer: BoxLayer) -> NDArray[np.float64]:
    return layer.threshold if layer.coloured_from is None else layer.coloured_from


@make_layers.register
def _slice_layers(content: SlicesRelease, area: StudyArea) -> list[Layer]:
    names, note = content.names, slice_note(content.names)
    slices = [cells_layer(each, area) for each in slice_grids(content)]
    return [
        dataclasses.replace(
            cells, name=name, title=title, sliced=True, of=parts, note=f"{cells.note} {note}"
        )
        for cells, name, title, parts in zip(
            slices, slice_names(content), names.titles, names.parts, strict=True
        )
    ]


def slice_note(names: SliceNames) -> str:
    """Return the sentences of a layer's note on how records are divided into slices."""
    divided = [f"{names.category}."] if names.values else []
    if names.times:
        divided.append(f"Local time ({names.time_zone}).")
    return " ".join([*divided, "Whoever was there in several slices is in each of them."])


@make_areas.register
def _areas(content: SlicesRelease, area: StudyArea) -> Areas:
    return Cells(content.grid, list(content.counts), content.noise, area)


@select_slice.register
def _slice(content: SlicesRelease, layer: str) -> GridRelease:
    return slice_grids(content)[index_of_slice(slice_names(content), layer)]


def index_of_slice(names: Sequence[str], layer: str) -> int:
    """Return the index of the slice with this layer name. Raises InvalidInput if there is none."""
    if not names:
        raise InvalidInput(
            "This release has no slices to choose from; leave this out.", field="layer"
        )
    if layer not in names:
        raise InvalidInput(
            "There is no slice {layer!r}; choose from {known}.",
            layer=layer,
            known=listed(names),
            field="layer",
        )
    return list(names).index(layer)
