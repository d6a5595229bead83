"""Layers of shapes and points in every file format, read with other programs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely

from dpgeo.artefacts import csv as csv_format
from dpgeo.artefacts import geojson, geoparquet
from dpgeo.postprocess.layers import EXACT_NOISE, NO_MARGIN, Layer, PointLayer, ShapeLayer
from tests.unit.artefacts.releases import grid_release

RELEASED = grid_release(4)

WARDS = ShapeLayer(
    name="zones",
    title="Counts of wards",
    kind="measured",
    margin_label=EXACT_NOISE,
    note="Exact.",
    value=np.array([7, -2], dtype=np.int64),
    margin=np.array([3.0, 3.0]),
    threshold=np.array([5.0, 5.0]),
    columns={"zone": np.array(['=Nörd, "A"', "100 %"], dtype=object)},
    shapes=np.array([shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)], dtype=object),
)

PLACES = PointLayer(
    name="points",
    title="Perturbed points",
    kind="measured",
    margin_label=NO_MARGIN,
    note="Each was moved.",
    longitude=np.array([0.25, 1.5, -3.0]),
    latitude=np.array([10.0, 11.0, 12.125]),
    columns={"hour": np.array([1, 2, 3], dtype=np.int32)},
)


@pytest.mark.parametrize("layer", [WARDS, PLACES], ids=["shapes", "points"])
def test_geopandas_reads_what_was_written(layer: Layer, tmp_path: Path) -> None:
    geoparquet.write(RELEASED, layer, tmp_path / "layer.parquet")
    geojson.write(RELEASED, layer, tmp_path / "layer.geojson")
    tables = [
        geopandas.read_parquet(tmp_path / "layer.parquet"),
        geopandas.read_file(tmp_path / "layer.geojson"),
    ]
    for table in tables:
        assert shapely.equals(table.geometry.to_numpy(), geometries(layer)).all()
        for name, values in layer.columns.items():
            assert table[name].tolist() == values.tolist()
        if layer.value is not None:
            assert table["estimate"].tolist() == layer.value.tolist()


def geometries(layer: Layer) -> Any:
    if isinstance(layer, ShapeLayer):
        return layer.shapes
    assert isinstance(layer, PointLayer)
    return shapely.points(layer.longitude, layer.latitude)


def test_no_text_in_csv_is_a_formula_or_breaks_a_line(tmp_path: Path) -> None:
    rows = read_csv(WARDS, tmp_path)
    assert [row["zone"] for row in rows] == ['\'=Nörd, "A"', "100 %"]
    assert shapely.equals(shapely.from_wkt([row["geometry"] for row in rows]), WARDS.shapes).all()
    assert [row["estimate"] for row in rows] == ["7", "-2"]


def read_csv(layer: Layer, folder: Path) -> Sequence[dict[str, str]]:
    csv_format.write(RELEASED, layer, folder / "layer.csv")
    with (folder / "layer.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
