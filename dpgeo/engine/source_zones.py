"""Location of a table's rows in zones, places or a study area by the table's own engine.

The source does not compare polygons with positions. Instead, it is given lists that say which
regions contain each cell of a fine raster (`spatial.zone_raster`): of almost all cells, all
positions are in the same regions, or in those to the left or to the right of one line. Of the other
cells, through which borders run, the source lists the distinct positions. This process locates
them, by the code that locates uploaded rows, and gives them back with their regions as lists.

For places, the raster says which one is nearest, and whether it is within reach is computed at the
source, by the formula of `spatial.centres`; a position at the very edge of reach is located by this
process.

So every row is in exactly the same regions as if it had been uploaded. The lists follow from public
shapes and from positions that the source has; the source does not say which row, or whose, is at a
position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpgeo.engine.source_sql import listed_also
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.place_raster import PlaceRaster
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_mercator
from dpgeo.spatial.zone_raster import BESIDE, CERTAIN, MARKED, OUTSIDE, Pairs, ZoneRaster
from dpgeo.spatial.zones import Zones

CELLS = 512
"""Usual number of cells along each side of the raster: a quarter of a million cells in all."""

BAND_METRES = 0.001
"""Distance in metres from the edge of a place's reach within which a position is MARKED.

There the database might round the distance to the place differently, so it is not relied on.
"""

Give = Callable[[NDArray[Any]], str]
"""Function that passes a list of numbers to a query, and returns the SQL that stands for the
list.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The regions that contain each cell of a raster, as lists that a query can use.

    A cell's entry in `patches` is one of three: the number of a patch, all of whose positions are
    in the same regions; the code of one of the `lines` (n, 3), with a patch to its `left` and
    another to its `right` (n,), as in `ZoneRaster`; or `MARKED`, for cells whose positions the
    query cannot locate. `pairs` lists every patch with each of its regions. `locate` takes the
    positions in MARKED cells, in degrees as stored at the source, and returns pairs of a position
    and a region. If `near` is set, the regions are places, and a patch consists of the positions
    nearest to one place, even those out of its reach.
    """

    low: tuple[float, float]
    scale: tuple[float, float]
    patches: NDArray[np.int64]
    lines: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    pairs: Pairs
    locate: Callable[[NDArray[np.float64], NDArray[np.float64]], Pairs]
    near: NearPlaces | None = None

    @classmethod
    def of(cls, regions: Zones | NearPlaces) -> Self | None:
        """Return the lists by which a query locates rows in zones or places.

        Returns None if outlines are too long to be stored as a raster, and for places that rows
        name by a key.
        """
        locator = regions.locator()

        def locate(longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> Pairs:
            # Uploaded positions are converted to metres, which rounds them, before they are
            # located. The table's positions are converted too, so that each is in the same regions
            # as if it had been uploaded.
            return locator.locate_projected(*to_mercator(longitude, latitude))

        if isinstance(regions, Zones):
            raster = ZoneRaster.over(regions.shapes, regions.locator().tested, CELLS)
            return cls._of_raster(raster, locate)
        if regions.by_key:
            return None
        places, index = PlaceRaster.over(regions), np.arange(len(regions))
        none = np.zeros(0, dtype=np.int64)
        return cls(
            _pair(places.low),
            _pair(places.scale),
            places.nearest,
            np.zeros((0, 3)),
            none,
            none,
            (index, index),
            locate,
            regions,
        )

    @classmethod
    def of_area(cls, area: StudyArea) -> Self | None:
        """Return a `Ground` with a single region, the study area."""
        shape = Zones(keys=("area",), names=("area",), shapes=np.array([area.shape]))

        def locate(longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> Pairs:
            inside = np.flatnonzero(area.covers(longitude, latitude))
            return inside, np.zeros_like(inside)

        return cls._of_raster(ZoneRaster.over(shape.shapes, shape.locator().tested, CELLS), locate)

    @classmethod
    def _of_raster(
        cls,
        raster: ZoneRaster | None,
        locate: Callable[[NDArray[np.float64], NDArray[np.float64]], Pairs],
    ) -> Self | None:
        if raster is None:
            return None
        crossed = raster.crossed
        return cls(
            _pair(raster.low),
            _pair(raster.scale),
            raster.patches.astype(np.int64),
            crossed.lines[crossed.edge],
            crossed.left.astype(np.int64),
            crossed.right.astype(np.int64),
            (np.repeat(np.arange(len(raster.first) - 1), np.diff(raster.first)), raster.zones),
            locate,
        )

    def open_query(self, rows: str, give: Give, fence: str) -> str:
        """Return SQL for the distinct positions that the query cannot locate (cells MARKED)."""
        patched = self._patched(rows, (), give, fence)
        return (
            "SELECT DISTINCT longitude, latitude "
            f"FROM ({patched}) AS patched WHERE patch = {MARKED}"
        )

    def regions_query(
        self,
        rows: str,
        also: Sequence[str],
        give: Give,
        fence: str,
        longitude: NDArray[np.float64],
        latitude: NDArray[np.float64],
    ) -> str:
        """Return SQL for each row of `rows` in each region that contains it.

        The columns are person, longitude, latitude, those named in `also`, and region; `rows` is
        SQL that has all but the last. `longitude` and `latitude` (n,) are the positions that
        `open_query` lists.
        """
        position, region = self._located(longitude, latitude)
        patch = np.concatenate([self.pairs[0], np.full(len(position), MARKED)])
        east = np.concatenate([np.zeros(len(self.pairs[0])), longitude[position]])
        north = np.concatenate([np.zeros(len(self.pairs[0])), latitude[position]])
        regions = np.concatenate([self.pairs[1], region])
        lists = {"patch": patch, "at_longitude": east, "at_latitude": north, "region": regions}
        known = ", ".join(f"unnest({give(each)}) AS {name}" for name, each in lists.items())
        patched = self._patched(rows, ("person", *also), give, fence)
        columns = ", ".join(("person", "longitude", "latitude", *also, "region"))
        at = " AND ".join(
            f"CASE WHEN patched.patch = {MARKED} THEN {name} ELSE 0 END = at_{name}"
            for name in ("longitude", "latitude")
        )
        return f"""SELECT {columns} FROM ({patched}) AS patched
    JOIN (SELECT {known}) AS known ON known.patch = patched.patch AND {at}"""

    def _located(self, longitude: NDArray[np.float64], latitude: NDArray[np.float64]) -> Pairs:
        if not longitude.size:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return self.locate(longitude, latitude)

    def _patched(self, rows: str, also: Sequence[str], give: Give, fence: str) -> str:
        """Return SQL for `rows` with a column "patch": the patch of each position, or MARKED.

        A patch is a number that stands for ground in which all positions are in the same regions.

        The other columns are longitude, latitude and those in `also`.
        """
        up, across = self.patches.shape
        carried = f"longitude, latitude{listed_also(also)}"
        x, y = map(_in_cells, ("longitude", "latitude"), self.low, self.scale)
        placed = f"""SELECT {carried}, {x} AS x, {y} AS y
FROM ({rows}) AS accepted{fence}"""
        entry = f"""SELECT {carried}, x, y,
    CASE WHEN x >= 0 AND x < {across} AND y >= 0 AND y < {up} THEN ({give(self.patches.ravel())})[
        CAST(1 + floor(y) * {across} + floor(x) AS INTEGER)] ELSE {OUTSIDE} END AS patch
FROM ({placed}) AS placed{fence}"""
        if self.near:
            return self._reached(entry, carried, self.near, give, fence)
        if not len(self.lines):
            return entry
        line = f"CAST({BESIDE} - patch + 1 AS INTEGER)"
        first, second, third = (
            f"({give(self.lines[:, each].copy())})[{line}]" for each in range(3)
        )
        beside = f"""SELECT {carried}, patch,
    CASE WHEN patch <= {BESIDE} THEN {first} * x + {second} * y - {third} END AS distance
FROM ({entry}) AS entry{fence}"""
        left, right = (f"({give(each)})[{line}]" for each in (self.left, self.right))
        return f"""SELECT {carried},
    CASE WHEN distance IS NULL THEN patch WHEN distance > {CERTAIN!r} THEN {left}
        WHEN distance < -{CERTAIN!r} THEN {right} ELSE {MARKED} END AS patch
FROM ({beside}) AS beside"""

    @staticmethod
    def _reached(entry: str, carried: str, near: NearPlaces, give: Give, fence: str) -> str:
        """Return SQL for rows with the number of their nearest place (`patch`), if it is in reach.

        The square of half the chord between position and place is compared with the squares for two
        distances, the reach less BAND_METRES and the reach plus BAND_METRES. Between the two, the
        patch is MARKED: this process locates the position. The band is far wider than rounding
        errors.
        """
        places = [near.places.longitude, near.places.latitude, np.radians(near.places.latitude)]
        longitudes, latitudes, norths = (
            f"({give(each)})[CAST(patch + 1 AS INTEGER)]" for each in places
        )
        turn, rise = (
            f"radians({_rounded(f'{place} - {name}')}) / 2"
            for place, name in ((longitudes, "longitude"), (latitudes, "latitude"))
        )
        angles = f"""SELECT {carried}, patch, radians({_rounded("latitude")}) AS north,
    CASE WHEN patch >= 0 THEN {turn} END AS turn,
    CASE WHEN patch >= 0 THEN {rise} END AS rise,
    CASE WHEN patch >= 0 THEN {norths} END AS place_north
FROM ({entry}) AS entry{fence}"""
        half = "sin(rise) * sin(rise) + cos(north) * cos(place_north) * sin(turn) * sin(turn)"
        chords = f"SELECT {carried}, patch, {half} AS chord FROM ({angles}) AS angles{fence}"
        inner, outer = (
            math.sin((near.reach + more) / (2 * EARTH_RADIUS_METRES)) ** 2
            for more in (-BAND_METRES, BAND_METRES)
        )
        return f"""SELECT {carried},
    CASE WHEN chord IS NULL OR chord < {_number(inner)} THEN patch
        WHEN chord > {_number(outer)} THEN {OUTSIDE} ELSE {MARKED} END AS patch
FROM ({chords}) AS chords"""


def _pair(numbers: NDArray[np.float64]) -> tuple[float, float]:
    return float(numbers[0]), float(numbers[1])


def _number(value: float) -> str:
    """Return a float64 in SQL; without the cast, SQL would read it as an exact decimal number."""
    return f"CAST({value!r} AS float8)"


def _in_cells(degrees: str, low: float, scale: float) -> str:
    """Return SQL for degrees in units of cells, counted from `low`.

    If a cell is wider than a degree, the result for a position extremely close to `low` may be too
    small for a float64, which PostgreSQL reports as an error. Such a position is in the cell that
    begins at `low`, and no outline is near, so 0 gives the same regions.
    """
    from_low = f"({degrees} - {_number(low)})"
    product = f"{from_low} * {_number(scale)}"
    if scale >= 1:
        return product
    return f"CASE WHEN abs({from_low}) < {_number(1e-300)} THEN 0 ELSE {product} END"


def _rounded(degrees: str) -> str:
    """Return SQL for degrees that are rounded to some nanometres on the ground.

    Without this, a product of very small numbers might not be a float64, which PostgreSQL reports
    as an error, and the error would reveal a single row.
    """
    return f"({degrees} + 360) - 360"
