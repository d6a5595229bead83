"""Private view of a registered source whose counts are made by the source's own engine.

Contributions are bounded and added up at the source (`engine.source_sql`), if it can locate rows in
the regions, and this process is given only the bounded counts. For everything else, such as trips,
the view reads rows in batches, as from a registered folder (`engine.in_place`). If the source can,
it also chooses the positions to be perturbed, so that this process is given at most `bound` of each
person.

Privacy argument. Whether rows are counted at the source or by this process, each person's
contributions are bounded by a function of that person's own rows. Which of the two counts depends
on the measurement and on the declared types of the columns, and never on rows. With popular
bounding, the source is given the ranks of regions. The ranks follow from a noisy measurement that
was paid for, and reveal no more about a person than that measurement does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting
from dpgeo.core.measures import Measure
from dpgeo.engine import counting_sql as sql
from dpgeo.engine.canonical_file import Parameters
from dpgeo.engine.duckdb_view import Answer, DuckDBView
from dpgeo.engine.in_place import InPlaceView, Rows
from dpgeo.engine.source_sql import Wanted
from dpgeo.privacy.bounding import CountedRegions, Popularity, ValuedRegions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """A measurement that the source is asked to make in some regions of a `domain`.

    The sample of contributions follows from `draw` (`public_draw`). `limits` are further arguments
    of `source_sql.answer_query`, by name, and `measure` is the measure whose values are added up
    (SUMS) or counted (BINS).
    """

    wanted: Wanted
    regions: ValuedRegions
    counting: Counting
    bound: int
    draw: int
    domain: Domain
    popularity: Popularity | None = None
    measure: Measure | None = None
    limits: Mapping[str, int] = field(default_factory=dict)


class Counter(Protocol):
    """Counts the rows of a registered source by its own engine. All that it returns is private."""

    def can_answer(self, asked: Asked) -> bool:
        """Return whether the source can answer a measurement; this never depends on its rows."""

    def answer(self, asked: Asked) -> Iterator[Answer]:
        """Yield the result in parts, each of which maps the column names in `Wanted` to arrays.

        If several parts have amounts for one region, or one total, the caller adds them up. If
        pairs are wanted (`Wanted.PAIRS`), all pairs of a person are in one part, since each part
        numbers its persons from 0.
        """

    def reports(self, bound: int, draw: int) -> Iterator[pa.RecordBatch] | None:
        """Yield the canonical rows of at most `bound` reports of each person, whatever their
        positions (`engine.reports`), or return None if the source cannot choose them.
        """


class PushedView(InPlaceView):
    """A `PrivateView` of `rows`; `counter` makes all counts that it can make at the source."""

    def __init__(self, rows: Rows, counter: Counter, **settings: Any) -> None:
        super().__init__(rows, **settings)
        self._counter = counter

    def _columns(self, regions: ValuedRegions, *names: str) -> Iterator[list[NDArray[np.int64]]]:
        wanted = Wanted.PAIRS if "person" in names else Wanted.COUNTS
        asked = self._asked(wanted, regions)
        if not self._counter.can_answer(asked):
            yield from super()._columns(regions, *names)
            return
        yield [np.zeros(0, dtype=np.int64) for _ in names]
        yield from self._answers(asked, *names)

    def _valued(
        self,
        regions: ValuedRegions,
        measure: Measure,
        queries: tuple[str, str],
        *names: str,
        bins: int = 0,
    ) -> Iterator[list[NDArray[np.int64]]]:
        self._check_valued(regions, measure)
        wanted = Wanted.BINS if bins else Wanted.SUMS
        limits = {"steps": measure.steps, "bins": bins}
        asked = self._asked(wanted, regions, measure=measure, limits=limits)
        if self._counter.can_answer(asked):
            yield from self._answers(asked, *names)
        else:
            yield from super()._valued(regions, measure, queries, *names, bins=bins)

    def _of_people(self, regions: CountedRegions, query: str, limits: Parameters) -> list[Answer]:
        wanted = Wanted.TOTALS if query == sql.TOTALS else Wanted.CONTRIBUTIONS
        most = {name.removeprefix("most_"): int(each) for name, each in limits.items()}  # type: ignore[arg-type]
        asked = self._asked(wanted, regions, limits=most)
        if not self._counter.can_answer(asked):
            return super()._of_people(regions, query, limits)
        self._check_divided(regions)
        answers = list(self._counter.answer(asked))
        self._done()
        return answers

    def _copied(self, *, reports: bool = False) -> DuckDBView:
        draw = public_draw(self._file.salt)
        chosen = self._counter.reports(self._bound, draw) if reports else None
        if chosen is None:
            return super()._copied()
        return self._copy_of(chosen, f"reports-{self._bound}.parquet")

    def _asked(
        self,
        wanted: Wanted,
        regions: ValuedRegions,
        *,
        measure: Measure | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Asked:
        return Asked(
            wanted=wanted,
            regions=regions,
            counting=self._counting,
            bound=self._bound,
            draw=public_draw(self._file.salt),
            domain=self._domain,
            popularity=self._popularity if wanted in (Wanted.COUNTS, Wanted.PAIRS) else None,
            measure=measure,
            limits=limits or {},
        )

    def _answers(self, asked: Asked, *names: str) -> Iterator[list[NDArray[np.int64]]]:
        for each in self._counter.answer(asked):
            yield [each[name] for name in names]
        self._done()

    def _done(self) -> None:
        if self._progress:
            self._progress(1, 1)


def public_draw(salt: bytes) -> int:
    """Return a public number below 2^62, derived from a secret salt that it does not reveal.

    A repeated job has the same salt, so it chooses the same sample of contributions.
    """
    digest = hashlib.blake2b(b"sample at the source", key=salt, digest_size=8).digest()
    return int.from_bytes(digest) >> 2
