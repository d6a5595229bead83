"""Trips drawn from a model: they end where they should, along paths that the model allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgeo.core.released import TripsRelease
from dpgeo.postprocess.made_up_trips import made_up_trips
from dpgeo.postprocess.trip_model import TripModel, draw_ways, make_ways, trip_model_of_content
from dpgeo.spatial.area import StudyArea
from tests.unit.artefacts.releases import TRIANGLE, trips_release

SQUARE = StudyArea.from_bounds(0, 0, 0.1, 0.1)


def content_of(area: StudyArea = TRIANGLE, cells: int = 4) -> TripsRelease:
    content = trips_release(cells, area=area).content
    assert isinstance(content, TripsRelease)
    return content


def bits(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def line(**facts: object) -> TripModel:
    """Return a model of three cells in a row; a quarter of the moves from the middle cell lead
    back.
    """
    to = np.full((3, 8), -1)
    to[0, 2], to[1, 2], to[1, 6], to[2, 6] = 1, 2, 0, 1
    chances = np.zeros((3, 8))
    chances[0, 2], chances[1, 2], chances[1, 6], chances[2, 6] = 1, 0.75, 0.25, 1
    ends = np.zeros((3, 3))
    ends[0, 2] = 1
    model = TripModel(
        total=1.0,
        ends=ends,
        chances=chances,
        to=to,
        lengths=np.array([0, 1.0, 0, 1]),
        moving_on=np.array([2.0, 2, 0]),
    )
    return replace(model, **facts)  # type: ignore[arg-type]


def test_trips_are_chosen_so_that_cells_are_left_as_the_moves_say() -> None:
    """`make_ways` chooses trips so that moves out of a cell are about as frequent as measured.

    Here no move out of cell 2 was measured; only the path 0-1-2-1-2 has one. `draw_ways` alone
    takes this path for three eighths of the trips. The random bits are fixed.
    """
    drawn, made = draw_ways(line(), 4_000, bits(4)), make_ways(line(), 4_000, bits(4))

    def share_back(cells: list[int]) -> float:
        return cells.count(2) / 4_000 - 1

    assert len(made) == len(drawn) == 4_000
    assert share_back(drawn.cell.tolist()) == pytest.approx(0.375, abs=0.04)
    assert share_back(made.cell.tolist()) < 0.2
    assert set(made.cell[made.start[:-1]].tolist()) == {0}
    assert set(made.cell[made.start[1:] - 1].tolist()) == {2}
    assert len(make_ways(line(), 0, bits(4))) == 0


def test_pairs_and_moves_that_stand_out_keep_their_counts() -> None:
    content = content_of(SQUARE)
    model = trip_model_of_content(content, SQUARE)
    big = content.ends == 90
    assert np.allclose(model.ends[big], 90)
    assert model.ends[~big].max() < 10
    assert np.allclose(model.ends.sum(), max(model.total, 90 * big.sum()))
    inner = model.to[:, 2] >= 0
    assert model.chances[inner, 2].min() > 0.9
    assert np.allclose(model.chances.sum(axis=1), 1)


def test_trips_stay_in_the_study_area_and_move_to_neighbours() -> None:
    content = content_of()
    trips = made_up_trips(content, TRIANGLE, 400)
    assert len(trips) == 400
    assert TRIANGLE.covers(trips.longitude, trips.latitude).all()
    ways = draw_ways(trip_model_of_content(content, TRIANGLE), 400, bits(3))
    row, column = np.divmod(ways.cell, content.grid.columns)
    within = np.ones(ways.cell.size - 1, dtype=bool)
    within[ways.start[1:-1] - 1] = False
    step = np.maximum(np.abs(np.diff(row)), np.abs(np.diff(column)))[within]
    assert set(step.tolist()) == {1}


def test_the_same_tables_give_the_same_trips_and_others_give_others() -> None:
    content = content_of()
    one, same = (made_up_trips(content, TRIANGLE, 50) for _ in range(2))
    assert np.array_equal(one.longitude, same.longitude)
    ends = content.ends.copy()
    ends[np.nonzero(ends)[0][0], np.nonzero(ends)[1][0]] += 1
    other = made_up_trips(replace(content, ends=ends), TRIANGLE, 50)
    assert not np.array_equal(one.longitude[:20], other.longitude[:20])
