"""What the owner declares about a file: which column holds what, and how a row is to be read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Self
from zoneinfo import ZoneInfo

import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.crs import WGS84, check_crs, clean_crs
from dpgeo.spatial.area import StudyArea


class Role(StrEnum):
    """What a column may hold. The values are the field names of `Columns`."""

    LONGITUDE = "longitude"
    LATITUDE = "latitude"
    PERSON = "person"
    TIME = "time"
    GEOMETRY = "geometry"


@dataclass(frozen=True, slots=True)
class Columns:
    """The name of the column in each role; "" where there is none.

    A position is either a pair of columns or one `geometry` column of points: well-known text,
    well-known binary as GeoParquet writes it, or what GeoPackage and GeoJSON hold ("geometry" is
    its name in the latter). `crs` is the code of the system that its coordinates are in. Any
    combination can be held, for a suggestion may be partial; `Schema` refuses the unusable ones.
    """

    longitude: str = ""
    latitude: str = ""
    person: str = ""
    time: str = ""
    geometry: str = ""
    crs: str = WGS84

    def __post_init__(self) -> None:
        object.__setattr__(self, "crs", clean_crs(self.crs))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Invert `to_json`. Raises InvalidInput (field "columns...") for what is not its like."""
        known = {field.name for field in fields(cls)}
        for name, value in document.items():
            if name not in known:
                raise InvalidInput(
                    f"There is no column role {name!r}; the roles are {', '.join(sorted(known))}.",
                    field="columns",
                )
            if not isinstance(value, str):
                raise InvalidInput(
                    f"The {name} column must be given by its name, as text.",
                    field=f"columns.{name}",
                )
        return cls(**document)

    def to_json(self) -> dict[str, str]:
        """Role to column name, and "crs" to the code."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Schema:
    """All that a row's meaning may depend on beside the row itself. Public and frozen.

    `time_zone` (IANA name) is that of times written without an offset. Raises InvalidInput when
    the columns do not determine a position, a person is needed and not declared, one column has
    two roles, or the time zone or the coordinate system is unknown.
    """

    columns: Columns
    unit: Unit
    area: StudyArea
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        self._check_position()
        check_crs(self.columns.crs, self.area.bounds)
        if self.unit is Unit.PERSON and not self.columns.person:
            raise InvalidInput(
                "This dataset protects persons: name the column that says whose row it is.",
                field="columns.person",
            )
        taken: dict[str, Role] = {}
        for role, name in self.wanted.items():
            if any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in name):
                raise InvalidInput(
                    "The name of this column holds a control character; rename the column.",
                    field=f"columns.{role}",
                )
            if name in taken:
                raise InvalidInput(
                    f"The column {name!r} is declared both as {taken[name]} and as {role}; "
                    "choose another for one of them.",
                    field=f"columns.{role}",
                )
            taken[name] = role
        try:
            ZoneInfo(self.time_zone)
        except (KeyError, OSError, ValueError) as error:
            raise InvalidInput(
                f"There is no time zone {self.time_zone!r}; write it as in Europe/Vienna or UTC.",
                field="time_zone",
            ) from error

    def _check_position(self) -> None:
        columns = self.columns
        if columns.geometry and (columns.longitude or columns.latitude):
            raise InvalidInput(
                "Name either the geometry column or the longitude and latitude columns, not both.",
                field="columns.geometry",
            )
        for role in () if columns.geometry else (Role.LONGITUDE, Role.LATITUDE):
            if not getattr(columns, role):
                raise InvalidInput(
                    f"Name the column that holds the {role}.", field=f"columns.{role}"
                )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(
            columns=Columns.from_json(document["columns"]),
            unit=Unit(document["unit"]),
            area=StudyArea(shapely.from_wkb(document["area"])),
            time_zone=document["time_zone"],
        )

    def to_json(self) -> dict[str, Any]:
        """The schema as plain JSON; the area to the last bit, as well-known binary."""
        return {
            "columns": self.columns.to_json(),
            "unit": self.unit.value,
            "area": shapely.to_wkb(self.area.shape, hex=True),
            "time_zone": self.time_zone,
        }

    @property
    def wanted(self) -> dict[Role, str]:
        """The columns to read, by role.

        In a record-unit dataset the person column is not read even if one is declared: what is
        not needed does not leave the upload.
        """
        names = {role: getattr(self.columns, role) for role in Role}
        if self.unit is Unit.RECORD:
            names[Role.PERSON] = ""
        return {role: name for role, name in names.items() if name}
