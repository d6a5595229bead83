"""Ready-made layers: areas and stations from this site's basemap, and public grids.

These layers need no file. Which ones are offered depends only on the study area and the basemap
data, both of which are public.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import shapely
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.ground import names
from dpgeo.ground.regions import Region, regions
from dpgeo.pages.desk.places import ground_source
from dpgeo.pages.templatetags.figures import figure
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.named_places import Source
from dpgeo.spatial.national_grids import GRIDS, NationalGrid, side_name
from dpgeo.spatial.ready_zones import grid_squares, h3_hexagons, h3_resolutions, square_sides

AREAS = {
    "county": _("Counties"),
    "municipality": _("Municipalities"),
    "district": _("Districts"),
    "park": _("Parks"),
}
"""Kinds of areas in the basemap that can become zones."""

POINTS = {
    "stations": (_("Stations"), ("station", "halt", "tram_stop")),
    "towns": (_("Towns and villages"), ("capital", "city", "town", "village")),
}
"""Kinds of points in the basemap that can become places."""

MIN_PLACES = 2

MIN_SHARE_INSIDE = 0.001
"""Smallest share of an area that must lie in the study area.

An area with a smaller share inside is a neighbour whose edge only overlaps the study area.
"""

GRID_NAMES = {
    "europe": _("the European grid"),
    "britain": _("the British National Grid"),
    "switzerland": _("the Swiss grid"),
    "us": _("the US National Grid"),
}

H3 = Source(name="H3 hexagons", url="https://www.uber.com/blog/h3/", date="2018-06-27")
"""Source of H3 cells. They have not changed since H3 was published, which is the source's date."""


def offered(area: StudyArea) -> list[tuple[str, str]]:
    """Return a (value, name) pair for each ready-made layer that fits a study area."""
    named = []
    for region in _named(area):
        counts = names.kinds_within(_file(region), area.bounds)
        for kind, words in AREAS.items():
            if counts.get((kind, True), 0) >= MIN_PLACES:
                named.append((f"areas:{region.name}:{kind}", gettext(words)))
        for key, (words, kinds) in POINTS.items():
            if sum(counts.get((kind, False), 0) for kind in kinds) >= MIN_PLACES:
                named.append((f"points:{region.name}:{key}", gettext(words)))
    squares = [
        (f"squares:{grid.code}:{side}", _squares_title(grid, side))
        for grid in GRIDS.values()
        for side in square_sides(area, grid)
    ]
    hexagons = [(f"hexagons::{each}", _hexagons_title(each)) for each in h3_resolutions(area)]
    return [*named, *squares, *hexagons]


def ready_layer(area: StudyArea, value: str) -> dict[str, Any]:
    """Return the arguments of `layer_declare` for the ready-made layer that `value` names.

    Raises InvalidInput if this layer is not offered for the study area.
    """
    if value not in {offer for offer, _words in offered(area)}:
        raise InvalidInput("Choose one of the layers that are offered.", field="ready")
    what, region_name, which = value.split(":")
    if what == "squares":
        grid, side = GRIDS[region_name], int(which)
        source = Source(name=grid.name, url=grid.url, date=grid.date)
        document = grid_squares(area, grid, side)
        name = f"squares-{grid.code}-{side_name(side)}"
        return _facts(name, _squares_title(grid, side), document, source)
    if what == "hexagons":
        document = h3_hexagons(area, int(which))
        return _facts(f"h3-{which}", _hexagons_title(int(which)), document, H3)
    region = next(region for region in _named(area) if region.name == region_name)
    source = ground_source(region, _file(region))
    if what == "areas":
        title, document = gettext(AREAS[which]), _areas(region, area, which)
        return _facts(which, title, document, source)
    words, kinds = POINTS[which]
    facts = _facts(which, gettext(words), _points(region, area, kinds), source)
    return {**facts, "kind": LayerKind.PLACES.value}


def _facts(name: str, title: str, document: dict[str, Any], source: Source) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "kind": LayerKind.ZONES.value,
        "file": io.BytesIO(json.dumps(document).encode()),
        "public_source": {"name": source.name, "url": source.url, "date": source.date},
    }


def _areas(region: Region, area: StudyArea, kind: str) -> dict[str, Any]:
    rows = names.places_within(_file(region), area.bounds, [kind], outlined=True)
    kept = [
        row
        for row in rows
        if shapely.area(shapely.intersection(row[2], area.shape))
        > MIN_SHARE_INSIDE * shapely.area(row[2])
    ]
    return _collection([(*row[:2], _polygons(row[2])) for row in kept])


def _points(region: Region, area: StudyArea, kinds: tuple[str, ...]) -> dict[str, Any]:
    rows = names.places_within(_file(region), area.bounds, kinds, outlined=False)
    inside = [row for row in rows if area.covers([row[2].x], [row[2].y])[0]]
    document = _collection(inside)
    for feature in document["features"]:
        del feature["properties"]["name"]
    return {**document, "levels": ["municipality", "place"]}


def _collection(rows: list[tuple[str, str, shapely.Geometry]]) -> dict[str, Any]:
    """Return (name, municipality, shape) rows as GeoJSON.

    A name that occurred in an earlier row gets the municipality or a number as a suffix.
    """
    seen: Counter[str] = Counter()
    features = []
    for name, within, shape in rows:
        key = name if not seen[name] or not within else f"{name}, {within}"
        seen[name] += 1
        seen[key] += key != name
        key = key if seen[key] == 1 else f"{name} ({seen[name]})"
        properties = {
            "key": key,
            "name": key,
            "municipality": within or gettext("elsewhere"),
            "place": key,
        }
        geometry = json.loads(shapely.to_geojson(shape))
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return {"type": "FeatureCollection", "features": features}


def _polygons(shape: shapely.Geometry) -> shapely.Geometry:
    parts = [each for each in shapely.get_parts(shape) if each.geom_type == "Polygon"]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def _named(area: StudyArea) -> list[Region]:
    """Return the basemap regions that overlap an area and whose place names can be read."""
    return [
        region
        for region in regions(Path(settings.GROUND_DIR))
        if region.names and _file(region).exists() and region.touches(area.bounds)
    ]


def _file(region: Region) -> Path:
    return region.names_file(Path(settings.GROUND_DIR))


def _squares_title(grid: NationalGrid, side: int) -> str:
    names = gettext(GRID_NAMES[grid.code])
    if side >= 1000:
        return gettext("Squares of {length} km of {grid}").format(
            length=figure(side // 1000), grid=names
        )
    return gettext("Squares of {length} m of {grid}").format(length=figure(side), grid=names)


def _hexagons_title(resolution: int) -> str:
    import h3

    size = h3.average_hexagon_area(resolution, "km^2")
    return gettext("Hexagons of H3, resolution {number}, about {size} km² each").format(
        number=resolution, size=f"{size:.2g}" if size < 100 else f"{size:,.0f}"
    )
