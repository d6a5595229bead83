"""CSV files, in which each physical line is one row and every value is text."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest import csv_fields, csv_lines
from dpgeo.ingest.csv_layout import guess_layout
from dpgeo.ingest.layout import PLAIN
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.text import cut_text
from tests.unit.ingest.helpers import bits, csv_of, people, read_text, refused, schema

FIELD = st.text(alphabet='ab,;"\u00e9 \t1.', max_size=6)


@settings(deadline=None)
@given(
    st.lists(st.lists(FIELD, min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_fields_are_those_of_the_csv_library(
    rows: list[list[str]], quoting: int, ending: str
) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator=ending).writerows(rows)  # type: ignore[arg-type]
    block = text.getvalue().encode()
    found: list[list[str]] = []
    for lines in csv_lines.read_lines(io.BytesIO(block)):
        fields = csv_fields.split(cut_text(lines.block, lines.starts, lines.ends), ",")
        assert not fields.unclosed.any()
        assert not fields.stray.any()
        found += fields.lists.to_pylist()
    assert found == rows


def test_a_line_of_quotation_marks_takes_time_in_proportion_to_its_length() -> None:
    hostile = ",".join(['"a""' * 5_000, '""' * 5_000, '"' * 9_999])
    assert csv_fields.split_quoted(hostile, ",") is None


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"bcd", b"\n\n"]), max_size=30),
    st.integers(1, 9),
)
def test_line_numbers_are_those_of_a_text_editor(pieces: list[bytes], block_bytes: int) -> None:
    text = b"".join(pieces)
    numbers = []
    for lines in csv_lines.read_lines(io.BytesIO(text), block_bytes):
        numbers += [
            (int(number), lines.block[start:end])
            for number, start, end in zip(lines.numbers, lines.starts, lines.ends, strict=True)
        ]
    expected = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line]
    assert numbers == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_it_reads_every_delimiter_and_line_end(tmp_path: Path, delimiter: str, ending: str) -> None:
    rows = [["note", "who", "lat", "lon"], ["x", "anna", "45.5", "5.25"], ["", "ben", "46", "6"]]
    text = ending.join(delimiter.join(row) for row in rows)
    rows_read, report = csv_of(tmp_path, text)
    assert (report.read, report.accepted) == (2, 2)
    assert rows_read.num_rows == 2
    expected, _ = csv_of(tmp_path, "who,lat,lon\nanna,45.5,5.25\nben,46,6\n")
    assert bits(rows_read) == bits(expected)


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    _, report = csv_of(tmp_path, "\n\r\nwho,lat,lon\n\n\nanna,45,5\n\n")
    assert (report.read, report.accepted) == (1, 1)


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path: Path) -> None:
    assert csv_of(tmp_path, "\ufeffwho,lat,lon\nanna,45,5\n")[0].num_rows == 1


def test_quoted_fields_may_hold_delimiters_and_doubled_quotes(tmp_path: Path) -> None:
    rows_read, report = csv_of(
        tmp_path,
        'note,who,lat,lon\n"a, ""b""","anna",45,"5"\n"","an""na",45,5\n"c","an\'na",45,5\n',
    )
    assert report.refused == {}
    plain, _ = csv_of(tmp_path, "note;who;lat;lon\n;anna;45;5\n")
    assert people(rows_read)[0] == people(plain)[0]
    assert len(set(people(rows_read))) == 3


def test_an_unclosed_quote_loses_only_its_own_line(tmp_path: Path) -> None:
    text = 'who,lat,lon\nanna,45,5\n"ben,45,5\ncarl,45,5\n"dora",45,5\n'
    rows_read, report = csv_of(tmp_path, text)
    assert rows_read.num_rows == 3
    assert report.refused == {"an unclosed quote (a line break within quotes is not read)": 1}
    assert report.examples[0].row == 3
    assert report.examples[0].value == '"ben,45,5'


def test_it_refuses_a_quotation_mark_inside_a_field(tmp_path: Path) -> None:
    (reason,) = refused(tmp_path, 'an"na","45",5,0')
    assert reason.startswith("a quotation mark inside a field")
    (reason,) = refused(tmp_path, 'anna, "45",5,0')
    assert reason.startswith("a quotation mark inside a field")
    (reason,) = refused(tmp_path, '"anna"x,45,5,0')
    assert reason.startswith("a quotation mark inside a field")


def test_quotation_marks_are_plain_where_no_field_begins_with_one(tmp_path: Path) -> None:
    columns = Columns("lon", "lat", "who", position_format="degrees")
    text = 'who,lat,lon\nan"na""x,50°30\'15"N,0°30\'0"E\n"ben",50.5,0.5\n'
    rows_read, report = csv_of(tmp_path, text, schema(columns))
    assert (rows_read.num_rows, report.refused) == (2, {})
    _, report = csv_of(tmp_path, text.replace("50.5", "50°30'15\"N"), schema(columns))
    assert sum(report.refused.values()) == 1


@pytest.mark.parametrize("row", ["anna,45,5", "anna,45,5,0,0", "anna;45;5;0", " ", "anna"])
def test_it_refuses_a_line_with_too_many_or_too_few_fields(tmp_path: Path, row: str) -> None:
    assert refused(tmp_path, row) == {"more or fewer fields than the header has": 1}


def test_it_refuses_a_line_in_another_encoding_alone(tmp_path: Path) -> None:
    text = b"who,lat,lon\n" + "jos\u00e9,45,5\n".encode() + "jos\u00e9,45,5\n".encode("latin-1")
    rows_read, report = csv_of(tmp_path, text + b"anna,45,5\n")
    assert rows_read.num_rows == 2
    assert report.refused == {"the text is not UTF-8; save the file with that encoding": 1}
    assert report.examples[0].row == 3


@pytest.mark.parametrize("block_bytes", [100, 70_000, csv_lines.BLOCK_BYTES])
def test_it_refuses_a_line_that_is_too_long(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "long.csv"
    longest, longer = b"x" * 65_526, b"x" * 65_528
    path.write_bytes(
        b"who,lat,lon,note\nanna,45,5,%b\nben,45,5,%b\nc,45,5,%b\nd,45,5,\n"
        % (longest, longer, b"y" * 300_000)
    )
    rows_read, report = read_text(path, schema(), block_bytes)
    assert report.refused == {"the line is longer than 65,536 bytes": 2}
    assert rows_read.num_rows == 2
    assert [example.row for example in report.examples] == [3, 4]


def test_it_refuses_a_declared_field_that_is_too_long(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{'a' * 1_001},45,5,0") == {
        "a declared field is longer than 1,000 bytes": 1
    }
    assert refused(tmp_path, f"{'a' * 1_000},45,5,0") == {}


def test_a_formula_cell_is_only_text(tmp_path: Path) -> None:
    rows_read, report = csv_of(
        tmp_path, 'who,lat,lon\n"=HYPERLINK(""http://x"")",45,5\n=1+1,45,5\n'
    )
    assert report.refused == {}
    assert len(set(people(rows_read))) == 2
    assert refused(tmp_path, "anna,=45,5,0") == {"the latitude is not a number": 1}


def test_only_the_declared_columns_are_read(tmp_path: Path) -> None:
    declared = schema(Columns(longitude="lon", latitude="lat"), unit=Unit.RECORD)
    rows_read, report = csv_of(tmp_path, b"lat,who,lon\n45,\x00\x01,5\n45,,5\n", declared)
    assert report.refused == {}
    assert people(rows_read) == [(0, 0), (0, 0)]


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("\n\r\n\n", "file", "only blank lines"),
        ("who,lat,lon,lat\n", "file", "'lat' more than once"),
        (",,\n", "file", "no header"),
        ("who,latitude,lon\n", "columns.latitude", "did you mean 'latitude'"),
        ("who,Lat,lon\n", "columns.latitude", "did you mean 'Lat'"),
        ("who,north,lon\n", "columns.latitude", "it has 'who', 'north', 'lon'"),
        ('who,"lat,lon\n', "file", "quotation mark out of place"),
        (b"who,lat,lon,\xe9\n", "file", "not UTF-8"),
        (",".join(f"c{i}" for i in range(10_001)), "file", "10,001 columns"),
        (",".join(f"c{i}" for i in range(1_000_000)), "file", "longer than 1 MiB"),
        ("x" * 200_000, "file", "far too long"),
    ],
)
def test_it_refuses_a_header_it_cannot_use(
    tmp_path: Path, text: str | bytes, field: str, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        csv_of(tmp_path, text)
    assert caught.value.field == field
    assert len(caught.value.message) < 500


def test_a_first_line_too_long_for_a_name_has_no_layout(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    for line in (b"x" * 200_000, bytes(200_000)):
        path.write_bytes(line + b"\n1,2,3\n")
        assert guess_layout(path).by_header == PLAIN
