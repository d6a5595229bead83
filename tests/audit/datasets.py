"""Pairs of neighbouring datasets, uploaded as files and counted by the production engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.privacy.bounding import POPULAR_CELLS
from dpgeo.spatial.grid import Grid
from tests.statistical.audit import Counted, Difference
from tests.statistical.test_empirical_epsilon import (
    AREA,
    BOUND,
    HALF,
    SIDE,
    SIDES,
    SPOTS,
    TEN_CELLS,
    TILES,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

EDGE = 0.1
"""The study area's side in degrees."""

DOMAIN = Domain(
    AREA,
    {"tiles": TILES, "spots": SPOTS},
    "UTC",
    measures=(HALF,),
    categories=(SIDES,),
    destinations=True,
)
SCHEMA = Schema(
    Columns(
        longitude="lon",
        latitude="lat",
        person="person",
        time="time",
        destination_longitude="to_lon",
        destination_latitude="to_lat",
    ),
    Unit.PERSON,
    AREA,
    measures=(HALF,),
    categories=(SIDES,),
)
ADDED = 1000
"""Smallest person number of an added person.

In the measured column, an added person's rows have the largest value, 1, and other people's 0.5.
"""

KEY = bytes(range(32))
SALT = bytes(range(16))

CELL = 6
"""Index of the grid cell with the added person's ten records, in pairs that name no other."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring datasets: everybody else's records, and those of the added person."""

    name: str
    others: Callable[[], tuple[Floats, Floats, Ints]]
    """Returns the records of everybody but the added person: longitudes and latitudes in degrees,
    and the number of each record's person.
    """
    added: Callable[[], tuple[Floats, Floats]]


def _centres(cells: Ints) -> tuple[Floats, Floats]:
    row, column = np.divmod(cells, SIDE)
    return EDGE * (column + 0.5) / SIDE, EDGE * (SIDE - row - 0.5) / SIDE


def _nobody() -> tuple[Floats, Floats, Ints]:
    return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)


def _crowd() -> tuple[Floats, Floats, Ints]:
    cells = np.random.default_rng(3).integers(0, SIDE**2, 60)
    return *_centres(cells), np.arange(cells.size) // 3


def _full(people: int) -> tuple[Floats, Floats, Ints]:
    """Return one record for each of `people` persons, in the cell that the added person visits."""
    return *_centres(np.full(people, CELL)), np.arange(people)


def _one_cell() -> tuple[Floats, Floats]:
    return _centres(np.full(BOUND, CELL))


def _ten_cells() -> tuple[Floats, Floats]:
    return _centres(TEN_CELLS)


def _corner() -> tuple[Floats, Floats]:
    """Return ten records exactly on a corner of the study area."""
    return np.full(BOUND, EDGE), np.full(BOUND, EDGE)


def _between_cells() -> tuple[Floats, Floats]:
    """Return ten records on the point where four cells meet, as nearly as degrees allow."""
    return np.full(BOUND, EDGE / 2), np.full(BOUND, EDGE / 2)


def _nowhere() -> tuple[Floats, Floats]:
    return np.zeros(0), np.zeros(0)


PAIRS = (
    Pair("alone, ten records in a cell", _nobody, _one_cell),
    Pair("alone, ten cells", _nobody, _ten_cells),
    Pair("alone, on the study area's corner", _nobody, _corner),
    Pair("among twenty, ten records in a cell", _crowd, _one_cell),
    Pair("among twenty, ten cells", _crowd, _ten_cells),
    Pair("among twenty, where four cells meet", _crowd, _between_cells),
    Pair("beside 15 in the cell, near where trees split", partial(_full, 15), _one_cell),
    Pair("beside 35 in the cell, near where trees split", partial(_full, 35), _one_cell),
    Pair("beside 400 in the cell", partial(_full, 400), _corner),
)
"""Pairs of datasets, among which to search for the pair whose releases reveal most."""

TORN = Pair("two places that are as popular but for the person", _nobody, _nowhere)
"""Placeholder in lists of pairs, for the two datasets that the function `torn` makes."""


def uploaded(folder: Path, name: str, longitude: Floats, latitude: Floats, persons: Ints) -> Path:
    """Write records to a CSV file, ingest it, and return the path of the canonical file.

    Each record is also a trip to the next cell.
    """
    column = np.floor(longitude / EDGE * SIDE).astype(np.int64)
    row = np.floor((EDGE - latitude) / EDGE * SIDE).astype(np.int64)
    cell = row.clip(0, SIDE - 1) * SIDE + column.clip(0, SIDE - 1)
    to_longitude, to_latitude = _centres((cell + 1) % SIDE**2)
    lines = [
        f"{person},{lon!r},{lat!r},2026-01-05T{9 + 3 * (hour % 4):02d}:00:00Z,"
        f"{1.0 if person >= ADDED else 0.5},{'left' if hour < SIDE // 2 else 'right'},"
        f"{to_lon!r},{to_lat!r}"
        for person, lon, lat, hour, to_lon, to_lat in zip(
            *(each.tolist() for each in (persons, longitude, latitude, column)),
            to_longitude.tolist(),
            to_latitude.tolist(),
            strict=True,
        )
    ]
    source = folder / f"{name}.csv"
    source.write_text("\n".join(["person,lon,lat,time,half,side,to_lon,to_lat", *lines, ""]))
    target = folder / f"{name}.parquet"
    report = ingest(source, source.name, SCHEMA, KEY, target, lambda done, total: None)
    assert report.accepted == len(lines), report
    return target


def view_of(
    path: Path,
    *,
    bound: int = BOUND,
    salt: bytes = SALT,
    counting: Counting = Counting.VISITS,
) -> DuckDBView:
    """Return the engine's view of a canonical file."""
    return DuckDBView(
        path,
        domain=DOMAIN,
        unit=Unit.PERSON,
        counting=counting,
        bound=bound,
        salt=salt,
        threads=1,
    )


def neighbours(
    pair: Pair, folder: Path, *, counting: Counting = Counting.VISITS, bound: int = BOUND
) -> tuple[Counted, Counted, Difference]:
    """Return the pair's two files as mechanisms read them, without and with the added person.

    The third value says in which counts the two differ, and by how much."""
    longitude, latitude, persons = pair.others()
    east, north = pair.added()
    without = uploaded(folder, "without", longitude, latitude, persons)
    with_person = uploaded(
        folder,
        "with",
        np.concatenate([longitude, east]),
        np.concatenate([latitude, north]),
        np.concatenate([persons, np.full(east.size, 1_000_000)]),
    )
    files = without, with_person
    views = [Counted(view_of(path, counting=counting, bound=bound)) for path in files]
    known, after = (view.histogram(Grid.over(AREA, SIDE))._read_by_meter() for view in views)
    return views[0], views[1], Difference(np.flatnonzero((after - known).ravel()), known)


def torn(folder: Path) -> tuple[Counted, Counted, Difference]:
    """Return two datasets that differ in one person, who breaks a tie between two places.

    Each of twenty people has two places, only one of which is kept. Both places are equally popular
    in the pilot measurement until one more person is added. If that measurement had no noise,
    everybody's choice would reveal the added person.
    """
    places = np.tile([6, 9], 20)
    persons = np.arange(places.size) // 2
    cells = np.concatenate([places, [9, 9]])
    without = uploaded(folder, "without", *_centres(places), persons)
    with_person = uploaded(folder, "with", *_centres(cells), np.append(persons, [1000, 1000]))
    regions = Grid.over(AREA, POPULAR_CELLS)
    for number in range(200):
        salt = number.to_bytes(16, "big")
        views = [Counted(view_of(each, bound=1, salt=salt)) for each in (without, with_person)]
        popular = views[0].popularity(regions)._read_by_meter()
        if popular[popular > 0].tolist() == [10, 10]:
            known = views[0].histogram(Grid.over(AREA, SIDE))._read_by_meter()
            return *views, Difference(np.array([6, 9]), known)  # type: ignore[return-value]
    raise AssertionError("No salt makes both places as popular.")
