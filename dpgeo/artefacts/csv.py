"""CSV: one line a box, bounds in degrees. Every cell of it is a number or a fixed word."""

from __future__ import annotations

from pathlib import Path

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import CHUNK, columns, edges
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer in parts of CHUNK boxes; numbers are the shortest that read back exactly."""
    import pyarrow as pa
    import pyarrow.csv

    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = layer.boxes.T
    values = columns(layer)
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    names = ["west", "south", "east", "north", *values, "margin_label"]
    with path.open("wb") as file:
        file.write(",".join(names).encode() + b"\n")
        for start in range(0, len(layer.boxes), CHUNK):
            part = slice(start, start + CHUNK)
            arrays = [
                longitude[left[part]],
                latitude[bottom[part]],
                longitude[right[part]],
                latitude[top[part]],
                *(column[part] for column in values.values()),
            ]
            label = pa.repeat(layer.margin_label, len(arrays[0]))
            table = pa.Table.from_arrays([*map(pa.array, arrays), label], names=names)
            pyarrow.csv.write_csv(table, file, options)


FORMAT = LayerFormat(suffix=".csv", media_type="text/csv; charset=utf-8", write=write)
