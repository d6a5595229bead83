"""Kinds of PostgreSQL columns, and the SQL that reads each kind.

Every SQL expression here is total, which means that it fails for no value; `datasets.postgresql`
says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpgeo.blanks import BLANKS
from dpgeo.core.measures import Measure
from dpgeo.ingest.report import MAX_FIELD_BYTES

WHOLE, FLOAT, DECIMAL, TEXT, UUID = "whole", "float", "decimal", "text", "uuid"
DATE, LOCAL, MOMENT, CLOCK, BOOLEAN, BYTES = "date", "local", "moment", "clock", "boolean", "bytes"

KINDS = {
    "int2": WHOLE,
    "int4": WHOLE,
    "int8": WHOLE,
    "float4": FLOAT,
    "float8": FLOAT,
    "numeric": DECIMAL,
    "text": TEXT,
    "varchar": TEXT,
    "bpchar": TEXT,
    "uuid": UUID,
    "date": DATE,
    "timestamp": LOCAL,
    "timestamptz": MOMENT,
    "time": CLOCK,
    "bool": BOOLEAN,
    "bytea": BYTES,
}
"""The kind of value, such as a whole number, that each type of PostgreSQL holds."""

TOTAL = {
    WHOLE: "{0}::bigint",
    FLOAT: "{0}::float8",
    DECIMAL: f"left({{0}}::text, {MAX_FIELD_BYTES + 1})",
    TEXT: f'left({{0}}::text COLLATE "C", {MAX_FIELD_BYTES + 1})',
    UUID: "{0}::text",
    DATE: "CASE WHEN isfinite({0}) THEN ({0} - DATE '1970-01-01')::bigint * 86400 END",
    LOCAL: "CASE WHEN isfinite({0}) THEN floor(extract(epoch FROM {0}))::bigint END",
    MOMENT: "CASE WHEN isfinite({0}) THEN floor(extract(epoch FROM {0}))::bigint END",
    CLOCK: "{0}::text",
    BOOLEAN: "{0}",
    BYTES: f"substr({{0}}, 1, {MAX_FIELD_BYTES + 1})",
}
"""For each kind of column, SQL that reads it without an error, whatever the value."""

DEGREES = {
    WHOLE: "{0}::float8",
    FLOAT: "{0}::float8",
    DECIMAL: (
        "CASE WHEN abs({0}) < 1e-300 THEN 0::float8 WHEN abs({0}) <= 360 THEN {0}::float8 END"
    ),
}
"""SQL that reads a column of degrees as float64; what is not a number becomes null or NaN.

Decimal numbers too small for float64 become 0, because the database would raise an error.
"""

TRIMMED = (
    'btrim({0}::text COLLATE "C", E\''
    + "".join(f"\\u{ord(character):04X}" for character in BLANKS.strip("\0"))
    + "')"
)
"""SQL for a text without the blanks around it.

They are written by their numbers: PostgreSQL has not all of the escapes that Python has, and takes
the letter of one that it does not know. It holds no text with the character 0.
"""

SHORT = f"octet_length({{0}}::text) <= {MAX_FIELD_BYTES}"
"""SQL condition that a text is at most MAX_FIELD_BYTES long; other functions get no longer one."""

PERSONS = {
    WHOLE: "{0}::bigint",
    UUID: '{0}::text COLLATE "C"',
    TEXT: (
        f"CASE WHEN {SHORT} THEN "
        f"regexp_replace(regexp_replace(normalize({TRIMMED}, NFC), "
        f"'^(-?[0-9]{{{{1,15}}}})\\.0+$', '\\1'), '^-0$', '0') END"
    ),
}
"""SQL for the identifier by which persons are grouped: the text that `ingest.persons` hashes."""

VALUES = {
    WHOLE: "{0}::float8",
    FLOAT: "{0}::float8",
    DECIMAL: (
        "CASE WHEN abs({0}) < 1e-300 THEN 0::float8 WHEN abs({0}) < 1e300 THEN {0}::float8 END"
    ),
    BOOLEAN: "{0}::integer::float8",
}
"""For each kind of column, SQL that reads a number to be averaged as float64.

`ingest.measures` reads the same values from files.
"""

CODED = (TEXT, UUID, WHOLE, BOOLEAN)
"""Kinds of columns that may hold a category, whose distinct values are then fetched."""

GROWING = (WHOLE, DATE, LOCAL, MOMENT)
"""Kinds of a column that may be declared as growing: rows added later have greater values."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its quoted name, its type's name and its kind ("" if not supported)."""

    quoted: str
    type_name: str
    kind: str


def quoted(name: str) -> str:
    """Return a name in quotation marks for SQL."""
    return '"' + name.replace('"', '""') + '"'


def bounded(column: Column) -> str:
    """Return SQL for a column's values, with texts cut beyond the greatest accepted length."""
    return (
        TOTAL[column.kind].format(column.quoted) if column.kind in (TEXT, BYTES) else column.quoted
    )


def step_of(column: Column, measure: Measure) -> str:
    """Return SQL for the number of the step, from 0 on, to which a value is rounded.

    Equal steps divide the range between the measure's limits; values beyond it are moved to its
    ends. The result is that of `Measure.to_steps`, also halfway between two steps (half to even);
    it is null if the value is missing or not finite.
    """
    value = VALUES[column.kind].format(column.quoted)
    low, high = (f"{limit!r}::float8" for limit in (measure.low, measure.high))
    span = measure.high - measure.low
    above = f"(least(greatest({value}, {low}), {high}) - {low})"
    # PostgreSQL raises an error for a quotient that is too small for float64, so only values that
    # are at least a quarter of a step above the lower limit are divided.
    least = f"{span / (4 * measure.steps)!r}::float8"
    step = f"round({measure.steps} * ({above} / {span!r}::float8))::bigint"
    finite = f"{value} > '-Infinity'::float8 AND {value} < 'Infinity'::float8"
    return f"CASE WHEN {finite} THEN CASE WHEN {above} < {least} THEN 0 ELSE {step} END END"


def arrow_type(column: Column) -> Any:
    """Return the Arrow type in which this process holds a column's values.

    Floats keep their precision, on which it depends which of them may name a person.
    """
    import pyarrow as pa

    types = {
        WHOLE: pa.int64(),
        FLOAT: pa.float32() if column.type_name == "float4" else pa.float64(),
        DATE: pa.timestamp("s"),
        LOCAL: pa.timestamp("s"),
        MOMENT: pa.timestamp("s", "UTC"),
        BOOLEAN: pa.bool_(),
        BYTES: pa.binary(),
    }
    return types.get(column.kind, pa.string())


def accepted_names(person: str, column: Column) -> list[str]:
    """Return SQL conditions for the identifiers that `hash_persons` accepts."""
    from dpgeo.ingest.persons import EXPONENT, LONG_FLOAT, MISSING

    if column.kind != TEXT:
        return [f"{column.quoted} IS NOT NULL"]
    missing = ", ".join("'" + word + "'" for word in MISSING)
    return [
        f"{person} IS NOT NULL",
        f"lower({person}) NOT IN ({missing})",
        f"CASE WHEN {SHORT.format(column.quoted)} "
        f"THEN {TRIMMED.format(column.quoted)} !~ '{EXPONENT}|{LONG_FLOAT}' END",
    ]
