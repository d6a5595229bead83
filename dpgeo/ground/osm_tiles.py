"""Vector tiles made from an OpenStreetMap extract, in the Shortbread schema 1.0.

The tiles have a subset of that schema's layers. GDAL writes one layer per call. The layers of a
tile are consecutive protobuf fields, so the tiles of several calls are joined by concatenating
their bytes. The zooms of one layer must not overlap between calls.
"""

from __future__ import annotations

import gzip
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from pmtiles.reader import MmapSource, all_tiles
from pmtiles.tile import tileid_to_zxy, zxy_to_tileid

from dpgeo.core.errors import InvalidInput
from dpgeo.ground.archives import write
from dpgeo.ground.osm_file import read_layer, sea
from dpgeo.ground.regions import ATTRIBUTION, Bounds

MAX_ZOOM = 14

WIDE = {"motorway", "trunk", "primary"}
MIDDLE = WIDE | {"secondary", "tertiary"}
SMALL = MIDDLE | {"unclassified", "residential", "living_street", "pedestrian", "busway"}
PATHS = {"track", "service", "footway", "path", "cycleway", "steps", "bridleway"}
RAILS = {"rail", "light_rail", "subway", "tram", "narrow_gauge", "funicular"}

PLACE_FROM = {
    **{"capital": 3, "state_capital": 4, "city": 5, "town": 7, "village": 9, "island": 10},
    **{"hamlet": 11, "suburb": 11, "quarter": 12, "neighbourhood": 13},
    **{"locality": 14, "isolated_dwelling": 14, "farm": 14},
}
"""Kinds of places, each with the lowest zoom at which it is shown."""

LEISURE = ("park", "garden", "golf_course", "pitch", "playground", "nature_reserve", "stadium")
COVER = {
    **{each: each for each in ("grass", "meadow", "orchard", "vineyard", "allotments", "cemetery")},
    **{each: each for each in ("recreation_ground", "farmland", "heath", "scrub", "beach", "sand")},
    **{each: each for each in ("bare_rock", "scree", "glacier", "grassland", "village_green")},
    **{each: each for each in ("residential", "commercial", "industrial", "retail", "railway")},
    **{"quarry": "quarry", "farmyard": "farmyard", "forest": "forest", "wood": "forest"},
    "wetland": "swamp",
}
WATER = {
    **{each: each for each in ("water", "reservoir", "basin", "dock", "glacier")},
    "riverbank": "river",
}

WORLD_METRES = 40_075_016.7
MIN_PIXELS = 12
"""Smallest area that is drawn, in square pixels of a tile of 512 by 512 pixels."""

GDAL_OPTIONS = {
    **{"EXTENT": 4096, "BUFFER": 64, "SIMPLIFICATION": 2.0, "SIMPLIFICATION_MAX_ZOOM": 1.0},
    **{"MAX_SIZE": 4_000_000, "MAX_FEATURES": 2_000_000},
}


@dataclass(frozen=True, slots=True)
class Band:
    """Features of one layer for a range of zooms."""

    layer: str
    features: Any
    zooms: tuple[int, int]


def build_tiles(extract: Path, target: Path, bounds: Bounds | None = None) -> Bounds:
    """Write the tiles of an extract and return their bounds. Raises InvalidInput."""
    lines = read_layer(
        extract,
        "lines",
        'highway IS NOT NULL OR railway IS NOT NULL OR waterway IS NOT NULL OR "natural" = '
        "'coastline'",
    )
    if lines.empty:
        raise InvalidInput("Has no streets.", field="file")
    whole = tuple(float(each) for each in lines.total_bounds)
    west, south, east, north = bounds or whole
    box = max(west, whole[0]), max(south, whole[1]), min(east, whole[2]), min(north, whole[3])
    frame = shapely.box(*box)
    parts: dict[int, list[bytes]] = defaultdict(list)
    layers: dict[str, dict[str, Any]] = {}
    # The folder is created next to the result, since containers have little room for temporary
    # files elsewhere.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as folder:
        for number, band in enumerate(_bands(extract, lines, frame)):
            features = band.features
            shown = features[features.geometry.notna() & features.geometry.intersects(frame)]
            if shown.empty:
                continue
            _note(layers, band, shown)
            for place, body in _tiles_of(shown, band, Path(folder) / f"{number}.pmtiles"):
                parts[zxy_to_tileid(*place)].append(body)
    metadata = {
        "name": extract.name,
        "attribution": ATTRIBUTION,
        "license": "ODbL-1.0",
        "vector_layers": list(layers.values()),
    }
    write(_joined(parts), target, box, metadata)
    return box


def _joined(parts: dict[int, list[bytes]]) -> Iterator[tuple[tuple[int, int, int], bytes]]:
    for number in sorted(parts):
        yield tileid_to_zxy(number), gzip.compress(b"".join(parts[number]), 9, mtime=0)


def _note(layers: dict[str, dict[str, Any]], band: Band, features: Any) -> None:
    fields = {name: "String" for name in features.columns if name != "geometry"}
    entry = layers.setdefault(
        band.layer, {"id": band.layer, "minzoom": band.zooms[0], "fields": fields}
    )
    entry["maxzoom"] = band.zooms[1]


def _tiles_of(
    features: Any, band: Band, file: Path
) -> Iterator[tuple[tuple[int, int, int], bytes]]:
    import pyogrio

    options = {"MINZOOM": band.zooms[0], "MAXZOOM": band.zooms[1], **GDAL_OPTIONS}
    pyogrio.write_dataframe(
        features, file, driver="PMTiles", layer=band.layer, dataset_options=options
    )
    with file.open("rb") as opened:
        for place, body in all_tiles(MmapSource(opened)):
            yield place, gzip.decompress(body)


def _bands(extract: Path, lines: Any, frame: shapely.Geometry) -> Iterator[Band]:
    areas = read_layer(
        extract,
        "multipolygons",
        'landuse IS NOT NULL OR leisure IS NOT NULL OR "natural" IS NOT NULL OR '
        "waterway IS NOT NULL OR boundary IS NOT NULL",
    )
    areas["way_area"] = areas.geometry.to_crs(3857).area
    points = read_layer(extract, "points", "place IS NOT NULL OR railway IS NOT NULL")
    yield from _street_bands(lines)
    yield from _water_bands(lines, areas, frame)
    yield from _land_bands(areas)
    yield from _boundary_bands(extract, areas)
    yield from _name_bands(points)


def _street_bands(lines: Any) -> Iterator[Band]:
    is_rail = lines["railway"].isin(RAILS) & ~lines["service"].isin(["yard", "siding", "spur"])
    streets = lines[["geometry", "name", "ref"]].assign(
        kind=lines["highway"].str.removesuffix("_link").where(~is_rail, lines["railway"]),
        rail=is_rail,
        link=lines["highway"].str.endswith("_link").fillna(False).astype(bool),
        tunnel=lines["tunnel"].notna() & (lines["tunnel"] != "no"),
        bridge=lines["bridge"].notna() & (lines["bridge"] != "no"),
    )
    streets = streets[is_rail | streets["kind"].isin(SMALL | PATHS)]
    bare = streets.drop(columns=["name", "ref"])
    main_rail = bare["rail"] & bare["kind"].isin(["rail", "narrow_gauge"])
    yield Band("streets", _merged(bare[bare["kind"].isin(WIDE) | main_rail]), (6, 9))
    yield Band("streets", _merged(bare[bare["kind"].isin(MIDDLE) | main_rail]), (10, 11))
    yield Band("streets", _merged(bare[bare["kind"].isin(SMALL) | bare["rail"]]), (12, 12))
    yield Band("streets", _merged(bare), (13, MAX_ZOOM))
    named = streets[streets["name"].notna() & ~streets["rail"]]
    named = named[["kind", "name", "ref", "geometry"]]
    yield Band("street_labels", _merged(named[named["kind"].isin(MIDDLE)]), (12, 12))
    yield Band("street_labels", _merged(named[named["kind"].isin(SMALL)]), (13, 13))
    yield Band("street_labels", _merged(named), (MAX_ZOOM, MAX_ZOOM))


def _water_bands(lines: Any, areas: Any, frame: shapely.Geometry) -> Iterator[Band]:
    flows = lines[lines["waterway"].isin(["river", "stream", "canal", "drain", "ditch"])]
    rivers = flows[["name", "geometry"]].assign(kind=flows["waterway"])
    large = rivers[rivers["kind"].isin(["river", "canal"])]
    yield Band("water_lines", _merged(large[["kind", "geometry"]]), (7, 11))
    yield Band("water_lines", _merged(rivers[["kind", "geometry"]]), (12, MAX_ZOOM))
    yield Band("water_lines_labels", _merged(rivers[rivers["name"].notna()]), (12, MAX_ZOOM))
    lakes = areas[["geometry", "way_area"]].assign(kind=_water_kind(areas), **_names(areas))
    lakes = lakes[lakes["kind"].notna()]
    for zooms in ((6, 9), (10, 12), (13, MAX_ZOOM)):
        shown = _visible(lakes, zooms)[["kind", "way_area", "geometry"]]
        yield Band("water_polygons", shown, zooms)
    named = lakes[lakes["name"].notna()]
    middles = named.set_geometry(named.geometry.representative_point())
    yield Band("water_polygons_labels", middles, (12, MAX_ZOOM))
    coast = lines[lines["natural"] == "coastline"].geometry
    if len(coast):
        ocean = sea(np.asarray(coast), frame)
        only = coast.iloc[:0].to_frame("geometry")
        only.loc[0, "geometry"] = ocean
        yield Band("ocean", only.assign(kind="ocean"), (6, MAX_ZOOM))


def _land_bands(areas: Any) -> Iterator[Band]:
    kind = areas["leisure"].where(areas["leisure"].isin(LEISURE))
    kind = kind.fillna(areas["landuse"].map(COVER)).fillna(areas["natural"].map(COVER))
    land = areas[["geometry", "way_area"]].assign(kind=kind)
    land = land[kind.notna() & _water_kind(areas).isna()]
    for zooms in ((7, 9), (10, 11), (12, 13), (MAX_ZOOM, MAX_ZOOM)):
        yield Band("land", _visible(land, zooms)[["kind", "geometry"]], zooms)


def _boundary_bands(extract: Path, areas: Any) -> Iterator[Band]:
    import pandas as pd

    open_ones = read_layer(extract, "multilinestrings", "boundary = 'administrative'")
    closed = areas[(areas["boundary"] == "administrative") & areas["admin_level"].notna()]
    rings = closed.set_geometry(closed.geometry.boundary)
    edges = pd.concat([each[["admin_level", "geometry"]] for each in (open_ones, rings)])
    edges["admin_level"] = pd.to_numeric(edges["admin_level"], errors="coerce")
    edges = edges[edges["admin_level"].between(2, 10)].astype({"admin_level": int})
    edges["maritime"] = False
    yield Band("boundaries", edges[edges["admin_level"] <= 4], (2, 8))
    yield Band("boundaries", edges[edges["admin_level"] <= 8], (9, 11))
    yield Band("boundaries", edges, (12, MAX_ZOOM))


def _name_bands(points: Any) -> Iterator[Band]:
    import pandas as pd

    population = pd.to_numeric(points["population"], errors="coerce").fillna(0).astype(int)
    kind = points["place"].where(points["capital"] != "yes", "capital")
    places = points[["geometry"]].assign(kind=kind, population=population, **_names(points))
    places = places[kind.isin(PLACE_FROM) & places["name"].notna()]
    lowest = places["kind"].map(PLACE_FROM)
    for zoom in range(min(PLACE_FROM.values()), MAX_ZOOM + 1):
        yield Band("place_labels", places[lowest <= zoom], (zoom, zoom))
    stops = points[points["railway"].isin(["station", "halt", "tram_stop"])]
    stops = stops[["geometry"]].assign(kind=stops["railway"], **_names(stops))
    yield Band("public_transport", stops[stops["name"].notna()], (11, MAX_ZOOM))


def _names(frame: Any) -> dict[str, Any]:
    return {"name": frame["name"], "name_de": frame["name:de"], "name_en": frame["name:en"]}


def _water_kind(areas: Any) -> Any:
    kinds = areas["natural"].map(WATER).fillna(areas["landuse"].map(WATER))
    return kinds.fillna(areas["waterway"].map(WATER))


def _merged(frame: Any) -> Any:
    """Join touching lines that look alike into one feature."""
    if frame.empty:
        return frame
    by = [name for name in frame.columns if name != "geometry"]

    def joined(lines: Any) -> shapely.Geometry:
        return shapely.line_merge(shapely.multilinestrings(shapely.get_parts(list(lines))))

    shapes = frame.groupby(by, dropna=False)["geometry"].agg(joined).reset_index()
    return type(frame)(shapes, geometry="geometry", crs=4326)


def _visible(frame: Any, zooms: tuple[int, int]) -> Any:
    """Return the areas that cover more than a few pixels at the highest of the zooms."""
    pixel = WORLD_METRES / 512 / 2 ** zooms[1]
    return frame[frame["way_area"] > MIN_PIXELS * pixel**2]
