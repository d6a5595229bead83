"""Trips between public regions, derived from the rows of the canonical file.

Privacy argument. A trip is a function of one row (its position and its destination), or of two rows
of one person that follow each other in time: rows are ordered by time, then position, then the
category that divides the map, among the person's own rows alone. Rows that are equal in all of
these are at the same place at the same time with the same value, so their order changes no trip. A
trip's slice follows from the time and the value of the row in which it begins. Removing a person
therefore removes that person's trips and changes nobody else's. Which of a person's trips are kept
is decided as in `duckdb_view`, by a keyed hash of the trip, or of the pair of regions if people are
counted, with the person: a function of the person's own rows. So the counts of all pairs have the
L1 sensitivity `bound`. If records are the privacy unit, a trip is one row with its destination,
which adds 1 to at most one pair.

Zones that overlap by slivers share some positions; such a position is assigned to the first zone
that contains it, regardless of other rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.trips import SECONDS_AN_HOUR, TripPairs
from dpgeo.engine.canonical_file import Parameters, as_pattern
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Locator, Zones

PAIRS = 500_000
"""Maximum number of pairs of a position and a nearby zone in memory."""

_CHOSEN = "person_high BETWEEN $first_person::UBIGINT AND $last_person::UBIGINT"

# The float64 operations are those of `Grid.locate`, in the same order, so that SQL and Python give
# the same cell.
_CELL = """CASE WHEN {x} < 'infinity'::DOUBLE
        AND floor(({x} - $west) / $cell) BETWEEN 0 AND $columns - 1
        AND floor(($north - {y}) / $cell) BETWEEN 0 AND $rows - 1
    THEN CAST(floor(($north - {y}) / $cell) * $columns + floor(({x} - $west) / $cell) AS UBIGINT)
    END"""

_ROWS = """
WITH rows_placed AS (
    SELECT person_high, person_low, x, y, time, {code} AS code, {place} AS place, {ends}
    FROM read_parquet($path) WHERE {chosen}
)"""

_FROM_ROWS = """, trips AS (
    SELECT *, destination_x AS to_x, destination_y AS to_y, 0::BIGINT AS to_time FROM rows_placed
)"""

_FOLLOWING = """, trips AS (
    SELECT person_high, person_low, x, y, time, code, place,
        lead(place) OVER own AS destination,
        lead(x) OVER own AS to_x, lead(y) OVER own AS to_y, lead(time) OVER own AS to_time
    FROM rows_placed WHERE time IS NOT NULL
    WINDOW own AS (PARTITION BY person_high, person_low ORDER BY time, x, y, code)
    QUALIFY to_time - time <= $gap
)"""

_TIMED = """, timed AS (
    SELECT *, timezone($time_zone, make_timestamptz(time * 1000000)) AS local
    FROM trips WHERE time IS NOT NULL
)"""

_SLICE = """$slices[
        1 + 24 * (extract(isodow FROM local) - 1) + extract(hour FROM local)]::UBIGINT"""

_CODE = "$times::UBIGINT * code::UBIGINT"

_INSIDE = """, rows_inside AS (
    SELECT person_high, person_low, x, y, time, to_x, to_y, to_time,
        ({slice} * $regions::UBIGINT + place) * $regions::UBIGINT + destination AS cell
    FROM {trips} WHERE place IS NOT NULL AND destination IS NOT NULL {apart}
)"""

TRIPS = """, items AS (
    SELECT person_high, person_low, cell,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT,
            person_high, person_low, x, y, time, to_x, to_y, to_time, cell)) AS word
    FROM rows_inside
)"""
"""SQL for the items to be sampled if visits are counted: every trip is one item."""


def located(
    pairs: TripPairs, path: Path, folder: Path, *, category: str | None
) -> tuple[str, Parameters]:
    """Return SQL that lists the trips as a table `rows_inside`, and the SQL's parameters.

    The column "cell" is the index of the trip's pair of regions in `pairs`. The parameters that
    select the people of one pass over the file (`duckdb_view.people_of`) are not included. `folder`
    is a temporary folder. `category` is the column with the codes of the category by which trips
    are divided, or None.
    """
    parameters: Parameters = {"regions": pairs.size_of_regions}
    by_row = not pairs.gap_hours
    if isinstance(pairs.regions, Zones):
        placed = folder / "placed.parquet"
        write_placed(path, placed, pairs.regions, destinations=by_row)
        path, place, end = placed, "place", "destination"
    else:
        parameters |= _frame(pairs.regions)
        place, end = (_CELL.format(x=x, y=y) for x, y in _AXES)
    ends = f"{end} AS destination, destination_x, destination_y" if by_row else "NULL AS none"
    code = "NULL" if category is None else category
    query = _ROWS.format(place=place, ends=ends, code=code, chosen=_CHOSEN)
    query += _FROM_ROWS if by_row else _FOLLOWING
    if not by_row:
        parameters["gap"] = pairs.gap_hours * SECONDS_AN_HOUR
    slices, times = pairs.slices, pairs.slices.times if pairs.slices else None
    number = _SLICE if times else "0::UBIGINT"
    if slices and times:
        query += _TIMED
        parameters |= {"time_zone": slices.time_zone, "slices": list(times.of_hour)}
    if category is not None:
        number = f"({_CODE} + {number})"
        parameters["times"] = len(times) if times else 1
    query += _INSIDE.format(
        slice=number,
        trips="timed" if times else "trips",
        apart="" if pairs.within else "AND place <> destination",
    )
    return query, {"path": as_pattern(path), **parameters}


_AXES = (("x", "y"), ("destination_x", "destination_y"))


def _frame(grid: Grid) -> Parameters:
    return {
        "west": grid.west,
        "north": grid.north,
        "cell": grid.cell,
        "columns": grid.columns,
        "rows": grid.rows,
    }


def write_placed(
    source: Path, target: Path, zones: Zones, *, destinations: bool, pairs: int = PAIRS
) -> None:
    """Write the rows of `source` to `target`, with the zone of each position in a column "place".

    If `destinations` is true, a column "destination" holds the zone in which the row's trip ends.
    Both columns are null outside all zones. Rows are read in chunks of at most
    `pairs` pairs of a position and a zone, a number that does not depend on the rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    locator = zones.locator()
    names = {"place": _AXES[0], **({"destination": _AXES[1]} if destinations else {})}
    with pq.ParquetFile(source) as file:
        added = [pa.field(name, pa.uint64()) for name in names]
        schema = pa.schema([*file.schema_arrow, *added])
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for batch in file.iter_batches(batch_size=max(1, pairs // locator.most_near)):
                zone = [_zones_of(batch[x], batch[y], locator) for x, y in names.values()]
                placed = [
                    pa.array(np.maximum(each, 0), pa.uint64(), mask=each < 0) for each in zone
                ]
                writer.write_batch(pa.record_batch([*batch.columns, *placed], schema=schema))


def _zones_of(x: object, y: object, locator: Locator) -> NDArray[np.int64]:
    """Return the index (n,) of the first zone that contains each position, -1 for none."""
    known = np.flatnonzero(x.is_valid().to_numpy(zero_copy_only=False))  # type: ignore[attr-defined]
    there = [each.take(known).to_numpy(zero_copy_only=False) for each in (x, y)]  # type: ignore[attr-defined]
    row, zone = locator.locate_projected(*there)
    found = np.full(len(known), np.iinfo(np.int64).max)
    np.minimum.at(found, row, zone)
    zones = np.full(len(x), -1, dtype=np.int64)  # type: ignore[arg-type]
    zones[known] = np.where(found < np.iinfo(np.int64).max, found, -1)
    return zones
