"""CSV: one line a box, bounds in degrees. Every cell of it is a number or a fixed word."""

from __future__ import annotations

from pathlib import Path

from dpgeo.artefacts.formats import LayerFormat
from dpgeo.artefacts.table import CHUNK, columns, edges
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import Layer


def write(released: Released, layer: Layer, path: Path) -> None:
    """Write a layer; numbers are the shortest that read back exactly."""
    import pyarrow as pa
    import pyarrow.csv

    longitude, latitude = edges(layer.grid)
    top, bottom, left, right = layer.boxes.T
    bounds = {
        "west": longitude[left],
        "south": latitude[bottom],
        "east": longitude[right],
        "north": latitude[top],
    }
    arrays = {name: pa.array(values) for name, values in (bounds | columns(layer)).items()}
    arrays["margin_label"] = pa.repeat(layer.margin_label, len(layer.boxes))
    options = pyarrow.csv.WriteOptions(include_header=False, batch_size=CHUNK, quoting_style="none")
    with path.open("wb") as file:
        file.write(",".join(arrays).encode() + b"\n")
        pyarrow.csv.write_csv(pa.table(arrays), file, options)


FORMAT = LayerFormat(suffix=".csv", media_type="text/csv; charset=utf-8", write=write)
