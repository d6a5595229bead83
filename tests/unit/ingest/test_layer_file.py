"""Layer files: every format and coordinate system yields the same zones as the GeoJSON."""

from __future__ import annotations

import ast
import json
import sqlite3
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyogrio
import pytest
import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import layer_reader, sandbox
from dpgeo.ingest.layer_file import RESULT, LayerChoices, read_layer_file
from dpgeo.ingest.layer_reader import convert_layer
from dpgeo.spatial.density import Density
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones

BRUSSELS = (4.3, 50.8, 4.5, 50.9)
NEW_YORK = (-74.02, 40.70, -73.93, 40.80)
COLUMNS = {"key": "NUTS_ID", "name": "NUTS_NAME"}
WRITERS = ["shapefile", "gpkg", "fgb", "parquet"]


def regions(bounds: tuple[float, float, float, float]) -> geopandas.GeoDataFrame:
    """Return 4 x 3 regions in degrees, like those of a statistical office; one has a hole."""
    xs = np.linspace(bounds[0], bounds[2], 5)
    ys = np.linspace(bounds[1], bounds[3], 4)
    boxes = [
        shapely.segmentize(shapely.box(xs[i], ys[j], xs[i + 1], ys[j + 1]), 0.01)
        for j in range(3)
        for i in range(4)
    ]
    boxes[5] = boxes[5].difference(boxes[5].centroid.buffer(0.005))
    number = range(len(boxes))
    return geopandas.GeoDataFrame(
        {
            "NUTS_ID": [f"BE{each:03}" for each in number],
            "NUTS_NAME": [f"Région {each}" for each in number],
            "POP": [1000.0 + each for each in number],
        },
        geometry=boxes,
        crs=4326,
    )


def write(table: geopandas.GeoDataFrame, form: str, folder: Path, **options: Any) -> Path:
    """Write a table in a format, under a file name that does not reveal the format."""
    path = folder / "sent"
    if form == "parquet":
        table.to_parquet(path)
    elif form == "shapefile":
        table.to_file(folder / "NUTS_RG.shp", driver="ESRI Shapefile", encoding="utf-8")
        pack(path, {each.name: each for each in folder.glob("NUTS_RG.*")})
    else:
        named = folder / f"layer.{form}"
        table.to_file(named, driver={"gpkg": "GPKG", "fgb": "FlatGeobuf"}[form], **options)
        named.rename(path)
    return path


def pack(target: Path, members: dict[str, Path | bytes]) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, bytes) else content.read_bytes())
    return target


def choices(**facts: Any) -> LayerChoices:
    return LayerChoices(**{"kind": "zones", "bounds": BRUSSELS, **facts})


def convert(path: Path, tmp_path: Path, **facts: Any) -> dict[str, Any]:
    """Return the converted layer, without starting the sandbox, which would be slower."""
    folder = tmp_path / "work"
    folder.mkdir()
    convert_layer(path, choices(**facts), folder)
    document: dict[str, Any] = json.loads((folder / RESULT).read_text())
    return document


def sandboxed(path: Path, tmp_path: Path, **facts: Any) -> dict[str, Any]:
    folder = tmp_path / "work"
    folder.mkdir()
    return read_layer_file(path, choices(**facts), folder)


def assert_same(found: Zones, table: geopandas.GeoDataFrame) -> None:
    """Check that zones equal those of the table's GeoJSON to within a millionth of a degree."""
    expected = Zones.from_geojson(json.loads(table.to_json()), **COLUMNS)
    # A FlatGeobuf file with an index stores its features in the order of the index.
    ours = sorted(zip(found.keys, found.names, found.shapes, strict=True), key=lambda each: each[0])
    names = list(zip(expected.keys, expected.names, strict=True))
    assert [(key, name) for key, name, _ in ours] == names
    for (_, _, one), other in zip(ours, expected.shapes, strict=True):
        assert shapely.hausdorff_distance(one, other) < 1e-6
        assert shapely.get_num_coordinates(one) == shapely.get_num_coordinates(other)
        assert shapely.symmetric_difference(one, other).area < 1e-6 * other.length


@pytest.mark.parametrize(
    ("form", "code", "bounds"),
    [*((form, 3035, BRUSSELS) for form in WRITERS), ("gpkg", 2263, NEW_YORK)],
)
def test_every_format_gives_the_zones_of_its_geojson(
    form: str, code: int, bounds: Any, tmp_path: Path
) -> None:
    table = regions(bounds)
    path = write(table.to_crs(code), form, tmp_path)
    document = convert(path, tmp_path, bounds=bounds, **COLUMNS)
    assert_same(Zones.from_geojson(document, **COLUMNS), table)


@pytest.mark.parametrize("form", WRITERS)
def test_the_sandbox_reads_every_format(form: str, tmp_path: Path) -> None:
    table = regions(BRUSSELS)
    document = sandboxed(write(table.to_crs(3035), form, tmp_path), tmp_path, **COLUMNS)
    assert_same(Zones.from_geojson(document, **COLUMNS), table)


def test_densities_and_places_are_read_too(tmp_path: Path) -> None:
    table = regions(BRUSSELS)
    (tmp_path / "a").mkdir()
    path = write(table.to_crs(3035), "shapefile", tmp_path / "a")
    density = Density.from_geojson(convert(path, tmp_path, kind="density", key="POP"), key="POP")
    assert density.amounts.tolist() == table["POP"].tolist()
    (tmp_path / "b").mkdir()
    stops = table.set_geometry(table.representative_point()).assign(town="Town")
    path = write(stops.to_crs(3035), "gpkg", tmp_path / "b")
    levels = ("town", "NUTS_NAME")
    facts = {"kind": "places", "key": "NUTS_ID", "levels": levels}
    places = Places.from_geojson(convert(path, tmp_path / "b", **facts), key="NUTS_ID")
    assert places.levels == levels
    assert places.keys == tuple(table["NUTS_ID"])
    assert np.allclose(places.longitude, stops.geometry.x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("form", ["shapefile", "parquet"])
def test_a_file_without_a_coordinate_system_needs_its_code(form: str, tmp_path: Path) -> None:
    table = regions(BRUSSELS).to_crs(3035)
    path = write(table.set_crs(None, allow_override=True), form, tmp_path)
    with pytest.raises(InvalidInput, match="give its code, such as EPSG") as refusal:
        convert(path, tmp_path)
    assert refusal.value.field == "file_crs"
    (tmp_path / "b").mkdir()
    document = convert(path, tmp_path / "b", crs="3035", **COLUMNS)
    assert_same(Zones.from_geojson(document, **COLUMNS), regions(BRUSSELS))


@pytest.mark.parametrize(
    ("facts", "field", "words"),
    [
        ({"crs": "EPSG:2263"}, "file_crs", "which is not EPSG:2263; leave"),
        ({"key": "LAU_ID"}, "key_property", "no column 'LAU_ID'; it has 'NUTS_ID'"),
        ({"name": "Name"}, "name_property", "no column 'Name'"),
        ({"layer": "districts"}, "file_layer", "only a GeoPackage"),
    ],
)
def test_a_wrong_choice_is_told_at_its_field(
    facts: dict[str, str], field: str, words: str, tmp_path: Path
) -> None:
    path = write(regions(BRUSSELS).to_crs(3035), "fgb", tmp_path)
    with pytest.raises(InvalidInput, match=words) as refusal:
        convert(path, tmp_path, **facts)
    assert refusal.value.field == field


@pytest.mark.parametrize("crs", ["EPSG:99999", "/etc/passwd", "+proj=pipeline", "EPSG:7789"])
def test_a_coordinate_system_is_a_code_of_a_flat_one(crs: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"coordinate system|cannot be turned") as refusal:
        sandboxed(tmp_path / "never read", tmp_path, crs=crs)
    assert refusal.value.field == "file_crs"


def test_invalid_outlines_are_mended_and_cut_at_the_180th_meridian(tmp_path: Path) -> None:
    bow = shapely.Polygon([(4.3, 50.8), (4.4, 50.9), (4.4, 50.8), (4.3, 50.9), (4.3, 50.8)])
    table = geopandas.GeoDataFrame({"key": ["a"]}, geometry=[bow], crs=4326)
    zones = Zones.from_geojson(convert(write(table, "fgb", tmp_path), tmp_path))
    assert shapely.area(zones.shapes[0]) == pytest.approx(0.005)
    (tmp_path / "b").mkdir()
    chathams = shapely.box(2_100_000, 5_000_000, 2_700_000, 5_100_000)
    table = geopandas.GeoDataFrame({"key": ["a"]}, geometry=[chathams], crs=2193)
    zones = Zones.from_geojson(convert(write(table, "fgb", tmp_path / "b"), tmp_path / "b"))
    west, _, east, _ = zones.shapes[0].bounds
    assert (west, east) == (-180, 180)
    assert shapely.area(zones.shapes[0]) < 20


@pytest.mark.parametrize("form", ["shapefile", "parquet"])
@pytest.mark.parametrize("limit", ["MAX_FEATURES", "MAX_INPUT_CORNERS"])
def test_a_file_beyond_the_limits_is_refused(
    form: str, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_reader, limit, 5)
    with pytest.raises(InvalidInput, match="The file has more than"):
        convert(write(regions(BRUSSELS), form, tmp_path), tmp_path)


def member(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def hostile_zips(folder: Path) -> dict[str, bytes]:
    """Return archives that a reader must refuse, keyed by part of the expected error message."""
    whole = write(regions(BRUSSELS).to_crs(3035), "shapefile", folder)
    with zipfile.ZipFile(whole) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    shapes, table = files["NUTS_RG.shp"], files["NUTS_RG.dbf"]
    archives: dict[str, list[tuple[zipfile.ZipInfo, bytes]]] = {
        "points outside": [(member("../../NUTS_RG.shp"), shapes)],
        "holds a link": [(member("NUTS_RG.shp", stat.S_IFLNK | 0o777), b"/etc/passwd")],
        "needs its table": [(member("a.shp"), shapes), (member("a.prj"), b"")],
        "holds 2 shapefiles": [(member("a.shp"), shapes), (member("b.shp"), shapes)],
        "holds no layer": [(member("layer.vrt"), b"<OGRVRTDataSource/>")],
        "several kinds": [(member("a.gpkg"), b"x"), (member("b.exe"), b"x")],
        "is damaged": [
            (member("a.shp"), shapes[: len(shapes) // 2]),
            (member("a.shx"), files["NUTS_RG.shx"]),
            (member("a.dbf"), table[:40]),
            (member("a.prj"), files["NUTS_RG.prj"]),
        ],
    }
    zips = {}
    for words, members in archives.items():
        path = folder / "hostile"
        with zipfile.ZipFile(path, "w") as archive:
            for info, content in members:
                archive.writestr(info, content)
        zips[words] = path.read_bytes()
    zips["unpacks to more than"] = bomb(folder)
    zips["damaged or cut short"] = whole.read_bytes()[:-40]
    return zips


def bomb(folder: Path) -> bytes:
    path = folder / "bomb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.gpkg", bytes(80 << 20))
    return path.read_bytes()


def test_hostile_archives_are_refused(tmp_path: Path) -> None:
    for number, (words, content) in enumerate(hostile_zips(tmp_path).items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "sent").write_bytes(content)
        with pytest.raises(InvalidInput, match=words) as refusal:
            convert(folder / "sent", folder)
        assert refusal.value.field == "file"


@pytest.mark.parametrize("form", ["gpkg", "fgb", "parquet", "shapefile"])
def test_damaged_files_are_refused_by_the_sandbox(form: str, tmp_path: Path) -> None:
    path = write(regions(BRUSSELS).to_crs(3035), form, tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = b"\xff" * (
        len(content) // 2 - len(content) // 4
    )
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refusal:
        Zones.from_geojson(sandboxed(path, tmp_path), **COLUMNS)
    assert refusal.value.field == "file"


@pytest.mark.parametrize("start", [b"SQLite format 3\x00", b"fgb\x03fgb\x00", b"PAR1"])
def test_a_file_that_lies_about_its_format_is_refused(start: bytes, tmp_path: Path) -> None:
    path = tmp_path / "wards.geojson"
    path.write_bytes(start + b"<OGRVRTDataSource>/vsicurl/http://127.0.0.1:9/a</OGRVRTDataSource>")
    with pytest.raises(InvalidInput) as refusal:
        sandboxed(path, tmp_path)
    assert refusal.value.field == "file"


@pytest.mark.parametrize(
    "spoil",
    [
        "DROP TABLE layer; CREATE VIEW layer AS SELECT 1 AS fid, ogr_geocode('x') AS geom",
        "DROP TABLE gpkg_ogr_contents; CREATE VIEW gpkg_ogr_contents AS SELECT 1",
        "ALTER TABLE layer ADD COLUMN computed TEXT GENERATED ALWAYS AS (upper(NUTS_ID)) VIRTUAL",
        "DROP TABLE layer; CREATE VIRTUAL TABLE layer USING fts5(geom)",
        "UPDATE gpkg_geometry_columns SET table_name = 'sqlite_master'",
    ],
)
def test_a_geopackage_cannot_make_gdal_call_functions(spoil: str, tmp_path: Path) -> None:
    path = write(regions(BRUSSELS), "gpkg", tmp_path, layer="layer", SPATIAL_INDEX="NO")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys=OFF")
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall()
    for (name,) in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    connection.executescript(spoil)
    connection.close()
    with pytest.raises(InvalidInput, match="is a view or refers"):
        convert(path, tmp_path)


def test_the_process_has_three_drivers_and_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import json, sys\n"
        "from unittest import mock\n"
        "from dpgeo.ingest import layer_reader, sandbox_worker\n"
        "import os\n"
        "def run(path, arguments, environment):\n"
        "    os.environ.update(environment)\n"
        "with mock.patch.object(os, 'execve', run):\n"
        "    layer_reader.restrict_drivers()\n"
        "print(json.dumps({'result': {'skip': os.environ['GDAL_SKIP'],"
        " 'proxy': os.environ['GDAL_HTTP_PROXY']}}), flush=True)\n"
    )
    (tmp_path / "tell.py").write_text(program)
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{tmp_path / 'tell.py'}'\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    facts = sandbox.run("layer", {}, tmp_path, lambda done, total: None, dict)
    left = set(pyogrio.list_drivers()) - set(facts["skip"].split(","))
    assert left == {"ESRI Shapefile", "GPKG", "FlatGeobuf"}
    assert facts["proxy"].startswith("http://127.0.0.1")


@pytest.mark.parametrize(
    ("written", "error", "words"),
    [
        ("'[' * 100_000", RuntimeError, "may not: RecursionError"),
        ("'no JSON'", RuntimeError, "may not: JSONDecodeError"),
        ("'[1]'", RuntimeError, "may not"),
        ("'[' + ' ' * (64 << 20)", InvalidInput, "takes more than 64 MiB; simplify"),
    ],
)
def test_what_the_process_wrote_is_not_trusted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    written: str,
    error: type[Exception],
    words: str,
) -> None:
    program, empty = tmp_path / "forge.py", tmp_path / "work"
    empty.mkdir()
    program.write_text(
        f"from pathlib import Path\nPath('layer.geojson').write_text({written})\n"
        'print(\'{"result": "converted"}\')\n'
    )
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{program}'\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(error, match=words):
        read_layer_file(program, LayerChoices(kind="zones", bounds=(5, 45, 6, 46)), empty)


def test_gdal_never_reads_private_rows() -> None:
    folder = Path(layer_reader.__file__).parent
    readers = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] in {"geopandas", "pyogrio", "fiona"} for name in names):
                readers.add(path.name)
    assert readers == {"layer_reader.py", "sandbox_tasks.py"}
