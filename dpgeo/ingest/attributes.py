"""Values of public attributes: each is one of those declared, or else OTHER."""

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
    """The number (n,) of each row's values together; no row is refused for what they are.

    Values are compared as text, without surrounding blanks and in Unicode's composed form.
    """
    codes = [_codes(batch.fields[attribute_key(each)], each) for each in attributes]
    return combine(codes, attributes)


def _codes(values: Any, attribute: Attribute) -> NDArray[np.int64]:
    """The place (n,) of each value among those declared; after the last where it is none."""
    text = lenient_text(values) if is_text(values.type) else values.cast(pa.string())
    known = pa.array(attribute.values, pa.string())
    found = pc.index_in(pc.utf8_normalize(text, form="NFC"), value_set=known)
    places = pc.fill_null(found, len(attribute.values)).to_numpy(zero_copy_only=False)
    return np.asarray(places, dtype=np.int64)
