"""Rows of a hand-over table, which name a declared zone instead of a position.

A row gets the representative point of its zone, and is read as any other row from there on. Which
zone a row names depends on the row and the declared layer alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.crs import Pair
from dpgeo.ingest.report import Reason
from dpgeo.ingest.text import is_text, mask, readable_text
from dpgeo.spatial.regions import Regions


def region_points(values: Any, regions: Regions, sieve: Sieve) -> Pair:
    """Return the degrees, float64 (n,) each, of the zones that rows name by their keys.

    Refuses rows without a key and with an unknown one; their degrees have no meaning.
    """
    text = readable_text(values, sieve) if is_text(values.type) else values
    text = pc.utf8_normalize(text.cast(pa.string()), "NFC")
    sieve.refuse(mask(pc.is_null(text)) | mask(pc.equal(text, "")), Reason.REGION_MISSING)
    keys = pa.array(list(regions.points), pa.string())
    found = pc.index_in(pc.utf8_lower(text) if regions.lowercase else text, keys)
    sieve.refuse(mask(pc.is_null(found)), Reason.REGION_UNKNOWN, text)
    degrees = np.array([*regions.points.values(), (np.nan, np.nan)])
    number = np.asarray(found.fill_null(len(regions.points)))
    return degrees[number, 0], degrees[number, 1]
