"""Copy of several canonical files into one, with only the rows of a window of time.

Privacy argument. Every row is copied or left out by its own time and the window alone, so removing
a person removes exactly that person's rows from the copy. Rows keep their order, file after file:
where records are the privacy unit, a shard is chosen by a row's number, so all workers must see
the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

ROWS = 65_536
"""Number of rows in memory at a time and in a row group, equal to that in the files that are
read.
"""


def gather(
    paths: Sequence[Path],
    target: Path,
    *,
    between: tuple[int, int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the rows of all canonical files at `paths`, of equal schema, to `target`.

    If `between` is given, only rows are written whose time, in seconds since 1970, is at least the
    first number and less than the second. Rows without a time are then left out. `progress(done,
    total)` is called with numbers of rows read. Raises ValueError if there is no file.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not paths:
        raise ValueError("There is no file to read.")
    total = sum(pq.read_metadata(path).num_rows for path in paths)
    schema = pq.read_schema(paths[0])
    done = 0
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(ROWS):
                    done += batch.num_rows
                    if between is not None:
                        time = batch["time"]
                        inside = pc.and_(
                            pc.greater_equal(time, between[0]), pc.less(time, between[1])
                        )
                        # The filter also drops rows without a time, for which `inside` is null.
                        batch = batch.filter(inside)
                    writer.write_batch(batch)
                    if progress:
                        progress(done, total)
