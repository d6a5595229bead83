"""Writer of canonical rows in the order of their persons' hashes, whatever the size of the file.

Rows come in the order of the upload. Each run of them is ordered by the first byte of its persons'
hashes and spilled to files without a name, one for each sixteenth of all hashes. At the end, these
are read one after the other, in pieces that fit into memory, ordered further and written. A spill
file is deleted as soon as its rows are written, so disk space is taken by the larger of spilled and
written rows, not by both. As spill files have no name, the system deletes them when the process
ends, however it ends.

Each row group holds the persons of one small range of hashes, and its statistics say which. The
order of rows does not affect any count: `engine.duckdb_view` explains why.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput

ROW_GROUP = 65_536
"""Number of rows that a row group should have; none has more than twice as many."""

MAX_COMPARED = 128 * ROW_GROUP
"""Largest number of rows in one range of hashes that are compared with each other in memory."""

RUN = 16 * ROW_GROUP
"""Largest number of rows that are ordered together in memory when the file is written.

Before that, rows are ordered and spilled to files in runs of a quarter of this number.
"""

SPILL_BITS = 4
"""Number of first bits of a person's hash that choose the spill file for the person's rows.

A spill file is temporary, and there are 2^4 of them.
"""

FINE_BITS = 8
"""Number of first bits of the hashes by which rows are ordered before they go to spill files.

They divide the hashes into 256 ranges. Beyond some 268 million rows in all, a range has more than
RUN rows, so it is written in several pieces and a person's rows may be in more than one of them.
"""


LEFT_FREE = 2 << 30
"""Number of bytes of disk space that spill files leave free.

It is more than the site needs by default to accept uploads and to start jobs (`DPGEO_MIN_FREE`).
If spilling left less than that, the public readiness check would reveal when a file is read.
"""


class CanonicalWriter:
    """Writes canonical rows ordered by the first bits of their persons' hashes.

    Rows with equal bits keep their order, and so do all rows of a dataset that protects records.
    Spill files are in `folder`. They take at most half of its free space beyond LEFT_FREE. Before
    they would take more, all spilled rows are written, and the following rows are ordered among
    themselves.

    Of rows that are equal in all the columns `once`, only the first is written, and `repeated`
    counts the others. `once` includes the person. All rows of a person are then written together,
    or none if the disk is too full, so only a person's own rows decide which of them are written.
    """

    def __init__(
        self, writer: pq.ParquetWriter, schema: pa.Schema, folder: Path, once: Sequence[str] = ()
    ) -> None:
        self._writer = writer
        self._schema = schema
        self._folder = folder
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._spills: list[Spill] = []
        self._once = once
        self.repeated = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows, which wait in memory.

        Once RUN / 4 rows wait, they go to the spill files or, if the privacy unit is a record, to
        the canonical file.
        """
        self._waiting.append(rows)
        self._rows += rows.num_rows
        run = RUN // 4  # below RUN, since the reader's batches take memory meanwhile
        while self._rows >= run:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._add_run(table.slice(0, run))
            self._waiting = table.slice(run).to_batches()
            self._rows -= run

    def flush(self, step: Callable[[], None] = lambda: None) -> None:
        """Write all remaining rows, in pieces.

        `step` is called between pieces, and may stop the work by raising an exception.
        """
        if self._rows:
            rows = pa.Table.from_batches(self._waiting, self._schema)
            self._waiting, self._rows = [], 0
            if self._spills:
                self._add_run(rows)
            else:
                self._write_ordered(rows, 0)
        self._write_spilled(step)

    def close(self) -> None:
        """Delete the spill files."""
        for spill in self._spills:
            spill.close()
        self._spills = []

    def _add_run(self, rows: pa.Table) -> None:
        if self._once:
            # Here too, so that equal rows do not fill the disk, and memory when they are compared.
            rows = self._first(rows.combine_chunks())
        high = rows["person_high"].to_numpy()
        if not high.any():  # records
            self._write_ordered(rows, 0)
            return
        free = shutil.disk_usage(self._folder).free - LEFT_FREE
        if free < sum(spill.size for spill in self._spills):
            if self._once:
                raise InvalidInput(
                    "The table takes more disk space than there is; hand over fewer slices.",
                    field="file",
                )
            self._write_spilled(lambda: None)
        if not self._spills:
            self._spills = [Spill(self._schema, self._folder) for _ in range(1 << SPILL_BITS)]
        bits = (high >> np.uint64(64 - FINE_BITS)).astype(np.uint8)
        order = np.argsort(bits, kind="stable").astype(np.int32)
        (ordered,) = rows.combine_chunks().take(pa.array(order)).combine_chunks().to_batches()
        ends = np.searchsorted(bits[order], np.arange(1 << FINE_BITS), side="right")
        spans = list(pairwise([0, *map(int, ends)]))
        each = len(spans) >> SPILL_BITS
        for number, spill in enumerate(self._spills):
            spill.add(ordered, spans[number * each : (number + 1) * each])

    def _write_spilled(self, step: Callable[[], None]) -> None:
        for spill in self._spills:
            # Aim at half of RUN rows in a range of hashes, so that most ranges have at most RUN.
            divided = min((2 * spill.rows // RUN).bit_length(), FINE_BITS - SPILL_BITS)
            for rows in spill.pieces(1 << divided, whole=bool(self._once)):
                self._write_ordered(rows, SPILL_BITS + divided)
                step()
            spill.close()
        self._spills = []

    def _write_ordered(self, rows: pa.Table, level: int) -> None:
        """Write rows in the order of the 16 bits that follow the first `level` bits of the hashes.

        The persons' hashes agree in these first bits.
        """
        rows = self._first(rows.combine_chunks())
        high = rows["person_high"].to_numpy()
        if not high.any():
            self._writer.write_table(rows, row_group_size=ROW_GROUP)
            return
        bits = (high >> np.uint64(48 - level)).astype(np.uint16)
        order = np.argsort(bits, kind="stable").astype(np.int32)
        rows = rows.take(pa.array(order)).combine_chunks()
        for first, after in pairwise([0, *_cuts(bits[order]), len(rows)]):
            part = rows.slice(first, after - first)
            self._writer.write_table(part, row_group_size=2 * ROW_GROUP)

    def _first(self, rows: pa.Table) -> pa.Table:
        """Return the first of the rows that are equal in the columns `once`, and count the rest."""
        if not self._once:
            return rows
        first = first_rows(rows, self._once)
        self.repeated += len(rows) - len(first)
        return first


class Spill:
    """Rows of the persons with hashes in one range.

    They are in a temporary file without a name in `folder`.
    """

    def __init__(self, schema: pa.Schema, folder: Path) -> None:
        self._schema = schema
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - see close
        self._ends: list[list[int]] = []
        self.rows = 0
        self.size = 0

    def add(self, rows: pa.RecordBatch, spans: list[tuple[int, int]]) -> None:
        """Append the `spans` of `rows`, which are ordered by the first bits of the hashes.

        A span is the rows in one range of hashes, given by the index of its first row and the index
        after its last row.
        """
        ends = [self.size]
        for first, after in spans:
            message = rows.slice(first, after - first).serialize()
            self._file.write(message)
            self.size += message.size
            ends.append(self.size)
            self.rows += after - first
        self._ends.append(ends)

    def pieces(self, ranges: int, *, whole: bool = False) -> Iterator[pa.Table]:
        """Yield the rows, at most RUN at a time, one range of hashes after the other.

        There are `ranges` equal ranges of the hashes that the file may hold. If `whole` is true,
        a range comes in one piece, however many rows it has.
        """
        for number in range(ranges):
            waiting: list[pa.RecordBatch] = []
            rows = 0
            for batch in self._in_range(number, ranges):
                if rows + batch.num_rows > RUN and not whole:
                    yield pa.Table.from_batches(waiting, self._schema)
                    waiting, rows = [], 0
                waiting.append(batch)
                rows += batch.num_rows
                if rows > MAX_COMPARED:
                    raise InvalidInput(
                        "Single persons have too many rows in this table; hand over one row for "
                        "each person, region and slice.",
                        field="file",
                    )
            if rows:
                yield pa.Table.from_batches(waiting, self._schema)

    def _in_range(self, number: int, ranges: int) -> Iterator[pa.RecordBatch]:
        for ends in self._ends:
            each = (len(ends) - 1) // ranges
            first, *after = ends[number * each : (number + 1) * each + 1]
            self._file.seek(first)
            content = pa.py_buffer(self._file.read(after[-1] - first))
            for start, end in pairwise([first, *after]):
                message = content.slice(start - first, end - start)
                yield pa.ipc.read_record_batch(message, self._schema)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


def first_rows(rows: pa.Table, once: Sequence[str]) -> pa.Table:
    """Return the rows in their order without those that equal an earlier one in columns `once`."""
    columns = (rows[name] for name in once)
    codes = [np.asarray(pc.fill_null(each, -1) if each.null_count else each) for each in columns]
    order = np.lexsort(codes)  # stable, so the first of equal rows stays the first
    equal = np.ones(max(len(order) - 1, 0), dtype=bool)
    for code in codes:
        equal &= code[order[1:]] == code[order[:-1]]
    kept = np.ones(len(order), dtype=bool)
    kept[order[1:][equal]] = False
    return rows.filter(pa.array(kept)).combine_chunks()


def _cuts(bits: NDArray[np.uint16]) -> list[int]:
    """Return the indices at which to divide rows, ordered by `bits` (n,), into row groups.

    Each row group has the rows in one range of hashes. The ranges are equally wide, and their
    number is a power of two. A release may read the rows in several passes, each for some of the
    persons. If there are as many passes as ranges, or half or a quarter as many, no row group holds
    persons of two passes.
    """
    ranges = 1 << (2 * len(bits) // (3 * ROW_GROUP)).bit_length()
    ends = np.arange(1, ranges) * ((1 << 16) // ranges)
    return [int(cut) for cut in np.unique(np.searchsorted(bits, ends)) if 0 < cut < len(bits)]
