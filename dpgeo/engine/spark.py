"""Counts of a registered folder by a Spark session on this machine.

Spark reads each file in a task of its own, in a Python process that calls the functions by which a
folder is read without Spark (`ingest.source_rows`) and locates the rows as `engine.in_place` does.
A task yields the number of rows of each person in each region. Spark brings together what belongs
to a person, bounds it and adds it up (`engine.source_sql`); only a number for each occupied region
is returned to this process, which draws all noise.

Privacy argument. Whether a row is accepted, and in which region it is, follows from that row, as
without Spark. What is counted of a person is a function of that person's own rows for any fixed
`draw` (`engine.source_sql`), so removing the person changes at most `bound` counts.

No secret is given to Spark. Its tasks group persons by the functions that hash them, with a key
that follows from the public `draw`: it hides nothing, and need not, because the identifiers are in
the folder. The dataset's own key, with which the hashes of erased persons were made, stays in this
process: Spark lists the folder's distinct identifiers, this process hashes them, and the tasks are
given the hashes of the erased persons under the public key. Errors inside a task are passed on by
their type alone, since a library's message may quote a value, and Spark logs it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpgeo
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.in_place import InPlaceView
from dpgeo.engine.source_sql import SPARK, Dialect, sampling_query
from dpgeo.ingest.canonical import declared_schema
from dpgeo.ingest.persons import rehashed
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Schema
from dpgeo.ingest.source_rows import names_in, source_rows
from dpgeo.privacy.bounding import ValuedRegions

if TYPE_CHECKING:
    import pyarrow as pa

NAMES = 100_000
"""Number of identifiers that are hashed at a time."""


class SparkError(Exception):
    """Raised if Spark cannot count; its text names the kind of error, without values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFile:
    """A Parquet file, how its rows are read, and the hashes of persons who are left out.

    `named` are the columns that its folders' names state.
    """

    path: Path
    named: Mapping[str, str | None]
    schema: Schema
    erased: frozenset[bytes] = frozenset()


@dataclass(slots=True)
class FileRows:
    """The canonical rows of one file (`engine.in_place.Rows`).

    Persons are hashed with a `key` that is not secret (`grouping_key`).
    """

    file: SparkFile
    key: bytes
    between: tuple[int, int] | None
    number: int = 1
    people: int = 1

    @property
    def schema(self) -> pa.Schema:
        """The schema of the canonical rows."""
        return declared_schema(self.file.schema)

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows. `first` and `last`, limits on persons' marks, must be `EVERYBODY`."""
        file = self.file
        yield from source_rows(
            file.path,
            file.named,
            file.schema,
            self.key,
            Tally(),
            erased=file.erased,
            between=self.between,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a process of Spark does with those of the `files` whose indices it is given.

    The task is sent to that process, so nothing in it is secret.
    """

    files: Sequence[SparkFile]
    domain: Domain
    regions: ValuedRegions
    key: bytes
    between: tuple[int, int] | None
    memory_bytes: int
    spill: Path

    def grouped(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield columns person, cell (a region) and amount: that person's rows in that region."""
        with without_values():
            for number in _numbers(numbers):
                file = self.files[number]
                view = InPlaceView(
                    FileRows(file, self.key, self.between),
                    domain=self.domain,
                    unit=file.schema.unit,
                    counting=Counting.VISITS,
                    bound=1,
                    salt=bytes(16),  # not used: this view chooses no sample of rows
                    memory_bytes=self.memory_bytes,
                    threads=1,
                    folder=self.spill,
                )
                yield from view.grouped(self.regions)

    def names(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the identifiers of the persons in the files, as batches with a column "name"."""
        import pyarrow as pa

        with without_values():
            for number in _numbers(numbers):
                file = self.files[number]
                for names in names_in(file.path, file.named, file.schema):
                    yield pa.record_batch([names.cast(pa.string())], names=["name"])


def spark_counts(
    session: Any,
    task: Task,
    *,
    secret: bytes,
    counting: Counting,
    bound: int,
    draw: int,
) -> Iterator[Answer]:
    """Yield the bounded counts of all regions that have kept rows, as columns "cell" and "amount".

    The hashes in `task.files` are made with `secret`, which does not leave this process. Records in
    overlapping zones cannot be bounded in this way. Raises SparkError.
    """
    files = _rekeyed(session, task, secret) if any(file.erased for file in task.files) else ()
    task = replace(task, files=files or task.files)
    grouped = _mapped(
        session, task.files, task.grouped, "person string, cell bigint, amount bigint"
    )
    with _by_kind():
        grouped.createOrReplaceTempView("located")
        unit = task.files[0].schema.unit if task.files else Unit.RECORD
        query = merging_query(SPARK, "located", unit, counting=counting, bound=bound, draw=draw)
        found = session.sql(query).toArrow()
    yield {name: found[name].to_numpy() for name in ("cell", "amount")}


def merging_query(
    dialect: Dialect, table: str, unit: Unit, *, counting: Counting, bound: int, draw: int
) -> str:
    """Return SQL that bounds contributions and counts them.

    `table` has the columns person, cell and amount, as the tasks of all files yield them.
    """
    added = "CAST(sum(amount) AS BIGINT) AS amount"
    if unit is Unit.RECORD:
        return f"SELECT cell, {added} FROM {table} GROUP BY cell"
    grouped = f"SELECT person, cell, {added} FROM {table} GROUP BY person, cell"
    return sampling_query(dialect, grouped, counting=counting, bound=bound, draw=draw, text=True)


def grouping_key(draw: int) -> bytes:
    """Return the key with which persons are hashed to group their rows.

    It is not secret, since it follows from the public `draw`.
    """
    return hashlib.blake2b(draw.to_bytes(8), digest_size=32, person=b"source persons").digest()


def _rekeyed(session: Any, task: Task, secret: bytes) -> list[SparkFile]:
    """Return the task's files, with the hashes in `erased` made anew with the task's key.

    A file's `erased` are the hashes of erased persons. Those in `task` were made with `secret`,
    which Spark must not know.
    """
    hashes = frozenset(one for file in task.files for one in file.erased)
    bare = replace(task, files=[replace(file, erased=frozenset()) for file in task.files])
    found: dict[bytes, bytes] = {}
    listed = _mapped(session, bare.files, bare.names, "name string")
    with _by_kind():
        for batch in listed.distinct().toArrow().to_batches(NAMES):
            found |= rehashed(batch["name"].to_pylist(), secret, hashes, task.key)
    return [
        replace(file, erased=frozenset(found[one] for one in file.erased if one in found))
        for file in task.files
    ]


def _mapped(session: Any, files: Collection[SparkFile], work: Any, columns: str) -> Any:
    """Return the rows that the function `work` yields for the files, each file in its own task."""
    with _by_kind():
        number = len(files)
        return session.range(0, number, 1, max(number, 1)).mapInArrow(work, columns)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch["id"].to_pylist()


@contextmanager
def without_values() -> Iterator[None]:
    """Within the block, replace an error by one that states only its type, since Spark logs
    errors.
    """
    try:
        yield
    except Exception as error:
        raise SparkError(type(error).__name__) from None


@contextmanager
def _by_kind() -> Iterator[None]:
    """Within the block, replace errors of Spark by SparkErrors that state only their type.

    Their messages would quote Spark's log.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkError(type(error).__name__) from None


def problem_with_spark() -> str:
    """Return which package is missing for Spark, or ""."""
    if importlib.util.find_spec("pyspark") is None:
        return "dpgeo[spark]"
    home = os.environ.get("JAVA_HOME", "")
    return "" if shutil.which("java") or (home and Path(home, "bin/java").exists()) else "Java 17"


@contextmanager
def spark_session(master: str, memory_bytes: int, folder: Path) -> Iterator[Any]:
    """Start Spark on this machine, with its temporary files in `folder`; stop it at the end.

    The first session of a process starts Java, which ends with the process. Raises SparkError.
    """
    from pyspark.sql import SparkSession

    # Without this, Spark would start its tasks with the first python3 on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        # Spark's ports and temporary files hold rows, and other users of the machine could reach
        # both.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.io.encryption.enabled": "true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{memory_bytes >> 20}m",
        "spark.executorEnv.PYTHONPATH": str(Path(dpgeo.__file__).parents[1]),
        "spark.local.dir": str(folder),
        "spark.sql.ansi.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with _by_kind():
        builder = SparkSession.builder.master(master).appName("dpgeo")
        session = builder.config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
