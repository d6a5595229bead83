"""Comparison of the persons in two datasets, by hashes that are not stored.

A canonical file's hashes are the organisation's hashes encrypted with the dataset's own key
(`ingest.persons`), so the hashes in two files have nothing in common. They can only be compared
after decryption in memory, and the decrypted hashes are gone when the comparison ends. Persons who
were erased are in no file, and so in no comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgeo.ingest.canonical_writer import ROW_GROUP
from dpgeo.ingest.persons import organisation_hashes

MIN_PEOPLE = 100
"""Smallest number of persons in a dataset that is compared with another one.

In a smaller dataset, the answer (many shared persons, or not) could point to a single person.
"""

MANY = Fraction(1, 10)
"""Smallest share that counts as "many of the same people".

It is the share of the smaller dataset's persons who are in the other dataset too.
"""

MAX_HASHES = 1 << 20
"""Maximum number of hashes held for a dataset.

Of a larger dataset the smallest hashes are held, which are a random sample of its persons.
"""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class People:
    """Persons in canonical files.

    `hashes` are their distinct hashes that are at most `limit`, in ascending order: all of them,
    or a random sample of MAX_HASHES if there are more.
    """

    paths: tuple[Path, ...]
    key: bytes
    hashes: Hashes
    limit: int

    @property
    def number(self) -> float:
        """Return the number of persons; it is an estimate if the hashes are a sample."""
        return len(self.hashes) * 2.0**64 / (self.limit + 1)


def people_of(paths: Sequence[Path], key: bytes) -> People:
    """Return the persons in canonical files; the hashes in these files were made with `key`."""
    hashes: Hashes = np.empty(0, dtype=np.uint64)
    limit = 2**64 - 1
    waiting: list[Hashes] = []
    for batch in _batches(paths, key):
        batch = batch[batch <= np.uint64(limit)]
        waiting.append(batch[~_among(batch, hashes)])
        if sum(map(len, waiting)) > MAX_HASHES:
            hashes, limit = _smallest(hashes, waiting, limit)
            waiting = []
    return People(tuple(paths), key, *_smallest(hashes, waiting, limit))


def _smallest(hashes: Hashes, waiting: list[Hashes], limit: int) -> tuple[Hashes, int]:
    """Return the smallest `MAX_HASHES` hashes, and a limit up to which all hashes are kept."""
    every = np.unique(np.concatenate([hashes, *waiting]))
    every = every[every <= np.uint64(limit)]
    if len(every) <= MAX_HASHES:
        return every, limit
    return every[:MAX_HASHES], int(every[MAX_HASHES - 1])


def share_many(one: People, other: People) -> bool:
    """Return whether two datasets share at least a tenth of the smaller one's persons.

    Returns False unless each of them has at least 100 persons.
    """
    small, large = sorted((one, other), key=lambda people: people.number)
    if small.number < MIN_PEOPLE:
        return False
    limit = np.uint64(min(small.limit, large.limit))
    if small.limit == 2**64 - 1 and large.limit < small.limit:
        common = _count_in(large, small.hashes)
        return common >= MANY * len(small.hashes)
    sample = small.hashes[small.hashes <= limit]
    common = len(np.intersect1d(sample, large.hashes[large.hashes <= limit], assume_unique=True))
    return common >= MANY * len(sample)


def _count_in(people: People, wanted: Hashes) -> int:
    """Read the files of `people` again, and count which of the `wanted` hashes occur in them."""
    seen = np.zeros(len(wanted), dtype=bool)
    for batch in _batches(people.paths, people.key):
        seen |= np.isin(wanted, batch, assume_unique=True)
    return int(seen.sum())


def _among(values: Hashes, ordered: Hashes) -> NDArray[np.bool_]:
    """Return a mask (n,) of the `values` that occur in the sorted array `ordered`."""
    if len(ordered) == 0:
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)


def _batches(paths: Sequence[Path], key: bytes) -> Iterator[Hashes]:
    """Yield the distinct organisation hashes of the persons in each batch of rows of each file."""
    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROW_GROUP, columns=["person_high", "person_low"]):
                high, low = (np.asarray(column) for column in batch.columns)
                # The first half of a hash suffices: practically no two persons share it.
                _, first = np.unique(high, return_index=True)
                hashes = np.stack([high[first], low[first]], axis=1)
                yield np.sort(organisation_hashes(hashes, key))
