"""Numbers that stand for the keys by which rows name places, such as the code of a stop.

No row is refused for its key. If the key is missing, the row's number is null: the row then counts
at no place by its key, but still by its position. How a key is read depends on its own row alone
(see `ingest.canonical`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpgeo.ingest.batch import Batch
from dpgeo.ingest.schema import Role
from dpgeo.ingest.text import is_text, lenient_text
from dpgeo.spatial.place_keys import number_of_key

PLACE_FIELD = pa.field("place_key", pa.uint64())
"""The canonical file's field with the number that stands for a row's place key.

It is null in a row without a key.
"""


def place_numbers(batch: Batch) -> Any:
    """Return the number that stands for each row's place key, uint64 (n,), null without a key."""
    values = batch.fields[Role.PLACE]
    text = lenient_text(values) if is_text(values.type) else values.cast(pa.string())
    # Each key is hashed once, however often it occurs.
    coded = pc.if_else(pc.equal(text, ""), None, text).dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    numbers = [number_of_key(key) for key in coded.dictionary.to_pylist()]
    return pa.array(np.array(numbers, dtype=np.uint64)).take(coded.indices)
