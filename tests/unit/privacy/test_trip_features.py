"""Counts of the features of trips, on routes so short that they can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dpgeo.core.trip_paths import MAX_MOVES, UNITS
from dpgeo.privacy.trip_features import OrderedRows, PrivateTripFeatures, TripFeatures
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

GRID = Grid.over(StudyArea.from_bounds(0, 0, 0.1, 0.1), 5)
EAST, SOUTH_EAST, SOUTH, NORTH = 2, 3, 4, 0


def features(
    trips: list[tuple[int, list[int]]],
    *,
    bound: int | None = 10**6,
    distinct: bool = False,
    keys: list[int] | None = None,
) -> PrivateTripFeatures:
    """Return the tables counted from trips, given as pairs of a person and the cells visited."""
    counted = TripFeatures(GRID, bound, distinct=distinct)
    sizes = [len(cells) for _, cells in trips]
    chosen = list(range(len(trips))) if keys is None else keys
    counted.add(
        OrderedRows(
            unit=np.repeat([person for person, _ in trips], sizes).astype(np.int64),
            trip=np.repeat(np.arange(len(trips)), sizes),
            cell=np.array([cell for _, cells in trips for cell in cells], dtype=np.int64),
            key=np.repeat(chosen, sizes).astype(np.uint64),
        )
    )
    return counted.private()


def moves_of(private: PrivateTripFeatures) -> dict[tuple[int, int], int]:
    table = private.moves._read_by_meter().reshape(-1, 8)
    return {(int(i), int(j)): int(table[i, j]) for i, j in np.argwhere(table)}


def pairs_of(private: PrivateTripFeatures) -> dict[tuple[int, int], int]:
    table = private.ends._read_by_meter().reshape(GRID.size, -1)
    return {(int(i), int(j)): int(table[i, j]) for i, j in np.argwhere(table)}


def test_gaps_are_filled_diagonally_first_and_then_straight() -> None:
    # Row 0, column 0 to row 2, column 3: two moves to the south-east and one to the east.
    private = features([(0, [0, 13])])
    assert moves_of(private) == {(0, SOUTH_EAST): 20, (6, SOUTH_EAST): 20, (12, EAST): 20}
    assert pairs_of(private) == {(0, 13): 1}
    assert np.flatnonzero(private.lengths._read_by_meter()).tolist() == [2]


def test_every_trip_weighs_the_same_however_long() -> None:
    short, long = [0, 1], [0, 4, 24, 20, 0, 4, 24]
    for cells in (short, long):
        private = features([(0, cells)])
        assert private.moves._read_by_meter().sum() == UNITS
    # The long trip has 24 moves. It adds 60 units to the table of moves: 2 or 3 for each move, and
    # 2.5 on average.
    moves = features([(0, long)]).moves._read_by_meter()
    assert set(moves[moves > 0].tolist()) <= {2, 3, 4, 5, 6}


def test_a_trip_is_cut_off_and_ends_where_it_is_cut() -> None:
    there_and_back = [0, 4] * 20  # 39 times 4 moves
    private = features([(0, there_and_back)])
    assert np.flatnonzero(private.lengths._read_by_meter()).tolist() == [MAX_MOVES - 1]
    assert pairs_of(private) == {(0, 0): 1}
    assert private.moves._read_by_meter().sum() == UNITS


def test_trips_that_stay_in_a_square_are_none() -> None:
    private = features([(0, [7, 7, 7]), (1, [3])])
    assert not private.ends._read_by_meter().any()
    assert not private.moves._read_by_meter().any()


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_person_adds_at_most_what_the_sensitivities_say(bound: int) -> None:
    """Adding a person with trips of all kinds changes no table by more than its sensitivity."""
    others = [(0, [0, 1, 2]), (2, [24, 20]), (2, [5, 6])]
    own = [(1, [0, 24]), (1, [0, 1]), (1, [4, 20, 4]), (1, [7, 8])]
    without = features(others, bound=bound, keys=[3, 1, 2])
    everybody = [others[0], *own, *others[1:]]
    with_person = features(everybody, bound=bound, keys=[3, 9, 8, 7, 6, 1, 2])
    for name, most in (("ends", bound), ("moves", bound * UNITS), ("lengths", bound)):
        counts = [getattr(each, name) for each in (without, with_person)]
        change = np.abs(counts[1]._read_by_meter() - counts[0]._read_by_meter()).sum()
        assert counts[1].sensitivity == most
        assert change == most


def test_the_trips_with_the_smallest_keys_are_kept() -> None:
    private = features([(0, [0, 1]), (0, [5, 6]), (0, [10, 11])], bound=2, keys=[5, 9, 1])
    assert pairs_of(private) == {(0, 1): 1, (10, 11): 1}


def test_where_people_count_a_person_has_one_trip_for_each_pair() -> None:
    trips = [(0, [0, 1, 2]), (0, [0, 6, 2]), (0, [5, 6]), (1, [0, 1, 2])]
    private = features(trips, bound=3, distinct=True, keys=[7, 2, 9, 1])
    assert pairs_of(private) == {(0, 2): 2, (5, 6): 1}
    # Of the first person's two trips from 0 to 2, the one with the smaller random key counts: the
    # second, with key 2.
    assert moves_of(private)[6, 1] == 30
