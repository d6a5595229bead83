"""Layers of made-up trips: where trips lead, a sample of trips, and the measured tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.released import TripsRelease
from dpgeo.core.trip_paths import DIRECTION_NAMES, UNITS
from dpgeo.phrases import translatable
from dpgeo.postprocess.layers.features import MADE_UP_TRIPS, MOVES
from dpgeo.postprocess.layers.layer import (
    EXACT_NOISE,
    NO_MARGIN,
    Layer,
    PointLayer,
    ShapeLayer,
    same,
)
from dpgeo.postprocess.layers.registry import make_layers
from dpgeo.postprocess.layers.sparse import selected_margin
from dpgeo.postprocess.made_up_trips import made_up_trips
from dpgeo.postprocess.trip_model import MOVES_FACTOR
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import to_degrees

SAMPLE = 200
"""Largest number of made-up trips on the map."""

TRIPS_NAME, MOVES_NAME, ENDS_NAME, LENGTHS_NAME = "trips", "moves", "starts-ends", "lengths"

TRIPS_NOTE = (
    "Made up: nobody made these trips. They are drawn from the noisy tables of starts and ends, "
    "moves and numbers of moves, and each point lies anywhere in its square. What they show at any "
    "place is the tables' noise as well as the real trips."
)

MOVES_NOTE = (
    "Units of moves by square and direction, as drawn; each trip divided {units} units among its "
    "moves. Column margin_of_each is the exact 95 % quantile of the noise of each. direction "
    "(degrees clockwise from the north) and strength (trips) are the mean of the moves that stand "
    "out from the noise; strength is 0 where none does."
)

ENDS_NOTE = (
    "Only pairs whose noisy count reached {least:,} are listed: if nobody travelled at all, one "
    "false pair in all would be expected. The margin allows for that choice: at least 95 of 100 "
    "listed pairs are within it. Listed counts are on average a little too high."
)

LENGTHS_NOTE = (
    "Trips by their number of moves between squares; longer trips were cut off after the last. The "
    "margin is the exact 95 % quantile of the noise. All stand at one point of the study area."
)


@make_layers.register
def _trip_layers(content: TripsRelease, area: StudyArea) -> list[Layer]:
    return [_moves(content, area), _sample(content, area), _ends(content), _lengths(content, area)]


def _sample(content: TripsRelease, area: StudyArea) -> ShapeLayer:
    """Return the layer of at most SAMPLE made-up trips of a release, as lines."""
    trips = made_up_trips(content, area, SAMPLE)
    return ShapeLayer(
        name=TRIPS_NAME,
        title=translatable("A sample of made-up trips"),
        kind="inferred",
        shapes=trips.lines(),
        margin_label=NO_MARGIN,
        note=TRIPS_NOTE,
        opens=True,
        features=MADE_UP_TRIPS,
        columns={
            "trip": np.arange(1, len(trips) + 1),
            "moves": np.diff(trips.start) - 1,
            "made_up": np.ones(len(trips), dtype=np.bool_),
        },
    )


def _moves(content: TripsRelease, area: StudyArea) -> ShapeLayer:
    """Return the layer of squares with the number of moves that leave each, and their direction.

    The direction is the mean of the moves whose noisy numbers stand out from the noise.
    """
    grid, inside = content.grid, content.grid.inside(area)
    row, column = np.nonzero(inside)
    boxes = grid.box_bounds(np.column_stack([row, row + 1, column, column + 1]))
    moves = content.moves[np.flatnonzero(inside.ravel())]
    least = MOVES_FACTOR / float(content.move_noise.rate)
    trips = np.where(moves >= least, moves, 0) / UNITS
    turn = np.arange(8) * math.pi / 4
    north, east = trips @ np.cos(turn), trips @ np.sin(turn)
    columns: dict[str, NDArray[Any]] = {
        "row": row,
        "column": column,
        "direction": (np.degrees(np.arctan2(east, north)) % 360).round(1),
        "strength": np.hypot(north, east).round(3),
        "trips": trips.sum(axis=1).round(3),
        **{f"units_{name}": moves[:, each] for each, name in enumerate(DIRECTION_NAMES)},
        "margin_of_each": same(content.move_noise.margin(), len(moves)),
    }
    return ShapeLayer(
        name=MOVES_NAME,
        title=translatable("Where trips lead"),
        kind="inferred",
        shapes=shapely.orient_polygons(shapely.box(*boxes.T)),
        margin_label=NO_MARGIN,
        note=MOVES_NOTE.format(units=UNITS),
        features=MOVES,
        columns=columns,
    )


def _ends(content: TripsRelease) -> ShapeLayer:
    """Return the pairs of a start and an end that stand out, as lines between their squares."""
    grid, count = content.grid, content.ends.ravel()
    least = content.noise.threshold(1 / count.size)
    listed = np.flatnonzero(count >= least)
    start, end = np.divmod(listed, grid.size)
    places = [_middles(content, cell) for cell in (start, end)]
    lines = shapely.linestrings(np.stack(places, axis=1))
    return ShapeLayer(
        name=ENDS_NAME,
        title=translatable("Starts and ends"),
        kind="measured",
        shapes=lines,
        value=count[listed],
        margin=selected_margin(count[listed], least, content.noise),
        margin_label=EXACT_NOISE,
        note=ENDS_NOTE.format(least=least),
        threshold=same(float(least), listed.size),
        least_listed=least,
        on_map=False,
        features=MADE_UP_TRIPS,
        columns={
            "start_row": start // grid.columns,
            "start_column": start % grid.columns,
            "end_row": end // grid.columns,
            "end_column": end % grid.columns,
        },
    )


def _middles(content: TripsRelease, cell: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the positions (k, 2) in degrees of the middles of cells (k,)."""
    grid = content.grid
    row, column = np.divmod(cell, grid.columns)
    x, y = grid.west + (column + 0.5) * grid.cell, grid.north - (row + 0.5) * grid.cell
    return np.column_stack(to_degrees(x, y))


def _lengths(content: TripsRelease, area: StudyArea) -> PointLayer:
    size, noise = content.lengths.size, content.length_noise
    point = shapely.point_on_surface(area.shape)
    return PointLayer(
        name=LENGTHS_NAME,
        title=translatable("Numbers of moves"),
        kind="measured",
        value=content.lengths,
        margin=same(float(noise.margin()), size),
        margin_label=EXACT_NOISE,
        note=LENGTHS_NOTE,
        threshold=same(float(noise.threshold()), size),
        on_map=False,
        features=MADE_UP_TRIPS,
        columns={"moves": np.arange(1, size + 1)},
        longitude=np.full(size, point.x),
        latitude=np.full(size, point.y),
    )
