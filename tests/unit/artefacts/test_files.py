"""Release files: the same bytes on every run, and the same values in every reader."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgeo.artefacts import geopackage
from dpgeo.artefacts.codec import encode
from dpgeo.artefacts.files import MADE_UP_POINTS, build_files, file_kind, files_instead
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.spatial.area import StudyArea
from tests.unit.artefacts.releases import (
    ABOUT,
    grid_release,
    partition_release,
    sparse_release,
    tree_release,
)

RELEASES = {
    "grid": grid_release(16),
    "grid over a box": grid_release(9, area=StudyArea.from_bounds(-0.3, -0.2, 0.4, 0.1)),
    "least squares": partition_release(16),
    "uniform": partition_release(16, answers="uniform"),
    "tree": tree_release(16),
    "sparse": sparse_release(16),
}
"""Formats that hold only flows."""

KINDS = pytest.mark.parametrize("kind", RELEASES)

BUILD = """
import sys
from pathlib import Path
from dpgeo.artefacts import geopackage
from dpgeo.artefacts.codec import decode
from dpgeo.artefacts.files import build_files
for blob in Path(sys.argv[1]).iterdir():
    folder = Path(sys.argv[2]) / blob.name
    folder.mkdir(parents=True)
    build_files(decode(blob.read_bytes()), folder)
"""


def build(released: Released, folder: Path) -> dict[str, Path]:
    return {file.name: file.path for file in build_files(released, folder)}


def expected(layer: BoxLayer) -> dict[str, list[Any]]:
    """Return the columns and values that every file format must contain for the layer."""
    return {
        "estimate": layer.value.tolist(),
        "margin": layer.margin.tolist(),
        "threshold": layer.threshold.tolist(),
        "row": layer.boxes[:, 0].tolist(),
        "column": layer.boxes[:, 2].tolist(),
        "margin_label": [layer.margin_label] * len(layer.boxes),
    }


def check(table: Any, layer: BoxLayer) -> None:
    """Check that a data frame has exactly the layer's values, bit for bit."""
    for name, values in expected(layer).items():
        assert list(table[name]) == values, name


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    for kind, released in RELEASES.items():
        (blobs / kind).write_bytes(encode(released))
    contents = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-c", BUILD, str(blobs), str(folder)],
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
            timeout=120,
        )
        files = (path for path in folder.rglob("*") if path.is_file())
        contents.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert {path.parts[0] for path in contents[0]} == RELEASES.keys()
    assert contents[0] == contents[1]


@KINDS
def test_geopandas_reads_the_geoparquet(kind: str, tmp_path: Path) -> None:
    import geopandas

    released = RELEASES[kind]
    files = build(released, tmp_path)
    for layer in box_layers(released):
        frame = geopandas.read_parquet(files[f"{layer.name}.parquet"])
        check(frame, layer)
        assert frame.crs == "EPSG:4326"
        np.testing.assert_array_equal(
            frame.geometry.bounds.to_numpy(), layer.grid.box_bounds(layer.boxes)
        )
        assert frame.geometry.is_valid.all()
        assert frame.geometry.exterior.is_ccw.all()


@KINDS
def test_pandas_reads_the_csv(kind: str, tmp_path: Path) -> None:
    import pandas

    released = RELEASES[kind]
    files = build(released, tmp_path)
    for layer in box_layers(released):
        frame = pandas.read_csv(files[f"{layer.name}.csv"])
        check(frame, layer)
        sides = frame[["west", "south", "east", "north"]].to_numpy()
        np.testing.assert_allclose(sides, layer.grid.box_bounds(layer.boxes), atol=1e-7)


@KINDS
def test_a_csv_contains_only_numbers_and_its_labels(kind: str, tmp_path: Path) -> None:
    released = dataclasses.replace(RELEASES[kind], about={"title": '=HYPERLINK("x")'})
    files = build(released, tmp_path)
    for layer in box_layers(released):
        with files[f"{layer.name}.csv"].open(encoding="ascii", newline="") as file:
            for line in csv.DictReader(file):
                assert line.pop("margin_label") == layer.margin_label
                assert line.pop("counted") in {"people", "sightings"}
                assert all(math.isfinite(float(value)) for value in line.values())


@KINDS
def test_gdal_reads_the_geojson(kind: str, tmp_path: Path) -> None:
    import pyogrio

    released = RELEASES[kind]
    files = build(released, tmp_path)
    for layer in box_layers(released):
        frame = pyogrio.read_dataframe(files[f"{layer.name}.geojson"])
        check(frame, layer)
        assert frame.crs == "EPSG:4326"
        np.testing.assert_allclose(
            frame.geometry.bounds.to_numpy(), layer.grid.box_bounds(layer.boxes), atol=1e-7
        )


def test_the_geojson_follows_rfc_7946(tmp_path: Path) -> None:
    import shapely

    path = build(RELEASES["least squares"], tmp_path)["partitions.geojson"]
    collection = json.loads(path.read_text(encoding="utf-8"))
    assert "crs" not in collection
    west, south, east, north = collection["bbox"]
    for feature in collection["features"]:
        ring = shapely.Polygon(feature["geometry"]["coordinates"][0])
        assert feature["geometry"]["coordinates"][0][0] == feature["geometry"]["coordinates"][0][-1]
        assert ring.exterior.is_ccw
        assert shapely.box(west, south, east, north).covers(ring)


def test_texts_with_quotes_and_line_breaks_leave_the_geojson_valid(tmp_path: Path) -> None:
    title = 'Ä "quoted" \\ title\nwith % and {braces} and \u2028'
    released = dataclasses.replace(grid_release(4), about={**ABOUT, "title": title})
    path = build(released, tmp_path)["cells.geojson"]
    assert json.loads(path.read_text(encoding="utf-8"))["about"]["title"] == title


def test_no_geojson_above_200_000_features(tmp_path: Path) -> None:
    released = grid_release(450, area=StudyArea.from_bounds(0, 0, 1, 1))
    (layer,) = box_layers(released)
    assert len(layer.boxes) > 200_000
    files = build(released, tmp_path)
    assert "cells.geojson" not in files
    assert files_instead("cells.geojson", list(files)) == "cells.parquet"
    assert files_instead("other.geojson", list(files)) == ""
    assert files_instead("cells.shp", list(files)) == ""


def test_files_of_several_chunks_hold_every_row(tmp_path: Path) -> None:
    import geopandas
    import pandas

    released = grid_release(300, area=StudyArea.from_bounds(0, 0, 1, 1))
    (layer,) = box_layers(released)
    files = build(released, tmp_path)
    check(geopandas.read_parquet(files["cells.parquet"]), layer)
    check(pandas.read_csv(files["cells.csv"]), layer)
    features = json.loads(files["cells.geojson"].read_text(encoding="utf-8"))["features"]
    assert [each["properties"]["estimate"] for each in features] == layer.value.tolist()


def test_no_file_reveals_the_machine_or_the_time_of_writing(tmp_path: Path) -> None:
    moment = re.compile(rb"20[2-9]\d-\d\d-\d\d|T\d\d:\d\d")
    for path in build(grid_release(), tmp_path).values():
        content = path.read_bytes().replace(geopackage.NO_TIME.encode(), b"")
        assert not moment.search(content)
        assert str(tmp_path).encode() not in content


def test_made_up_points_say_so_to_every_reader(tmp_path: Path) -> None:
    import geopandas
    import pandas
    import pyarrow.parquet

    released = partition_release()
    files = build(released, tmp_path)
    tables = [
        geopandas.read_parquet(files["points-synthetic.parquet"]),
        geopandas.read_file(files["points-synthetic.geojson"]),
        geopandas.read_file(files["points-synthetic.gpkg"], layer="points-synthetic"),
        pandas.read_csv(files["points-synthetic.csv"]),
    ]
    first = tables[0]
    assert len(first) > 1000
    for table in tables:
        assert table["made_up"].astype(bool).all()
        assert (table["weight"] == 1).all()
        np.testing.assert_array_equal(table["longitude"], first["longitude"])
        np.testing.assert_array_equal(table["latitude"], first["latitude"])
    for table in tables[:3]:
        np.testing.assert_allclose(table.geometry.x, first["longitude"], atol=1e-9)
        np.testing.assert_allclose(table.geometry.y, first["latitude"], atol=1e-9)
    styles = geopandas.read_file(files["points-synthetic.gpkg"], layer="layer_styles")
    assert 'label="Made-up points: nobody was here"' in styles.styleQML.item()
    metadata = pyarrow.parquet.read_metadata(files["points-synthetic.parquet"]).metadata
    assert "nobody was here" in json.loads(metadata[b"dpgeo"])["margin_note"]
    document = json.loads(files["statement.json"].read_text(encoding="utf-8"))
    assert {*MADE_UP_POINTS} < {each["name"] for each in document["files_on_request"]}
    [rule] = [step for step in document["post_processing"] if "points-synthetic" in step]
    assert "layers estimate," in rule
    assert {file_kind(name).layer for name in MADE_UP_POINTS} == {""}
