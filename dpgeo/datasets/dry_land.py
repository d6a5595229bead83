"""Study areas without the sea and large lakes, made once, when the area is declared.

What is stored is the area that is left. It never changes with the ground, and releases, statements
and refusals of rows see no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.declaration import clean_area
from dpgeo.ground.regions import regions
from dpgeo.ground.water import dry
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.land import land_polygons

WITHOUT_WATER = "without_water"
"""The member of a dataset's `area_choice` that names who says where water is."""

SWITCH = "leave_out_water"
"""The input that asks for it."""


def land_file() -> Path:
    """Return where the frontend's build stores the land."""
    return Path(settings.BASE_DIR) / "frontend" / "dist" / "land.json"


def leave_out_water(
    study_area: object, choice: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an area without the sea and large lakes, and how it was chosen.

    Nothing but public geometry decides. Raises InvalidInput, also where only water is left.
    """
    folder = Path(settings.GROUND_DIR)
    area = StudyArea.from_geojson(clean_area(study_area))
    left, sources = dry(area, folder, regions(folder), land_polygons(land_file()))
    if left is None:
        raise InvalidInput(
            "Nothing of the study area is land; keep the sea and lakes, or choose another area.",
            field=SWITCH,
        )
    return left.to_geojson(), {**(choice or {}), WITHOUT_WATER: sources}
