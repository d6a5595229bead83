"""What a dataset has declared, for trials of the files that are sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import shapely

from dpgeo.core.guarantees import Unit
from dpgeo.spatial.area import StudyArea


@dataclass(frozen=True, slots=True)
class Context:
    """What the dataset has declared: a file is tried against it. No `area`: anywhere is inside."""

    unit: Unit = Unit.RECORD
    area: StudyArea | None = None
    time_zone: str = "UTC"

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Invert `to_json`."""
        area = document["area"] and StudyArea(shapely.from_wkb(document["area"]))
        return cls(Unit(document["unit"]), area, document["time_zone"])

    def to_json(self) -> dict[str, Any]:
        """Return the context as plain JSON; the area to the last bit, as well-known binary."""
        area = self.area and shapely.to_wkb(self.area.shape, hex=True)
        return {"unit": self.unit.value, "area": area, "time_zone": self.time_zone}


ANYWHERE = Context()
"""The context of a file that no dataset waits for."""
