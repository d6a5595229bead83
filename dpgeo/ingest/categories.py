"""Codes of the declared categories: the index of a row's value in the public list, or OTHER.

No row is refused for its categories. How a value is read depends on its own row and the declaration
alone (see `ingest.canonical`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dpgeo.core.categories import category_column
from dpgeo.ingest.attributes import code_values
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.schema import Schema, category_key


def category_field(index: int) -> pa.Field:
    """Return the field of the canonical file with the codes of the category at this index."""
    return pa.field(category_column(index), pa.uint8(), nullable=False)


def category_codes(batch: Batch, schema: Schema) -> list[Any]:
    """Return the codes of the rows' values, uint8 (n,), for each declared category.

    A category's last code stands for OTHER.
    """
    return [
        pa.array(code_values(batch.fields[category_key(each)], each.values).astype(np.uint8))
        for each in schema.categories
    ]
