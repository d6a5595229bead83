"""Comparison of the persons in two canonical files, with hashes that are not stored."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.ingest import same_people
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.persons import hash_persons
from dpgeo.ingest.report import Tally
from dpgeo.ingest.same_people import People, people_of, share_many

ORGANISATION = os.urandom(32)


def write(path: Path, people: range) -> People:
    """Write a canonical file with two rows for each person, hashed with a key that only this
    dataset has.
    """
    key = ORGANISATION + os.urandom(32)
    names = pa.array([f"p{number}" for number in people for _ in range(2)])
    sieve = Sieve(np.arange(len(names)), Tally())
    high, low = hash_persons(names, key, sieve)
    pq.write_table(pa.table({"person_high": high, "person_low": low}), path)
    return people_of([path], key)


@pytest.mark.parametrize(
    ("one", "other", "many"),
    [
        (range(200), range(200), True),
        # The two files share a tenth of the smaller file's people.
        (range(200), range(180, 5000), True),
        (range(200), range(181, 5000), False),
        (range(1000), range(995, 1095), False),
        (range(1000), range(990, 1090), True),
        (range(99), range(99), False),
        (range(99), range(500), False),
        (range(500), range(99), False),
    ],
)
@pytest.mark.parametrize("most", [1 << 20, 1000])
def test_a_tenth_of_the_smaller_dataset_is_many_if_both_have_a_hundred_persons(
    one: range, other: range, many: bool, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_people, "MAX_HASHES", most)
    first, second = write(tmp_path / "one", one), write(tmp_path / "other", other)
    assert share_many(first, second) is share_many(second, first) is many


def test_two_datasets_store_no_hash_in_common(tmp_path: Path) -> None:
    write(tmp_path / "one", range(200))
    write(tmp_path / "other", range(200))
    one, other = (
        {tuple(row.values()) for row in pq.read_table(tmp_path / name).to_pylist()}
        for name in ("one", "other")
    )
    assert len(one) == len(other) == 200
    assert not one & other


def test_of_two_large_files_samples_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_people, "MAX_HASHES", 1000)
    first = write(tmp_path / "one", range(6000))
    assert len(first.hashes) == 1000
    assert 4800 < first.number < 7200
    assert share_many(first, write(tmp_path / "many", range(4500, 10_500)))
    assert not share_many(first, write(tmp_path / "few", range(5900, 12_000)))
