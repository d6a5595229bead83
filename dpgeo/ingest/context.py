"""What a dataset declares, as far as it matters for trying to read a new file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import shapely

from dpgeo.core.guarantees import Unit
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.regions import Regions


@dataclass(frozen=True, slots=True)
class Context:
    """The declared facts of a dataset: its privacy unit, study area and time zone (IANA name).

    Without an `area`, every place counts as inside. `regions` are those that a hand-over table is
    declared to name, if the file is one.
    """

    unit: Unit = Unit.RECORD
    area: StudyArea | None = None
    time_zone: str = "UTC"
    regions: Regions | None = None

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the declared facts from JSON written by `to_json`."""
        area = document["area"] and StudyArea(shapely.from_wkb(document["area"]))
        regions = document["regions"] and Regions.from_json(document["regions"])
        return cls(Unit(document["unit"]), area, document["time_zone"], regions)

    def to_json(self) -> dict[str, Any]:
        """Return the declared facts as plain JSON.

        The area is written as well-known binary, which keeps every bit of its coordinates.
        """
        area = self.area and shapely.to_wkb(self.area.shape, hex=True)
        return {
            "unit": self.unit.value,
            "area": area,
            "time_zone": self.time_zone,
            "regions": self.regions and self.regions.to_json(),
        }


ANYWHERE = Context()
"""The facts for a file that belongs to no dataset; no study area limits its positions."""
