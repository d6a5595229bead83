"""Contribution bounding of reports by DuckDB, for positions to be perturbed.

A person's reports are sampled by the salt, the person and the time. Moving one report must not
change the sample, so the times of a person are ordered by a hash of these three, never by position
or by place in the file, which may be sorted by position. Reports are kept time by time while they
fit, with all reports of one time kept or dropped together. A person's shard follows from their
keyed hash itself, the same in every version of DuckDB; where records are the privacy unit, a
record's shard follows from its place in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.released import NO_TIME
from dpgeo.engine.canonical_file import CanonicalFile, Parameters, as_pattern
from dpgeo.privacy.positions import PrivatePositions, Reports, Shard, round_times
from dpgeo.spatial.projection import to_degrees

if TYPE_CHECKING:
    import duckdb

_ROWS = """
SELECT count(*) FROM read_parquet($path)"""

_REPORTS = """
SELECT {columns} FROM read_parquet($path, file_row_number = true)
WHERE file_row_number % $shards = $shard"""

# Reports of one person and time are kept or dropped together: RANGE takes those of equal keys at
# once, and NULL is a time like any other.
_REACHED = """
SELECT *, count(*) OVER (
    PARTITION BY person_high, person_low
    ORDER BY hash(
        hash($salt_high::UBIGINT, $salt_low::UBIGINT, person_high, person_low, time)
    ), time
    RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
) AS reached
FROM read_parquet($path)
WHERE person_low % $shards::UBIGINT = $shard::UBIGINT"""

_BOUNDED_REPORTS = f"""
SELECT {{columns}} FROM ({_REACHED}) WHERE reached <= $bound"""  # noqa: S608 - no text of a user

_TOO_MANY_AT_ONCE = """
SELECT count(*) FROM (
    SELECT 1 FROM read_parquet($path)
    WHERE person_low % $shards::UBIGINT = $shard::UBIGINT
    GROUP BY person_high, person_low, time HAVING count(*) > $bound LIMIT 1
)"""

_MISSING = f"""
SELECT coalesce(sum($bound - kept), 0) FROM (
    SELECT count(*) FILTER (WHERE reached <= $bound) AS kept FROM ({_REACHED})
    GROUP BY person_high, person_low
)"""  # noqa: S608 - no text of a user

REPORTS = 131_072
"""Reports in a chunk."""


class BoundedReports:
    """At most `bound` reports of each privacy unit in `shard`, re-readable.

    Times are rounded down to multiples of `time_step` seconds, or left out where it is None. The
    numbers of public attributes are included if asked for. `progress(done, total)` is called after
    each chunk. Raises InvalidInput (field "bound") where a person has more reports of one time, or
    without one, than the bound: choosing among these would have to depend on their positions or
    their order in the file.
    """

    def __init__(
        self,
        file: CanonicalFile,
        *,
        unit: Unit,
        bound: int,
        time_step: int | None,
        attributes: bool,
        shard: Shard,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._file = file
        self._unit = unit
        self._bound = bound
        self._time_step = time_step
        self._attributes = attributes
        self._progress = progress
        self._parameters: Parameters = {
            "path": as_pattern(file.path),
            "shard": shard.number,
            "shards": shard.total,
        }
        self._shards = shard.total
        if unit is Unit.PERSON and self._too_many_at_once():
            raise InvalidInput(
                "Somebody has more reports of the same time, or without a time, than this "
                "bound. Which of them are kept must not depend on where they are: choose a "
                "larger bound, or upload the reports with their times.",
                field="bound",
            )

    def private(self) -> PrivatePositions:
        """Return the reports, to be perturbed by the Meter only."""
        return PrivatePositions(self._reports, sensitivity=self._bound, missing=self._missing)

    def _missing(self) -> int:
        """Count the reports a shard lacks if each person had `bound`; a record lacks none."""
        if self._unit is Unit.RECORD:
            return 0
        return self._number(_MISSING, **self._file.salt_words())

    def _too_many_at_once(self) -> bool:
        """Check for more reports of one person and time than the bound; reads no position."""
        return bool(self._number(_TOO_MANY_AT_ONCE))

    def _number(self, query: str, **more: str | float | list[int]) -> int:
        parameters = {**self._parameters, "bound": self._bound, **more}
        with self._file.scratch() as scratch, self._file.connected(scratch) as connection:
            [(number,)] = connection.execute(query, parameters).fetchall()
        return int(number)

    def _reports(self) -> Iterator[Reports]:
        with self._file.scratch() as scratch, self._file.connected(scratch) as connection:
            yield from self._chunks(connection)

    def _chunks(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reports]:
        [(total,)] = connection.execute(_ROWS, {"path": self._parameters["path"]}).fetchall()
        total = -(-total // self._shards)
        query, parameters = _REPORTS, self._parameters
        if self._unit is Unit.PERSON:
            query = _BOUNDED_REPORTS
            parameters = {**self._parameters, "bound": self._bound, **self._file.salt_words()}
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
