"""Rows that are read in place are bounded and counted like the rows of a canonical file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import Answer, DuckDBView, Sampling
from dpgeo.engine.in_place import (
    EVERYBODY,
    Division,
    InPlaceView,
    Question,
    Rows,
    answer_from_bytes,
    answer_to_bytes,
    write_people,
)
from dpgeo.privacy.bounding import Popularity
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places
from tests.unit.engine.canonical import AREA, wanderers, write
from tests.unit.engine.test_zoned import ZONES

GRID = Grid.over(AREA, 16)

PASSES = pytest.mark.parametrize("passes", [1, 3])


class FileRows:
    """Rows of a canonical file in batches; by default, each reading gets them in another order.

    If `fails`, an error is raised instead of the second batch.
    """

    def __init__(self, path: Path, *, fails: bool = False, shuffled: bool = True) -> None:
        self._table = pq.read_table(path)
        self._fails, self._shuffled = fails, shuffled
        self.schema = self._table.schema
        self.number, self.people = self._table.num_rows, 50
        self.read: list[int] = []

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        high = self._table["person_high"]
        chosen = pc.and_(
            pc.greater_equal(high, pa.scalar(first, pa.uint64())),
            pc.less_equal(high, pa.scalar(last, pa.uint64())),
        )
        rows = self._table.filter(chosen)
        self.read.append(rows.num_rows)
        if self._shuffled:
            order = np.random.default_rng(len(self.read)).permutation(rows.num_rows)
            rows = rows.take(order)
        for number, batch in enumerate(rows.to_batches(max_chunksize=100)):
            if self._fails and number:
                raise Conflict("The file was changed.")
            yield batch


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    return write(folder / "rows.parquet", wanderers(np.random.default_rng(3), 50, 2000))


def settings_of(**changes: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "domain": Domain(AREA, {"zones": ZONES}),
        "unit": Unit.PERSON,
        "counting": Counting.PEOPLE,
        "bound": 3,
        "salt": bytes(range(16)),
        "threads": 2,
    }
    return {**facts, **changes}


def counts_of(view: DuckDBView, regions: Any) -> NDArray[np.int64]:
    counted = view.histogram(regions) if isinstance(regions, Grid) else view.zone_counts(regions)
    return counted._read_by_meter()


@PASSES
@pytest.mark.parametrize("regions", [GRID, ZONES], ids=["grid", "zones"])
@pytest.mark.parametrize("counting", list(Counting))
def test_counts_are_those_of_one_file(
    path: Path, counting: Counting, regions: Any, passes: int
) -> None:
    settings = settings_of(counting=counting, sampling=Sampling(heap=True, passes=passes))
    rows = FileRows(path)
    counts = counts_of(InPlaceView(rows, **settings), regions)
    np.testing.assert_array_equal(counts, counts_of(DuckDBView(path, **settings), regions))
    assert sum(rows.read) == rows.number
    assert len(rows.read) == passes


def test_records_are_counted_in_overlapping_zones(path: Path) -> None:
    settings = settings_of(unit=Unit.RECORD, bound=1, sampling=Sampling(heap=False, passes=3))
    rows = FileRows(path, shuffled=False)
    counts = counts_of(InPlaceView(rows, **settings), ZONES)
    np.testing.assert_array_equal(counts, counts_of(DuckDBView(path, **settings), ZONES))
    # A pass reads only its own persons' rows, found by the persons' hashes. If the privacy unit is
    # a record, there are no such hashes, so every pass reads all rows.
    assert rows.read == [rows.number] * 3


def divided(rows: Rows, shards: int, asked: list[Question], **changes: Any) -> InPlaceView:
    """Return a view that divides its counting into at least `shards` passes, run by other views.

    The other views get only the Question that says what to count, as bytes. Each is appended to
    `asked`.
    """
    settings = settings_of(**changes)

    def ask(question: Question) -> Iterator[Answer]:
        assert question.to_bytes() == Question.from_bytes(question.to_bytes()).to_bytes()
        asked.append(question)
        for number in range(question.passes):
            worker = InPlaceView(rows, **settings)
            answer = worker.answer(Question.from_bytes(question.to_bytes()), number)
            yield answer_from_bytes(answer_to_bytes(answer))

    return InPlaceView(rows, division=Division(shards, ask), **settings)


PLACES = Places(
    levels=("city",),
    keys=("a", "b"),
    units=(("x",), ("y",)),
    longitude=np.array([13.05, 13.15]),
    latitude=np.array([52.05, 52.05]),
)
NEAR = NearPlaces(PLACES, 2000)


@pytest.mark.parametrize("counting", list(Counting))
def test_shards_add_up_to_the_counts_of_one_worker(path: Path, counting: Counting) -> None:
    domain = Domain(AREA, {"zones": ZONES, "places": PLACES})
    changes = {"domain": domain, "counting": counting}
    rows, asked = FileRows(path), list[Question]()
    several, alone = divided(rows, 4, asked, **changes), DuckDBView(path, **settings_of(**changes))
    for regions in (GRID, ZONES, NEAR):
        number = regions.size if isinstance(regions, Grid) else len(regions)
        popular = Popularity(regions, np.arange(number))
        here, there = (counts_of(each, regions) for each in (several, alone))
        np.testing.assert_array_equal(here, there)
        assert there.any()
        here, there = (counts_of(each.preferring(popular), regions) for each in (several, alone))
        np.testing.assert_array_equal(here, there)
    sparse = [each.sparse_histogram(GRID)._read_by_meter() for each in (several, alone)]
    for part in (0, 1):
        np.testing.assert_array_equal(sparse[0][part], sparse[1][part])
    totals = [each.totals(GRID, sightings=5, visits=9) for each in (several, alone)]
    for name in ("people", "sightings", "visits"):
        here, there = (getattr(each, name)._read_by_meter() for each in totals)
        np.testing.assert_array_equal(here, there)
    here, there = (each.contributions(GRID, 7)._read_by_meter() for each in (several, alone))
    np.testing.assert_array_equal(here, there)
    assert there.sum() > 0
    assert [question.passes for question in asked] == [4] * len(asked)
    salt = alone._file.salt_words().values()
    assert not any(str(word) in str(question) for word in salt for question in asked)


def test_positions_are_read_from_a_copy_that_is_made_once(path: Path, tmp_path: Path) -> None:
    rows = FileRows(path)
    view = InPlaceView(rows, **settings_of(folder=tmp_path))
    for _ in range(2):
        positions = view.positions(time_step=None)
        assert positions.sensitivity == 3
    assert len(rows.read) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["copy.parquet"]
    with pytest.raises(ValueError, match="folder"):
        InPlaceView(rows, **settings_of()).positions(time_step=None)


def test_an_error_of_the_source_is_raised_as_it_is(path: Path, tmp_path: Path) -> None:
    rows = FileRows(path, fails=True)
    with pytest.raises(Conflict, match="was changed"):
        InPlaceView(rows, **settings_of()).histogram(GRID)
    with pytest.raises(Conflict, match="was changed"):
        InPlaceView(rows, **settings_of(folder=tmp_path)).positions(time_step=None)
    with pytest.raises(Conflict, match="was changed"):
        people_in(rows, tmp_path)
    assert not list(tmp_path.iterdir())


def people_in(rows: Rows, folder: Path) -> int:
    parts = [rows.batches(*EVERYBODY), rows.batches(*EVERYBODY)]
    return write_people(parts, rows.schema, folder / "people.parquet", memory_bytes=1 << 28)
