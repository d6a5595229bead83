"""In-memory cache of the items of public lists, keyed by the values they show.

A list always queries its database rows. The text of an item is cached under a digest of its row,
which contains every value that is used in the text. If a value changes, so does the digest, so
entries never have to be invalidated. Rows contain neither spent budgets nor the times of jobs.
So whether a text is found in the cache, which affects the response time, reveals nothing about
these.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from django.db.models import QuerySet

from dpgeo.artefacts import statement
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import TABLES as DATASET_TABLES
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import TABLES

MOST_KEPT = 4096
"""Largest number of cached texts, each of a few kilobytes."""

DATASET_FACTS = (
    *("pk", "slug", "title", "description", "licence", "attribution", "unit", "time_zone"),
    *("new_files", "row_noun", "contact", "keywords", "themes", "covers_from", "covers_until"),
    *("west", "south", "east", "north"),
    *("organisation__slug", "organisation__name", "organisation__contact"),
    *("ledger__notion", "ledger__delta_exponent"),
    *("ledger__total_units", "ledger__geo__total_units", "ledger__geo__radius"),
    *("ledger__merged_units", "ledger__geo__merged_units", "ledger__geo__input_step"),
)
"""The columns of a dataset that lists show, except those in DATASETS_ALONE."""

DATASETS_ALONE = ("study_area", "data_protection__updated_at")
"""Further columns of a dataset, which only lists of datasets need.

The time of the last change of the statement on data protection stands for its text, which then need
not be read for lists.
"""

RELEASE_FACTS = (
    *("pk", "day", "state", "title", "description", "mechanism", "request", "notion"),
    *("cost_units", "bound", "published_at", "withdrawn_at", "notes", "files_made"),
    *("blob_sha256", *(f"dataset__{name}" for name in DATASET_FACTS)),
)
"""The columns of a release that lists show, except its files, which never change once made."""

Row = tuple[Any, ...]
"""The selected columns of one release or dataset, as a named tuple."""

Texts = Iterable[tuple[bytes, bool]]
"""Pairs of a list item's text, and whether the text may be cached: only if it depends on nothing
but the item's database row.
"""


class TextCache:
    """A cache of texts, keyed by a hash of the row contents that each text shows.

    The oldest entries are deleted first.
    """

    def __init__(self, most: int | None = None) -> None:
        """Make a cache that keeps at most `most` texts, or MOST_KEPT if `most` is None."""
        self._most = most or MOST_KEPT
        self._texts: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def texts(
        self, rows: Sequence[Row], make: Callable[[Sequence[Row]], Texts], *, beside: object = ""
    ) -> list[bytes]:
        """Return the text of each of a list's rows, leaving out empty texts.

        `make` writes the texts of rows that are not cached. `beside` holds anything besides the
        rows that texts depend on, such as the server's URL.
        """
        keys = [_digest((beside, *row)) for row in rows]
        known = {key: self._texts.get(key) for key in keys}
        missing = [(key, row) for key, row in zip(keys, rows, strict=True) if known[key] is None]
        new_texts = make([row for _, row in missing]) if missing else ()
        for (key, _), (text, final) in zip(missing, new_texts, strict=True):
            known[key] = text
            if final:
                self._keep(key, text)
        return [cached for key in keys if (cached := known[key])]

    def _keep(self, key: bytes, text: bytes) -> None:
        with self._lock:
            while len(self._texts) >= self._most:
                del self._texts[next(iter(self._texts))]
            self._texts[key] = text


def release_rows(releases: QuerySet[Release], *further: str) -> QuerySet[Any]:
    """Select the columns RELEASE_FACTS and `further`, without creating model instances."""
    return releases.select_related(None).values_list(*RELEASE_FACTS, *further, named=True)


def dataset_rows(datasets: QuerySet[Dataset]) -> QuerySet[Any]:
    """Select the columns that lists of datasets need as named tuples, not as model instances."""
    return datasets.select_related(None).values_list(*DATASET_FACTS, *DATASETS_ALONE, named=True)


def make_of_releases(
    write: Callable[[Release], bytes], *further: str
) -> Callable[[Sequence[Row]], Texts]:
    """Return a function that writes the list items of any number of releases, using two queries.

    `further` are the columns that rows have besides RELEASE_FACTS.

    An item's text can be cached if the release still matches its row, is published, and has all its
    files in the public storage. The privacy statement is the last file to be made, so a release
    that has its statement has all its files.
    """

    def make(rows: Sequence[Row]) -> Texts:
        keys = [row[0] for row in rows]
        known = Release.objects.select_related(*TABLES, "series").prefetch_related("files")
        releases = known.in_bulk(keys)
        for row in rows:
            release = releases.get(row[0])
            if release is None:  # The release was deleted after its row was read.
                yield b"", False
                continue
            files = release.files.all()
            whole = all(file.public for file in files if file.is_made)
            stated = any(file.name == statement.NAME for file in files)
            is_public = release.rules.public
            yield (
                write(release),
                is_public
                and whole
                and stated
                and _facts(release, (*RELEASE_FACTS, *further)) == tuple(row),
            )

    return make


def make_of_datasets(write: Callable[[Dataset], bytes]) -> Callable[[Sequence[Row]], Texts]:
    """Return a function that writes the list items of any number of datasets, using one query.

    The text of an item may be cached only if the dataset still matches the row from the list.
    """

    def make(rows: Sequence[Row]) -> Texts:
        keys = [row[0] for row in rows]
        datasets = Dataset.objects.select_related(*DATASET_TABLES).in_bulk(keys)
        for row in rows:
            dataset = datasets.get(row[0])
            if dataset is None:  # The dataset was deleted after its row was read.
                yield b"", False
                continue
            final = _facts(dataset, (*DATASET_FACTS, *DATASETS_ALONE)) == tuple(row)
            yield write(dataset), final

    return make


def _facts(thing: object, names: Sequence[str]) -> Row:
    """Return the named fields of a model instance, in the form that `values_list` returns."""
    return tuple(
        reduce(lambda value, part: getattr(value, part, None), name.split("__"), thing)
        for name in names
    )


def _digest(facts: object) -> bytes:
    return hashlib.blake2b(repr(facts).encode(), digest_size=32).digest()
