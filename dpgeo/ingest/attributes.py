"""Numbering of public attribute values: each is a declared value or OTHER."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.core.attributes import Attribute, combine
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.schema import attribute_key
from dpgeo.ingest.text import is_text, lenient_text


def number_attributes(batch: Batch, attributes: Sequence[Attribute]) -> NDArray[np.int32]:
    """Return for each row the number of its combination of attribute values, int32 (n,).

    No row is refused for its attributes. Values are compared as text in Unicode's composed form,
    without surrounding blanks.
    """
    codes = [code_values(batch.fields[attribute_key(each)], each.values) for each in attributes]
    return combine(codes, attributes)


def code_values(values: Any, declared_values: Sequence[str]) -> NDArray[np.int64]:
    """Return indices (n,) of values among the declared ones; the last index stands for OTHER."""
    text = lenient_text(values) if is_text(values.type) else values.cast(pa.string())
    declared = pa.array(declared_values, pa.string())
    index = pc.index_in(pc.utf8_normalize(text, form="NFC"), value_set=declared)
    codes = pc.fill_null(index, len(declared_values)).to_numpy(zero_copy_only=False)
    return np.asarray(codes, dtype=np.int64)
