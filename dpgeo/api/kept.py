"""Public documents as text, kept in memory while nothing that they say has changed.

A text is kept under a digest of all public facts that it is made of and of nothing else. So nothing
has to be forgotten when something changes, and what was spent or when jobs ran makes no answer
slower or faster. Which releases there are is asked of the database each time.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from dpgeo.budgets.selectors import points_ledger
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release

T = TypeVar("T")

MOST_KEPT = 4096
"""Texts of some kilobytes each."""


class Kept:
    """Texts by the facts that they are made of. The oldest go when there are too many."""

    def __init__(self) -> None:
        self._texts: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def texts(
        self,
        things: Sequence[T],
        facts: Callable[[T], object],
        make: Callable[[Sequence[T]], Iterable[tuple[bytes, bool]]],
    ) -> list[bytes]:
        """A text for each thing. `make` writes those that are not kept, all in one call.

        It says of each text whether it is final: whether it follows from the facts alone.
        """
        keys = [_digest(facts(thing)) for thing in things]
        known = {key: self._texts.get(key) for key in keys}
        missing = [(key, thing) for key, thing in zip(keys, things, strict=True) if not known[key]]
        if missing:
            made = make([thing for _, thing in missing])
            for (key, _), (text, final) in zip(missing, made, strict=True):
                known[key] = text
                if final:
                    self._keep(key, text)
        return [known[key] or b"" for key in keys]

    def _keep(self, key: bytes, text: bytes) -> None:
        with self._lock:
            while len(self._texts) >= MOST_KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[key] = text


def release_facts(release: Release) -> tuple[Any, ...]:
    """What may be said of a release in lists, but its files, which never change."""
    return (
        *(release.pk, release.state, release.title, release.description, release.mechanism),
        *(release.parameters, release.notion, release.cost_units, release.bound),
        *(release.counting, release.bounding, release.published_at, release.withdrawn_at),
        *dataset_facts(release.dataset),
    )


def dataset_facts(dataset: Dataset) -> tuple[Any, ...]:
    """What may be said of a dataset in lists, but the corners of its study area."""
    publisher, ledger = dataset.organisation, dataset.ledger
    points = points_ledger(ledger)
    return (
        *(dataset.slug, dataset.title, dataset.description, dataset.licence, dataset.attribution),
        *(dataset.unit, dataset.time_zone, *dataset.bounds),
        *(publisher.slug, publisher.name, publisher.contact),
        *(ledger.total_units, points and (points.total_units, points.radius)),
    )


def _digest(facts: object) -> bytes:
    return hashlib.blake2b(repr(facts).encode(), digest_size=32).digest()
