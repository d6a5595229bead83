"""Study areas without the sea and large lakes: what is subtracted and what stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyogrio
import pytest
import shapely

from dpgeo.ground.regions import TILES, Region, store
from dpgeo.ground.water import subtract_water
from dpgeo.spatial.area import StudyArea

NO_LAND = np.empty(0, dtype=object)

AREA = StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1)

LAKE = shapely.box(10.05, 50.02, 10.10, 50.05)
POND = shapely.box(10.150, 50.020, 10.158, 50.026)
RIVER = shapely.box(10.12, 50.0, 10.13, 50.1)
OCEAN = shapely.box(9.8, 49.8, 10.02, 50.3)

BOUNDS = (9.8, 49.9, 10.4, 50.2)


def region(folder: Path, layer: str, shapes: dict[str, Any]) -> Region:
    """Write tiles with one layer of shapes, keyed by their kind, and return their region."""
    path = folder / f"new{TILES}"
    frame = geopandas.GeoDataFrame({"kind": [*shapes]}, geometry=[*shapes.values()], crs=4326)
    options = {"MINZOOM": 8, "MAXZOOM": 14, "EXTENT": 4096, "BUFFER": 64}
    pyogrio.write_dataframe(frame, path, driver="PMTiles", layer=layer, dataset_options=options)
    return Region(
        name=layer.replace("_", "-"),
        attribution="©",
        tiles=store(folder, path),
        names="",
        bounds=BOUNDS,
        zooms=(8, 14),
        date="2026-11-01",
    )


def shore_metres(left: StudyArea, water: Any) -> float:
    """Return the smallest distance in metres between a water's shore and what AREA has lost."""
    taken = shapely.difference(AREA.shape, left.shape)
    gap = shapely.distance(shapely.boundary(water), taken)
    return float(gap * 111_000 * np.cos(np.radians(50)))


def test_large_lakes_are_left_out_but_for_their_shores(tmp_path: Path) -> None:
    waters = {"water": LAKE, "reservoir": POND, "river": RIVER}
    here = region(tmp_path, "water_polygons", waters)
    left, sources = subtract_water(AREA, tmp_path, [here], NO_LAND)
    assert left is not None
    assert sources == ["OpenStreetMap, 2026-11-01"]
    assert not left.covers([10.07], [50.03]).any()
    # Small lakes, rivers with their bridges, and all land stay in the study area.
    stay = shapely.difference(AREA.shape, LAKE)
    assert shapely.covers(shapely.buffer(left.shape, 1e-9), stay)
    assert left.covers([10.154, 10.125, 10.0501], [50.023, 50.05, 50.0201]).all()
    assert 60 < shore_metres(left, LAKE) < 110
    again, _ = subtract_water(AREA, tmp_path, [here], NO_LAND)
    assert again == left


def test_the_sea_of_the_ground_is_left_out_to_the_border_of_the_area(tmp_path: Path) -> None:
    here = region(tmp_path, "ocean", {"ocean": OCEAN})
    land = np.array([shapely.box(10.1, 49, 11, 51)], dtype=object)
    left, sources = subtract_water(AREA, tmp_path, [here], land)
    assert left is not None
    # The basemap has the sea here, so Natural Earth's coarser coastline is not used.
    assert sources == ["OpenStreetMap, 2026-11-01"]
    assert left.shape.geom_type == "Polygon"
    assert left.bounds[0] == pytest.approx(10.02 - 100 / 71_600, abs=3e-4)
    assert not left.covers([10.0, 10.0], [50.0, 50.1]).any()
