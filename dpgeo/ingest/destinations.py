"""Destinations: where the trip of a row ends, if the file has columns that say so.

No row is refused for its destination. A destination that is missing, unreadable or outside the
study area becomes null: the row is then no trip, but still counts on every map of positions. How a
destination is read depends on its own row and the declaration alone (see `ingest.canonical`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpgeo.ingest.batch import Batch, Sieve
from dpgeo.ingest.coordinates import EASTING, LATITUDE, LONGITUDE, NORTHING, numbers, project
from dpgeo.ingest.crs import has_limits
from dpgeo.ingest.declared_formats import PAIRS
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Role, Schema
from dpgeo.spatial.projection import to_mercator

DESTINATION_FIELDS = tuple(
    pa.field(name, pa.float64()) for name in ("destination_x", "destination_y")
)


def destinations(batch: Batch, schema: Schema, kept: NDArray[np.bool_]) -> list[Any]:
    """Return x and y, float64 (m,) each, of the destinations of the rows marked in `kept`.

    They are in Web Mercator metres, and null for a row without a usable destination.
    """
    # Refusals go to a sieve and a tally that nobody reads: no row is left out for its destination.
    sieve = Sieve(batch.rows, Tally())
    crs, form = schema.columns.crs, schema.columns.position_format
    form = "" if form in PAIRS else form
    x_axis, y_axis = (LONGITUDE, LATITUDE) if has_limits(crs) else (EASTING, NORTHING)
    pair = (
        numbers(batch.fields[Role.DESTINATION_LONGITUDE], x_axis, sieve, form),
        numbers(batch.fields[Role.DESTINATION_LATITUDE], y_axis, sieve, form),
    )
    longitude, latitude = project(pair, crs, schema.area.bounds, sieve)
    inside = np.flatnonzero(sieve.kept)
    sieve.kept[inside] = schema.area.covers(longitude[inside], latitude[inside])
    trip = sieve.kept[kept]
    x, y = to_mercator(np.where(trip, longitude[kept], 0.0), np.where(trip, latitude[kept], 0.0))
    return [pa.array(each, mask=~trip) for each in (x, y)]
