"""Reading of public layers with geopandas, inside the sandbox only.

GDAL knows dozens of formats, and in some of them a file can refer to other files or addresses. So
only three of its drivers are registered, the file's first bytes decide its format, and GDAL's proxy
for HTTP does not answer. The tables that it reads from a GeoPackage may neither be views nor have
computed columns.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.crs import clean_crs
from dpgeo.ingest.decompress import is_packed, unpack
from dpgeo.ingest.geopackage_reader import opened
from dpgeo.ingest.header import quoted
from dpgeo.ingest.layer_file import FLATGEOBUF, PARQUET, RESULT, SQLITE, LayerChoices
from dpgeo.spatial.antimeridian import cut_at_180
from dpgeo.spatial.density import AMOUNTS
from dpgeo.spatial.projection import MAX_LATITUDE
from dpgeo.spatial.zones import KEY_PROPERTIES, MAX_CORNERS, MAX_ZONES, NAME_PROPERTIES

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

DRIVERS = ("ESRI Shapefile", "GPKG", "FlatGeobuf")
SUFFIXES = {SQLITE: ".gpkg", FLATGEOBUF: ".fgb", PARQUET: ".parquet"}

MAX_FEATURES = 200_000
MAX_INPUT_CORNERS = 5_000_000
"""Largest numbers of features and of vertices in a file, each larger than a layer may have.

A file may cover a whole country, of which a layer takes the part in the study area.
"""

MAX_UNPACKED_BYTES = 1 << 30
"""Maximum size of a layer's files after unpacking, in bytes."""

NOWHERE = "http://127.0.0.1:9"
"""A proxy address where nothing answers, so that GDAL cannot open any URL that a file names."""

MULTIPOINT = 4
"""Shapely's type id of multipoints."""

SAME_DEGREES = 1e-5
"""Two coordinate systems count as the same if positions differ by at most this many degrees.

For the comparison, all positions of a file are converted to degrees twice: from the coordinate
system that the file states, and from the one that the user declared.
"""


def restrict_drivers() -> None:
    """Restart this process with only DRIVERS registered, since GDAL registers them only once."""
    from pyogrio import list_drivers

    others = sorted(set(list_drivers()) - set(DRIVERS))
    if not others:
        return
    if "GDAL_SKIP" in os.environ:
        raise RuntimeError("GDAL registers drivers that it was told to skip.")
    environment = {"GDAL_SKIP": ",".join(others), "GDAL_HTTP_PROXY": NOWHERE}
    arguments = [sys.executable, "-P", "-m", "dpgeo.ingest.sandbox_worker", *sys.argv[1:]]
    os.execve(sys.executable, arguments, {**os.environ, **environment})  # noqa: S606


def convert_layer(source: Path, choices: LayerChoices, folder: Path) -> None:
    """Write a file's layer to RESULT in `folder`, as GeoJSON in degrees. Raises InvalidInput."""
    path, suffix = _recognise(source, folder)
    with _undamaged():
        table = _read(path, suffix, choices)
    columns = _columns(table, choices)
    if not len(table):
        raise InvalidInput("The layer has no features; choose another.", field="file")
    if shapely.get_num_coordinates(table.geometry.array).sum() > MAX_INPUT_CORNERS:
        raise InvalidInput(TOO_LARGE, field="file", **LIMITS)
    with _undamaged():
        table = _in_degrees(table, choices)
    if choices.kind != LayerKind.PLACES:
        table = _in_reach(table, choices)
    with (folder / RESULT).open("w") as file:
        file.writelines(_geojson(table, columns, choices))


def _recognise(source: Path, folder: Path) -> tuple[Path, str]:
    """Unpack a file if necessary; return it under a name with its format's suffix."""
    path, others = source, []
    if is_packed(source):
        part, *others = unpack(source, "layer", folder, lambda: None, largest=MAX_UNPACKED_BYTES)
        path = part.path
    if path.suffix == ".shp":
        if not all(path.with_suffix(each).exists() for each in (".shx", ".dbf")):
            raise InvalidInput(
                "A shapefile needs its table too: zip the files .shp, .shx, .dbf and .prj "
                "together.",
                field="file",
            )
        return path, ".shp"
    with path.open("rb") as file:
        head = file.read(16)
    suffix = next((each for start, each in SUFFIXES.items() if head.startswith(start)), "")
    if not suffix or others:
        raise InvalidInput(
            "The archive holds no layer: zip the files of one shapefile, or one GeoPackage, "
            "FlatGeobuf or GeoParquet file. GeoJSON and CSV are sent unpacked.",
            field="file",
        )
    named = folder / f"layer{suffix}"
    if path == source:
        shutil.copyfile(path, named)  # a link is refused here (`confinement`)
    else:
        path.rename(named)
    return named, suffix


@contextmanager
def _undamaged() -> Iterator[None]:
    """Convert the libraries' errors for damaged files to InvalidInput."""
    from pyarrow import ArrowException

    unforeseen = (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RuntimeError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (*unforeseen, ArrowException, shapely.GEOSException, sqlite3.Error) as error:
        raise _damaged() from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise _damaged() from error  # for a damaged file, Arrow's OSError has no errno


def _damaged() -> InvalidInput:
    return InvalidInput(
        "The file is damaged, cut short or of an unusual kind; export the layer again, for "
        "example as GeoPackage.",
        field="file",
    )


def _read(path: Path, suffix: str, choices: LayerChoices) -> GeoDataFrame:
    """Read a file's features. Raises InvalidInput and the libraries' own errors."""
    import geopandas
    import pyarrow.parquet

    if suffix == ".parquet":
        if pyarrow.parquet.ParquetFile(path).metadata.num_rows > MAX_FEATURES:
            raise InvalidInput(TOO_LARGE, field="file", **LIMITS)
        try:
            return geopandas.read_parquet(path)
        except ValueError as error:
            if "geo metadata" not in str(error):
                raise
            raise InvalidInput(
                "The Parquet file has no geometry; write it as GeoParquet, for example with "
                "geopandas.",
                field="file",
            ) from None
    options: dict[str, Any] = {}
    if suffix == ".gpkg":
        options = {"layer": _layer_of(path, choices.layer), "LIST_ALL_TABLES": "NO"}
    elif choices.layer:
        raise InvalidInput("Leave this out: only a GeoPackage has layers.", field="file_layer")
    table = geopandas.read_file(path, engine="pyogrio", rows=MAX_FEATURES + 1, **options)
    if not isinstance(table, geopandas.GeoDataFrame):
        raise InvalidInput("The layer has no geometry; choose another.", field="file")
    if len(table) > MAX_FEATURES:
        raise InvalidInput(TOO_LARGE, field="file", **LIMITS)
    return table


TOO_LARGE = (
    "The file has more than {features:,} features or {corners:,} corners; cut it to the study area "
    "or simplify it."
)
LIMITS = {"features": MAX_FEATURES, "corners": MAX_INPUT_CORNERS}


def _layer_of(path: Path, wanted: str) -> str:
    """Return the name of the layer to read from a GeoPackage. Raises InvalidInput.

    GDAL trusts the schema of the database, in which views and computed columns may call functions
    of GDAL. So the tables that it reads must be plain.
    """
    with opened(path) as connection:
        tables = {
            str(name).lower(): kind if " VIRTUAL " not in str(sql).upper()[:40] else "virtual"
            for kind, name, sql in connection.execute(
                "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')"
            )
        }
        if tables.get("gpkg_geometry_columns") != "table":
            raise InvalidInput(
                "This is an SQLite database but no GeoPackage; export the layer as GeoPackage, "
                "GeoParquet or CSV.",
                field="file",
            )
        names = [
            str(row[0])
            for row in connection.execute(
                "SELECT table_name FROM gpkg_geometry_columns ORDER BY table_name LIMIT 1000"
            )
        ]
        chosen = wanted or (names[0] if len(names) == 1 else "")
        if chosen not in names:
            raise InvalidInput(
                "The GeoPackage has the layers {names}; name the one to take.",
                names=quoted(names[:50]) or "-",
                field="file_layer",
            )
        for name in {chosen.lower(), *(name for name in tables if name.startswith("gpkg_"))}:
            if tables.get(name) != "table" or _is_computed(connection, name):
                raise InvalidInput(
                    "The layer {layer} is a view or refers to something that is not in the file; "
                    "export it into a new GeoPackage.",
                    layer=quoted([name]),
                    field="file",
                )
    return chosen


def _is_computed(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether a table has generated columns."""
    quoted_name = '"' + table.replace('"', '""') + '"'
    return any(row[6] for row in connection.execute(f"PRAGMA table_xinfo({quoted_name})"))


def _columns(table: GeoDataFrame, choices: LayerChoices) -> list[str]:
    """Return the columns of `table` to keep.

    These are the chosen ones, those with a usual name for a key, a name or an amount and, for
    places without chosen levels, all columns of text. Raises InvalidInput if a chosen column is
    missing.
    """
    known = [str(name) for name in table.columns if name != table.geometry.name]
    fields = {"key_property": choices.key, "name_property": choices.name}
    for field, column in [*fields.items(), *(("levels", level) for level in choices.levels)]:
        if column and column not in known:
            raise InvalidInput(
                "The file has no column {name!r}; it has {names}.",
                name=column,
                names=quoted(known[:40]) or "-",
                field=field,
            )
    chosen = {choices.key, choices.name, *choices.levels}
    if choices.kind == LayerKind.PLACES and not choices.levels:
        chosen |= {name for name in known if table[name].dtype in ("object", "str")}
    usual = {*KEY_PROPERTIES, *NAME_PROPERTIES, *AMOUNTS}
    return [name for name in known if name in chosen or name.lower() in usual]


def _in_degrees(table: GeoDataFrame, choices: LayerChoices) -> GeoDataFrame:
    """Convert geometries to degrees and repair invalid ones. Raises InvalidInput."""
    stated, declared = _coordinate_system(table), choices.crs and clean_crs(choices.crs)
    if stated is None and not declared:
        raise InvalidInput(
            "The file does not say in which coordinate system it is; give its code, such as "
            "EPSG:4326 for degrees or EPSG:25832 for UTM zone 32.",
            field="file_crs",
        )
    table = table.set_geometry(shapely.force_2d(table.geometry.array.to_numpy()), crs=None)
    in_degrees = table.set_crs(stated or declared, allow_override=True).to_crs(4326)
    corners = shapely.get_coordinates(in_degrees.geometry.array.to_numpy())
    if not np.isfinite(corners).all():
        raise InvalidInput(
            "Some positions in {crs} have no longitude and latitude; check the coordinate system.",
            crs=str(stated.name if stated else declared)[:60],
            field="file_crs",
        )
    if stated is not None and declared:
        other = table.set_crs(declared, allow_override=True).to_crs(4326).geometry
        if not np.allclose(shapely.get_coordinates(other), corners, rtol=0, atol=SAME_DEGREES):
            raise InvalidInput(
                "The file says that it is in {stated}, which is not {declared}; leave this out.",
                stated=repr(str(stated.name)[:60]),
                declared=declared,
                field="file_crs",
            )
    repair = _single if choices.kind == LayerKind.PLACES else _valid
    return in_degrees.set_geometry(repair(in_degrees.geometry.array.to_numpy().copy()), crs=4326)


def _coordinate_system(table: GeoDataFrame) -> Any:
    """Return the coordinate system that a file states.

    Returns None if it states none, an undefined one, or one that is not for positions on Earth.
    """
    system = table.crs
    flat = system is not None and (system.is_projected or system.is_geographic)
    return system if flat and not system.name.lower().startswith("undefined") else None


def _single(shapes: Any) -> Any:
    """Convert multipoints that have a single point to points."""
    lone = (shapely.get_type_id(shapes) == MULTIPOINT) & (shapely.get_num_geometries(shapes) == 1)
    shapes[lone] = shapely.get_geometry(shapes[lone], 0)
    return shapes


def _valid(shapes: Any) -> Any:
    """Make polygons valid, and cut those that cross the 180th meridian."""
    west, _, east, _ = shapely.bounds(shapes).T
    for index in np.flatnonzero(east - west > 180):
        parts = shapely.get_parts(shapes[index])
        polygons = [each for each in parts if each.geom_type == "Polygon"]
        shapes[index] = shapely.union_all([cut for each in polygons for cut in cut_at_180(each)])
    broken = ~shapely.is_valid(shapes) & ~shapely.is_missing(shapes)
    shapes[broken] = shapely.make_valid(shapes[broken], method="structure", keep_collapsed=False)
    return shapes


def _in_reach(table: GeoDataFrame, choices: LayerChoices) -> GeoDataFrame:
    """Return the features; of a worldwide file, only those that intersect the study area's bounds.

    A file counts as worldwide if it has more features or vertices than a layer may have, or a
    feature nearer to a pole than maps reach, such as Antarctica.
    """
    shapes = table.geometry.array.to_numpy()
    few = len(table) <= MAX_ZONES and shapely.get_num_coordinates(shapes).sum() <= MAX_CORNERS
    if few and np.nanmax(np.abs(shapely.bounds(shapes)[:, 1::2]), initial=0) <= MAX_LATITUDE:
        return table
    table = table[shapely.intersects(shapes, shapely.box(*choices.bounds))]
    corners = int(shapely.get_num_coordinates(table.geometry.array.to_numpy()).sum())
    if len(table) > MAX_ZONES or corners > MAX_CORNERS:
        raise InvalidInput(
            "In the study area the file has {count:,} features with {corners:,} corners; give at "
            "most {most:,} with {most_corners:,}: simplify it, or use a grid.",
            count=len(table),
            corners=corners,
            most=MAX_ZONES,
            most_corners=MAX_CORNERS,
            field="file",
        )
    if not len(table):
        raise InvalidInput(
            "No feature touches the study area; check the file and its coordinate system.",
            field="file",
        )
    return table


def _geojson(table: GeoDataFrame, columns: Sequence[str], choices: LayerChoices) -> Iterator[str]:
    """Yield the text of a FeatureCollection."""
    levels = f'"levels": {json.dumps(choices.levels)}, ' if choices.levels else ""
    yield f'{{"type": "FeatureCollection", {levels}"features": ['
    values = [list(map(_plain, table[name].astype(object).tolist())) for name in columns]
    shapes = shapely.to_geojson(table.geometry.array.to_numpy())
    for number, shape in enumerate(shapes):
        properties = json.dumps(dict(zip(columns, (each[number] for each in values), strict=True)))
        comma = "," if number else ""
        yield f'{comma}\n{{"type": "Feature", "properties": {properties}, "geometry": '
        yield f"{shape or 'null'}}}"
    yield "]}\n"


def _plain(value: Any) -> Any:
    """Return a table's value as a JSON value.

    A whole float becomes an integer, so that the key of a zone is 7 and not 7.0.
    """
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and isfinite(value):
        return int(value) if value.is_integer() else value
    is_text = isinstance(value, Decimal | date | time) and str(value) != "NaT"
    return str(value) if is_text else None
