"""Layers of shapes and points in every file format, read with other programs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpgeo.artefacts import csv as csv_format
from dpgeo.artefacts import geojson, geoparquet
from dpgeo.artefacts.spreadsheet import for_spreadsheets
from dpgeo.core.csv_text import harmless
from dpgeo.postprocess.layers import EXACT_NOISE, NO_MARGIN, Layer, PointLayer, ShapeLayer
from tests.unit.artefacts.releases import grid_release
from tests.unit.core.test_csv_text import TEXTS, assert_no_formula, cells

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


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=1, max_size=4), st.text('a;\t,="1', min_size=1))
@example(["a;=1", 'b\t"@x', "\n+1"], "=a;=b")
def test_no_spreadsheet_runs_a_text_in_any_form_of_csv(
    tmp_path: Path, names: list[str], column: str
) -> None:
    zones = replace(
        WARDS,
        value=np.arange(len(names)),
        margin=np.ones(len(names)),
        threshold=np.ones(len(names)),
        columns={column: np.array(names, dtype=object)},
        shapes=np.array([shapely.box(0, 0, 1, 1)] * len(names), dtype=object),
    )
    csv_format.write(RELEASED, zones, tmp_path / "layer.csv")
    plain = (tmp_path / "layer.csv").read_bytes()
    files = {",": plain, ";": for_spreadsheets(plain, decimal_comma=True)}
    for separator, file in files.items():
        text = file.decode("utf-8-sig")
        assert_no_formula(text)
        header, *rows = cells(text, separator)
        where = header.index(harmless(column))
        assert [row[where] for row in rows if row] == list(map(harmless, names))
    assert_no_formula(for_spreadsheets(plain, decimal_comma=False).decode("utf-8-sig"))


def test_csv_of_points_has_their_degrees(tmp_path: Path) -> None:
    rows = read_csv(PLACES, tmp_path)
    assert [(row["longitude"], row["latitude"]) for row in rows][2] == ("-3", "12.125")


def read_csv(layer: Layer, folder: Path) -> Sequence[dict[str, str]]:
    csv_format.write(RELEASED, layer, folder / "layer.csv")
    with (folder / "layer.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
