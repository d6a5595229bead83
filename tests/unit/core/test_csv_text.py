"""Lines of CSV, which no spreadsheet takes for formulas whatever separator it expects."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpgeo
from dpgeo.blanks import BLANKS
from dpgeo.core.csv_text import FORMULA_SIGNS, SEPARATORS, NumberText, csv_line, harmless

SIGNS = FORMULA_SIGNS + SEPARATORS + "\"'\r\n \u00a0\u200b\u3000A1(|"
TEXTS = st.text(st.sampled_from(SIGNS) | st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.lists(st.tuples(TEXTS, st.integers(min_value=0) | st.none(), TEXTS, TEXTS), min_size=1)


def cells(text: str, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def assert_no_formula(text: str) -> None:
    """Check that no cell begins like a formula, whatever separator a spreadsheet expects."""
    for separator in SEPARATORS:
        for row in cells(text, separator):
            for cell in row:
                assert not cell.lstrip(BLANKS).startswith(tuple(FORMULA_SIGNS)), cell
                assert not cell.startswith(("\t", "\r")), cell


@given(ROWS, st.sampled_from(",;"))
@example([("a;=1", 1, "b\t@x", 'c,"=1')], ",")
@example([("", None, 'a;"', '"=1')], ",")
@example([("\n\t=1", 0, "\u3000\uff1d1", "\r-1")], ";")
def test_no_text_becomes_a_formula_and_every_text_reads_back(
    rows: list[tuple[str, int | None, str, str]], separator: str
) -> None:
    text = "".join(csv_line(row, separator=separator) for row in rows)
    assert_no_formula(text)
    found = cells(text, separator)
    for row, read in zip(rows, found, strict=True):
        assert read[1] == ("" if row[1] is None else str(row[1]))
        for before, after in zip((row[0], *row[2:]), (read[0], *read[2:]), strict=True):
            assert after == harmless(before)
            assert after.replace("'", "") == before.replace("'", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("  =1", "'  =1"),
        ("\ufeff\uff1d1", "'\ufeff\uff1d1"),
        ("\tx", "'\tx"),
        ("Ulm;=1", "Ulm;'=1"),
        ("Ulm, -1", "Ulm,' -1"),
        ('Ulm\t"@x', "Ulm\t'\"@x"),
        ("Ulm\n+1", "Ulm\n'+1"),
        ("1+1=2", "1+1=2"),
        ("St. Mary; 1.4.2", "St. Mary; 1.4.2"),
        ("O'Neill", "O'Neill"),
    ],
)
def test_an_apostrophe_stands_only_where_a_formula_would_begin(text: str, written: str) -> None:
    assert harmless(text) == written


def test_numbers_stay_numbers() -> None:
    row = [-5, -0.25, Fraction(-1, 3), NumberText("-0.25"), None, "2026-01-15T12:00:00+00:00", "-5"]
    assert csv_line(row) == '-5,-0.25,-1/3,-0.25,,2026-01-15T12:00:00+00:00,"\'-5"\n'


def test_a_text_cannot_continue_the_number_before_it() -> None:
    """Where a comma is the decimal sign, a first number and the text after it are one cell."""
    assert csv_line([-5, "50+cmd|' /C calc'!A0"]) == "-5,\"50+cmd|' /C calc'!A0\"\n"


def test_every_file_that_leaves_is_written_by_one_module() -> None:
    """Only these modules write CSV, and all but one make texts harmless.

    `practice` writes a file that is only read here, and that has to read back exactly.
    """
    package = Path(dpgeo.__file__).parent
    writers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(each in path.read_text() for each in ("csv.writer(", "DictWriter(", "write_csv("))
    }
    assert writers == {"artefacts/csv.py", "artefacts/spreadsheet.py", "datasets/practice.py"}
