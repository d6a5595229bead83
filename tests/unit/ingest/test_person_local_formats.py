"""Row-locality in every format: a row's canonical form depends on that row alone."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpgeo.ingest.decompress import unpack
from dpgeo.ingest.schema import Columns, Schema
from tests.unit.ingest.files import (
    document,
    feature,
    geopackage,
    gpkg_point,
    read_features,
    read_layer,
)
from tests.unit.ingest.helpers import bits, concatenated, read_text, schema

SLOW = settings(
    max_examples=400 if os.environ.get("DPGEO_AUDIT") == "1" else 20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def declared(geometry: str, crs: str = "EPSG:4326") -> Schema:
    return schema(Columns(geometry=geometry, person="who", time="t", crs=crs))


persons = st.sampled_from(
    ["u", "v", "7", 7, 7.0, 7.5, 2**53 + 1, float(2**53), None, "", "J\u00f6", "x" * 1_001]
)
numbers = st.one_of(
    st.sampled_from([5, 45.5, -0.0, 400.17, float("nan"), float("inf")]), st.floats(-10, 60)
)
times = st.sampled_from([0, "2024-03-31 02:30", 1_719_835_200.5, "x", None, "2024-07-01"])
rows = st.tuples(persons, numbers, numbers, times)
usable = st.tuples(
    st.sampled_from(["u", "v", 7]), st.floats(-9, 9), st.floats(31, 59), st.just("2024-07-01")
)
mixed = st.lists(st.one_of(rows, usable), max_size=10)

ODD = [
    "null", "7", '"},{"', "[[]]", '{"type": "Feature"}', '{"a": "\\\\\\" ] } , [ {"}',
    json.dumps(feature("u", 5, 45, note="x" * 70_000)), json.dumps(feature([1], 5, 45)),
    json.dumps({**feature("u", 5, 45), "geometry": None}),
]  # fmt: skip
"""Well-formed elements of a feature list that are not usable features."""

BROKEN = [
    "{",
    '"',
    '{"a": "b}',
    "[" * 3_000,
    "}" * 9,
    '{"type": "Feature", "properties": {"who": "u',
]
"""Lines that would be joined with neighbouring lines if the file were read as one document."""


def record(row: tuple[Any, ...]) -> str:
    who, x, y, t = row
    return json.dumps(feature(who, x, y, t=t, note='"[{,\\'))


def layer_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    who, x, y, t = row
    return gpkg_point(x, y), who, t


records = st.lists(
    st.one_of(rows.map(record), usable.map(record), st.sampled_from(ODD)), max_size=10
)
lines = st.lists(
    st.one_of(usable.map(record), rows.map(record), st.sampled_from(ODD + BROKEN)), max_size=10
)


def canonical_document(path: Path, texts: list[str], block_bytes: int = 1 << 21) -> Any:
    path.write_text(document(texts))
    return read_features(path, declared("geometry"), block_bytes=block_bytes)[0]


def canonical_lines(path: Path, texts: list[str], block_bytes: int = 1 << 21) -> Any:
    path.write_text("".join(text + "\n" for text in texts))
    return read_features(path, declared("geometry"), lines=True, block_bytes=block_bytes)[0]


@SLOW
@given(records, st.sampled_from([13, 97, 4_099, 1 << 21]))
def test_each_feature_of_a_document_is_read_as_if_it_were_alone(
    tmp_path: Path, texts: list[str], block_bytes: int
) -> None:
    path = tmp_path / "upload.geojson"
    together = canonical_document(path, texts, block_bytes)
    alone = [canonical_document(path, [text]) for text in texts]
    assert bits(together) == bits(concatenated(alone))


@SLOW
@given(lines, st.sampled_from([97, 4_099, 1 << 21]))
def test_each_line_of_features_is_read_as_if_it_were_alone(
    tmp_path: Path, texts: list[str], block_bytes: int
) -> None:
    path = tmp_path / "upload.geojsonl"
    together = canonical_lines(path, texts, block_bytes)
    alone = [canonical_lines(path, [text]) for text in texts]
    assert bits(together) == bits(concatenated(alone))


@SLOW
@given(mixed, st.sampled_from([1, 3, 20_000]))
def test_each_row_of_a_layer_is_read_as_if_it_were_alone(
    tmp_path: Path, content: list[tuple[Any, ...]], batch_rows: int
) -> None:
    path = tmp_path / "a.gpkg"
    content = [row for row in content if row[0] != "x" * 1_001] + [(b"\xff", 5, 45, 0)]
    lines = [layer_row(row) for row in content]
    together, _ = read_layer(geopackage(path, lines), declared("geom"), batch_rows)
    alone = [read_layer(geopackage(path, [row]), declared("geom"))[0] for row in lines]
    assert bits(together) == bits(concatenated(alone))


@pytest.mark.parametrize("form", ["document", "lines", "layer", "projected", "text"])
@SLOW
@given(mixed, st.lists(usable, max_size=5), st.randoms(use_true_random=False))
def test_removing_a_persons_rows_removes_exactly_theirs(
    tmp_path: Path, form: str, others: list[Any], own: list[Any], random: Any
) -> None:
    mine = [("u", *row[1:]) for row in own]
    everything = [row for row in others if row[0] != "u"] + mine
    random.shuffle(everything)
    whole = canonical(tmp_path, form, everything)
    without = canonical(tmp_path, form, [row for row in everything if row[0] != "u"])
    of_u = canonical(tmp_path, form, [("u", 5.0, 45.0, 0)])
    assert of_u.num_rows == 1
    theirs = np.equal(whole["person_high"].to_numpy(), of_u["person_high"][0].as_py())
    assert theirs.sum() == len(mine)
    assert bits(whole.filter(pa.array(~theirs))) == bits(without)


def canonical(folder: Path, form: str, content: list[tuple[Any, ...]]) -> Any:
    """Write `content` to a file in the format `form`, and return the canonical rows of the file.

    GeoJSON files and GeoPackages are not compressed. The other formats are gzipped CSV files.
    """
    if form == "document":
        return canonical_document(folder / "a.geojson", [record(row) for row in content], 61)
    if form == "lines":
        return canonical_lines(folder / "a.geojsonl", [record(row) for row in content], 4_099)
    if form == "layer":
        path = geopackage(folder / "a.gpkg", [layer_row(row) for row in content])
        return read_layer(path, declared("geom"), 3)[0]
    plain = "who,at,t\n" + "".join(f"{who},POINT ({x!r} {y!r}),{t}\n" for who, x, y, t in content)
    crs = "EPSG:4258" if form == "projected" else "EPSG:4326"
    source = folder / "a.csv.gz"
    source.write_bytes(gzip.compress(plain.encode()))
    (path,) = [part.path for part in unpack(source, source.name, folder, lambda: None)]
    return read_text(path, declared("at", crs), 101)[0]
