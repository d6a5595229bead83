"""Declared public places: candidate positions in a hierarchy of regions.

In this module a *unit* is a region of the hierarchy, not a privacy unit. Everything here is
computed from public inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.blanks import trim
from dpgeo.phrases import InvalidValue, Phrase, listed
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, ground_metres
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.prepared import prepared_copies
from dpgeo.spatial.projection import MAX_LATITUDE
from dpgeo.spatial.zones import Zones

MAX_PLACES = 200_000

MAX_LEVELS = 8

ALONE = "place"
"""Name of the only level if the places have no hierarchy."""

EVERYWHERE = "everywhere"
"""Name of the unit above the widest level, which contains all places."""

CELL_LEVELS = ("district", "quarter", "block")
"""Levels of the hierarchy of cells, the widest first; each unit has 4 x 4 units of the next level.
"""

FAN_OUT = 4

FEW = 32
"""Up to this number of positions, `diameter` compares all pairs; above it, pairs on the convex
hull.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Places with keys, positions in degrees (n,), and their units at every level.

    `levels` holds the names of the levels, from the widest to the finest. `units` (n,) holds, for
    each place, the names of its units, one for each level. Two units with the same name are
    different units if they lie in different wider units. `names` (n,) are what people call the
    places; they are the keys if left out. Raises ValueError for invalid places; the message names
    the first invalid place and the remedy.
    """

    levels: tuple[str, ...]
    keys: tuple[str, ...]
    units: tuple[tuple[str, ...], ...]
    longitude: NDArray[np.float64]
    latitude: NDArray[np.float64]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.names or self.keys)
        if not 1 <= len(self.levels) <= MAX_LEVELS:
            raise InvalidValue(
                "Name from 1 to {most} levels, such as country, city, street.", most=MAX_LEVELS
            )
        if len(set(self.levels)) != len(self.levels):
            raise InvalidValue("Two levels have one name; give each its own.")
        if len(self.keys) < 2:
            raise InvalidValue("Give at least two places: one alone hides nothing.")
        if len(self.keys) > MAX_PLACES:
            raise InvalidValue(
                "Has {count:,} places; give at most {most:,}.",
                count=len(self.keys),
                most=MAX_PLACES,
            )
        others = self.names, self.units, self.longitude, self.latitude
        if any(len(each) != len(self.keys) for each in others):
            raise InvalidValue("Every place needs a key, units and a position.")
        self._check_words()
        self._check_positions()
        self._check_order()

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def from_geojson(cls, document: Mapping[str, Any], *, key: str = "", name: str = "") -> Self:
        """Read the places from a GeoJSON FeatureCollection of points, or of polygons.

        A polygon stands for a point inside it. `key` is the name of the property that holds a
        place's key; "" means "key". A place without that property gets its number in the
        collection, counted from 1, as its key. `name` is the name of the property that holds a
        place's name; "" means "name". The collection's member "levels" lists the properties that
        are levels, from the widest to the finest. Without it, the levels are all properties that
        have text values in the first feature, in their order, except the key and the name; if there
        are none, the places have no hierarchy. Raises ValueError for an invalid document.
        """
        features = document.get("features") if isinstance(document, Mapping) else None
        if not isinstance(features, list) or not features:
            raise InvalidValue("Must be a GeoJSON FeatureCollection of points with their units.")
        records = [_properties(feature, number) for number, feature in enumerate(features, 1)]
        other_properties = {key or "key", name or "name"}
        levels = document.get("levels")
        if levels is None:
            levels = [
                each
                for each, value in records[0].items()
                if isinstance(value, str) and each not in other_properties
            ]
        if not isinstance(levels, list) or not all(isinstance(each, str) for each in levels):
            raise InvalidValue(
                "The member 'levels' must be a list of properties, the widest first."
            )
        missing = [level for level in levels if not any(level in each for each in records)]
        if missing:
            raise InvalidValue(
                "No place has {level!r}, which is named as a level; the first place has: {known}.",
                level=missing[0],
                known=", ".join(map(str, records[0]))[:200],
            )
        keys = tuple(str(each.get(key or "key", n)) for n, each in enumerate(records, 1))
        units = [tuple(str(each.get(level) or "") for level in levels) for each in records]
        if not levels:
            levels, units = [ALONE], [(each,) for each in keys]
        names = (each.get(name or "name") for each in records)
        lon, lat = np.array([_position(each, number) for number, each in enumerate(features, 1)]).T
        return cls(
            levels=tuple(levels),
            keys=keys,
            units=tuple(units),
            longitude=lon,
            latitude=lat,
            names=tuple(str(each or own) for each, own in zip(names, keys, strict=True)),
        )

    def to_geojson(self) -> dict[str, Any]:
        """Return a GeoJSON FeatureCollection that `from_geojson` can read."""
        return {
            "type": "FeatureCollection",
            "levels": list(self.levels),
            "features": [
                {
                    "type": "Feature",
                    "properties": {
                        **dict(zip(self.levels, units, strict=True)),
                        "key": key,
                        **({"name": name} if name != key else {}),
                    },
                    "geometry": {"type": "Point", "coordinates": [float(lon), float(lat)]},
                }
                for key, name, units, lon, lat in zip(
                    self.keys,
                    self.names,
                    self.units,
                    self.longitude,
                    self.latitude,
                    strict=True,
                )
            ],
        }

    @classmethod
    def of_cells(cls, area: StudyArea, cells: int) -> Self:
        """Build places from the cells of a grid, in a hierarchy of squares.

        Each cell is a block; 4 x 4 blocks are a quarter, and 4 x 4 quarters a district. The places
        are the cell centres that lie in the area. If there are fewer than two, the places are the
        centres of all cells that intersect the area.
        """
        grid = Grid.over(area, cells)
        number = np.flatnonzero(grid.inside(area))
        row, column = np.divmod(number, grid.columns)
        at = Centres(grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell)
        lon, lat = at.degrees
        inside = area.covers(lon, lat)
        if inside.sum() < 2:
            inside = np.ones(len(number), dtype=np.bool_)
        steps = [FAN_OUT**power for power in reversed(range(len(CELL_LEVELS)))]
        units = [
            tuple(f"{down // step + 1}.{across // step + 1}" for step in steps)
            for down, across in zip(row[inside].tolist(), column[inside].tolist(), strict=True)
        ]
        return cls(
            levels=CELL_LEVELS,
            keys=tuple(map(str, number[inside].tolist())),
            units=tuple(units),
            longitude=lon[inside],
            latitude=lat[inside],
        )

    def within(self, area: StudyArea) -> Self:
        """Return the places in a study area. Raises ValueError if there are fewer than two."""
        inside = np.flatnonzero(area.covers(self.longitude, self.latitude))
        if len(inside) < 2:
            raise InvalidValue(
                "Fewer than two places lie in the study area; check the order of the "
                "coordinates (longitude first) and that they are degrees."
            )
        return type(self)(
            levels=self.levels,
            keys=tuple(self.keys[index] for index in inside),
            units=tuple(self.units[index] for index in inside),
            longitude=self.longitude[inside],
            latitude=self.latitude[inside],
            names=tuple(self.names[index] for index in inside),
        )

    def check_covered(self, area: StudyArea) -> None:
        """Raise ValueError if a place lies outside a study area, naming the first such place."""
        self._refuse(
            ~area.covers(self.longitude, self.latitude),
            Phrase(
                "lies outside the study area; take it out, or correct its position (longitude "
                "first, in degrees)"
            ),
        )

    def check_inside(self, level: str, zones: Zones) -> None:
        """Raise ValueError if a place lies outside the zones of its unit at this level.

        The zones of a unit are those with the unit's name as their key or name. The error is also
        raised if a unit has no zone. The message names the first place at fault.
        """
        number = self.levels.index(level)
        unit = np.array([units[number] for units in self.units], dtype=object)
        for name in sorted(set(unit)):
            rows = np.flatnonzero(unit == name)
            own = [
                zone
                for zone, words in enumerate(zip(zones.keys, zones.names, strict=True))
                if name in words
            ]
            if not own:
                raise InvalidValue(
                    "Place {key!r} is an orphan: no zone of the layer {level!r} in the study "
                    "area is called {name!r}. Name one of them, or take the place out.",
                    key=self.keys[rows[0]],
                    level=level,
                    name=name,
                )
            shape = prepared_copies(shapely.union_all(zones.shapes[own]))
            outside = np.zeros(len(self), dtype=np.bool_)
            outside[rows] = ~shapely.intersects_xy(shape, self.longitude[rows], self.latitude[rows])
            self._refuse(
                outside,
                Phrase(
                    "lies outside its {level} {name!r} of the layer {level!r}; correct its "
                    "position, or name the {level} it lies in",
                    level=level,
                    name=name,
                ),
            )

    def _refuse(self, wrong: NDArray[np.bool_], words: Phrase) -> None:
        """Raise ValueError if any place breaks a rule, naming the first such place.

        `wrong` is a mask of the places that break the rule, and `words` states the problem. The
        message also says how many further places break it.
        """
        misplaced = np.flatnonzero(wrong)
        if misplaced.size:
            others = Phrase(" So do {count:,} more.", count=misplaced.size - 1)
            raise InvalidValue(
                "Place {key!r} {problem}.{others}",
                key=self.keys[misplaced[0]],
                problem=words,
                others=others if misplaced.size > 1 else "",
            )

    def parents(self, hidden: int) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """Return the names of the visible units, and the index (n,) of each place's unit.

        The finest `hidden` levels are hidden. The visible units are the units of the finest level
        that is not hidden. Raises ValueError unless `hidden` is from 1 to the number of levels.
        """
        paths, unit = self.paths(hidden)
        return tuple(map(unit_name, paths)), unit

    def paths(self, hidden: int) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int32]]:
        """Return the path of each visible unit, and the index (n,) of each place's unit.

        A path holds the names of a unit and of the units that contain it, the widest first.
        `hidden` and the error are as in `parents`.
        """
        if not 1 <= hidden <= len(self.levels):
            raise InvalidValue(
                "These places have {count} levels; hide from 1 to {count}.",
                count=len(self.levels),
            )
        paths = [units[: len(self.levels) - hidden] for units in self.units]
        distinct = sorted(set(paths))
        number = {path: index for index, path in enumerate(distinct)}
        return tuple(distinct), np.array([number[path] for path in paths], dtype=np.int32)

    def alone(self, hidden: int) -> list[str]:
        """Return the names of visible units that have only one place and therefore reveal it."""
        names, unit = self.parents(hidden)
        size = np.bincount(unit, minlength=len(names))
        return [names[number] for number in np.flatnonzero(size == 1)]

    def sensitivity(self, hidden: int) -> float:
        """Return the largest distance in metres between two places of the same visible unit.

        `hidden` is the number of hidden levels. This distance is called the hierarchical
        sensitivity (Zhu, Li, Zhou and Yu 2017, definition 12.3).
        """
        names, unit = self.parents(hidden)
        at = self.positions
        order = np.argsort(unit, kind="stable")
        members = np.split(order, np.searchsorted(unit[order], np.arange(1, len(names))))
        return max(diameter(Centres(at.x[group], at.y[group])) for group in members)

    def hiding(self) -> list[Phrase]:
        """Return a sentence on the protection for each possible number of hidden levels.

        Each sentence says how far apart two places of the same visible unit can be; see
        `sensitivity`.
        """
        return [
            Phrase(
                "Hiding {names}: two places of one {unit} are up to {distance:,.3g} km apart.",
                names=listed(self.levels[-hidden:]),
                unit=(
                    self.levels[-hidden - 1] if hidden < len(self.levels) else Phrase("study area")
                ),
                distance=self.sensitivity(hidden) / 1000,
            )
            for hidden in range(1, len(self.levels) + 1)
        ]

    @property
    def positions(self) -> Centres:
        """The places' positions in Web Mercator metres."""
        return Centres.from_degrees(self.longitude, self.latitude)

    def nearest_to_cells(self, grid: Grid) -> NearestPlace:
        """Return a function that maps each cell of a grid to the place nearest to it."""
        return NearestPlace(self, grid)

    def _check_words(self) -> None:
        seen: set[str] = set()
        for key, units in zip(self.keys, self.units, strict=True):
            if key in seen:
                raise InvalidValue("Two places have the key {key!r}; give each its own.", key=key)
            seen.add(key)
            if len(units) != len(self.levels):
                raise InvalidValue("Place {key!r} does not have a unit at every level.", key=key)
            for level, unit in zip(self.levels, units, strict=True):
                if not trim(unit):
                    raise InvalidValue(
                        "Place {key!r} is an orphan: it has no {level}. Name the {level} it "
                        "lies in, or take it out.",
                        key=key,
                        level=level,
                    )

    def _check_positions(self) -> None:
        lon, lat = self.longitude, self.latitude
        fine = (np.abs(lon) <= 180) & (np.abs(lat) <= MAX_LATITUDE)
        wrong = np.flatnonzero(~fine)
        if wrong.size:
            raise InvalidValue(
                "Place {key!r} has no position on the map; give longitude and latitude in "
                "degrees, longitude first.",
                key=self.keys[wrong[0]],
            )

    def _check_order(self) -> None:
        """Raise ValueError if a unit name is above another for one place but below it elsewhere."""
        above: set[tuple[str, str]] = set()
        for units in self.units:
            above |= {(wide, fine) for i, wide in enumerate(units) for fine in units[i + 1 :]}
        for wide, fine in above:
            if wide != fine and (fine, wide) in above:
                raise InvalidValue(
                    "The hierarchy runs in a circle: {wide!r} lies above {fine!r} and below "
                    "it. Order the levels from the widest to the finest.",
                    wide=wide,
                    fine=fine,
                )


class NearestPlace:
    """Function that finds the place nearest to a cell's centre in Web Mercator.

    The result for a cell depends on that cell and the places alone. If several places are
    equally near, the first is chosen.
    """

    def __init__(self, places: Places, grid: Grid) -> None:
        at = places.positions
        self._tree = shapely.STRtree(shapely.points(at.x, at.y))
        self._grid = grid

    def __call__(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the place nearest to each cell (n,)."""
        distinct, back = np.unique(cells, return_inverse=True)
        grid = self._grid
        row, column = np.divmod(distinct, grid.columns)
        x, y = grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell
        cell, place = self._tree.query_nearest(shapely.points(x, y), all_matches=True)
        order = np.lexsort((place, cell))
        first = np.unique(cell[order], return_index=True)[1]
        return np.asarray(place[order][first][back], dtype=np.int64)


def unit_name(path: Sequence[str]) -> str:
    """Join the names in a unit's path, starting with its own: "North Street, Harbour, Land"."""
    return ", ".join(reversed(path)) or EVERYWHERE


def diameter(at: Centres) -> float:
    """Return the largest great-circle distance between two of the positions, in metres."""
    if len(at) < 2:
        return 0.0
    x, y = at.x, at.y
    if len(at) > FEW:
        points = shapely.multipoints(np.column_stack([x, y]))
        x, y = shapely.get_coordinates(shapely.convex_hull(points)).T
    distances = ground_metres(Centres(x[:, None], y[:, None]), Centres(x[None], y[None]))
    return float(distances.max())


def _properties(feature: Any, place: int) -> Mapping[str, Any]:
    properties = feature.get("properties") if isinstance(feature, Mapping) else None
    if not isinstance(properties, Mapping):
        raise InvalidValue("Feature {place} has no properties; give its units.", place=place)
    return properties


def _position(feature: Mapping[str, Any], place: int) -> tuple[float, float]:
    geometry = feature.get("geometry")
    at = geometry.get("coordinates") if isinstance(geometry, Mapping) else None
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind in ("Polygon", "MultiPolygon"):
        try:
            inside = shapely.point_on_surface(shapely.geometry.shape(geometry))
            return float(inside.x), float(inside.y)
        except (shapely.GEOSException, ValueError, TypeError, LookupError):
            raise InvalidValue(
                "Feature {place} has no valid outline; repair it, or give a point.", place=place
            ) from None
    if not isinstance(at, Sequence) or kind != "Point" or len(at) < 2:
        raise InvalidValue(
            "Feature {place} is neither a point nor a polygon; give one position for each place.",
            place=place,
        )
    try:
        return float(at[0]), float(at[1])
    except (TypeError, ValueError):
        raise InvalidValue(
            "Feature {place} has a coordinate that is not a number.", place=place
        ) from None
