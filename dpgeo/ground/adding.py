"""Adding ground to an installation: from tiles, or from an OpenStreetMap extract."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dpgeo.core.errors import InvalidInput
from dpgeo.ground import archives, names, osm_names, osm_tiles
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
)

EXTRACT = ".osm.pbf"


def ground_add(
    folder: Path, file: Path, *, name: str, attribution: str = "", bounds: Bounds | None = None
) -> Region:
    """Add the ground in a file, or replace that of the same name, and build its search.

    `file` is a PMTiles or MBTiles file in the Shortbread schema or an extract (.osm.pbf), of which
    `bounds` cut a part. Raises InvalidInput.
    """
    checked_name(name)
    if not file.is_file():
        raise InvalidInput("There is no such file.", field="file")
    given = ""
    with new_file(folder, TILES) as tiles:
        if file.name.endswith(EXTRACT):
            kept = osm_tiles.build_tiles(file, tiles, bounds)
        else:
            kept, metadata = archives.convert(file, tiles, bounds)
            given = str(metadata.get("attribution") or "")
        zooms = archives.zooms(tiles)
        key = store(folder, tiles)
    region = Region(
        name=name,
        attribution=attribution or given or ATTRIBUTION,
        tiles=key,
        names="",
        bounds=kept,
        zooms=zooms,
    )
    region = _named(folder, region, file if file.name.endswith(EXTRACT) else None)
    region_save(folder, region)
    return region


def search_build(folder: Path, name: str, extract: Path | None = None) -> Region:
    """Build a region's search anew: from an extract, with outlines, or else from its tiles."""
    region = _named(folder, region_of(folder, name), extract)
    region_save(folder, region)
    return region


def _named(folder: Path, region: Region, extract: Path | None) -> Region:
    """Return a region with new names."""
    tiles = folder / f"{region.tiles}{TILES}"
    source = json.dumps({"region": region.name, "attribution": region.attribution})
    with new_file(folder, NAMES) as path:
        if extract:
            places = osm_names.extract_names(extract)
        else:
            places = osm_names.tile_names(tiles, archives.metadata(tiles))
        names.build(path, places, source)
        return replace(region, names=store(folder, path))
