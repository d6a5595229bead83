"""Canonical files with fictional rows, for tests of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

AREA = StudyArea.from_bounds(13.0, 52.0, 13.2, 52.1)

SPREAD = 0x9E3779B97F4A7C15

Row = tuple[int, float, float, int | None]
"""A row: person number, x and y in Web Mercator metres, and time in seconds since 1970."""


def write(path: Path, rows: Sequence[Row], *, person_high: int = 3) -> Path:
    """Write a canonical file with these rows; a row's person number is the low half of their hash.

    The high half is `person_high` plus a multiple of the low half. So people also differ in the
    high half, by which they are divided among several passes over the file.
    """
    highs = [(person_high + row[0] * SPREAD) % 2**64 for row in rows]
    table = pa.table(
        {
            "person_high": pa.array(highs, pa.uint64()),
            "person_low": pa.array([row[0] for row in rows], pa.uint64()),
            "x": pa.array([row[1] for row in rows], pa.float64()),
            "y": pa.array([row[2] for row in rows], pa.float64()),
            "time": pa.array([row[3] for row in rows], pa.int64()),
        }
    )
    pq.write_table(table, path, compression="zstd", row_group_size=1000)
    return path


def wanderers(random: np.random.Generator, people: int, rows: int) -> list[Row]:
    """Return rows of people at random places in AREA; some rows are exact duplicates."""
    west, south, east, north = AREA.mercator_bounds
    person = random.integers(0, people, rows)
    x = random.uniform(west, east, rows)
    y = random.uniform(south, north, rows)
    found: list[Row] = [
        (int(who), float(where), float(height), int(when) if when % 3 else None)
        for who, where, height, when in zip(
            person, x, y, random.integers(0, 10**9, rows), strict=True
        )
    ]
    return found + found[: rows // 10]


def centre(grid: Grid, row: int, column: int) -> tuple[float, float]:
    """Return the Web Mercator position of a cell's centre."""
    return grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell


def located(grid: Grid, rows: Sequence[Row]) -> NDArray[np.int64]:
    """Return the cell of each row, as found by `Grid.locate`."""
    return grid.locate([row[1] for row in rows], [row[2] for row in rows])
