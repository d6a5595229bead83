"""Steps of the declared measures: numbers clipped to public limits and rounded.

No row is refused for its measures: a value that is missing or not a number becomes null, and the
row still counts on every other map. How a value is read depends on its own row and the declaration
alone (see `ingest.canonical`).
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.core.measures import Measure, measure_column
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.coordinates import NUMBER
from dpgeo.ingest.position_formats import decimals
from dpgeo.ingest.schema import Schema, measure_key
from dpgeo.ingest.text import is_text, lenient_text

YES = ("true", "yes", "t", "y")
NO = ("false", "no", "f", "n")
"""Texts, in lower case, that a measure reads as 0; those in YES are read as 1.

The digits 1 and 0 are read as numbers.
"""

GROUPED = ("comma", "grouped")
"""Position formats with a decimal comma or grouped digits.

If positions are declared in one of them, measures are read in that format too.
"""


def measure_field(index: int) -> pa.Field:
    """Return the field of the canonical file with the steps of the measure at this index."""
    return pa.field(measure_column(index), pa.int32())


def measure_steps(batch: Batch, schema: Schema) -> list[Any]:
    """Return the values of each declared measure as steps (`core.measures`), int32 (n,).

    A step is null where a row has no number.
    """
    form = schema.columns.position_format
    return [_steps(batch.fields[measure_key(each)], each, form) for each in schema.measures]


def _steps(values: Any, measure: Measure, form: str) -> Any:
    numbers = _numbers(values, measure, form)
    missing = ~np.isfinite(numbers)
    return pa.array(measure.to_steps(np.where(missing, measure.low, numbers)), mask=missing)


def _numbers(values: Any, measure: Measure, form: str) -> NDArray[np.float64]:
    """Return the numbers (n,) of values, NaN for one that is missing or not a number."""
    if is_text(values.type):
        values = _parsed(lenient_text(values), measure, form)
    elif pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    numbers = values.cast(pa.float64(), safe=False).fill_null(np.nan)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _parsed(text: Any, measure: Measure, form: str) -> Any:
    """Parse texts as numbers, float64 (n,), with null for a text that is not a number."""
    if measure.is_answer:
        small = pc.utf8_lower(text)
        for words, digit in ((YES, "1"), (NO, "0")):
            is_word = pc.is_in(small, pa.array(words))
            text = pc.if_else(is_word, pa.scalar(digit, text.type), text)
    if form in GROUPED:
        text = decimals(text, form, inf)
    number = pc.match_substring_regex(text, NUMBER)
    return pc.if_else(number, text, pa.scalar(None, text.type)).cast(pa.float64())
