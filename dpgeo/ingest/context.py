"""Declared facts of a dataset against which new files are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import shapely

from dpgeo.core.guarantees import Unit
from dpgeo.spatial.area import StudyArea


@dataclass(frozen=True, slots=True)
class Context:
    """A dataset's declared facts, for trying a file. Without an `area`, any place is inside."""

    unit: Unit = Unit.RECORD
    area: StudyArea | None = None
    time_zone: str = "UTC"

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the context that `to_json` wrote."""
        area = document["area"] and StudyArea(shapely.from_wkb(document["area"]))
        return cls(Unit(document["unit"]), area, document["time_zone"])

    def to_json(self) -> dict[str, Any]:
        """Return the context as plain JSON; the area to the last bit, as well-known binary."""
        area = self.area and shapely.to_wkb(self.area.shape, hex=True)
        return {"unit": self.unit.value, "area": area, "time_zone": self.time_zone}


ANYWHERE = Context()
"""The context of a file that belongs to no dataset."""
