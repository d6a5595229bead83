"""Comparison of the persons in two canonical files, through hashes that are nowhere stored.

A canonical file's hashes are those of an organisation, encrypted with the dataset's own key
(`ingest.persons`), so the hashes of two files have nothing in common. Decrypted in memory, they
can be compared; when the comparison ends, they are gone. Persons who were erased are in no file,
and so in no comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgeo.ingest.persons import organisation_hashes

FEWEST = 100
"""Fewest persons of a dataset that is compared: in smaller ones, the answer could mean a person."""

MANY = Fraction(1, 10)
"""Share of the smaller dataset's persons from which on they count as many of the same."""

MOST_HASHES = 1 << 20
"""Most hashes held for a file: of larger ones the smallest, a random sample of the persons."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class People:
    """The persons of a file: `hashes` are all hashes up to `limit`, sorted and distinct."""

    path: Path
    key: bytes
    hashes: Hashes
    limit: int

    @property
    def number(self) -> float:
        """Return how many persons there are; estimated if the hashes are a sample."""
        return len(self.hashes) * 2.0**64 / (self.limit + 1)


def people_of(path: Path, key: bytes) -> People:
    """Read the persons of a canonical file whose hashes were made with `key`."""
    hashes: Hashes = np.empty(0, dtype=np.uint64)
    limit = 2**64 - 1
    for batch in _batches(path, key):
        batch = batch[batch <= np.uint64(limit)]
        new = batch[~_among(batch, hashes)]
        if len(new) == 0:
            continue
        hashes = np.union1d(hashes, new)
        if len(hashes) > MOST_HASHES:
            hashes = hashes[:MOST_HASHES]
            limit = int(hashes[-1])
    return People(path, key, hashes, limit)


def share_many(one: People, other: People) -> bool:
    """Whether at least a tenth of the smaller file's persons are in both, of 100 each or more."""
    small, large = sorted((one, other), key=lambda people: people.number)
    if small.number < FEWEST:
        return False
    limit = np.uint64(min(small.limit, large.limit))
    if small.limit == 2**64 - 1 and large.limit < small.limit:
        common = _count_in(large, small.hashes)
        return common >= MANY * len(small.hashes)
    sample = small.hashes[small.hashes <= limit]
    common = len(np.intersect1d(sample, large.hashes[large.hashes <= limit], assume_unique=True))
    return common >= MANY * len(sample)


def _count_in(people: People, wanted: Hashes) -> int:
    """Count how many of the wanted hashes occur in a file, reading it again."""
    seen = np.zeros(len(wanted), dtype=bool)
    for batch in _batches(people.path, people.key):
        seen |= np.isin(wanted, batch, assume_unique=True)
    return int(seen.sum())


def _among(values: Hashes, ordered: Hashes) -> NDArray[np.bool_]:
    """Return which values are among the ordered ones."""
    if len(ordered) == 0:
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)


def _batches(path: Path, key: bytes) -> Iterator[Hashes]:
    """Yield the organisation's hashes of the persons in each part of a file, distinct."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["person_high", "person_low"]):
            pairs = np.stack([np.asarray(column) for column in batch.columns], axis=1)
            yield np.unique(organisation_hashes(np.unique(pairs, axis=0), key))
