"""Private view of one period of a series, in which each person has an allowance.

Bounding. As in `engine.duckdb_view`, a person's items are put in a salted order. The first `each`
of them are counted, but no more than remain of the person's allowance of `bound` for the whole
series. What each person used in earlier periods is read from a Parquet file with the columns
person_high, person_low (uint64) and used (int64). What each person has used after this period is
written to a new file of the same form, which `keep` stores before any noise is drawn.

Privacy argument. For a fixed salt, a person's contributions in a period are a function of that
person's own rows and of what the same person used before. By induction, the latter depends on that
person's earlier rows alone. Removing a person therefore changes nobody else's contributions. Over
all periods together, a person adds at most `bound` (docs/mechanisms/series.md). Trips are
items like any others: they join rows of the same period only, since the file holds no other rows. A
period may be counted only once: a second count of the same rows would add as much again without
being recorded in the file. So the view refuses a second count, and every measurement that is not a
single vector of counts.

Under zCDP. Let c_i be what a person adds to the i-th count, over the counts of all periods. The c_i
add up to at most `bound`. If distinct people are counted, each is at most 1, so their squares add
up to at most `bound`; otherwise to at most `bound`^2. That is the squared sensitivity of all
periods as one vector, and it is what the counts of each period claim. So if every period is
measured with the same rho, the whole series is zCDP for that rho, and costs it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Unit
from dpgeo.engine import counting_sql as sql
from dpgeo.engine.canonical_file import Parameters, as_pattern
from dpgeo.engine.duckdb_view import DuckDBView, inputs_of, people_of

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowances:
    """What each person may still add to a series.

    `each` is the most that one person adds to this period. `before` is the file with what each
    person used in earlier periods, or None in the first period. `erased` are the 16-byte hashes of
    people whose rows were erased: they are not counted, and their allowance is used up from now on.
    `keep(path)` stores the file with what each person has used after this period.
    """

    each: int
    before: Path | None
    erased: Sequence[bytes]
    keep: Callable[[Path], None]


class SeriesView(DuckDBView):
    """A `PrivateView` of one period, whose `bound` is a person's allowance for the whole series.

    The arguments are those of `DuckDBView`, and `allowances`, which says what each person may still
    add. One vector of counts can be measured, once. Raises PrivacyError for a second vector, for
    measurements of any other kind, and if the privacy unit is a record.
    """

    def __init__(self, path: Path, *, allowances: Allowances, **settings: Any) -> None:
        super().__init__(path, **settings)
        if self.unit is not Unit.PERSON:
            raise PrivacyError("A series needs to know which rows are of one person.")
        self._allowances = allowances
        self._is_counted = False

    def _passes(
        self,
        connection: duckdb.DuckDBPyConnection,
        rows: str,
        keyed: str,
        parameters: Parameters,
        columns: Sequence[str],
    ) -> Iterator[list[NDArray[np.int64]]]:
        if self._is_counted or "person" in columns:
            self._refuse()
        self._is_counted = True
        sampling = self._sampling or self._choose(connection, parameters["path"])
        query = rows + keyed + self._sampled(sampling) + sql.ALLOWED
        parameters |= {"bound": self._allowances.each, "allowance": self.bound}
        cell_bits = {"cell_bits": parameters["cell_bits"]}
        self._prepare(connection)
        for number in range(sampling.passes):
            parameters |= people_of(number, sampling.passes)
            connection.execute(sql.KEEP_ALLOWED + query, inputs_of(query, parameters))
            connection.execute(sql.KEEP_USED)
            result = connection.execute(sql.COUNT_ALLOWED, cell_bits).fetchnumpy()
            yield [np.asarray(result[name]).astype(np.int64) for name in columns]
            if self._progress:
                self._progress(number + 1, sampling.passes)
        with self._file.scratch() as folder:
            path = folder / "used.parquet"
            connection.execute(
                sql.WRITE_USED.format(path=str(path).replace("'", "''"), allowance=self.bound)
            )
            self._allowances.keep(path)

    def _prepare(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the tables from which the file that `keep` stores is made.

        `spent` holds what persons used in earlier periods, `erased` the erased persons, and `used`,
        empty at first, what persons use in this period.
        """
        import pyarrow as pa

        connection.execute(sql.SPENT)
        if self._allowances.before is not None:
            connection.execute(sql.READ_SPENT, {"before": as_pattern(self._allowances.before)})
        halves = [(each[:8], each[8:]) for each in self._allowances.erased]
        high, low = (
            pa.array([int.from_bytes(pair[half]) for pair in halves], pa.uint64())
            for half in (0, 1)
        )
        connection.register("erased", pa.table({"person_high": high, "person_low": low}))
        connection.execute(sql.USED)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PrivacyError("A period of a series is counted once, as one vector of counts.")

    visits = value_shares = value_histogram = _refuse
    totals = popularity = preferring = positions = trip_features = _refuse
    contributions = with_bound = _refuse
