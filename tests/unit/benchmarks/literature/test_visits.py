"""Fan and Jin's bounding of visits, and errors of sums over a part of one DPCube partition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest

from benchmarks.literature.comparisons import inside
from benchmarks.literature.visits import Visits, read


def visits_of(*rows: tuple[int, int, int]) -> Visits:
    person, place, day = np.array(rows, dtype=np.int64).T
    return Visits(person, place, day, places=5)


def test_at_most_l_visits_of_a_person_are_kept_and_all_of_those_with_fewer() -> None:
    visits = visits_of(*((0, each % 5, 0) for each in range(9)), (1, 4, 3))
    kept = visits.bounded(3, np.random.default_rng(1))
    assert np.bincount(kept.person).tolist() == [3, 1]
    assert (visits.largest(), kept.largest()) == (9, 3)


def test_the_visits_to_the_most_popular_places_are_kept() -> None:
    visits = visits_of((0, 0, 1), (0, 2, 2), (0, 3, 4), (1, 1, 6))
    kept = visits.bounded(2, np.random.default_rng(1), np.array([1.0, 0.0, 5.0, 4.0, 9.0]))
    assert kept.of_places().tolist() == [0, 1, 1, 1, 0]
    assert kept.of_edges().reshape(5, 7)[2].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert kept.of_days()[[2, 4, 6]] == pytest.approx(1 / 3)


def test_another_person_changes_nobodys_kept_visits() -> None:
    """Adding another person does not change which visits anybody keeps.

    How a person's visits rank by popularity does not depend on other people's visits; ties are
    broken at random.
    """
    visits = visits_of((0, 0, 1), (0, 2, 2), (0, 3, 4))
    more = visits_of((0, 0, 1), (0, 2, 2), (0, 3, 4), (1, 0, 0), (1, 0, 0))
    known = np.array([1.0, 0.0, 5.0, 4.0, 9.0])
    first, second = (each.bounded(2, np.random.default_rng(1), known) for each in (visits, more))
    assert first.place.tolist() == second.place[second.person == 0].tolist() == [2, 3]


def test_days_of_a_file_count_from_sunday_and_places_are_its_venues(tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"
    minutes = [0, 1_439, 1_440, 7 * 1_440]
    pandas.DataFrame({"user": [7, 7, 9, 9], "poi": [3, 8, 3, 3], "minute": minutes}).to_parquet(
        file
    )
    visits = read(file)
    assert visits.day.tolist() == [0, 0, 1, 0]
    assert (visits.place.tolist(), visits.places) == ([0, 1, 0, 0], 2)


def test_the_bound_of_equation_33_is_reached_by_no_smooth_data() -> None:
    query = inside.Query()
    assert inside.smooth_bound(query, 0.2) == pytest.approx(5 * 5 + 5 / 11 / 0.15)
    assert inside.worst_smooth(query, 1e9) == pytest.approx(5 * 6 / 11 * 5)
    random = np.random.default_rng(1)
    for _ in range(100):
        cells = random.random(11) * query.smooth
        away = abs(cells[:5].sum() - 5 / 11 * cells.sum())
        assert away <= inside.worst_smooth(query, 1e9) < inside.smooth_bound(query, 1e9)


def test_a_query_for_the_whole_partition_has_the_noise_of_its_count() -> None:
    whole = inside.Query(size=11)
    assert inside.smooth_bound(whole, 0.2) == pytest.approx(1 / 0.15)
    assert inside.worst_smooth(whole, 0.2) == pytest.approx(1 / 0.15)


@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_are_those_of_the_query_matrix(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise changes the least-squares answer as the pseudo-inverse of the query matrix says.

    In turn, one measurement has a noise of 1, and all others have none.
    """
    query, epsilon = inside.Query(size=3, cells=7), 1.0
    first, second = query.rates(epsilon)
    matrix = np.vstack([np.ones(7), np.eye(7)])
    weights = np.diag([second, *[first] * 7]) if weighted else np.eye(8)
    answer = np.array([1.0] * 3 + [0.0] * 4) @ np.linalg.pinv(weights @ matrix) @ weights
    # In turn, the noise of the partition's count, of a cell inside the query, and of a cell outside
    # it is 1, and all other noise is 0.
    # The mechanism draws noise for cells inside, then outside, then for the partition.
    for place, noise in ((0, (0, 0, 1)), (1, (1, 0, 0)), (-1, (0, 1, 0))):
        draws = [np.array([float(each)]) for each in noise]
        monkeypatch.setattr(inside, "_noise", lambda *_, draws=draws: draws.pop(0))
        found = inside.least_squares(query, epsilon, np.random.default_rng(0), weighted=weighted)
        assert found == pytest.approx(abs(answer[place]))
