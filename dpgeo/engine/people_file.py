"""File of the distinct persons of rows that Spark counts, for comparison with other datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dpgeo.engine import counting_sql as sql
from dpgeo.engine.canonical_file import CanonicalFile
from dpgeo.engine.spark_tasks import run_streamed

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 65_536
"""Number of rows in a row group of the file."""


def write_people(
    parts: Iterable[Iterable[pa.RecordBatch]],
    schema: pa.Schema,
    target: Path,
    *,
    memory_bytes: int,
    progress: Callable[[], None] = lambda: None,
) -> int:
    """Write the distinct persons of canonical rows to `target`; return their number.

    `parts` yields the rows in batches, and `progress()` is called after each part, in this thread.
    The file has the columns person_high and person_low. Data that do not fit in memory are spilled
    beside `target`.
    """
    import pyarrow.parquet as pq

    file = CanonicalFile(
        path=target, salt=bytes(16), folder=target.parent, memory_bytes=memory_bytes, threads=1
    )
    number = 0
    with file.scratch() as scratch, file.connected(scratch) as connection:
        connection.execute(sql.PEOPLE_SEEN)
        for part in parts:
            run_streamed(connection, sql.SEE_PEOPLE, {}, schema, part)
            progress()
        people = connection.sql(sql.DISTINCT_PEOPLE).to_arrow_reader(ROWS)
        with pq.ParquetWriter(target, people.schema, compression="zstd") as writer:
            for batch in people:
                writer.write_batch(batch)
                number += batch.num_rows
    return number
