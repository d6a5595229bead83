"""The squared L2 sensitivity that a view claims holds for every person, and is reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.measures import Measure, measure_column
from dpgeo.core.slices import SlicedGrid, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.core.trips import TripPairs
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones
from tests.unit.engine.canonical import AREA, Row, centre, wanderers, write

GRID = Grid.over(AREA, 8)
SLICED = SlicedGrid(GRID, Slicing(TIME_SLICES["6 hours"], "UTC"))
ZONES = Zones(
    keys=("west", "east", "middle"),
    names=("West", "East", "Middle"),
    shapes=shapely.box([13.0, 13.1, 13.05], 52.0, [13.1, 13.2, 13.15], 52.1),
)
SPEED = Measure("speed", "Speed", "km/h", 0.0, 100.0)
DAY = 86_400
BOUND = 3

Private = PrivateCounts | PrivateShares

DOORS: dict[str, Callable[[DuckDBView], Private]] = {
    "cells": lambda view: view.histogram(GRID),
    "cells of slices": lambda view: view.sliced_histogram(SLICED),
    "sparse cells": lambda view: view.sparse_histogram(GRID).dense(),
    "zones that overlap": lambda view: view.zone_counts(ZONES),
    "trips": lambda view: view.trips(TripPairs(Grid.over(AREA, 3), gap_hours=1)).dense(),
    "shares": lambda view: view.value_shares(GRID, SPEED),
    "values": lambda view: view.value_histogram(GRID, SPEED, 5),
    "popularity": lambda view: view.popularity(GRID),
    "cells added up": lambda view: view.visits(GRID).group_counts(np.zeros(GRID.size, int), 1),
}


def rows_of_people() -> list[Row]:
    """Return rows of six people.

    Person 0 stays in a cell, 1 commutes between two cells, 2 visits five cells once, and the others
    are at random places.
    """
    here, there = centre(GRID, 1, 1), centre(GRID, 4, 5)
    rows: list[Row] = [(0, *here, number * 60) for number in range(9)]
    for day in range(5):
        rows += [(1, *here, day * DAY), (1, *there, day * DAY + 600)]
    tour = [(1, 1), (1, 6), (6, 6), (6, 1), (3, 3)]
    rows += [(2, *centre(GRID, *cell), number * 60) for number, cell in enumerate(tour)]
    return rows + [
        (who + 3, x, y, time) for who, x, y, time in wanderers(np.random.default_rng(7), 3, 30)
    ]


def values_of(path: Path, rows: list[Row], door: str, counting: Counting) -> tuple[Any, int]:
    """Return the values that a view's method gives, and the squared L2 sensitivity that it claims.

    `door` is a key of DOORS, whose value calls that method. Only tests may read the values.
    """
    table = pq.read_table(write(path, rows))
    speeds = [SPEED.steps] * len(rows)
    column = pa.array(speeds, pa.int32())
    pq.write_table(table.append_column(measure_column(0), column), path)
    view = DuckDBView(
        path,
        domain=Domain(AREA, {"zones": ZONES}, "UTC", measures=(SPEED,)),
        unit=Unit.PERSON,
        counting=counting,
        bound=BOUND,
        salt=bytes(16),
        threads=1,
    )
    counts = DOORS[door](view)
    return counts._read_by_meter(), counts.squared_sensitivity


@pytest.mark.parametrize("door", DOORS)
def test_no_person_changes_more_than_the_view_claims(tmp_path: Path, door: str) -> None:
    rows = rows_of_people()
    for counting in Counting:
        whole, claimed = values_of(tmp_path / "whole.parquet", rows, door, counting)
        squares = []
        for person in {row[0] for row in rows}:
            others = [row for row in rows if row[0] != person]
            without, _ = values_of(tmp_path / "without.parquet", others, door, counting)
            squares.append(int(((whole - without) ** 2).sum()))
        assert max(squares) <= claimed
        # If nobody reached the claimed sensitivity, the noise would be larger than needed.
        assert max(squares) == claimed


def test_people_claim_their_bound_and_visits_its_square(tmp_path: Path) -> None:
    rows = rows_of_people()
    claims = {
        (door, counting): values_of(tmp_path / "rows.parquet", rows, door, counting)[1]
        for door in DOORS
        for counting in Counting
    }
    steps = {"shares": SPEED.steps**2}
    for door in set(DOORS) - {"popularity", "cells added up"}:
        assert claims[door, Counting.PEOPLE] == BOUND * steps.get(door, 1)
        assert claims[door, Counting.VISITS] == BOUND**2 * steps.get(door, 1)
    for counting in Counting:
        assert claims["popularity", counting] == 1
        assert claims["cells added up", counting] == BOUND**2
