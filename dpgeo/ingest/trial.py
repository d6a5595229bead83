"""Trials of declarations on a file's first rows and, if possible, a sample of the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.batch import Batch, Reader
from dpgeo.ingest.canonical import named_rows
from dpgeo.ingest.context import Context
from dpgeo.ingest.report import Reason, Report, Tally
from dpgeo.ingest.schema import DESTINATION, Columns, Role, Schema, Wanted
from dpgeo.ingest.text import is_text, lenient_text
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import MAX_LATITUDE

POINTS = 2_000
WORLD = StudyArea.from_bounds(-180, -MAX_LATITUDE, 180, MAX_LATITUDE)


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a file, read as `columns` declares; `tally` counts rows read and refused so far."""

    columns: Columns
    batches: list[Batch]
    tally: Tally

    @property
    def whole(self) -> bool:
        """Whether the sample contains all rows of the file."""
        return not self.batches or self.batches[-1].done >= self.batches[-1].total

    def texts(self, role: str) -> pa.Array:
        """Return a role's values as trimmed text, with null for values that are not text or a
        number.
        """
        fields = [batch.fields[role] for batch in self.batches if role in batch.fields]
        return pa.concat_arrays([pa.array([], pa.string()), *map(_as_text, fields)])

    def is_empty(self, role: str) -> bool:
        """Return whether no row of the sample has a value in the column of a role."""
        fields = [batch.fields[role] for batch in self.batches if role in batch.fields]
        return all(pc.all(_is_blank(values)).as_py() is not False for values in fields)


def _is_blank(values: Any) -> Any:
    return (
        pc.equal(lenient_text(values), "").fill_null(True)
        if is_text(values.type)
        else values.is_null()
    )


def _as_text(values: Any) -> pa.Array:
    if is_text(values.type):
        text = lenient_text(values)
        return pc.if_else(pc.equal(text, ""), None, text)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return values.cast(pa.string())
    return pa.nulls(len(values), pa.string())


def take_sample(reader: Reader, path: Path, columns: Columns) -> Sample:
    """Read a file's first rows and, if its format allows that, some of the rest.

    Raises InvalidInput.
    """
    wanted: Wanted = {role: getattr(columns, role) for role in Role if getattr(columns, role)}
    tally = Tally()
    return Sample(columns, list(reader.sample_rows(path, wanted, tally, columns)), tally)


@dataclass(slots=True)
class Trial:
    """Outcome of reading a sample under a declaration of its columns."""

    report: Report
    positions: list[NDArray[np.float64]] = field(default_factory=list)

    @property
    def outside(self) -> int:
        """Return how many rows of the sample lie outside the study area."""
        return self.report.refused.get(Reason.OUTSIDE_AREA.value, 0)

    @property
    def meaning(self) -> bytes:
        """Return bytes that are equal for two trials that read the same positions."""
        return b"".join(pairs.tobytes() for pairs in self.positions)

    @property
    def points(self) -> list[list[float]]:
        """Return at most POINTS of the readable positions, as [longitude, latitude]."""
        if not self.positions:
            return []
        pairs = np.concatenate(self.positions)
        step = max(1, -(-len(pairs) // POINTS))
        points: list[list[float]] = pairs[::step].round(6).tolist()
        return points


def run_trial(sample: Sample, columns: Columns, context: Context) -> Trial:
    """Return the outcome of reading a sample under the declaration `columns`.

    Its formats may differ from those under which the sample was read, its coordinates may be
    swapped, and its times left out. Raises InvalidInput if the declaration is invalid.
    """
    unit = context.unit if columns.person else Unit.RECORD
    regions = context.regions if columns.region else None
    schema = Schema(columns, unit, context.area or WORLD, context.time_zone, regions=regions)
    counted = sample.tally
    examples = {reason: list(some) for reason, some in counted.examples.items()}
    tally = Tally(counted.read, Counter(counted.refused), examples)
    positions: list[NDArray[np.float64]] = []
    for batch in sample.batches:
        arranged = _arranged(batch, sample.columns, columns)
        named_rows(arranged, schema, tally, lambda *pair: positions.append(np.column_stack(pair)))
    return Trial(tally.report(), positions)


def _arranged(batch: Batch, read: Columns, tried: Columns) -> Batch:
    """Return a batch, read under the declaration `read`, as it would be if read under `tried`.

    The two may differ in formats and coordinate systems, but they must name the same columns,
    except that coordinates may be swapped or times dropped.
    """
    fields = dict(batch.fields)
    for pair in ((Role.LONGITUDE, Role.LATITUDE), DESTINATION):
        if any(getattr(tried, role) != getattr(read, role) for role in pair):
            fields[pair[0]], fields[pair[1]] = fields[pair[1]], fields[pair[0]]
    if not tried.time:
        fields.pop(Role.TIME, None)
    if not tried.clock:
        fields.pop(Role.CLOCK, None)
    return replace(batch, fields=fields)


def try_quietly(sample: Sample, columns: Columns, context: Context) -> Trial:
    """Try a declaration on a sample; return a trial without rows if the declaration is invalid."""
    try:
        return run_trial(sample, columns, context)
    except InvalidInput:
        return Trial(Tally().report())


def left_out(report: Report) -> list[tuple[str, int, str]]:
    """Return the reasons why rows are left out, the most frequent first.

    Each reason comes with the number of rows and the value of the first of them.
    """
    first = {example.reason: example.value for example in reversed(report.examples)}
    reasons = [(reason, rows, first.get(reason, "")) for reason, rows in report.refused.items()]
    return sorted(reasons, key=lambda each: -each[1])
