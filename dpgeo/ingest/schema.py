"""Declared schema of a file: the role of each column, and how rows are read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Self
from zoneinfo import ZoneInfo

import shapely

from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import Measure
from dpgeo.ingest.crs import WGS84, check_crs, clean_crs
from dpgeo.ingest.declared_formats import check_position_format, split_time_formats
from dpgeo.ingest.layout import Layout
from dpgeo.phrases import Phrase, listed
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.regions import Regions


class Role(StrEnum):
    """Role of a column. The values are the field names of `Columns`."""

    LONGITUDE = "longitude"
    LATITUDE = "latitude"
    PERSON = "person"
    TIME = "time"
    CLOCK = "clock"
    GEOMETRY = "geometry"
    DESTINATION_LONGITUDE = "destination_longitude"
    DESTINATION_LATITUDE = "destination_latitude"
    PLACE = "place"
    REGION = "region"


Wanted = Mapping[str, str]
"""Names of the columns to read, by `Role`, or by the key of an attribute, measure or category."""


def attribute_key(attribute: Attribute) -> str:
    """Return the key of an attribute's column in `Schema.wanted`; other columns have a `Role`."""
    return f"{ATTRIBUTE}{attribute.column}"


def measure_key(measure: Measure) -> str:
    """Return the key of a measure's column in `Schema.wanted`; other columns have a `Role`."""
    return f"{MEASURE}{measure.column}"


def category_key(category: Category) -> str:
    """Return the key of a category's column in `Schema.wanted`; other columns have a `Role`."""
    return f"{CATEGORY}{category.column}"


ATTRIBUTE, MEASURE, CATEGORY = "attribute ", "measure ", "category "
"""Prefixes of the keys that `attribute_key`, `measure_key` and `category_key` return."""


ROLE_NAMES = {
    Role.LONGITUDE: Phrase("longitude"),
    Role.LATITUDE: Phrase("latitude"),
    Role.PERSON: Phrase("person"),
    Role.TIME: Phrase("time"),
    Role.CLOCK: Phrase("time of day"),
    Role.GEOMETRY: Phrase("geometry"),
    Role.DESTINATION_LONGITUDE: Phrase("longitude of the destination"),
    Role.DESTINATION_LATITUDE: Phrase("latitude of the destination"),
    Role.PLACE: Phrase("key of the place"),
    Role.REGION: Phrase("region"),
}


def role_name(key: str) -> Phrase:
    """Return what pages call a declared column.

    `key` is the column's role, or the key of an attribute, a measure or a category.
    """
    if key in set(Role):
        return ROLE_NAMES[Role(key)]
    if key.startswith(MEASURE):
        return Phrase("number to average {name}", name=key.removeprefix(MEASURE))
    if key.startswith(CATEGORY):
        return Phrase("category {name}", name=key.removeprefix(CATEGORY))
    return Phrase("attribute {name}", name=key.removeprefix(ATTRIBUTE))


def field_of(key: str) -> str:
    """Return the input field, as errors name it, in which a column is declared.

    `key` is the column's role, or the key of an attribute, a measure or a category.
    """
    if key in set(Role):
        return f"columns.{key}"
    if key.startswith(CATEGORY):
        return "categories"
    return "measures" if key.startswith(MEASURE) else "public_attributes"


MDS = "mds"
"""Code of the format whose rows are the points of trips (see `formats`)."""

WHOLE_TRIP = ("device_id", "vehicle_id", "trip_id", "provider_id")
"""Columns of MDS files in which all rows of a trip have the same value."""

DESTINATION = (Role.DESTINATION_LONGITUDE, Role.DESTINATION_LATITUDE)
"""Roles of the pair of columns that says where the trip of a row ends."""


ALWAYS_WRITTEN = {*Role, "crs"} - {Role.CLOCK, Role.PLACE, Role.REGION, *DESTINATION}
"""Members of `Columns` that `Columns.to_json` includes even if they are empty."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The name of the column in each role, or "" for a role without a column.

    A position is either a pair of columns or one `geometry` column of points: well-known text,
    well-known binary as GeoParquet writes it, or a geometry of GeoPackage or GeoJSON (where it is
    named "geometry"). `crs` is the code of the position's coordinate system. Any combination of
    columns is valid here, since a suggestion may be partial; `Schema` refuses unusable
    combinations.

    If times are written in two columns, `time` is the column of the date and `clock` the column of
    the time of day. The two columns of the destination say where a trip ends that begins at the
    row's position; they are in the same coordinate system, and are optional. `place` holds the key
    of a place on a public list, such as the number of a stop. In a hand-over table, `region` takes
    the place of a position: it holds the key of a zone of the declared layer `regions`. The other
    members say how the values are written (`time_formats`, `position_formats`), how the file is
    laid out (`layout`) and what its format is (`file_format`, see `forms`). "" means the usual
    choice for each of these, except that for the format it means that none is declared yet.
    """

    longitude: str = ""
    latitude: str = ""
    person: str = ""
    time: str = ""
    geometry: str = ""
    crs: str = WGS84
    time_format: str = ""
    position_format: str = ""
    encoding: str = ""
    delimiter: str = ""
    unnamed: str = ""
    sheet: str = ""
    file_format: str = ""
    clock: str = ""
    destination_longitude: str = ""
    destination_latitude: str = ""
    place: str = ""
    skip: str = ""
    row_names: str = ""
    region: str = ""
    regions: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "crs", clean_crs(self.crs))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the columns from JSON written by `to_json`. Raises InvalidInput (field
        "columns...").
        """
        names = {field.name for field in fields(cls)}
        for name, value in document.items():
            if name not in names:
                raise InvalidInput(
                    "There is no column role {name!r}; the roles are {known}.",
                    name=name,
                    known=listed(sorted(names)),
                    field="columns",
                )
            if not isinstance(value, str):
                raise InvalidInput(
                    "The {role} column must be given by its name, as text.",
                    role=Phrase(name),
                    field=f"columns.{name}",
                )
        return cls(**document)

    def to_json(self) -> dict[str, str]:
        """Return the members as plain JSON, by name.

        Empty members are left out, except those in ALWAYS_WRITTEN.
        """
        values = asdict(self)
        return {name: text for name, text in values.items() if text or name in ALWAYS_WRITTEN}

    def has_destination(self, unit: Unit) -> bool:
        """Return whether each row says where its trip ends, by declared columns.

        In MDS files, the destination is the position of the trip's last row, so one row decides
        about another row's destination. If the privacy unit is a record, such files therefore have
        no destinations.
        """
        if unit is Unit.RECORD and self.is_mds:
            return False
        return bool(self.destination_longitude and self.destination_latitude)

    @property
    def is_mds(self) -> bool:
        """Whether the file holds the trips of MDS, packed or not."""
        return self.file_format.partition(".")[0] == MDS

    @property
    def layout(self) -> Layout:
        """Return the declared layout of the file."""
        members = (field.name for field in fields(Layout))
        return Layout(**{name: getattr(self, name) for name in members})


@dataclass(frozen=True, slots=True)
class Schema:
    """Public rules by which rows are read, fixed before any row is.

    What a row means depends on the row and these rules alone. `time_zone` (IANA name) applies to
    times written without an offset. The values of `attributes` are public. The values of `measures`
    and `categories` are private; only the measures' limits and the categories' lists of values are
    public. `closed` holds times, as pairs of a first second and the second after the last, that no
    new row may have. `regions` are those that the rows of a hand-over table may name. Raises
    InvalidInput if the columns do not determine a position, if a person is needed and not declared,
    if one column has two roles, or if the time zone or the coordinate system is unknown.
    """

    columns: Columns
    unit: Unit
    area: StudyArea
    time_zone: str = "UTC"
    attributes: tuple[Attribute, ...] = ()
    measures: tuple[Measure, ...] = ()
    categories: tuple[Category, ...] = ()
    closed: tuple[tuple[int, int], ...] = ()
    regions: Regions | None = None

    def __post_init__(self) -> None:
        self._check_position()
        columns = self.columns
        split_time_formats(columns.time_format)
        check_position_format(columns.position_format, geometry=bool(columns.geometry))
        columns.layout.check()
        check_crs(self.columns.crs, self.area.bounds)
        if self.unit is Unit.PERSON and not self.columns.person:
            raise InvalidInput(
                "This dataset protects persons: name the column that says whose row it is.",
                field="columns.person",
            )
        if columns.clock and not columns.time:
            raise InvalidInput(
                "A column with the time of day needs one with the date.", field="columns.time"
            )
        taken: dict[str, str] = {}
        # The person column is checked even if it is not read. Otherwise, it could be declared as a
        # public attribute too, and be published.
        named = {Role.PERSON: self.columns.person} if self.columns.person else {}
        for role, name in (named | self.wanted).items():
            if any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in name):
                raise InvalidInput(
                    "The name of this column holds a control character; rename the column.",
                    field=field_of(role),
                )
            if name in taken:
                raise InvalidInput(
                    "The column {name!r} is declared both as {other} and as {role}; choose "
                    "another for one of them.",
                    name=name,
                    other=role_name(taken[name]),
                    role=role_name(role),
                    field=field_of(role),
                )
            taken[name] = role
        if columns.is_mds:
            self._check_trips()
        try:
            ZoneInfo(self.time_zone)
        except (KeyError, OSError, ValueError) as error:
            raise InvalidInput(
                "There is no time zone {time_zone!r}; write it as in Europe/Vienna or UTC.",
                time_zone=self.time_zone,
                field="time_zone",
            ) from error

    def _check_position(self) -> None:
        columns = self.columns
        if columns.region:
            self._check_region()
            return
        if columns.geometry and (columns.longitude or columns.latitude):
            raise InvalidInput(
                "Name either the geometry column or the longitude and latitude columns, not both.",
                field="columns.geometry",
            )
        for role in () if columns.geometry else (Role.LONGITUDE, Role.LATITUDE):
            if not getattr(columns, role):
                raise InvalidInput(
                    "Name the column that holds the {role}.",
                    role=role_name(role),
                    field=f"columns.{role}",
                )
        for role, other in (DESTINATION, DESTINATION[::-1]):
            if getattr(columns, other) and not getattr(columns, role):
                raise InvalidInput(
                    "Name the column that holds the {role}, too, or neither of the two.",
                    role=role_name(role),
                    field=f"columns.{role}",
                )

    def _check_region(self) -> None:
        """Refuse a hand-over table without a person or a layer, or with finer positions."""
        columns = self.columns
        finer = (Role.GEOMETRY, Role.LONGITUDE, Role.LATITUDE, Role.PLACE, *DESTINATION)
        for role in finer:
            if getattr(columns, role):
                raise InvalidInput(
                    "Rows that name a region have no other position; leave out one of the two.",
                    field=f"columns.{role}",
                )
        if self.unit is Unit.RECORD:
            raise InvalidInput(
                "A table with a row for each person and region is for datasets that protect "
                "persons; declare such a dataset.",
                field="columns.region",
            )
        if self.regions is None:
            raise InvalidInput(
                "Name the declared layer of zones whose keys this column holds.",
                field="columns.regions",
            )

    def _check_trips(self) -> None:
        """Refuse columns of MDS trips that would let one person's rows change another person's.

        When MDS trips are read, the end of a trip comes from its last row and is given to its
        first. So all rows of a trip have to belong to one person, and where each row is protected
        by itself, ends of trips cannot be used.
        """
        if self.unit is Unit.PERSON:
            if self.columns.person not in WHOLE_TRIP:
                raise InvalidInput(
                    "The rows of one trip belong to one person: in a file of MDS trips, choose "
                    "from {known}.",
                    known=listed(WHOLE_TRIP),
                    field="columns.person",
                )
            return
        for role, name in self.wanted.items():
            if name in DESTINATION:
                raise InvalidInput(
                    "Where a trip of MDS ends is known from another row than the first, so a "
                    "dataset that protects each row by itself cannot use it; choose another "
                    "column.",
                    field=field_of(role),
                )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the schema from JSON written by `to_json`."""
        return cls(
            columns=Columns.from_json(document["columns"]),
            unit=Unit(document["unit"]),
            area=StudyArea(shapely.from_wkb(document["area"])),
            time_zone=document["time_zone"],
            attributes=tuple(map(Attribute.from_json, document["attributes"])),
            measures=tuple(map(Measure.from_json, document["measures"])),
            categories=tuple(map(Category.from_json, document["categories"])),
            closed=tuple((first, after) for first, after in document["closed"]),
            regions=document["regions"] and Regions.from_json(document["regions"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain JSON.

        The area is written as well-known binary, which keeps every bit of its coordinates.
        """
        return {
            "columns": self.columns.to_json(),
            "unit": self.unit.value,
            "area": shapely.to_wkb(self.area.shape, hex=True),
            "time_zone": self.time_zone,
            "attributes": [attribute.to_json() for attribute in self.attributes],
            "measures": [measure.to_json() for measure in self.measures],
            "categories": [category.to_json() for category in self.categories],
            "closed": [list(each) for each in self.closed],
            "regions": self.regions and self.regions.to_json(),
        }

    @property
    def has_destination(self) -> bool:
        """Return whether the destinations of the rows' trips are read."""
        return self.columns.has_destination(self.unit)

    @property
    def wanted(self) -> dict[str, str]:
        """Return the columns to read, by role or by the key of another declared column.

        If the privacy unit is a record, the person column is not read even if declared: data that
        are not needed do not leave the upload. Nor are destinations of MDS trips read, since they
        depend on other rows.
        """
        names: dict[str, str] = {role: getattr(self.columns, role) for role in Role}
        if self.unit is Unit.RECORD:
            names[Role.PERSON] = ""
        if not self.has_destination:
            names |= dict.fromkeys(DESTINATION, "")
        names |= {attribute_key(each): each.column for each in self.attributes}
        names |= {measure_key(each): each.column for each in self.measures}
        names |= {category_key(each): each.column for each in self.categories}
        return {role: name for role, name in names.items() if name}
