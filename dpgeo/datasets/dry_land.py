"""Study areas without the sea and large lakes.

Water is subtracted once, when the area is declared, and only the remaining area is stored.
Releases, statements and the refusal of rows all use it. Later changes of the coast do not change
the stored area.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.declaration import read_area
from dpgeo.ground.regions import regions
from dpgeo.ground.water import subtract_water
from dpgeo.phrases import phrase_of
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.land import land_polygons

WITHOUT_WATER = "without_water"
"""The member of a dataset's `area_choice` that names the sources of the water's outlines."""

SWITCH = "leave_out_water"
"""Name of the input that asks for the water to be left out."""


def land_file() -> Path:
    """Return the path of the land outlines that the frontend's build writes."""
    return Path(settings.BASE_DIR) / "frontend" / "dist" / "land.wkb"


def leave_out_water(
    study_area: object, choice: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an area without the sea and large lakes, and how it was chosen.

    Only public geometry is used. Raises InvalidInput if the area is invalid or all water. `choice`
    says how the area was chosen so far; the sources of the water's outlines are added to it.
    """
    folder = Path(settings.GROUND_DIR)
    try:
        area = StudyArea.from_geojson(read_area(study_area))
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="study_area") from None
    land = land_polygons(land_file())
    left, sources = subtract_water(area, folder, regions(folder), land)
    if left is None:
        raise InvalidInput(
            "Nothing of the study area is land; keep the sea and lakes, or choose another area.",
            field=SWITCH,
        )
    return left.to_geojson(), {**(choice or {}), WITHOUT_WATER: sources}
