"""Adding a basemap (tiles and place names) to an installation.

The basemap is read from a file of tiles or from an OpenStreetMap extract.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dpgeo.core.errors import InvalidInput
from dpgeo.ground import archives, geonames, names, osm_names, osm_tiles
from dpgeo.ground.osm_file import extract_date
from dpgeo.ground.regions import (
    ATTRIBUTION,
    NAMES,
    TILES,
    Bounds,
    Region,
    checked_name,
    new_file,
    region_of,
    region_save,
    store,
    temporary_files_in,
    world_file,
)
from dpgeo.ground.world_search import countries
from dpgeo.spatial.named_places import WorldPlaces

EXTRACT = ".osm.pbf"


def ground_add(
    folder: Path,
    file: Path,
    *,
    name: str,
    attribution: str = "",
    bounds: Bounds | None = None,
    extract: Path | None = None,
    date: str = "",
) -> Region:
    """Add a basemap region with its name search from a file, or replace the region of that name.

    `file` is a PMTiles or MBTiles file in the Shortbread schema or an extract (.osm.pbf), and
    `bounds` select a part of it. If tiles come with an `extract`, names are read from the extract,
    and so is the day of the data unless `date` states it. Raises InvalidInput.
    """
    checked_name(name)
    if not file.is_file():
        raise InvalidInput("There is no such file.", field="file")
    given = ""
    with temporary_files_in(folder), new_file(folder, TILES) as tiles:
        if file.name.endswith(EXTRACT):
            covered = osm_tiles.build_tiles(file, tiles, bounds)
        else:
            covered, metadata = archives.convert(file, tiles, bounds)
            given = str(metadata.get("attribution") or "")
        zooms = archives.zooms(tiles)
        extract = file if file.name.endswith(EXTRACT) else extract
        date = date or (extract_date(extract) if extract else "")
        key = store(folder, tiles)
    region = Region(
        name=name,
        attribution=attribution or given or ATTRIBUTION,
        tiles=key,
        names="",
        bounds=covered,
        zooms=zooms,
        date=date,
    )
    region = _named(folder, region, extract)
    region_save(folder, region)
    return region


def search_build(folder: Path, name: str, extract: Path | None = None) -> Region:
    """Rebuild a region's name search from an extract, or else from the region's own tiles.

    Only an extract has outlines of places. The extract's date becomes the region's date if the
    region has none.
    """
    region = _named(folder, region_of(folder, name), extract)
    if extract and not region.date:
        region = replace(region, date=extract_date(extract))
    region_save(folder, region)
    return region


def world_build(folder: Path, table: Path, world: WorldPlaces, date: str = "") -> int:
    """Build the search among the world's towns, with their names in other languages.

    `table` is one of GeoNames; `date` is the day of its data, by default the day on which the file
    was changed. Returns the number of places. Raises InvalidInput.
    """
    if not table.is_file() or table.suffix not in geonames.SUFFIXES:
        raise InvalidInput("Give a table of GeoNames, such as cities15000.zip.", field="extract")
    date = date or datetime.fromtimestamp(table.stat().st_mtime, UTC).date().isoformat()
    with new_file(folder, NAMES) as path:
        towns = geonames.towns(table, world.country_names)
        count = names.build(path, [*countries(world), *towns], json.dumps({"date": date}))
        path.chmod(0o644)
        path.replace(world_file(folder))
    return count


def _named(folder: Path, region: Region, extract: Path | None) -> Region:
    """Build a new file of place names for a region, and return the region that refers to it."""
    tiles = region.tiles_file(folder)
    source = json.dumps({"region": region.name, "attribution": region.attribution})
    with temporary_files_in(folder), new_file(folder, NAMES) as path:
        if extract:
            places = osm_names.extract_names(extract)
        else:
            places = osm_names.tile_names(tiles, archives.metadata(tiles))
        names.build(path, places, source)
        return replace(region, names=store(folder, path))
