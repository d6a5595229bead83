"""CSV files with one line for each feature, with its position in degrees.

Every cell is a number, a fixed word, or a publisher's text. A publisher's text is quoted, and gets
an apostrophe wherever a spreadsheet would read a formula (`core.csv_text`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts.counted_words import nouns_of_features
from dpgeo.artefacts.formats import MAX_UNCONFIRMED, LayerFormat
from dpgeo.artefacts.table import CHUNK, POINT_DECIMALS, columns, is_text, sides
from dpgeo.core.csv_text import csv_line, harmless
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer, PointLayer, ShapeLayer


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer as CSV. Each number is the shortest text that reads back exactly."""
    import pyarrow as pa
    import pyarrow.csv

    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    with path.open("wb") as file:
        file.write(csv_line(_part(released, layer, slice(0, 0))).encode())
        for start in range(0, len(layer), CHUNK):
            part = _part(released, layer, slice(start, start + CHUNK))
            table = pa.table(
                {name: pa.array(values, from_pandas=True) for name, values in part.items()}
            )
            pyarrow.csv.write_csv(table, file, options)


def _part(released: Released, layer: Layer, part: slice) -> dict[str, NDArray[Any]]:
    """Return a mapping from column names to the columns of the features in `part` of a layer."""
    values = {name: _safe(column) for name, column in columns(layer, part).items()}
    count = len(range(*part.indices(len(layer))))
    counted = nouns_of_features(released, layer, part)
    if counted is not None:
        values["counted"] = counted
    if layer.margin is not None:
        values["margin_label"] = np.full(count, layer.margin_label, dtype=object)
    return {**_place(layer, part), **values}


def _place(layer: Layer, part: slice) -> dict[str, NDArray[Any]]:
    if isinstance(layer, BoxLayer):
        return dict(zip(("west", "south", "east", "north"), sides(layer, part), strict=True))
    if isinstance(layer, PointLayer):
        return {
            "longitude": layer.longitude[part].round(POINT_DECIMALS),
            "latitude": layer.latitude[part].round(POINT_DECIMALS),
        }
    if isinstance(layer, ShapeLayer):
        texts = shapely.to_wkt(layer.shapes[part], rounding_precision=POINT_DECIMALS)
        return {"geometry": np.asarray(texts, dtype=object)}
    raise TypeError(f"There is no geometry for a {type(layer).__name__}.")


def _safe(values: NDArray[Any]) -> NDArray[Any]:
    if not is_text(values):
        return values
    texts = values.tolist()
    known = {text: harmless(text) for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=object)


FORMAT = LayerFormat(
    suffix=".csv",
    media_type="text/csv; charset=utf-8",
    title="CSV",
    use="one row for each feature, for spreadsheets",
    write=write,
    most_unasked=MAX_UNCONFIRMED,
)
