"""Parquet and GeoParquet files: which can be read, and the errors for those that cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest
import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import parquet_reader
from dpgeo.ingest.parquet_reader import read_parquet
from dpgeo.ingest.report import Tally
from dpgeo.ingest.schema import Columns
from tests.unit.ingest.helpers import KEY, bits, read_columns, schema
from tests.unit.ingest.helpers import ingest_here as ingest

GOOD: dict[str, Any] = {"who": ["anna", "ben"], "lat": [45.0, 46.0], "lon": [5.0, 6.0]}
GEOMETRY = schema(Columns(geometry="geometry", person="who"))


def fault(path: Path, declared: Any = None) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read_columns(path, declared or schema())
    return caught.value


def written(tmp_path: Path, columns: Any, **options: Any) -> Path:
    path = tmp_path / "upload.parquet"
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def test_rows_do_not_depend_on_row_groups_and_batches(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    size = 5_000
    columns = {
        "who": [f"p{i}" for i in random.integers(0, 300, size)],
        "lat": random.uniform(31, 59, size),
        "lon": random.uniform(-9, 9, size),
    }
    expected, _ = read_columns(written(tmp_path, columns), schema())
    assert expected.num_rows == size
    for group, options in ((7, {}), (1_000, {"use_dictionary": False}), (size, {"version": "1.0"})):
        path = written(tmp_path, columns, row_group_size=group, **options)
        for batch in (1_000, 65_536):
            assert bits(read_columns(path, schema(), batch)[0]) == bits(expected)


def test_a_column_of_nulls_refuses_its_rows_and_not_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, {**GOOD, "lat": pa.nulls(2)})
    _, report = read_columns(path, schema())
    assert report.refused == {"the latitude is missing": 2}


def test_a_file_without_rows_is_accepted(tmp_path: Path) -> None:
    rows_read, report = read_columns(written(tmp_path, pa.table(GOOD).slice(0, 0)), schema())
    assert (rows_read.num_rows, report.read) == (0, 0)


@pytest.mark.parametrize(
    ("role", "values", "words"),
    [
        ("lat", pa.array([[45.0], [46.0]]), "type list<element: double>, which cannot be read as"),
        ("lat", pa.array([{"y": 1.0}, {"y": 2.0}]), "struct"),
        ("lat", pa.array([True, False]), "bool"),
        ("lon", pa.array([1, 2], pa.timestamp("s")), "timestamp"),
        ("who", pa.array([True, False]), "write it as text or as a whole number"),
        ("who", pa.array([["a"], ["b"]]), "list"),
    ],
)
def test_columns_of_unsuitable_types_are_refused(
    tmp_path: Path, role: str, values: Any, words: str
) -> None:
    error = fault(written(tmp_path, {**GOOD, role: values}))
    assert words in error.message
    assert error.field == {
        "lat": "columns.latitude", "lon": "columns.longitude", "who": "columns.person"
    }[role]  # fmt: skip


@pytest.mark.parametrize("keep", [4, 11, 12, 200, -1, -9])
def test_it_refuses_a_file_cut_short(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path, GOOD)
    path.write_bytes(path.read_bytes()[:keep])
    error = fault(path)
    assert error.message == "The Parquet file is damaged or cut short; export and upload it again."
    assert error.field == "file"


def test_damage_anywhere_is_harmless_or_a_readable_error(tmp_path: Path) -> None:
    path = written(tmp_path, {key: values * 500 for key, values in GOOD.items()})
    whole = path.read_bytes()
    random = np.random.default_rng(4)
    refused_count = left = 0
    for position in random.integers(4, len(whole) - 4, 100):
        damaged = bytearray(whole)
        damaged[position] ^= int(random.integers(1, 256))
        path.write_bytes(damaged)
        target = tmp_path / "canonical.parquet"
        try:
            ingest(path, "a.parquet", schema(), KEY, target, lambda done, total: None)
        except InvalidInput:
            refused_count += 1
            left += target.exists()
        target.unlink(missing_ok=True)
    assert refused_count > 7
    assert left == 0


def test_it_refuses_an_encrypted_file(tmp_path: Path) -> None:
    class Kms(encryption.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key: bytes, _: str) -> bytes:
            return key

        def unwrap_key(self, key: bytes, _: str) -> bytes:
            return key

    factory = encryption.CryptoFactory(lambda _: Kms())
    for plain_footer in (False, True):
        how = encryption.EncryptionConfiguration(
            footer_key="f", column_keys={"k": ["lat"]}, plaintext_footer=plain_footer
        )
        properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
        path = written(tmp_path, GOOD, encryption_properties=properties)
        with pytest.raises(InvalidInput, match=r"encrypted.*write it without encryption") as caught:
            ingest(path, "a.parquet", schema(), KEY, tmp_path / "out", lambda done, total: None)
        assert caught.value.field == "file"


def geo_table(crs: Any = ..., encoding: str = "WKB") -> Any:
    column: dict[str, Any] = {"encoding": encoding, "geometry_types": ["Point"]}
    if crs is not ...:
        column["crs"] = crs
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table({"who": ["anna"], "geometry": [shapely.Point(5, 45).wkb]})
    return table.replace_schema_metadata({"geo": json.dumps(geo)})


def nested_crs(depth: int) -> Any:
    """Return a table whose coordinate reference system is nested, which json.dumps cannot write."""
    table = geo_table(crs="nested")
    geo = table.schema.metadata[b"geo"].decode()
    deep = '{"base_crs": ' * depth + "{}" + "}" * depth
    return table.replace_schema_metadata({"geo": geo.replace('"nested"', deep)})


@pytest.mark.parametrize(
    "crs", [..., None, {"id": {"authority": "EPSG", "code": 4326}},
            {"id": {"authority": "OGC", "code": "CRS84"}}],
)  # fmt: skip
def test_it_reads_geoparquet_in_degrees(tmp_path: Path, crs: Any) -> None:
    assert read_columns(written(tmp_path, geo_table(crs)), GEOMETRY)[0].num_rows == 1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (geo_table(encoding="point"), "write its points as WKB"),
        (
            geo_table(crs={"type": "GeographicCRS", "name": "NAD27"}),
            "is in 'NAD27', but EPSG:4326 is declared",
        ),
        (geo_table(crs="EPSG:2056"), "metadata do not describe"),
        (geo_table().replace_schema_metadata({"geo": "{"}), "metadata do not describe"),
        (geo_table().replace_schema_metadata({"geo": "[]"}), "metadata do not describe"),
        (geo_table().replace_schema_metadata({"geo": '{"columns": {}}'}), "do not describe"),
        (nested_crs(50_000), "metadata do not describe"),
        (pa.table({"who": ["a"], "geometry": [5.0]}), "well-known binary (WKB) or text (WKT)"),
    ],
)
def test_it_refuses_a_geometry_column_it_would_misread(
    tmp_path: Path, table: Any, words: str
) -> None:
    error = fault(written(tmp_path, table), GEOMETRY)
    assert words in error.message
    assert error.field in {"columns.geometry", "columns.crs"}


def test_one_huge_value_in_every_row_is_stored_once(tmp_path: Path) -> None:
    huge = pa.array(["x" * 1_000_000])
    who = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), huge)
    columns = {"who": who, "lat": [45.0] * 20_000, "lon": [5.0] * 20_000}
    path = written(tmp_path, columns)
    assert path.stat().st_size < 10_000_000
    _, report = read_columns(path, schema())
    assert report.refused == {"a declared field is longer than 1,000 bytes": 20_000}
    # The values take 20 GB if read without their dictionary, which must therefore be kept.
    assert pa.default_memory_pool().max_memory() < 1_000_000_000


def test_memory_does_not_grow_with_the_number_of_row_groups(tmp_path: Path) -> None:
    groups, rows = 40, 2_000
    schema = pa.schema([("who", pa.string()), ("lon", pa.float64()), ("lat", pa.float64())])
    with pq.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        for group in range(groups):
            names = [f"{group}-{row}-".ljust(400, "x") for row in range(rows)]
            places = pa.array([5.0] * rows)
            writer.write_table(pa.table([pa.array(names), places, places], schema=schema))
    wanted = {"person": "who", "longitude": "lon", "latitude": "lat"}
    before, most = pa.total_allocated_bytes(), 0
    for batch in read_parquet(tmp_path / "a.parquet", wanted, Tally()):
        most = max(most, pa.total_allocated_bytes() - before)
        assert len(batch.rows)
    assert 0 < most < 8 * rows * 400


def test_much_text_that_was_a_dictionary_is_read_as_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 300
    names = pa.array([f"person {number % 90}" for number in range(size)]).dictionary_encode()
    table = pa.table(
        {
            "who": names,
            "lat": pa.array([45.0] * size, pa.float32()),
            "lon": [number / 100 for number in range(size)],
            "t": pa.array(range(size), pa.timestamp("s", "Europe/Vienna")),
        }
    )
    path = tmp_path / "coded.parquet"
    pq.write_table(table, path, row_group_size=100)
    declared = schema(Columns(longitude="lon", latitude="lat", person="who", time="t"))
    coded, _ = read_columns(path, declared)
    monkeypatch.setattr(parquet_reader, "DICTIONARY_BYTES", 1)
    with parquet_reader.open_parquet(path) as file:
        assert file.schema_arrow.field("who").type == pa.string()
    plain, report = read_columns(path, declared)
    assert report.accepted == size
    assert bits(plain) == bits(coded)
