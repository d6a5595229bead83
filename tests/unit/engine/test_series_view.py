"""Periods of a series: each person has one allowance of contributions for all of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.slices import SlicedZones, Slicing
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.core.trips import TripPairs
from dpgeo.engine.duckdb_view import DuckDBView, Sampling
from dpgeo.engine.series_view import Allowances, SeriesView
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places
from tests.unit.engine.canonical import AREA, Row, wanderers, write

SALT = bytes(range(16))
GRID = Grid.over(AREA, 16)
BOTH = pytest.mark.parametrize("counting", list(Counting))
STOPS = NearPlaces(Places.of_cells(AREA, 6), 20_000)

Count = Callable[[SeriesView], PrivateCounts]

KINDS: dict[str, Count] = {
    "grid": lambda view: view.histogram(GRID),
    "sparse grid": lambda view: view.sparse_histogram(GRID).dense(),
    "places": lambda view: view.zone_counts(STOPS),
    "places by time": lambda view: view.sliced_histogram(
        SlicedZones(STOPS, Slicing(times=TIME_SLICES["6 hours"], time_zone="UTC"))
    ),
    "flows": lambda view: view.trips(TripPairs(Grid.over(AREA, 4), gap_hours=10**6)).dense(),
}
"""By kind of map, a function that counts the rows of one period in its regions."""

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def view_of(
    folder: Path,
    rows: Sequence[Row],
    name: str,
    *,
    each: int,
    bound: int,
    before: Path | None,
    erased: Sequence[bytes] = (),
    counting: Counting = Counting.PEOPLE,
    sampling: Sampling | None = None,
    salt: bytes = SALT,
) -> SeriesView:
    after = folder / f"{name}.used"

    def keep(path: Path) -> None:
        shutil.copy(path, after)

    return SeriesView(
        write(folder / f"{name}.parquet", list(rows)),
        allowances=Allowances(each=each, before=before, erased=erased, keep=keep),
        domain=Domain(AREA),
        unit=Unit.PERSON,
        counting=counting,
        bound=bound,
        salt=salt,
        threads=2,
        sampling=sampling,
    )


def used_in(path: Path) -> dict[tuple[int, int], int]:
    rows = pq.read_table(path).to_pylist()
    return {(row["person_high"], row["person_low"]): row["used"] for row in rows}


def run(
    folder: Path,
    periods: Sequence[Sequence[Row]],
    *,
    each: int,
    bound: int,
    name: str = "",
    kind: str = "grid",
    **more: Any,
) -> tuple[list[NDArray[np.int64]], list[dict[tuple[int, int], int]]]:
    """Count the periods in order; return, for each, the counts and what each person has used by
    then of the allowance.
    """
    before: Path | None = None
    counts, used = [], []
    for number, rows in enumerate(periods):
        label = f"{name}{number}"
        view = view_of(folder, rows, label, each=each, bound=bound, before=before, **more)
        private = KINDS[kind](view)
        assert private.sensitivity == bound
        counts.append(private._read_by_meter())
        before = folder / f"{label}.used"
        used.append(used_in(before))
    return counts, used


def weeks(number: int, people: int = 12, rows: int = 150) -> list[list[Row]]:
    random = np.random.default_rng(7)
    return [list(wanderers(random, people, rows)) for _ in range(number)]


@BOTH
def test_the_first_period_counts_as_a_map_of_its_own(tmp_path: Path, counting: Counting) -> None:
    [rows] = weeks(1)
    [counts], [used] = run(tmp_path, [rows], each=3, bound=20, counting=counting)
    alone = DuckDBView(
        write(tmp_path / "alone", rows),
        domain=Domain(AREA),
        unit=Unit.PERSON,
        counting=counting,
        bound=3,
        salt=SALT,
    ).histogram(GRID)
    np.testing.assert_array_equal(counts, alone._read_by_meter())
    assert sum(used.values()) == counts.sum()


@BOTH
@EVERY_KIND
@pytest.mark.parametrize(
    "sampling", [Sampling(heap=False, passes=1), Sampling(heap=True, passes=3)]
)
def test_a_person_adds_at_most_each_to_a_period_and_bound_to_all(
    tmp_path: Path, counting: Counting, kind: str, sampling: Sampling
) -> None:
    periods, each, bound = weeks(5), 3, 8
    counts, used = run(
        tmp_path, periods, each=each, bound=bound, counting=counting, sampling=sampling, kind=kind
    )
    people = {row[0] for rows in periods for row in rows}
    for number in range(5):
        now, then = used[number], used[number - 1] if number else {}
        assert counts[number].sum() == sum(now.values()) - sum(then.values())
        assert all(0 <= now[who] - then.get(who, 0) <= each for who in now)
    # Everybody appears often enough to use up the allowance.
    assert set(used[-1].values()) == {bound}
    assert len(used[-1]) == len(people)
    assert sum(each.sum() for each in counts) == bound * len(people)


@BOTH
@EVERY_KIND
def test_removing_a_person_changes_the_whole_sequence_by_that_person_alone(
    tmp_path: Path, counting: Counting, kind: str
) -> None:
    periods, bound = weeks(4), 5
    whole, used = run(tmp_path, periods, each=2, bound=bound, counting=counting, kind=kind)
    for gone in range(2):
        rest = [[row for row in rows if row[0] != gone] for rows in periods]
        fewer, left = run(
            tmp_path, rest, each=2, bound=bound, counting=counting, kind=kind, name=f"not{gone}-"
        )
        moved = [one - other for one, other in zip(whole, fewer, strict=True)]
        assert all((difference >= 0).all() for difference in moved)
        assert sum(int(np.abs(difference).sum()) for difference in moved) <= bound
        kept = {who: number for who, number in used[-1].items() if who in left[-1]}
        assert left[-1] == kept


@BOTH
def test_a_second_attempt_writes_the_same_bytes(tmp_path: Path, counting: Counting) -> None:
    periods = weeks(3)
    run(tmp_path, periods, each=2, bound=5, counting=counting, name="a")
    run(tmp_path, periods, each=2, bound=5, counting=counting, name="b")
    for number in range(3):
        first, second = ((tmp_path / f"{name}{number}.used").read_bytes() for name in "ab")
        assert first == second


def test_erased_people_are_not_counted_and_have_nothing_left(tmp_path: Path) -> None:
    periods = weeks(2)
    _, [first, _] = run(tmp_path, periods, each=2, bound=9)
    high, low = next(iter(first))
    digest = high.to_bytes(8) + low.to_bytes(8)
    view = view_of(
        tmp_path, periods[1], "out", each=2, bound=9, before=tmp_path / "0.used", erased=[digest]
    )
    counts = view.histogram(GRID)._read_by_meter()
    after = used_in(tmp_path / "out.used")
    assert after.pop((high, low)) == 9
    del first[high, low]
    assert counts.sum() == sum(after.values()) - sum(first.values())


def test_a_period_is_counted_once_and_as_one_vector(tmp_path: Path) -> None:
    [rows] = weeks(1)
    view = view_of(tmp_path, rows, "once", each=2, bound=9, before=None)
    view.histogram(GRID)
    with pytest.raises(PrivacyError, match="counted once"):
        view.histogram(GRID)
    fresh = view_of(tmp_path, rows, "other", each=2, bound=9, before=None)
    for name in ("visits", "popularity", "totals", "positions", "preferring"):
        with pytest.raises(PrivacyError, match="counted once"):
            getattr(fresh, name)(GRID)


def used_by(gone: int, name: str, folder: Path, states: Sequence[str], **changes: Any) -> int:
    """Return how much removing person `gone` changes the counts of three equal periods together.

    `states` names, for each period, the file that says what each person has
    used of the allowance before it; "" means none.
    """
    [rows] = weeks(1)
    moved = 0
    salts = changes.get("salts", [SALT] * len(states))
    for number, (state, salt) in enumerate(zip(states, salts, strict=True)):
        counts = []
        for kept in (rows, [row for row in rows if row[0] != gone]):
            label = f"{name}{number}-{len(kept)}"
            before = folder / f"{state}-{len(kept)}.used" if state else None
            view = view_of(folder, kept, label, each=3, bound=5, before=before, salt=salt)
            counts.append(view.histogram(GRID)._read_by_meter())
        moved += int(np.abs(counts[0] - counts[1]).sum())
    return moved


def test_each_planted_fault_lets_a_person_add_more_than_the_allowance(tmp_path: Path) -> None:
    """A person exceeds the allowance if the record of its use is lost, stale or never stored."""
    built = used_by(3, "built", tmp_path, ["", "built0", "built1"])
    assert built == 5
    lost = used_by(3, "lost", tmp_path, ["", "lost0", ""])
    # Periods 2 and 3 both start from the allowance that period 1 left, so neither knows what was
    # used in the other.
    at_once = used_by(3, "once", tmp_path, ["", "once0", "once0"])
    never = used_by(3, "never", tmp_path, ["", "", ""])
    assert (lost, at_once, never) == (8, 7, 9)


def test_a_readmitted_person_whose_use_was_forgotten_exceeds_the_allowance(tmp_path: Path) -> None:
    """An erased person's allowance of contributions stays used up, even if they come back.

    If the view forgot what they had used, they could exceed the allowance.
    """
    [rows] = weeks(1)
    digest = (3).to_bytes(8) + (3).to_bytes(8)

    def total(forgotten: bool) -> int:
        name, added, before = ("f" if forgotten else "k"), 0, None
        for number in range(4):
            erased = [digest] if number == 2 else []
            kept = [row for row in rows if row[0] == 3 and number != 2]
            view = view_of(
                tmp_path, kept, f"{name}{number}", each=3, bound=5, before=before, erased=erased
            )
            added += int(view.histogram(GRID)._read_by_meter().sum())
            before = tmp_path / f"{name}{number}.used"
            if forgotten and number == 2:
                before = None
        return added

    assert total(forgotten=False) == 5
    assert total(forgotten=True) == 8
