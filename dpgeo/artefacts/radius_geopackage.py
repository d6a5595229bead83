"""GeoPackage files of radius maps: tables of bands, lines and the area out of reach."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import shapely

from dpgeo.artefacts.geopackage import GEOMETRY, NO_TIME, add_styles
from dpgeo.artefacts.radius_style import BANDS, LINES, OUT_OF_REACH, radius_styles
from dpgeo.postprocess.tasks.radius_map import RadiusMap

MEDIA_TYPE = "application/geopackage+sqlite3"

NAME = "radius.gpkg"


def radius_geopackage(drawn: RadiusMap, facts: Mapping[str, Any]) -> bytes:
    """Return a radius map as a file in EPSG:4326; `facts` describe each table, as JSON.

    Tables without a feature are left out; QGIS opens the others in the colours of the planner's
    map. The same map gives the same bytes.
    """
    styles = radius_styles(drawn)
    with tempfile.TemporaryDirectory(prefix="dpgeo-radius-") as folder:
        path = Path(folder, NAME)
        tables = [table for table in _tables(drawn) if table[-1]]
        for name, title, kind, columns, shapes in tables:
            _add_table(path, name, title, kind, columns, shapes, facts)
        add_styles(path, [styles[name] for name, *_ in tables])
        return path.read_bytes()


def _tables(
    drawn: RadiusMap,
) -> list[tuple[str, str, str, dict[str, list[float]], list[Any]]]:
    """Return the name, title, geometry type, columns and shapes of each table of a radius map."""
    rest = [] if drawn.out_of_reach.is_empty else [drawn.out_of_reach]
    return [
        (
            BANDS,
            "Notification radius, bands in metres",
            "MultiPolygon",
            {
                "from_metres": [band.from_metres for band in drawn.bands],
                "to_metres": [band.to_metres for band in drawn.bands],
            },
            [band.shape for band in drawn.bands],
        ),
        (
            LINES,
            "Notification radius, lines in metres",
            "MultiLineString",
            {"metres": [line.metres for line in drawn.lines]},
            [line.shape for line in drawn.lines],
        ),
        (OUT_OF_REACH, "Out of reach", "MultiPolygon", {}, rest),
    ]


def _add_table(
    path: Path,
    name: str,
    title: str,
    kind: str,
    columns: Mapping[str, Sequence[float]],
    shapes: Sequence[Any],
    facts: Mapping[str, Any],
) -> None:
    import pyarrow as pa
    import pyogrio

    table = pa.table({**columns, "geometry": pa.array([*shapely.to_wkb(shapes)], pa.binary())})
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": NO_TIME})
    try:
        pyogrio.write_arrow(
            table,
            path,
            driver="GPKG",
            layer=name,
            append=path.exists(),
            geometry_name="geometry",
            geometry_type=kind,
            crs="EPSG:4326",
            layer_options={
                "GEOMETRY_NAME": GEOMETRY,
                "IDENTIFIER": title,
                "DESCRIPTION": json.dumps(facts, sort_keys=True),
            },
        )
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": None})
