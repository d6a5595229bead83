"""Layers of a phased release divided by time: each slice's boxes and inferred surface."""

from __future__ import annotations

import dataclasses

from dpgeo.core.errors import InvalidInput
from dpgeo.core.released import Content, PhasedRelease, PhasedSlicesRelease
from dpgeo.phrases import listed
from dpgeo.postprocess.areas import Areas, Cells
from dpgeo.postprocess.layers.layer import Layer
from dpgeo.postprocess.layers.phases import counted_cells
from dpgeo.postprocess.layers.registry import make_areas, make_inferred, make_layers, select_slice
from dpgeo.postprocess.layers.slices import slice_note
from dpgeo.postprocess.sliced_areas import SlicedAreas
from dpgeo.postprocess.surface_areas import SurfaceAreas
from dpgeo.spatial.area import StudyArea


def one_slice(content: PhasedSlicesRelease, number: int) -> PhasedRelease:
    """Return one time slice as a release of its own."""
    own = content.slice_number == number
    return PhasedRelease(
        grid=content.grid,
        boxes=content.boxes[own],
        phase=content.phase[own],
        counts=content.counts[own],
        noises=content.noises,
        surface=content.surfaces[number],
    )


@make_layers.register
def _sliced_layers(content: PhasedSlicesRelease, area: StudyArea) -> list[Layer]:
    """Return a layer of measured boxes for each slice, followed by a surface for each slice.

    The boxes are those of the last phase, with their counts as drawn.
    """
    measured, inferred = [], []
    names = content.names
    # Releases divided by time alone keep this wording, because published privacy statements contain
    # it.
    note = (
        slice_note(names)
        if names.values
        else f"Local time ({names.time_zone}); whoever was there in several slices is in each of "
        "them."
    )
    slices = zip(names.keys, names.titles, names.parts, strict=True)
    for number, (key, title, parts) in enumerate(slices):
        boxes, surface = make_layers(one_slice(content, number), area)
        measured.append(
            dataclasses.replace(
                boxes,
                name=f"{boxes.name}-{key}",
                title=f"Counts of partitions, {title}",
                note=f"{boxes.note} {note}",
            )
        )
        inferred.append(
            dataclasses.replace(
                surface,
                name=f"{surface.name}-{key}",
                title=title,
                sliced=True,
                of=parts,
                note=f"{surface.note} {note}",
            )
        )
    return [*measured, *inferred]


@make_areas.register
def _areas(content: PhasedSlicesRelease, area: StudyArea) -> Areas:
    parts = [one_slice(content, number) for number in range(len(content.keys))]
    cells = [counts for part in parts if (counts := counted_cells(part, area)) is not None]
    if len(cells) == len(parts):
        return Cells(content.grid, cells, content.noises[-1], area)
    return SlicedAreas([SurfaceAreas(part, area, fixed=False) for part in parts])


@make_inferred.register
def _inferred(content: PhasedSlicesRelease, area: StudyArea) -> Areas | None:
    areas = make_areas(content, area)
    return None if isinstance(areas, Cells) else areas


@select_slice.register
def _slice(content: PhasedSlicesRelease, layer: str) -> Content:
    """Return one slice; `layer` is the name of its layer of boxes or of its layer of a surface.

    If it is the layer of boxes, the slice consists of the measured counts of the last phase alone.
    """
    for number, key in enumerate(content.keys):
        if layer == f"estimate-{key}":
            return one_slice(content, number)
        if layer == f"partitions-{key}":
            return select_slice(one_slice(content, number), "partitions")
    known = [f"{name}-{key}" for name in ("estimate", "partitions") for key in content.keys]
    raise InvalidInput(
        "There is no slice {layer!r}; choose from {known}.",
        layer=layer,
        known=listed(known),
        field="layer",
    )
