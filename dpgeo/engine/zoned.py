"""Assignment of rows to declared zones, or to declared places nearby or with the row's place key.

Rows are read in chunks, but each position is located on its own, so the output does not depend on
the chunk size. To limit memory, chunks are smaller if many zones overlap. The chunk size depends on
the zones alone, which are public.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.guarantees import Unit
from dpgeo.engine.canonical_file import CanonicalFile
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.zones import Zones

if TYPE_CHECKING:
    import pyarrow as pa

PAIRS = 500_000
"""Maximum number of pairs of a position and a nearby zone in memory, at about 200 bytes each."""


SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Odd factor that maps each record's index to a 64-bit number of its own, spread over all numbers.

It is 2^64 divided by the golden ratio. The first half of a person's hash decides which pass over a
file reads the person's rows; if records are the privacy unit, this number decides it instead.
"""

NOT_COUNTED = {"attributes", "place_key", "destination_x", "destination_y"}
"""Columns of canonical files that are not needed for counts in zones or places."""


class ZonedRows:
    """The rows of a canonical file by zone or place, for all measurements of one job.

    They are written once and kept until other regions are requested, since a job measures the same
    regions several times: for its totals, for the popularity of places and for the counts. They are
    deleted with this object.
    """

    def __init__(self, file: CanonicalFile, unit: Unit) -> None:
        self._file = file
        self._unit = unit
        self._regions: Zones | NearPlaces | None = None
        self._folder: Path | None = None

    def path_for(self, regions: Zones | NearPlaces) -> Path:
        """Return the path of `write_zoned`'s file for `regions`; write it if there is none yet."""
        if self._folder is None:
            folder = Path(tempfile.mkdtemp(prefix="dpgeo-zoned-", dir=self._file.folder))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._folder = folder
        path = self._folder / "zoned.parquet"
        if self._regions is not regions:
            self._regions = None
            write_zoned(self._file.path, path, regions, self._unit)
            self._regions = regions
        return path


def write_zoned(
    source: Path, target: Path, zones: Zones | NearPlaces, unit: Unit, pairs: int = PAIRS
) -> None:
    """Write to `target` a row for each pair of a position in `source` and a zone that contains it.

    Each row of `target` is the position's row in `source` with the zone's index in a new column
    "cell". If the privacy unit is a record, the record's index in the file replaces the person.
    That index must not affect any sampling, since it depends on the records before it.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(source, memory_map=True) as file:
        schema = zoned_schema(file.schema_arrow)
        names = [*schema.names[:-1], *({"place_key"} & set(file.schema_arrow.names))]
        # The file is read a few times and then deleted, so time matters more than size. Readers
        # skip row groups by the first of the two columns of a person's hash, so only that column
        # needs statistics.
        with pq.ParquetWriter(
            target,
            schema,
            compression="none",
            use_dictionary=False,
            write_statistics=[schema.names[0]],
        ) as writer:
            # Decoding on one thread takes less processor time in all than on several.
            batches = file.iter_batches(batch_size=pairs, columns=names, use_threads=False)
            for batch in zoned_batches(batches, zones, unit, pairs):
                writer.write_batch(batch)


def zoned_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the rows that `write_zoned` writes, from that of canonical rows."""
    import pyarrow as pa

    kept = [field for field in schema if field.name not in NOT_COUNTED]
    return pa.schema([*kept, pa.field("cell", pa.uint32(), nullable=False)])


def zoned_batches(
    batches: Iterable[pa.RecordBatch],
    zones: Zones | NearPlaces,
    unit: Unit,
    pairs: int = PAIRS,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that `write_zoned` writes, made from `batches` of canonical rows."""
    import pyarrow as pa

    locator = zones.locator()
    size = max(1, pairs // locator.most_near)
    before = 0
    for whole in batches:
        for start in range(0, whole.num_rows, size):
            batch = whole.slice(start, size)
            if isinstance(zones, NearPlaces) and zones.by_key:
                place, zone = _by_key(batch["place_key"], zones)
            else:
                place, zone = locator.locate_projected(batch["x"].to_numpy(), batch["y"].to_numpy())
            schema = zoned_schema(batch.schema)
            rows = batch.select(schema.names[:-1])
            if len(place) != batch.num_rows or (np.diff(place) != 1).any():
                rows = rows.take(pa.array(place))
            columns = rows.columns
            if unit is Unit.RECORD:
                index = (before + place).astype(np.uint64)
                columns[:2] = pa.array(index * SPREAD), pa.array(index)
            cells = pa.array(zone.astype(np.uint32))
            yield pa.record_batch([*columns, cells], schema=schema)
            before += batch.num_rows


def _by_key(numbers: Any, places: NearPlaces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of rows whose key is that of a declared place, and the place of each."""
    named = np.flatnonzero(numbers.is_valid().to_numpy(zero_copy_only=False))
    row, place = places.find_keys(numbers.take(named).to_numpy(zero_copy_only=False))
    return named[row], place
