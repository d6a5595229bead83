"""Squares of national grids, named as the countries' own maps and statistics name them.

The grids were defined long before any data were read, so their squares reveal nothing about data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpgeo.spatial.area import StudyArea

Bounds = tuple[float, float, float, float]

SQUARE_METRES = (100_000, 10_000, 1_000, 100)
"""Sides, in metres, of the squares that every national grid offers."""

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""The letters of grids, without I and O, which look like digits."""

BANDS = "CDEFGHJKLMNPQRSTUVWX"
"""Letters of the bands of latitude, 8 degrees high each, from 80 degrees south northwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NationalGrid:
    """A grid of squares in a projection with an EPSG code, valid within bounds in degrees.

    `key_of` returns the name of a square, given its side, the easting and northing of its lower
    left corner in metres, and the longitude and latitude of its middle in degrees.
    """

    code: str
    name: str
    bounds: Bounds
    epsg_of: Callable[[StudyArea], int]
    key_of: Callable[[int, int, int, float, float], str]
    url: str
    date: str

    def fits(self, area: StudyArea) -> bool:
        """Return whether an area lies wholly in the grid."""
        west, south, east, north = area.bounds
        inside = self.bounds[0] <= west and self.bounds[1] <= south
        return (
            inside
            and east <= self.bounds[2]
            and north <= self.bounds[3]
            and bool(self.epsg_of(area))
        )


def side_name(side: int) -> str:
    """Return a side in metres as it is written in the names of squares: "1km" or "100m"."""
    return f"{side // 1000}km" if side >= 1000 else f"{side}m"


def _coordinates_key(side: int, east: int, north: int, _lon: float, _lat: float) -> str:
    """Return a square's name, such as 1kmE4295N2662, with coordinates in units of the side."""
    unit = min(side, 1000)
    return f"{side_name(side)}E{east // unit}N{north // unit}"


def _british_key(side: int, east: int, north: int, _lon: float, _lat: float) -> str:
    """Return the grid reference of the Ordnance Survey, such as TQ3080 for a square of 1 km."""
    # The letters of the Ordnance Survey leave out I, but not O, unlike ALPHABET.
    letters = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
    column, row = east // 100_000 + 10, 19 - north // 100_000
    first = letters[row // 5 * 5 + column // 5]
    return first + letters[row % 5 * 5 + column % 5] + _digits(side, east, north)


def _us_key(side: int, east: int, north: int, longitude: float, latitude: float) -> str:
    """Return the reference of the US National Grid, such as 18SUJ2306 for a square of 1 km."""
    zone = _zone(longitude)
    column = ALPHABET[(zone - 1) % 3 * 8 + east // 100_000 - 1]
    row = ALPHABET[(north // 100_000 + (5 if zone % 2 == 0 else 0)) % 20]
    band = BANDS[min(19, int((latitude + 80) // 8))]
    return f"{zone}{band}{column}{row}{_digits(side, east, north)}"


def _digits(side: int, east: int, north: int) -> str:
    """Return the digits that name a square within the square of 100 km that contains it."""
    many = len(str(100_000 // side)) - 1
    return "".join(f"{each % 100_000 // side:0{many}d}" for each in (east, north)) if many else ""


def _zone(longitude: float) -> int:
    return int((longitude + 180) // 6) + 1


def _us_epsg(area: StudyArea) -> int:
    """Return the EPSG code of the UTM zone (NAD83) that contains an area, or 0 if it is in
    several.
    """
    west, _, east, _ = area.bounds
    return 26900 + _zone(west) if _zone(west) == _zone(east) else 0


EUROPEAN = NationalGrid(
    code="europe",
    name="INSPIRE geographical grid, ETRS89-LAEA (EPSG:3035)",
    bounds=(-35.58, 24.60, 44.83, 84.73),
    epsg_of=lambda _: 3035,
    key_of=_coordinates_key,
    url="https://inspire.ec.europa.eu/id/document/tg/gg",
    date="2014-04-17",
)
"""Grid of European statistics; the date is that of version 3.1 of the INSPIRE guidelines."""

BRITISH = NationalGrid(
    code="britain",
    name="British National Grid (EPSG:27700)",
    bounds=(-8.0, 49.80, 1.80, 60.90),
    epsg_of=lambda _: 27700,
    key_of=_british_key,
    url="https://www.ordnancesurvey.co.uk/documents/resources/guide-to-nationalgrid.pdf",
    date="2016-01-01",
)

SWISS = NationalGrid(
    code="switzerland",
    name="Swiss grid LV95 (EPSG:2056)",
    bounds=(5.96, 45.82, 10.49, 47.81),
    epsg_of=lambda _: 2056,
    key_of=_coordinates_key,
    url="https://www.swisstopo.admin.ch/en/the-swiss-coordinates-system",
    date="1995-01-01",
)
"""Grid of Swiss statistics, whose hectares are this grid's squares of 100 m."""

AMERICAN = NationalGrid(
    code="us",
    name="United States National Grid, UTM (NAD83)",
    bounds=(-126.0, 24.0, -66.0, 49.5),
    epsg_of=_us_epsg,
    key_of=_us_key,
    url="https://www.fgdc.gov/standards/projects/usng",
    date="2001-12-01",
)
"""Grid of the United States, offered only for areas within a single UTM zone.

Where two UTM zones meet, the grid's squares are cut.
"""

GRIDS = {grid.code: grid for grid in (EUROPEAN, BRITISH, SWISS, AMERICAN)}
"""The grids by their code, in the order in which they are offered."""
