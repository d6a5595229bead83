"""The order of a canonical file's rows, when few rows are sorted in memory at a time."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpgeo.ingest import canonical_writer
from dpgeo.ingest.canonical import canonical_file, canonical_schema
from tests.unit.engine.canonical import AREA

BATCH = 700
"""Number of rows in a batch. It does not divide RUN, the number of rows that are sorted together
(1024 here), so a batch may belong to two runs.
"""

SCHEMA = canonical_schema(1)


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical_writer, "ROW_GROUP", 64)
    monkeypatch.setattr(canonical_writer, "RUN", 1024)


def rows_of(persons: NDArray[np.uint64]) -> pa.Table:
    """Return rows of people at random places; the time of a row is its number."""
    random = np.random.default_rng(1)
    west, south, east, north = AREA.mercator_bounds
    count = len(persons)
    steps = pa.array(random.integers(0, 9, count), SCHEMA.field("measure_0").type)
    columns = [
        persons,
        persons * np.uint64(3),
        random.uniform(west, east, count),
        random.uniform(south, north, count),
        np.arange(count),
        pa.nulls(count, pa.int32()),
        pa.array([None if number % 7 == 0 else one for number, one in enumerate(steps)]),
    ]
    return pa.Table.from_arrays(
        [pa.array(column).cast(field.type) for column, field in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )


def people(rows: int, number: int) -> NDArray[np.uint64]:
    """Return the hash of each row's person, drawn at random from `number` people."""
    random = np.random.default_rng(2)
    hashes = random.integers(0, 2**64 - 1, number, dtype=np.uint64)
    return hashes[random.integers(0, number, rows)]


def written(path: Path, rows: pa.Table) -> pq.ParquetFile:
    with canonical_file(path, SCHEMA) as writer:
        for batch in rows.to_batches(BATCH):
            writer.write(batch)
    return pq.ParquetFile(path)


def spans_of(file: pq.ParquetFile) -> list[tuple[int, int]]:
    """Return the smallest and largest `person_high` of each row group, from its statistics.

    `person_high` is the high half of a person's hash.
    """
    groups = map(file.metadata.row_group, range(file.num_row_groups))
    seen = [group.column(0).statistics for group in groups]
    return [(each.min, each.max) for each in seen]


def in_order_of_times(rows: pa.Table) -> pa.Table:
    return rows.sort_by("time").combine_chunks()


@pytest.mark.parametrize("count", [900, 1024, 1025, 40_000])
def test_each_row_group_has_the_people_of_its_own_range_of_hashes(
    tmp_path: Path, count: int
) -> None:
    rows = rows_of(people(count, count // 8))
    file = written(tmp_path / "c.parquet", rows)

    assert in_order_of_times(file.read()).equals(rows)
    for one, following in pairwise(spans_of(file)):
        assert one[1] <= following[0]
    assert count / file.num_row_groups > 40, "row groups are not too small"
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert max(sizes) <= 2 * 64


def test_rows_of_a_person_keep_their_order(tmp_path: Path) -> None:
    rows = written(tmp_path / "c.parquet", rows_of(people(20_000, 500))).read()
    persons, times = (rows[name].to_numpy() for name in ("person_high", "time"))
    same = persons[1:] == persons[:-1]
    assert same.sum() == 20_000 - 500, "each person's rows stand together"
    assert np.all(np.diff(times)[same] > 0)


def test_memory_is_bounded_where_one_person_has_most_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    persons = people(20_000, 500)
    persons[::2] = 7 << 32
    sizes = []
    order = canonical_writer.CanonicalWriter._write_ordered

    def counted(self: Any, rows: pa.Table, level: int) -> None:
        sizes.append(rows.num_rows)
        order(self, rows, level)

    monkeypatch.setattr(canonical_writer.CanonicalWriter, "_write_ordered", counted)
    file = written(tmp_path / "c.parquet", rows_of(persons))
    assert max(sizes) <= 1024
    assert sum(sizes) == 20_000
    assert in_order_of_times(file.read()).equals(rows_of(persons))


def test_records_keep_the_order_of_the_upload(tmp_path: Path) -> None:
    rows = rows_of(np.zeros(5000, dtype=np.uint64))
    assert written(tmp_path / "c.parquet", rows).read().equals(rows)


def test_spilled_rows_have_no_name_and_are_gone_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_after_rows(tmp_path)
    assert opened(tmp_path) == 0
    assert list(tmp_path.iterdir()) == []


def fail_after_rows(folder: Path) -> None:
    with canonical_file(folder / "c.parquet", SCHEMA) as writer:
        for batch in rows_of(people(5000, 500)).to_batches(BATCH):
            writer.write(batch)
        assert opened(folder) == 17, "the file and its sixteen spill files are open"
        (named,) = folder.iterdir()
        assert named.name.startswith(".c.parquet-")
        raise ZeroDivisionError


def opened(folder: Path) -> int:
    """Return how many files of a folder this process has open."""
    links = Path("/proc/self/fd").iterdir()
    # One descriptor in the list was open only to make the list. Its link is gone, so it is not
    # counted.
    return sum(link.is_symlink() and folder in link.readlink().parents for link in list(links))


def test_spilled_rows_take_at_most_half_of_the_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(people(20_000, 500))
    whole = written(tmp_path / "whole.parquet", rows)
    usage = shutil.disk_usage(tmp_path)._replace(free=canonical_writer.LEFT_FREE + 6_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage)
    parts = written(tmp_path / "parts.parquet", rows)
    assert in_order_of_times(parts.read()).equals(in_order_of_times(whole.read()))
    starts = sum(one[0] > following[0] for one, following in pairwise(spans_of(parts)))
    assert 1 <= starts <= 5, "rows are ordered in a few parts"
