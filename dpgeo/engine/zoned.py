"""Positions in declared zones: a canonical file becomes one row for every position and zone.

The rows are read in pieces and each position is looked up by itself, so that what is written does
not depend on how the file was cut, and memory is bounded: a piece is smaller where many zones
overlap, by a public bound.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpgeo.core.guarantees import Unit
from dpgeo.spatial.projection import to_degrees
from dpgeo.spatial.zones import Zones

PAIRS = 500_000
"""Pairs of a position and a zone near it that are held at a time: some 200 bytes each."""


def write_zoned(source: Path, target: Path, zones: Zones, unit: Unit, pairs: int = PAIRS) -> None:
    """Write person_high, person_low, x, y, time and cell, the number of a zone, for each pair.

    Where every record is a unit, its number in the file takes the place of the person. It tells
    records apart and must not enter any choice, for it depends on the records before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    locator = zones.locator()
    size = max(1, pairs // locator.most_near)
    before = 0
    with pq.ParquetFile(source) as file:
        schema = file.schema_arrow.append(pa.field("cell", pa.uint64(), nullable=False))
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for batch in file.iter_batches(batch_size=size):
                longitude, latitude = to_degrees(batch["x"].to_numpy(), batch["y"].to_numpy())
                place, zone = locator.locate(longitude, latitude)
                columns = [batch[name].take(pa.array(place)) for name in file.schema_arrow.names]
                if unit is Unit.RECORD:
                    columns[0] = pa.array(np.zeros(place.size, dtype=np.uint64))
                    columns[1] = pa.array((before + place).astype(np.uint64))
                cells = pa.array(zone.astype(np.uint64))
                writer.write_batch(pa.record_batch([*columns, cells], schema=schema))
                before += batch.num_rows
