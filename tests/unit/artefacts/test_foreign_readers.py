"""Release files read with other programs, which find exactly the released values."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pmtiles.reader
import pyogrio
import pytest
import rasterio
import shapely
from numpy.typing import NDArray
from PIL import Image

from dpgeo.artefacts import geopackage, geotiff, preview, vector_tiles
from dpgeo.artefacts.files import files_instead
from dpgeo.artefacts.picture_names import SHEET
from dpgeo.artefacts.preview import HEAD
from dpgeo.artefacts.view import NOISE, TIDE, View
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer, box_layers
from dpgeo.postprocess.opening import standing
from dpgeo.spatial.projection import to_mercator
from tests.unit.artefacts.releases import (
    grid_release,
    partition_release,
    phased_release,
    sparse_release,
    tree_release,
)
from tests.unit.artefacts.test_shapes_and_points import PLACES, RELEASED, WARDS, geometries

RELEASES = {
    "grid": grid_release(16),
    "partitions": partition_release(16),
    "tree": tree_release(16),
    "phases": phased_release(16),
    "sparse": sparse_release(16),
}
LAYERS: list[tuple[Released, Layer]] = [
    *((released, layer) for released in RELEASES.values() for layer in box_layers(released)),
    (RELEASED, WARDS),
    (RELEASED, PLACES),
]
EVERY_LAYER = pytest.mark.parametrize(("released", "layer"), LAYERS)

HOLED = ShapeLayer(
    name="bands",
    title="Bands",
    kind="inferred",
    margin_label=WARDS.margin_label,
    note="Drawn.",
    value=np.array([1.5, 2.5, 3.5]),
    shapes=np.array(
        [
            shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (1, 3), (3, 3), (3, 1)]]),
            shapely.MultiPolygon([shapely.box(5, 0, 6, 1), shapely.box(7, 0, 8, 1)]),
            shapely.LineString([(0, 5), (8, 6)]),
        ],
        dtype=object,
    ),
)


def shapes_of(layer: Layer) -> NDArray[Any]:
    if isinstance(layer, BoxLayer):
        return np.asarray(shapely.box(*layer.grid.box_bounds(layer.boxes).T))
    return np.asarray(geometries(layer))


# Tests of GeoPackage files


@EVERY_LAYER
def test_gdal_reads_the_geopackage(released: Released, layer: Layer, tmp_path: Path) -> None:
    path = tmp_path / "layer.gpkg"
    geopackage.write(released, layer, path)
    assert pyogrio.list_layers(path)[:, 0].tolist() == [layer.name]
    table = geopandas.read_file(path, fid_as_index=True)
    assert table.index.tolist() == list(range(1, len(layer) + 1))
    assert table.crs == "EPSG:4326"
    assert shapely.equals(table.geometry.to_numpy(), shapes_of(layer)).all()
    for name, values in {"estimate": layer.value, "margin": layer.margin, **layer.columns}.items():
        if values is not None:
            assert table[name].tolist() == values.tolist()


# Tests of GeoTIFF files


@pytest.mark.parametrize("cells", [1, 16, 300, 600])
def test_rasterio_reads_the_geotiff(cells: int, tmp_path: Path) -> None:
    released = grid_release(cells)
    (layer,) = box_layers(released)
    path = tmp_path / "cells.tif"
    geotiff.write(released, layer, path)
    expected = np.full((2, *layer.grid.shape), np.nan)
    expected[:, layer.boxes[:, 0], layer.boxes[:, 2]] = layer.value, layer.margin
    with rasterio.open(path) as image:
        assert image.crs.to_epsg() == 3857
        assert image.descriptions == ("estimate", "margin")
        assert np.isnan(image.nodata)
        np.testing.assert_allclose(image.bounds, layer.grid.mercator_bounds, rtol=1e-12)
        np.testing.assert_array_equal(image.read(), expected)
        assert image.tags()["licence"] == "CC BY 4.0"
        steps = image.overviews(1)
        assert steps == [2**level for level in range(1, len(steps) + 1)]
        assert cells / 2 ** len(steps) <= 256
        for level, step in enumerate(steps):
            with rasterio.open(path, overview_level=level) as overview:
                np.testing.assert_array_equal(overview.read(), expected[:, ::step, ::step])


# Tests of vector tiles


def read_tiles(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[Any, bytes]]:
    data = path.read_bytes()
    reader = pmtiles.reader.Reader(pmtiles.reader.MemorySource(data))
    tiles = dict(pmtiles.reader.all_tiles(pmtiles.reader.MemorySource(data)))
    return reader.header(), reader.metadata(), tiles


@EVERY_LAYER
def test_gdal_reads_equal_values_from_the_tiles_at_every_zoom(
    released: Released, layer: Layer, tmp_path: Path
) -> None:
    path = tmp_path / "layer.pmtiles"
    vector_tiles.write(released, layer, path)
    header, _, _ = read_tiles(path)
    expected = shapes_of(layer)
    for zoom in range(header["min_zoom"], header["max_zoom"] + 1):
        table = geopandas.read_file(path, layer=layer.name, ZOOM_LEVEL=zoom)
        rows = table["mvt_id"].astype(int).to_numpy()
        assert set(rows) == set(range(len(layer)))
        if layer.value is not None:
            np.testing.assert_array_equal(table["estimate"], layer.value[rows])
        if layer.margin is not None:
            np.testing.assert_array_equal(table["margin"], layer.margin[rows])
        unit = vector_tiles.WORLD / 2**zoom / vector_tiles.EXTENT
        assert farthest(table, rows, expected) <= unit * 1.5


def farthest(table: Any, rows: NDArray[np.int64], expected: NDArray[Any]) -> float:
    """Return the largest difference between found and expected feature bounds, in metres.

    The bounds are compared in Web Mercator. All parts of a feature are taken together.
    """
    around: dict[int, list[Any]] = defaultdict(list)
    for row, bounds in zip(rows.tolist(), table.geometry.bounds.to_numpy(), strict=True):
        around[row].append(bounds)
    worst = 0.0
    for row, parts in around.items():
        corners = [*np.min(parts, axis=0)[:2], *np.max(parts, axis=0)[2:]]
        west, south, east, north = shapely.bounds(expected[row])
        (left, right), (low, top) = to_mercator([west, east], [south, north])
        worst = max(worst, np.abs(np.array([left, low, right, top]) - corners).max())
    return worst


def test_holes_parts_and_lines_survive_the_tiles(tmp_path: Path) -> None:
    path = tmp_path / "bands.pmtiles"
    vector_tiles.write(RELEASED, HOLED, path)
    header, _, _ = read_tiles(path)
    table = geopandas.read_file(path, layer="bands", ZOOM_LEVEL=header["max_zoom"])
    for row, shape in enumerate(HOLED.shapes.tolist()):
        parts = table[table["mvt_id"] == row].to_crs("EPSG:4326").geometry.to_numpy()
        kinds = {"LineString", "MultiLineString"} if row == 2 else {"Polygon", "MultiPolygon"}
        assert {part.geom_type for part in parts} <= kinds
        whole = shapely.union_all(shapely.buffer(parts, 1e-4 if row == 2 else 0))
        flat = shapely.buffer(shapely.segmentize(shape, 0.01), 1e-4 if row == 2 else 0)
        assert shapely.symmetric_difference(whole, flat).area < 0.02
    assert table["estimate"].isin([1.5, 2.5, 3.5]).all()


# Tests of the preview


@EVERY_LAYER
def test_the_preview_colours_counts_above_the_threshold(
    released: Released, layer: Layer, tmp_path: Path
) -> None:
    preview.write(released, View.opening([layer]), tmp_path / "preview.png")
    with Image.open(tmp_path / "preview.png") as image:
        assert image.size == (preview.WIDTH, preview.HEIGHT)
        pixels = np.asarray(image.convert("RGB"))[HEAD : HEAD + preview.MAP_HEIGHT]
    packed = np.unique(pixels.astype(np.int32) @ [1 << 16, 1 << 8, 1]).tolist()
    colours = {(each >> 16, each >> 8 & 255, each & 255) for each in packed}
    assert SHEET in colours
    if layer.value is None or layer.threshold is None:
        assert colours & set(TIDE)
    else:
        loud = standing(layer)
        assert bool(colours & set(TIDE)) == bool(loud.any())
        assert (NOISE in colours) == bool((~loud).any())


# Tests of what files say about their own use and origin


@pytest.mark.parametrize("suffix", [".geojson", ".pmtiles", ".gpkg"])
def test_a_layer_too_large_for_a_format_names_the_format_to_use(suffix: str) -> None:
    assert files_instead(f"cells{suffix}", ["cells.parquet"]) == "cells.parquet"
