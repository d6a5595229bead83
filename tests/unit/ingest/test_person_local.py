"""Row-locality: a row's canonical form depends only on the row itself and on the schema.

The contribution bound relies on this: removing a person's rows from the upload removes exactly
that person's rows from the canonical file, byte for byte, whatever the other rows are and wherever
the reader divides the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpgeo.ingest.csv_fields import split
from dpgeo.ingest.csv_lines import BLOCK_BYTES
from dpgeo.ingest.layout import BLANKS
from dpgeo.ingest.parquet_reader import BATCH_ROWS
from dpgeo.ingest.schema import Columns
from dpgeo.spatial.area import StudyArea
from tests.unit.ingest.helpers import bits, concatenated, read_columns, read_text, schema

TRIANGLE = StudyArea(shapely.Polygon([(-10, 30), (10, 30), (10, 60), (-2, 55)]))
DECLARED = schema(
    Columns(longitude="lon", latitude="lat", person="who", time="t"),
    area=TRIANGLE,
    time_zone="Europe/Vienna",
)
SLOW = settings(
    max_examples=400 if os.environ.get("DPGEO_AUDIT") == "1" else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

PERSONS = ["u", "v", "7", "", "J\u00f6", "Doe, Jane"]
LATITUDES = ["45", "45.123456789", "400.17", "nan", "45,5", "", "31.4159265358979", "x", "-0.0"]
LONGITUDES = ["5", "-1.5", "9.87654321", "5.5e0", "181", "inf", "0"]
TIMES = ["0", "2024-03-31 02:30", "2024-10-27T02:30", "2024-07-01", "x", "1719835200.5"]

rows = st.tuples(*map(st.sampled_from, (PERSONS, LATITUDES, LONGITUDES, TIMES)))
"""Rows, many of which have something wrong with them."""

usable = st.tuples(
    st.sampled_from(["u", "v"]),
    st.floats(30, 60).map(repr),
    st.floats(-10, 10).map(repr),
    st.sampled_from(TIMES[:4]),
)

noise = st.sampled_from(
    [b'"', b'u,45,5,"a ""b"', b'u,45,5, "x"', b'"u,45,5,0', b'u,45,5,"0', b'"u"",45,5,0',
     b"\xff\xfe,45,5,0", b"u,45,5", b"\x00", b"", b'",",",', b"u,45,5,0,",
     b"u" * 70_000 + b",45,5,0", "\u2028,45,5,0".encode()]
)  # fmt: skip
"""Lines that a CSV library might join with neighbouring lines."""


def line_of(row: tuple[str, ...]) -> bytes:
    return ",".join(f'"{cell}"' if "," in cell else cell for cell in row).encode()


lines = st.lists(st.one_of(rows.map(line_of), usable.map(line_of), noise), max_size=12)


def canonical_lines(path: Path, content: list[bytes], ending: bytes, block_bytes: int) -> Any:
    path.write_bytes(ending.join([b"who,lat,lon,t", *content, b""]))
    return read_text(path, DECLARED, block_bytes)[0]


@SLOW
@given(
    lines,
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.sampled_from([1, 7, 64, 1_000, BLOCK_BYTES]),
)
def test_each_csv_line_is_read_as_if_it_were_alone(
    tmp_path: Path, content: list[bytes], ending: bytes, block_bytes: int
) -> None:
    block_bytes = (
        max(block_bytes, 64) if any(len(line) > 1_000 for line in content) else block_bytes
    )
    path = tmp_path / "upload.csv"
    together = canonical_lines(path, content, ending, block_bytes)
    alone = [canonical_lines(path, [line], b"\n", BLOCK_BYTES) for line in content]
    assert bits(together) == bits(concatenated(alone))


signs = st.text(st.sampled_from('"", \t;a1'), min_size=1, max_size=9).map(str.encode)


def fields(content: list[bytes], delimiter: str) -> list[Any]:
    """Return a tuple for each line.

    It says whether a quotation mark is unclosed and whether one is stray, and lists the fields.
    """
    parts = split(pa.array([line.decode() for line in content]), delimiter)
    return list(
        zip(parts.unclosed.tolist(), parts.stray.tolist(), parts.lists.to_pylist(), strict=True)
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(signs, min_size=1, max_size=6), st.sampled_from([",", "\t", BLANKS]))
@example([b'"a,1",1', b'a, "1"'], ",")
def test_the_fields_of_a_line_do_not_depend_on_other_lines_of_its_block(
    content: list[bytes], delimiter: str
) -> None:
    alone = [cells for line in content for cells in fields([line], delimiter)]
    assert fields(content, delimiter) == alone


@SLOW
@given(lines, st.lists(usable.map(line_of), max_size=6), st.randoms(use_true_random=False))
def test_removing_a_persons_lines_removes_exactly_their_rows(
    tmp_path: Path, others: list[bytes], some: list[bytes], random: Any
) -> None:
    owners = [("other", line) for line in others if not line.strip(b'"').startswith(b"u")]
    owners += [("u", line) for line in some if line.startswith(b"u,")]
    random.shuffle(owners)
    path = tmp_path / "upload.csv"
    whole = canonical_lines(path, [line for _, line in owners], b"\n", 97)
    without = canonical_lines(path, [line for who, line in owners if who != "u"], b"\n", 31)
    of_u = canonical_lines(path, [b"u,45,5,0"], b"\n", BLOCK_BYTES)
    assert of_u.num_rows == 1
    theirs = np.equal(whole["person_high"].to_numpy(), of_u["person_high"][0].as_py())
    theirs &= np.equal(whole["person_low"].to_numpy(), of_u["person_low"][0].as_py())
    assert bits(whole.filter(pa.array(~theirs))) == bits(without)


def text_table(content: list[tuple[str, ...]]) -> Any:
    """Return a table in which every column is text and empty cells are null."""
    cells = [[cell or None for cell in column] for column in zip(*content, strict=True)] or [[]] * 4
    return pa.table(
        {name: pa.array(column, pa.string()) for name, column in zip(
            ["who", "lat", "lon", "t"], cells, strict=True
        )}
    )  # fmt: skip


def typed_table(content: list[tuple[str, ...]]) -> Any:
    """Return a table of numbers as numbers, persons as categories, times as local timestamps."""
    table = text_table(content)
    number = [[_number(cell) for cell in table[name].to_pylist()] for name in ("lat", "lon")]
    return pa.table(
        {
            "who": table["who"].combine_chunks().dictionary_encode(),
            "lat": pa.array(number[0], pa.float64()),
            "lon": pa.array(number[1], pa.float32()),
            "t": pa.array(
                [1_711_852_200 * (len(row[3]) % 3) for row in content], pa.timestamp("s")
            ),
        }
    )


def _number(cell: str | None) -> float | None:
    try:
        return None if cell is None else float(cell)
    except ValueError:
        return None


@SLOW
@pytest.mark.parametrize("build", [text_table, typed_table])
@given(
    content=st.lists(st.one_of(rows, usable), max_size=14),
    batch_rows=st.sampled_from([1, 3, BATCH_ROWS]),
    group_rows=st.integers(1, 20),
)
def test_each_parquet_row_is_read_as_if_it_were_alone(
    tmp_path: Path, build: Any, content: list[tuple[str, ...]], batch_rows: int, group_rows: int
) -> None:
    path = tmp_path / "upload.parquet"
    pq.write_table(build(content), path, row_group_size=group_rows)
    together, _ = read_columns(path, DECLARED, batch_rows)
    alone = []
    for row in content:
        pq.write_table(build([row]), path)
        alone.append(read_columns(path, DECLARED)[0])
    assert bits(together) == bits(concatenated(alone))


@pytest.mark.parametrize("block_bytes", [50, 4_099, BLOCK_BYTES])
def test_the_report_does_not_depend_on_where_the_file_is_divided(
    tmp_path: Path, block_bytes: int
) -> None:
    random = np.random.default_rng(3)
    kinds = ["u,45,5,0", '"u,45,5,0', "v,400,5,0", "v,45,x,0", ",45,5,0", "v,45,5", "v,59,-9,0"]
    content = [kinds[index].encode() for index in random.integers(0, len(kinds), 400)]
    path = tmp_path / "upload.csv"
    path.write_bytes(b"\r\n".join([b"who,lat,lon,t", *content]))
    assert read_text(path, DECLARED, block_bytes)[1] == read_text(path, DECLARED)[1]


def test_projecting_does_not_depend_on_the_place_in_an_array(tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    lat, lon = random.uniform(31, 54, 1_037), random.uniform(-1, 9, 1_037)
    columns = {"who": ["u"] * 1_037, "lat": lat, "lon": lon, "t": [0] * 1_037}
    path = tmp_path / "upload.parquet"
    pq.write_table(pa.table(columns), path)
    whole, _ = read_columns(path, DECLARED)
    for batch_rows in (1, 2, 5, 8, 63):
        assert bits(read_columns(path, DECLARED, batch_rows)[0]) == bits(whole)
