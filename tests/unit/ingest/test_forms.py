"""The declared format of a file, which its rows cannot change."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import parquet_reader, sniff
from dpgeo.ingest import parts as parts_module
from dpgeo.ingest.context import Context
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.formats import FORMATS, InputFormat
from dpgeo.ingest.forms import find_form, form_by_name
from dpgeo.ingest.ingestion import ingest, ingest_parts
from dpgeo.ingest.preview import preview, preview_here
from dpgeo.ingest.schema import Columns
from tests.unit.ingest.helpers import KEY, ingest_here, schema

ROWS = ["anna,0.5,50.5", "ben,0.6,50.4"]
TABLE = Columns(
    longitude="column 2", latitude="column 3", person="column 1", unnamed="3", file_format="csv"
)


@pytest.mark.parametrize(
    "first", ['{"trips": [', "{", "[", "<gpx>", "PAR1", "PK\x03\x04", "\x1f\x8b", "x" * (3 << 20)]
)
def test_an_odd_first_row_refuses_itself_alone(tmp_path: Path, first: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([first, *ROWS]), encoding="latin-1")
    report = ingest_here(path, "rows.csv", schema(TABLE), KEY, tmp_path / "out", lambda *_: None)
    assert (report.read, report.accepted) == (3, 2)


def test_an_odd_first_line_of_json_refuses_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    row = '{"who": "anna", "lon": 0.5, "lat": 50.5}'
    path.write_text("\n".join(['{"trips": [', row, row]))
    columns = Columns("lon", "lat", "who", file_format="ndjson")
    report = ingest_here(path, "rows.json", schema(columns), KEY, tmp_path / "out", lambda *_: None)
    assert (report.read, report.accepted) == (3, 2)


def test_a_table_is_suggested_for_a_tables_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["{,0.4,50.5", *ROWS]))
    assert preview(path, "rows.csv").file_format == "csv"


def test_a_name_tells_the_format() -> None:
    names = {
        "a.CSV": "csv",
        "a.tsv.gz": "csv.gz",
        "a.csv.zip": "csv.zip",
        "a.zip": "",
        "a": "",
        "a.kmz": "kml.zip",
        "a.json": "geojson",
        "a.ndgeojson": "geojsonl",
        "a.parquet": "parquet",
    }
    assert {name: form_by_name(name) for name in names} == names
    assert {find_form(form.code).format for form in FORMATS} == set(FORMATS)
    for code in ("", "cvs", "csv.", "csv.7z"):
        with pytest.raises(InvalidInput) as refused:
            find_form(code)
        assert refused.value.field == "columns.file_format"


@pytest.mark.parametrize("read", ["preview", "ingest"])
def test_a_file_that_is_exchanged_after_its_look_reaches_no_library_outside_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("who,lon,lat\nanna,0.5,50.5\n")
    table = pa.table({"who": ["anna"], "lon": [0.5], "lat": [50.5]})
    usual = sniff.sniff

    def exchange(source: Path, name: str) -> InputFormat:
        recognised = usual(source, name)
        pq.write_table(table, path)
        return recognised

    def opened(*_: Any) -> None:
        pytest.fail("A C library read the file in this process.")

    monkeypatch.setattr(sniff, "sniff", exchange)
    monkeypatch.setattr(parts_module, "sniff", exchange)
    monkeypatch.setattr(parquet_reader, "open_parquet", opened)
    columns = Columns("lon", "lat", "who")
    with contextlib.suppress(InvalidInput):
        if read == "preview":
            preview(path, "rows.data")
        else:
            ingest(path, "rows.data", schema(columns), KEY, tmp_path / "out", lambda *_: None)


@pytest.mark.parametrize(("header", "who"), [("file name", "anna"), ("driver", "one")])
def test_a_column_called_file_name_stands_for_itself(tmp_path: Path, header: str, who: str) -> None:
    parts = []
    for name in ("one.csv", "two.csv"):
        path = tmp_path / name
        path.write_text(f"{header},lon,lat\nanna,0.5,50.5\n")
        parts.append(Part(path, name))
    seen = preview_here(parts, Context(), find_form("csv"))
    assert seen.rows[0][seen.columns.index("file name")] == who
    columns = Columns("lon", "lat", "file name", file_format="csv.zip")
    ingest_parts(parts, schema(columns), KEY, tmp_path / "out", lambda *_: None)
    import pyarrow.parquet as pq

    people = pq.read_table(tmp_path / "out")["person_high"].to_pylist()
    assert len(set(people)) == (1 if header == "file name" else 2)
