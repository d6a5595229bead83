"""Private view of rows that are read from their source, without a copy of all of them.

The rows of a registered source (`datasets.sources`) are turned into canonical rows batch by batch,
as those of an uploaded file are, and DuckDB counts them as they come. The source is read again for
each pass; rows of people who are not in that pass are dropped as soon as their person's mark is
known.

Privacy argument. `Rows.batches` yields the same multiset of canonical rows as a canonical file of
the same rows would contain, and the queries are those of `duckdb_view`: a person's sample is a
function of that person's own rows, and nothing that is measured depends on the order of rows. So
the sensitivities are the same. A pass is a range of marks, numbers that are a function of the
person (`ingest.persons`). It is fixed before rows are read, from the sizes of the snapshot, which
are private and affect time and memory alone.

Shards. Each pass may be counted by another worker, which reads the rows of that pass and runs the
same query with the same salt (`Question`). Every person is in one pass, with all rows, so the
counts of all passes add up to those of one worker, number by number.

Trips and perturbed points need all rows of a person together, or rows by their numbers. For them,
the rows are copied to a temporary file, which ends with the job. It holds the rows of the window.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.guarantees import Unit
from dpgeo.core.trip_paths import TripPaths
from dpgeo.core.trips import TripPairs
from dpgeo.engine import counting_sql as sql
from dpgeo.engine.canonical_file import CanonicalFile, Parameters
from dpgeo.engine.duckdb_view import (
    Answer,
    DuckDBView,
    Sampling,
    choose_sampling,
    frame_of,
    people_of,
)
from dpgeo.engine.zoned import ZonedRows, zoned_batches, zoned_schema
from dpgeo.privacy.bounding import Listed, Regions, ValuedRegions
from dpgeo.privacy.positions import PrivatePositions
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.privacy.trip_features import PrivateTripFeatures
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

STREAM = "rows_in_place"
"""Table name under which SQL queries read the rows."""

ROWS = 65_536
"""Number of rows in a row group of a file that is written."""

EVERYBODY = (0, (1 << 64) - 1)
"""The least and the greatest number that can be a person's mark, by which `Rows.batches` divides
persons, or the first half of a person's hash.
"""


class Rows(Protocol):
    """Canonical rows that can be read repeatedly, always the same ones.

    `number` and `people` are the private numbers of rows and of persons, possibly estimated, from
    which the number of passes is chosen. `batches(first, last)` yields the rows of the persons
    whose mark, a fixed function of the person, lies from `first` to `last`, in the order of the
    source; if records are the privacy unit, each row has a mark. It may be called in another
    thread. It raises an error if the source has changed.
    """

    number: int
    people: int

    @property
    def schema(self) -> pa.Schema: ...

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]: ...


ZonesName = tuple[str, int, bool]
"""Identifies a domain's zones, as (layer, 0, False), or places, as (layer, reach, by key).

The reach is in metres. If "by key" is true, a row counts at the place that it names.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What one measurement needs from each pass, in a form that other workers can read.

    `parameters` lack the salt, which each worker knows from the release. `places` and `ranks`,
    uint64 (n,), are the popularity of places, measured with noise that was paid for but is not
    public yet.
    So a question is private, and so are its answers.
    """

    query: str
    parameters: Parameters
    passes: int
    zones: ZonesName | None = None
    places: NDArray[np.uint64] | None = None
    ranks: NDArray[np.uint64] | None = None

    def to_bytes(self) -> bytes:
        """Return this question, asked of workers, as the bytes of an .npz file without pickles.

        Equal questions yield equal bytes.
        """
        facts = {
            "query": self.query,
            "parameters": self.parameters,
            "passes": self.passes,
            "zones": self.zones,
        }
        text = json.dumps(facts, sort_keys=True, default=lambda number: number.item())
        arrays: Answer = {"facts": np.frombuffer(text.encode(), dtype=np.uint8)}
        if self.ranks is not None and self.places is not None:
            arrays |= {"places": self.places, "ranks": self.ranks}
        return answer_to_bytes(arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> Question:
        """Return the `Question`, what one measurement asks of workers, that `to_bytes` wrote."""
        arrays = answer_from_bytes(data)
        facts = json.loads(arrays["facts"].tobytes())
        zones = tuple(facts["zones"]) if facts["zones"] else None
        return cls(
            facts["query"],
            facts["parameters"],
            facts["passes"],
            zones,
            arrays.get("places"),
            arrays.get("ranks"),
        )


@dataclass(frozen=True, slots=True)
class Division:
    """How counts are divided among workers.

    `ask` has workers count for a `Question`, each some of the people (a pass), and returns the
    passes' results in order. Every question is divided into at least `shards` passes.
    """

    shards: int
    ask: Callable[[Question], Iterator[Answer]]


def answer_to_bytes(answer: Answer) -> bytes:
    """Return named arrays as an .npz file without pickles."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **answer)
    return buffer.getvalue()


def answer_from_bytes(data: bytes) -> Answer:
    """Return the arrays that `answer_to_bytes` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


class InPlaceView(DuckDBView):
    """A `PrivateView` of `rows`; the other arguments are those of `DuckDBView`.

    `folder` must be given if trips or positions are read, since it holds their temporary file. With
    a `division`, counts are made in shards by other workers.
    """

    def __init__(self, rows: Rows, *, division: Division | None = None, **settings: Any) -> None:
        super().__init__(Path(), **settings)
        self._rows = rows
        self._division = division
        self._zones: Listed | None = None

    def trips(self, pairs: TripPairs) -> PrivateSparseCounts:
        """Return counts by pair of regions and slice, from a temporary copy of the rows."""
        return self._copied().trips(pairs)

    def trip_features(self, paths: TripPaths) -> PrivateTripFeatures:
        """Return private counts of the features of trips, from a temporary copy of the rows."""
        return self._copied().trip_features(paths)

    def positions(self, *, time_step: int | None, attributes: bool = False) -> PrivatePositions:
        """Return reports of privacy units, from a temporary copy of the rows."""
        return self._copied(reports=True).positions(time_step=time_step, attributes=attributes)

    def _copied(self, *, reports: bool = False) -> DuckDBView:
        """Return a view of a temporary copy of the rows, which the first call writes.

        If `reports` is true, the copy is for `positions`, and may hold only the reports that are
        chosen to be perturbed, at most `bound` of each person.
        """
        return self._copy_of(self._rows.batches(*EVERYBODY), "copy.parquet")

    def _copy_of(self, batches: Iterable[pa.RecordBatch], name: str) -> DuckDBView:
        """Return a view of a temporary file `name` that holds canonical rows.

        If the file does not exist yet, it is written from `batches`.
        """
        if self._file.folder is None:
            raise ValueError("A folder is needed for a copy of the rows.")
        path = self._file.folder / name
        if not path.exists():
            _write_whole(batches, self._rows.schema, path)
        view = DuckDBView.__new__(DuckDBView)
        ours = {"_rows", "_division", "_zones", "_counter"}
        view.__dict__ |= {name: self.__dict__[name] for name in self.__dict__ if name not in ours}
        view._file = replace(self._file, path=path)
        view._zoned = ZonedRows(view._file, self._unit)
        return view

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
            threads=self._file.threads,
        )

    def _results(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        parameters: Parameters,
        passes: int,
    ) -> Iterator[Answer]:
        # Records in overlapping zones are told apart by their position among all rows, which a
        # worker that reads only some rows does not know. So they are counted in this process.
        together = self._unit is Unit.RECORD and _is_sampled(query)
        if self._division is None or together:
            yield from super()._results(connection, query, parameters, passes)
            return
        places, ranks = None, None
        if "ranks.place" in query:
            table = connection.execute("SELECT place, rank FROM ranks").fetchnumpy()
            places, ranks = np.asarray(table["place"]), np.asarray(table["rank"])
        secret = self._file.salt_words()
        public = {name: parameters[name] for name in parameters if name not in secret}
        question = Question(
            query,
            public,
            max(passes, self._division.shards),
            self._name_of(self._zones),
            places,
            ranks,
        )
        yield from self._division.ask(question)

    def answer(self, question: Question, number: int) -> Answer:
        """Return the result of a `Question`'s query on these rows, for the people of pass `number`.

        The question was asked by a view of the same rows, perhaps in another process.
        """
        import pyarrow as pa

        self._zones = self._named(question.zones)
        parameters = question.parameters | self._file.salt_words()
        parameters |= people_of(number, question.passes)
        with self._file.scratch() as folder, self._file.connected(folder) as connection:
            if question.ranks is not None:
                table = pa.table({"place": question.places, "rank": question.ranks})
                connection.register("ranks", table)
            return self._run(connection, question.query, parameters)

    def grouped(self, regions: ValuedRegions) -> Iterator[pa.RecordBatch]:
        """Yield columns person, cell (a region) and amount: that person's rows in that region.

        Contributions are not bounded. A person is the text of the hash; if records are the privacy
        unit, all rows have the same text.
        """
        import pyarrow as pa

        with self._file.scratch() as folder:
            located, parameters = self._located(regions)
            with self._file.connected(folder) as connection:
                found = self._run(connection, located + sql.GROUPED, parameters | people_of(0, 1))
        yield pa.record_batch(found)

    def _name_of(self, zones: Listed | None) -> ZonesName | None:
        """Return what identifies zones or places in the domain; None if `zones` is None.

        Raises ValueError for zones or places that the domain does not declare.
        """
        if zones is None:
            return None
        near = zones if isinstance(zones, NearPlaces) else None
        for name, layer in self._domain.layers.items():
            if layer is (near.places if near else zones):
                return (name, near.reach, near.by_key) if near else (name, 0, False)
        raise ValueError("Only regions that the domain declares are counted by several workers.")

    def _named(self, named: ZonesName | None) -> Listed | None:
        if named is None:
            return None
        name, reach, by_key = named
        layer = self._domain.layers[name]
        if isinstance(layer, Places):
            return NearPlaces(layer, reach, by_key)
        return cast(Zones, layer)

    def _run(
        self, connection: duckdb.DuckDBPyConnection, query: str, parameters: Parameters
    ) -> Answer:
        import pyarrow as pa

        people = EVERYBODY
        if self._unit is Unit.PERSON or not _is_sampled(query):
            people = int(parameters["first_person"]), int(parameters["last_person"])  # type: ignore[arg-type]
            parameters = {**parameters, "first_person": EVERYBODY[0], "last_person": EVERYBODY[1]}
        schema, batches = self._rows.schema, self._rows.batches(*people)
        if self._zones is not None:
            schema = zoned_schema(schema)
            batches = zoned_batches(batches, self._zones, self._unit)
        errors: list[BaseException] = []
        reader = pa.RecordBatchReader.from_batches(schema, _remembering(batches, errors.append))
        connection.register(STREAM, reader)
        try:
            return super()._run(connection, query, parameters)
        except Exception:
            # DuckDB wraps an error of the source in one of its own; the original says more.
            if errors:
                raise errors[0] from None
            raise
        finally:
            connection.unregister(STREAM)


def write_rows(rows: Rows, target: Path) -> None:
    """Write all rows to a canonical file at `target`, which appears complete or not at all."""
    _write_whole(rows.batches(*EVERYBODY), rows.schema, target)


def _write_whole(batches: Iterable[pa.RecordBatch], schema: pa.Schema, target: Path) -> None:
    import pyarrow.parquet as pq

    part = target.with_suffix(".part")
    try:
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


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
    import pyarrow as pa

    file = CanonicalFile(
        path=target, salt=bytes(16), folder=target.parent, memory_bytes=memory_bytes, threads=1
    )
    with file.scratch() as scratch, file.connected(scratch) as connection:
        connection.execute(sql.PEOPLE_SEEN)
        for part in parts:
            errors: list[BaseException] = []
            batches = _remembering(part, errors.append)
            connection.register(STREAM, pa.RecordBatchReader.from_batches(schema, batches))
            try:
                connection.execute(sql.SEE_PEOPLE)
            except Exception:
                if errors:
                    raise errors[0] from None
                raise
            finally:
                connection.unregister(STREAM)
            progress()
        people = connection.sql(sql.DISTINCT_PEOPLE).to_arrow_reader(ROWS)
        return _write_batches(people, target)


def _write_batches(reader: pa.RecordBatchReader, target: Path) -> int:
    """Write all batches of `reader` to a Parquet file; return the number of rows written."""
    import pyarrow.parquet as pq

    number = 0
    with pq.ParquetWriter(target, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            number += batch.num_rows
    return number


def _is_sampled(query: str) -> bool:
    """Return whether a query samples contributions.

    All rows of a privacy unit must then be read in one and the same pass.
    """
    return "$bound" in query


def _streamed(query: str) -> str:
    return query.replace("read_parquet($path)", STREAM)


def _remembering(
    batches: Iterable[pa.RecordBatch], remember: Callable[[BaseException], None]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches, and pass an error on to `remember` before it is raised."""
    try:
        yield from batches
    except BaseException as error:
        remember(error)
        raise
