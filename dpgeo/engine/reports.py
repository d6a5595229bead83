"""Contribution bounding of reports by DuckDB, for positions to be perturbed.

A person's times are ordered by a hash of the salt, the person and the time. All reports of the
first time are kept, then those of the second, and so on until the bound is reached. If not all
reports of the last such time fit, those with the smallest random 64-bit words are kept; the
operating system draws a new word for every such report. Reports without a time count as reports of
one time.

So the choice never depends on positions, nor on the order of rows in the file, which may be sorted
by position. Proof: take two datasets that differ only in the positions of some reports. Pair each
report with its moved copy and give both the same word. Their times are equal, so the same reports
are kept, whatever the words; and every assignment of words to rows is equally likely. The number of
a person's reports that are kept is the smaller of the bound and the number of the person's reports.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgeo.core.guarantees import Unit
from dpgeo.core.released import NO_TIME
from dpgeo.engine.canonical_file import CanonicalFile, Parameters, as_pattern
from dpgeo.privacy.positions import PrivatePositions, Reports, round_times
from dpgeo.spatial.projection import to_degrees

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_ROWS = """
SELECT count(*) FROM read_parquet($path)"""

_REPORTS = """
SELECT {columns} FROM read_parquet($path)"""

_ORDER = """
    PARTITION BY person_high, person_low
    ORDER BY hash(
        hash($salt_high::UBIGINT, $salt_low::UBIGINT, person_high, person_low, time)
    ), time"""

# Selects a person's reports of the one time at which some, but not all, fit the bound. RANGE
# counts reports of equal time together, and treats reports without a time (NULL) as reports of one
# time.
_DIVIDED = f"""
SELECT row FROM (
    SELECT file_row_number AS row,
        count(*) OVER ({_ORDER} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached,
        count(*) OVER (PARTITION BY person_high, person_low, time) AS together
    FROM read_parquet($path, file_row_number = true)
) WHERE reached > $bound AND reached - together < $bound"""  # noqa: S608 - no text of a user

_BOUNDED_REPORTS = f"""
SELECT {{columns}} FROM (
    SELECT *, row_number() OVER ({_ORDER}, word) AS place
    FROM read_parquet($path, file_row_number = true) LEFT JOIN words ON file_row_number = row
) WHERE place <= $bound"""  # noqa: S608 - no text of a user

_MISSING = """
SELECT coalesce(sum($bound - least($bound, reports)), 0) FROM (
    SELECT count(*) AS reports FROM read_parquet($path) GROUP BY person_high, person_low
)"""

REPORTS = 131_072
"""Number of reports in each chunk that is read."""


class BoundedReports:
    """At most `bound` reports of each privacy unit, which can be read repeatedly.

    Times are rounded down to multiples of `time_step` seconds, or left out if it is None. If
    `attributes` is true, each report includes the index of its combination of public attributes.
    `progress(done, total)` is called after each chunk.
    """

    def __init__(
        self,
        file: CanonicalFile,
        *,
        unit: Unit,
        bound: int,
        time_step: int | None,
        attributes: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._file = file
        self._unit = unit
        self._bound = bound
        self._time_step = time_step
        self._attributes = attributes
        self._progress = progress
        self._parameters: Parameters = {"path": as_pattern(file.path)}
        self._words: pa.Table | None = None

    def private(self) -> PrivatePositions:
        """Return the reports as positions that only the Meter, which draws the noise, can read."""
        return PrivatePositions(self._reports, sensitivity=self._bound, missing=self._missing)

    def _missing(self) -> int:
        """Return how many reports to add so that each person has `bound` of them.

        The number is 0 if records are the privacy unit.
        """
        if self._unit is Unit.RECORD:
            return 0
        parameters = {**self._parameters, "bound": self._bound}
        with self._file.scratch() as scratch, self._file.connected(scratch) as connection:
            [(number,)] = connection.execute(_MISSING, parameters).fetchall()
        return int(number)

    def _reports(self) -> Iterator[Reports]:
        with self._file.scratch() as scratch, self._file.connected(scratch) as connection:
            yield from self._chunks(connection)

    def _drawn_words(
        self, connection: duckdb.DuckDBPyConnection, parameters: Parameters
    ) -> pa.Table:
        """Return a random 64-bit word for each report of a time at which only some fit the bound.

        The words decide which reports are kept. They are drawn only once, so that the same reports
        are kept each time the file is read.
        """
        import pyarrow as pa

        if self._words is None:
            rows = connection.execute(_DIVIDED, parameters).fetchnumpy()["row"]
            words = np.frombuffer(os.urandom(8 * len(rows)), dtype=np.uint64)
            self._words = pa.table({"row": np.asarray(rows, dtype=np.int64), "word": words})
        return self._words

    def _chunks(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reports]:
        [(total,)] = connection.execute(_ROWS, {"path": self._parameters["path"]}).fetchall()
        query, parameters = _REPORTS, self._parameters
        if self._unit is Unit.PERSON:
            query = _BOUNDED_REPORTS
            parameters = {**self._parameters, "bound": self._bound, **self._file.salt_words()}
            connection.register("words", self._drawn_words(connection, parameters))
        done = 0
        query = query.format(columns="x, y, time" + (", attributes" if self._attributes else ""))
        reader: Any = connection.sql(query, params=parameters).to_arrow_reader(REPORTS)
        for batch in reader:
            columns = [batch.column(index) for index in range(batch.num_columns)]
            columns[2] = columns[2].fill_null(NO_TIME)
            x, y, time, *attributes = (column.to_numpy(zero_copy_only=False) for column in columns)
            yield Reports(*to_degrees(x, y), round_times(time, self._time_step), *attributes)
            done += len(x)
            if self._progress:
                self._progress(min(done, total), total)
