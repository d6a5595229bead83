"""Release files read with other programs, which find exactly the released values."""

from __future__ import annotations

import struct
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
from pmtiles.tile import Compression, TileType

from dpgeo.artefacts import geopackage, geotiff, preview, vector_tiles
from dpgeo.artefacts.files import LAYER_FORMATS, build_files, file_kind, files_instead
from dpgeo.artefacts.picture_names import SHEET
from dpgeo.artefacts.preview import HEAD
from dpgeo.artefacts.view import NOISE, TIDE, View, unit_words
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer, box_layers, layers
from dpgeo.postprocess.opening import standing
from dpgeo.spatial.area import StudyArea
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


def test_a_geopackage_does_not_contain_its_time_of_writing(tmp_path: Path) -> None:
    released, layer = LAYERS[0]
    geopackage.write(released, layer, tmp_path / "layer.gpkg")
    tables = pyogrio.read_dataframe(
        tmp_path / "layer.gpkg", sql="SELECT last_change FROM gpkg_contents", read_geometry=False
    )
    assert [str(each)[:10] for each in tables["last_change"]] == ["2000-01-01"]


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


def test_all_directories_of_a_geotiff_come_before_all_pixels(tmp_path: Path) -> None:
    released = grid_release(600)
    geotiff.write(released, box_layers(released)[0], tmp_path / "cells.tif")
    data = (tmp_path / "cells.tif").read_bytes()
    position, directories = struct.unpack_from("<I", data, 4)[0], []
    ends, tiles, widths = [], [], []
    while position:
        directories.append(position)
        (count,) = struct.unpack_from("<H", data, position)
        for entry in range(count):
            place = position + 2 + 12 * entry
            number, _, length, value = struct.unpack_from("<HHII", data, place)
            if number == 324:
                tiles.append(struct.unpack_from(f"<{length}I", data, value))
                ends.append(value + 4 * length)
            if number == 256:
                widths.append(value)
        (position,) = struct.unpack_from("<I", data, position + 2 + 12 * count)
    assert directories == sorted(directories)
    assert widths == [600, 300, 150]
    first = [min(each) for each in tiles]
    assert max(*ends, *directories) < min(first)
    assert first == sorted(first, reverse=True)


def test_only_images_become_geotiffs(tmp_path: Path) -> None:
    partitions, cells = box_layers(RELEASES["partitions"])
    assert geotiff.holds(cells)
    for layer in (partitions, WARDS, PLACES):
        assert not geotiff.holds(layer)
        with pytest.raises(TypeError):
            geotiff.write(RELEASED, layer, tmp_path / "x.tif")


# Tests of vector tiles


def read_tiles(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[Any, bytes]]:
    data = path.read_bytes()
    reader = pmtiles.reader.Reader(pmtiles.reader.MemorySource(data))
    tiles = dict(pmtiles.reader.all_tiles(pmtiles.reader.MemorySource(data)))
    return reader.header(), reader.metadata(), tiles


@EVERY_LAYER
def test_pmtiles_reads_the_archive(released: Released, layer: Layer, tmp_path: Path) -> None:
    path = tmp_path / "layer.pmtiles"
    vector_tiles.write(released, layer, path)
    header, metadata, tiles = read_tiles(path)
    assert header["tile_type"] == TileType.MVT
    assert header["tile_compression"] == Compression.GZIP
    assert header["clustered"]
    zooms = {zoom for zoom, _, _ in tiles}
    assert zooms == set(range(header["min_zoom"], header["max_zoom"] + 1))
    (described,) = metadata["vector_layers"]
    assert described["id"] == layer.name
    assert (described["minzoom"], described["maxzoom"]) == (min(zooms), max(zooms))


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


def test_a_layer_without_features_gives_a_valid_archive(tmp_path: Path) -> None:
    released = sparse_release(16, listed=0)
    (layer,) = box_layers(released)
    for layer_format in LAYER_FORMATS:
        if layer_format.holds(layer):
            layer_format.write(released, layer, tmp_path / f"cells{layer_format.suffix}")
    assert read_tiles(tmp_path / "cells.pmtiles")[2]
    assert geopandas.read_file(tmp_path / "cells.gpkg").empty
    preview.write(released, View.opening([layer]), tmp_path / "preview.png")


def test_tiles_stay_within_what_browsers_can_draw(tmp_path: Path) -> None:
    released = grid_release(400, area=StudyArea.from_bounds(0, 0, 1, 1))
    (layer,) = box_layers(released)
    place = vector_tiles._mercator(layer)
    zooms = vector_tiles._zooms(released, layer, place)
    for zoom in zooms:
        assert max(rows.size for _, _, rows in vector_tiles._members(place, zoom)) <= 50_000
    assert max(rows.size for _, _, rows in vector_tiles._members(place, zooms[0] - 1)) > 50_000


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


def test_the_preview_paints_each_cell_where_it_lies(tmp_path: Path) -> None:
    released = grid_release(8, area=StudyArea.from_bounds(0, 0, 1, 1))
    (layer,) = box_layers(released)
    preview.write(released, View.opening([layer]), tmp_path / "preview.png")
    with Image.open(tmp_path / "preview.png") as image:
        pixels = np.asarray(image.convert("RGB"))[HEAD:]
    frame = preview._Frame.around(list(layer.grid.bounds), preview.WIDTH, preview.MAP_HEIGHT)
    looks = View.opening([layer]).colours()
    bounds = layer.grid.box_bounds(layer.boxes)
    middles = frame.pixels(bounds[:, [0, 2]].mean(axis=1), bounds[:, [1, 3]].mean(axis=1))
    x, y = middles.astype(int).T
    np.testing.assert_array_equal(pixels[y, x], looks)


@pytest.mark.parametrize(("cell", "words"), [(100.0, "in a 100 m"), (130.0, "per 100 m")])
def test_the_preview_names_the_unit_as_the_map_does(cell: float, words: str) -> None:
    """The preview's caption names the same square size as the map.

    That is the size of the cells or, if counts are converted, of the squares they are converted to.
    """
    side = 8 * cell / 111_195
    released = grid_release(8, area=StudyArea.from_bounds(0, 0, side, side))
    view = View.opening(layers(released))
    assert unit_words(released, view) == f"People {words} square"


# Tests of what files say about their own use and origin


def test_every_file_states_its_use(tmp_path: Path) -> None:
    for built in build_files(partition_release(), tmp_path):
        kind = file_kind(built.name)
        assert kind.title
        assert kind.use
        assert kind.layer in {"", "partitions", "estimate"}
    assert file_kind("cells.shp").title == ""


@pytest.mark.parametrize("suffix", [".geojson", ".pmtiles", ".gpkg"])
def test_a_layer_too_large_for_a_format_names_the_format_to_use(suffix: str) -> None:
    assert files_instead(f"cells{suffix}", ["cells.parquet"]) == "cells.parquet"
