"""What is said of public things in lists, kept in memory as text while nothing of it has changed.

A text is kept under a digest of the facts that it is made of: the row of the database that the list
reads anyway. So nothing has to be forgotten when something changes, which releases there are is
asked each time, and what was spent or when jobs ran makes no answer slower or faster.
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
"""Texts of some kilobytes each."""

DATASET_FACTS = (
    *("pk", "slug", "title", "description", "licence", "attribution", "unit", "time_zone"),
    *("west", "south", "east", "north"),
    *("organisation__slug", "organisation__name", "organisation__contact"),
    *("ledger__total_units", "ledger__geo__total_units", "ledger__geo__radius"),
)
"""What may be said of a dataset in lists, but the corners of its study area."""

RELEASE_FACTS = (
    *("pk", "day", "state", "title", "description", "mechanism", "parameters", "notion"),
    *("cost_units", "bound", "counting", "bounding", "published_at", "withdrawn_at"),
    *("blob_sha256", *(f"dataset__{name}" for name in DATASET_FACTS)),
)
"""What may be said of a release in lists, but its files, which never change."""

Row = tuple[Any, ...]
"""The facts of one thing, named."""

Made = Iterable[tuple[bytes, bool]]
"""Texts, each with whether it follows from the facts alone."""


class Kept:
    """Texts by the facts that they are made of. The oldest go when there are too many."""

    def __init__(self) -> None:
        self._texts: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def texts(
        self, rows: Sequence[Row], make: Callable[[Sequence[Row]], Made], *, beside: object = ""
    ) -> list[bytes]:
        """A text for each row; those that say nothing are left out.

        `make` writes all that are not kept. `beside` is what else texts depend on, such as the
        address of the server.
        """
        keys = [_digest((beside, *row)) for row in rows]
        known = {key: self._texts.get(key) for key in keys}
        missing = [(key, row) for key, row in zip(keys, rows, strict=True) if known[key] is None]
        made = make([row for _, row in missing]) if missing else ()
        for (key, _), (text, final) in zip(missing, made, strict=True):
            known[key] = text
            if final:
                self._keep(key, text)
        return [told for key in keys if (told := known[key])]

    def _keep(self, key: bytes, text: bytes) -> None:
        with self._lock:
            while len(self._texts) >= MOST_KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[key] = text


def release_rows(found: QuerySet[Release]) -> QuerySet[Any]:
    """The facts of releases, without making a model of each."""
    return found.select_related(None).values_list(*RELEASE_FACTS, named=True)


def dataset_rows(found: QuerySet[Dataset]) -> QuerySet[Any]:
    """The facts of datasets, corners and all."""
    return found.select_related(None).values_list(*DATASET_FACTS, "study_area", named=True)


def make_of_releases(write: Callable[[Release], bytes]) -> Callable[[Sequence[Row]], Made]:
    """What writes texts of releases, with two queries more for all of them.

    A text is final where the release still is as its row says, is published, and has all its files
    in the public storage; its statement is written last.
    """

    def make(rows: Sequence[Row]) -> Made:
        keys = [row[0] for row in rows]
        found = Release.objects.select_related(*TABLES).prefetch_related("files").in_bulk(keys)
        for row in rows:
            release = found[row[0]]
            files = release.files.all()
            whole = all(file.public for file in files)
            stated = any(file.name == statement.NAME for file in files)
            shown = release.rules.public
            yield (
                write(release),
                shown and whole and stated and _facts(release, RELEASE_FACTS) == tuple(row),
            )

    return make


def make_of_datasets(write: Callable[[Dataset], bytes]) -> Callable[[Sequence[Row]], Made]:
    """What writes texts of datasets, with one query more for all of them."""

    def make(rows: Sequence[Row]) -> Made:
        keys = [row[0] for row in rows]
        found = Dataset.objects.select_related(*DATASET_TABLES).in_bulk(keys)
        for row in rows:
            dataset = found[row[0]]
            final = _facts(dataset, (*DATASET_FACTS, "study_area")) == tuple(row)
            yield write(dataset), final

    return make


def _facts(thing: object, names: Sequence[str]) -> Row:
    """The facts that a row would hold of a model; None behind what is not there."""
    return tuple(
        reduce(lambda found, part: getattr(found, part, None), name.split("__"), thing)
        for name in names
    )


def _digest(facts: object) -> bytes:
    return hashlib.blake2b(repr(facts).encode(), digest_size=32).digest()
