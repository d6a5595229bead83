"""Private view of a folder whose rows Spark counts, on this machine or on a cluster.

The measurements, and the queries that bound and count, are those of `engine.duckdb_view`. Instead
of running a query on a canonical file, pass by pass, this view has Spark run it on each partition
of the people (`engine.spark_tasks`), and Spark adds up the partitions' results. This process is
given a number for each occupied region, and draws all noise.

Privacy argument. `Task.located` yields the multiset of canonical rows that a canonical file of the
same files would contain, since it is the code that writes one. Spark puts all rows of a privacy
unit in one partition, and the query's result for a partition does not depend on the order of its
rows. So the sum over all partitions is the result for the whole file, and the sensitivities are the
same. If an executor is lost, Spark repeats its tasks; a task has no randomness, so its result is
the same, and Spark takes one result of each. Nothing is drawn before all results are here.

No secret is given to Spark. The salt of a job is replaced by a draw that follows from it by a keyed
hash (`public_draw`) and does not reveal it. For a fixed draw, known or not, a person's sample is a
function of that person's own rows, so the sensitivity does not depend on the draw being secret.
Persons are hashed with a key that follows from the draw (`grouping_key`): it hides nothing, and
need not, because the identifiers are in the folder. The dataset's own key, with which the hashes of
erased persons were made, stays in this process: Spark lists the folder's distinct identifiers, this
process hashes them, and the tasks are given the hashes of the erased persons under the public key.

Trips and moved points need more than sums of partitions. For them, this process copies the rows to
a temporary canonical file, which ends with the job.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import re
import shutil
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import dpgeo
from dpgeo.core.trip_paths import TripPaths
from dpgeo.core.trips import TripPairs
from dpgeo.engine import counting_sql as sql
from dpgeo.engine.canonical_file import Parameters
from dpgeo.engine.duckdb_view import (
    Answer,
    DuckDBView,
    Sampling,
    choose_sampling,
    frame_of,
    inputs_of,
    people_of,
)
from dpgeo.engine.spark_tasks import (
    NO_SPACE,
    STREAM,
    Question,
    SparkError,
    SparkFile,
    Task,
    run_streamed,
    signed_schema,
)
from dpgeo.engine.zoned import zoned_schema
from dpgeo.ingest.persons import rehashed
from dpgeo.privacy.bounding import Listed, Regions
from dpgeo.privacy.positions import PrivatePositions
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.trip_features import PrivateTripFeatures

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SENT = ("__init__.py", "blanks.py", "phrases.py", "core", "engine", "ingest", "spatial")
"""Modules and rooms of this package that `engine.spark_tasks` may import."""

KEYS = {"cell", "binned", "contributions"}
"""Columns of results by which results of several partitions are added up."""

NAMES = 100_000
"""Number of identifiers that are hashed at a time."""

ALONE_SECONDS = 300.0
"""Seconds after which a question fails if the cluster has no executor for it.

Starting one may take minutes, for example if Kubernetes first fetches its image.
"""

WATCH_SECONDS = 2.0

ERROR = re.compile(r"dpgeo\[(\w+):(\d*)\]")
"""The text of a `SparkError` within that of Spark's own error."""


class Rows(Protocol):
    """Canonical rows of a folder, which can be read repeatedly in this process.

    `number` and `people` are the private numbers of rows and of persons, from which the number of
    partitions is chosen. `batches()` raises an error if a file has changed.
    """

    @property
    def number(self) -> int: ...

    @property
    def people(self) -> int: ...

    @property
    def schema(self) -> pa.Schema: ...

    def batches(self) -> Iterator[pa.RecordBatch]: ...


class SparkView(DuckDBView):
    """A `PrivateView` of `rows`; the other arguments are those of `DuckDBView`.

    `count` returns the answer of each partition to a question, or their sum. `folder` must be given
    for trips and moved points.
    """

    def __init__(
        self,
        rows: Rows,
        count: Callable[[Question], Iterator[Answer]],
        *,
        salt: bytes,
        **settings: Any,
    ) -> None:
        # What this view tells Spark has the public draw wherever a DuckDBView has the salt.
        super().__init__(Path(), salt=public_draw(salt), **settings)
        self._rows = rows
        self._count = count
        self._copy_settings = {**settings, "salt": salt}
        self._zones: Listed | None = None

    def trips(self, pairs: TripPairs) -> PrivateSparseCounts:
        """Return counts by pair of regions and slice, from a temporary copy of the rows."""
        return self._copied().trips(pairs)

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Return private counts of the features of trips, from a temporary copy of the rows."""
        return self._copied().trip_features(paths)

    def positions(self, *, time_step: int | None, attributes: bool = False) -> PrivatePositions:
        """Return reports of privacy units, from a temporary copy of the rows."""
        return self._copied().positions(time_step=time_step, attributes=attributes)

    def _copied(self) -> DuckDBView:
        """Return a view of a temporary copy of the rows, which the first call writes."""
        if self._file.folder is None:
            raise ValueError("A folder is needed for a copy of the rows.")
        path = self._file.folder / "copy.parquet"
        if not path.exists():
            write_rows(self._rows, path)
        return DuckDBView(path, **{**self._copy_settings, "bound": self._bound})

    def _in_regions(self, regions: Regions) -> tuple[str, Parameters]:
        self._zones = regions if isinstance(regions, Listed) else None
        if self._zones is not None:
            return _streamed(sql.IN_ZONES), {"path": ""}
        return _streamed(sql.IN_CELLS), {"path": "", **frame_of(regions)}  # type: ignore[arg-type]

    def _choose(self, connection: duckdb.DuckDBPyConnection, path: Any) -> Sampling:
        return choose_sampling(
            self._counting,
            rows=self._rows.number,
            people=self._rows.people,
            bound=self._bound,
            memory=self._file.memory_bytes,
            threads=1,
        )

    def _results(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        parameters: Parameters,
        passes: int,
    ) -> Iterator[Answer]:
        """Yield the result for no rows, then the partitions' results or their sum.

        The first is for windows in which no file has rows: what is made of them looks as usual.
        """
        import pyarrow as pa

        schema = self._rows.schema if self._zones is None else zoned_schema(self._rows.schema)
        words = set(re.findall(r"\w+", query))
        schema = pa.schema([column for column in schema if column.name in words])
        places = ranks = None
        if "ranks.place" in query:
            table = connection.execute("SELECT place, rank FROM ranks").fetchnumpy()
            places, ranks = np.asarray(table["place"]), np.asarray(table["rank"])
        inputs = inputs_of(query, parameters | people_of(0, 1))
        empty = run_streamed(connection, query, inputs, schema, [])
        yield empty
        yield from self._count(
            Question(
                query=query,
                parameters=inputs,
                schema=schema,
                names=tuple(empty),
                partitions=passes,
                unit=self._unit,
                zones=self._zones,
                places=places,
                ranks=ranks,
            )
        )
        if self._progress:
            self._progress(1, 1)


def public_draw(salt: bytes) -> bytes:
    """Return 16 public bytes, derived from a secret salt that they do not reveal.

    A repeated job has the same salt, so it chooses the same sample of contributions.
    """
    return hashlib.blake2b(b"sample at the source", key=salt, digest_size=16).digest()


def grouping_key(draw: bytes) -> bytes:
    """Return the key with which persons are hashed to group their rows.

    It is not secret, since it follows from the public `draw`.
    """
    return hashlib.blake2b(draw, digest_size=32, person=b"source persons").digest()


def write_rows(rows: Rows, target: Path) -> None:
    """Write all rows to a canonical file at `target`, which appears complete or not at all."""
    import pyarrow.parquet as pq

    part = target.with_suffix(".part")
    try:
        with pq.ParquetWriter(part, rows.schema, compression="zstd") as writer:
            for batch in rows.batches():
                writer.write_batch(batch)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _streamed(query: str) -> str:
    return query.replace("read_parquet($path)", STREAM)


@dataclass
class Cluster:
    """Counts the rows of `files` with Spark, at `master`; the first question starts a session.

    The hashes in the files are made with `secret`, which does not leave this process; Spark hashes
    persons with `key`. `folder` is a temporary folder of this process.
    """

    master: str
    files: Sequence[SparkFile]
    secret: bytes = field(repr=False)
    key: bytes
    between: tuple[int, int] | None
    memory_bytes: int
    folder: Path
    _session: Any = None
    _is_rekeyed: bool = False

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        # An error here would come after noise was drawn, and must not discard the draw.
        if self._session is not None:
            with suppress(Exception):
                self._session.stop()

    def count(self, question: Question) -> Iterator[Answer]:
        """Yield the sum of all partitions' answers, or each answer if rows of it are persons.

        Raises SparkError.
        """
        if not self.files:
            return
        with _by_kind():
            session = self._started()
            if not self._is_rekeyed:
                self.files = self._rekeyed(question)
                self._is_rekeyed = True
            task = self._task(question)
            found = self._counted(session, task)
        yield from _parts(found) if "person" in question.names else [_columns(found)]

    def _started(self) -> Any:
        if self._session is None:
            with _by_kind("session"):
                self._session = start_session(self.master, self.memory_bytes, self.folder)
        return self._session

    def _task(self, question: Question) -> Task:
        return Task(
            files=self.files,
            question=question,
            key=self.key,
            between=self.between,
            memory_bytes=self.memory_bytes,
        )

    def _counted(self, session: Any, task: Task) -> pa.Table:
        from pyspark.sql import functions
        from pyspark.sql.pandas.types import from_arrow_schema

        question = task.question
        schema = from_arrow_schema(signed_schema(question.schema))
        rows = self._each_file(session).mapInArrow(task.located, schema)
        partitions = max(question.partitions, session.sparkContext.defaultParallelism)
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))
        if question.by_person:
            rows = rows.repartition(partitions, "person_high", "person_low")
        columns = ", ".join(f"{name} bigint" for name in question.names)
        found = rows.mapInArrow(task.counted, columns)
        if "person" in question.names:
            found = found.withColumn("part", functions.spark_partition_id())
            return watched(session, found.toArrow)
        keys = [name for name in question.names if name in KEYS]
        sums = [functions.sum(name).alias(name) for name in question.names if name not in KEYS]
        return watched(session, found.groupBy(*keys).agg(*sums).toArrow)

    def _each_file(self, session: Any) -> Any:
        number = len(self.files)
        return session.range(0, number, 1, number)

    def _rekeyed(self, question: Question) -> list[SparkFile]:
        """Return the files with the hashes of erased persons made anew with the public key."""
        hashes = frozenset(one for file in self.files for one in file.erased)
        if not hashes:
            return list(self.files)
        bare = replace(
            self._task(question),
            files=[replace(file, erased=frozenset()) for file in self.files],
        )
        session = self._started()
        listed = self._each_file(session).mapInArrow(bare.names, "name string").distinct()
        found: dict[bytes, bytes] = {}
        for batch in watched(session, listed.toArrow).to_batches(NAMES):
            found |= rehashed(batch["name"].to_pylist(), self.secret, hashes, self.key)
        keyed: dict[frozenset[bytes], frozenset[bytes]] = {}
        for file in self.files:
            keyed[file.erased] = frozenset(found[one] for one in file.erased if one in found)
        return [replace(file, erased=keyed[file.erased]) for file in self.files]


def _columns(found: pa.Table) -> Answer:
    return {name: found[name].to_numpy() for name in found.column_names}


def _parts(found: pa.Table) -> Iterator[Answer]:
    """Yield the rows of each partition, since each numbers its persons from 0."""
    columns = _columns(found.sort_by("part"))
    part = columns.pop("part")
    ends = np.flatnonzero(np.diff(part)) + 1
    pieces = {name: np.split(column, ends) for name, column in columns.items()}
    for number in range(len(ends) + 1):
        yield {name: piece[number] for name, piece in pieces.items()}


def watched(session: Any, work: Callable[[], Any]) -> Any:
    """Return what `work` returns; cancel it if the cluster has no executor for ALONE_SECONDS.

    Spark itself would wait for an executor without end.
    """
    context = session.sparkContext
    done, is_alone = threading.Event(), threading.Event()

    def watch() -> None:
        alone = 0.0
        # If the session has ended, asking it fails, and so does `work`.
        with suppress(Exception):
            while not done.wait(WATCH_SECONDS):
                # The driver is one of them.
                others = context._jsc.sc().getExecutorMemoryStatus().size() - 1
                alone = 0.0 if others else alone + WATCH_SECONDS
                if alone >= ALONE_SECONDS:
                    is_alone.set()
                    context.cancelAllJobs()

    watcher = threading.Thread(target=watch, daemon=True)
    if not context.master.startswith("local"):
        watcher.start()
    try:
        return work()
    except Exception:
        if is_alone.is_set():
            raise SparkError("executors") from None
        raise
    finally:
        done.set()


@contextmanager
def _by_kind(kind: str = "") -> Iterator[None]:
    """Within the block, replace errors of Spark by SparkErrors, since their texts quote logs.

    `kind` is the kind of an error that states none.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if found := ERROR.search(text):
            file = int(found[2]) if found[2] else None
            raise SparkError(found[1], file) from None
        raise SparkError("disk" if NO_SPACE in text else kind or type(error).__name__) from None


def problem_with_spark() -> str:
    """Return which package is missing for Spark, or ""."""
    if importlib.util.find_spec("pyspark") is None:
        return "dpgeo[spark]"
    home = os.environ.get("JAVA_HOME", "")
    return "" if shutil.which("java") or (home and Path(home, "bin/java").exists()) else "Java 17"


def start_session(master: str, memory_bytes: int, folder: Path) -> Any:
    """Start a session of Spark with its temporary files in `folder`, and send it this package.

    The first session of a process starts Java, which ends with the process. Settings of a cluster
    come from Spark's own files (SPARK_CONF_DIR).
    """
    from pyspark.sql import SparkSession

    is_local = master.startswith("local")
    # Without this, Spark would start tasks on this machine with the first python3 on the PATH.
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable if is_local else "python3")
    settings: dict[str, str] = {
        # Spark's ports and temporary files hold rows, and others could reach both.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.io.encryption.enabled": "true",
        "spark.driver.memory": f"{memory_bytes >> 20}m",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(folder),
        }
    builder = SparkSession.builder.master(master).appName("dpgeo")
    session = builder.config(map=settings).getOrCreate()
    package = folder / "dpgeo.zip"
    package.write_bytes(zipped_package())
    session.sparkContext.addPyFile(str(package))
    return session


def zipped_package() -> bytes:
    """Return a zip file of the modules that executors import."""
    root = Path(dpgeo.__file__).parent
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in SENT:
            top = root / name
            for path in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
                archive.write(path, path.relative_to(root.parent).as_posix())
    return buffer.getvalue()
