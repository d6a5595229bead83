"""Files of statistics offices and GIS as public layers, read by geopandas in the sandbox.

Zipped shapefiles, GeoPackage, FlatGeobuf and GeoParquet in any coordinate system become GeoJSON in
degrees, from which the constructors of zones, places and densities read a layer. A file's first
bytes decide its format, whatever its name says. Uploads of private rows are never read here: GDAL
reads only public geometry.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any, Self

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import sandbox
from dpgeo.ingest.crs import Bounds, check_crs, clean_crs
from dpgeo.ingest.decompress import EMPTY_ZIP, GZIP, ZIP

SQLITE, PARQUET, FLATGEOBUF = b"SQLite format 3\x00", b"PAR1", b"fgb\x03fgb"
STARTS = (SQLITE, PARQUET, FLATGEOBUF, GZIP, ZIP, EMPTY_ZIP)
"""First bytes of layer files in binary formats (such as GeoPackage), and of packed files."""

RESULT = "layer.geojson"
"""Name of the file that the sandbox's worker writes, the layer as GeoJSON."""

MAX_RESULT = 64 << 20
"""Largest such file in bytes. Parsed, it takes up to twenty times as much memory here."""

MAX_WAIT = 300
"""Seconds after which reading is given up because the machine is too busy. `sandbox_worker` limits
the processor time.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerChoices:
    """What a publisher declares about a layer's file; empty values are guessed.

    `kind` is a `LayerKind`; `key` and `name` are columns; `levels` are the columns that name the
    units to which a place belongs, such as country and city; `layer` is the layer of a GeoPackage,
    and `crs` the code of the coordinate system of a file that states none. `bounds` are the study
    area's.
    """

    kind: str
    bounds: Bounds
    key: str = ""
    name: str = ""
    levels: tuple[str, ...] = ()
    layer: str = ""
    crs: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return these choices for a layer's file as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return a publisher's choices for a layer's file from JSON written by `to_json`."""
        west, south, east, north = document["bounds"]
        levels = tuple(document["levels"])
        return cls(**{**document, "bounds": (west, south, east, north), "levels": levels})


def is_layer_file(head: bytes) -> bool:
    """Return whether this module reads files with these first bytes; all other files are text."""
    return head.startswith(STARTS)


def read_layer_file(path: Path, choices: LayerChoices, folder: Path) -> dict[str, Any]:
    """Read a file as a FeatureCollection in degrees; the sandbox writes to the empty `folder`.

    Raises InvalidInput, which names the field at fault, or Conflict if the machine is busy.
    """
    if choices.crs:
        try:
            check_crs(clean_crs(choices.crs), choices.bounds)
        except InvalidInput as refusal:
            raise InvalidInput(refusal.phrase, field="file_crs") from None
    request = {"source": str(path.absolute()), "choices": choices.to_json()}
    sandbox.run(
        "layer", request, folder, lambda done, total: None, str, silence=inf, limit=MAX_WAIT
    )
    result = folder / RESULT
    if result.stat().st_size > MAX_RESULT:
        raise InvalidInput(
            "As GeoJSON, the layer takes more than {most} MiB; simplify the outlines, and leave "
            "out columns of text.",
            most=MAX_RESULT >> 20,
            field="file",
        )
    document = sandbox.understand(json.loads, result.read_bytes())
    if not isinstance(document, dict):
        raise RuntimeError("The worker wrote what it may not.")
    return document
