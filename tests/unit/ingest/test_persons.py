"""Person identifiers, hashed with a key, whatever type a file stores them as."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.blanks import BLANKS
from dpgeo.ingest import persons
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.report import Report, Tally
from tests.unit.ingest.helpers import KEY, bits, csv_of, parquet_of, people, refused, schema

MISSING = {"the person is missing": 1}


def stored(tmp_path: Path, values: Any) -> list[tuple[int, int]]:
    size = len(values)
    rows_read, _ = parquet_of(tmp_path, {"who": values, "lat": [45.0] * size, "lon": [5.0] * size})
    return people(rows_read)


def written(tmp_path: Path, *names: str) -> list[tuple[int, int]]:
    rows = "".join(f'"{name}",45,5\n' for name in names)
    return people(csv_of(tmp_path, "who,lat,lon\n" + rows)[0])


def test_a_person_is_the_keyed_hash_of_the_identifier(tmp_path: Path) -> None:
    digest = hashlib.blake2b("Zo\u00eb".encode(), key=KEY, digest_size=16).digest()
    expected = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
    assert written(tmp_path, "Zo\u00eb", " Zo\u00eb ") == [expected, expected]


def test_a_person_is_one_person_whatever_blanks_surround_the_identifier(tmp_path: Path) -> None:
    around = [f"{blank}ann{blank}" for blank in BLANKS] + [f"ann{BLANKS}", f"{BLANKS}ann"]
    [ann] = written(tmp_path, "ann")
    for values in (pa.array(around), pa.array(around, pa.large_string()).dictionary_encode()):
        assert set(stored(tmp_path, values)) == {ann}
    lines = [name for name in around if not set(name) & {"\n", "\r"}]
    assert set(written(tmp_path, *lines)) == {ann}
    assert set(written(tmp_path, *(f"{blank}7.0{blank}" for blank in "\u00a0\u3000"))) == set(
        stored(tmp_path, pa.array([7]))
    )


def test_blanks_within_an_identifier_are_part_of_it(tmp_path: Path) -> None:
    assert len(set(written(tmp_path, "ann lee", "annlee", "ann\u00a0lee", "ann\u200blee"))) == 4


def test_one_name_is_one_person_however_its_letters_are_composed(tmp_path: Path) -> None:
    first, second = written(tmp_path, "Zo\u00eb", "Zoe\u0308")
    assert first == second
    assert stored(tmp_path, pa.array(["Zoe\u0308"]).dictionary_encode()) == [first]


@pytest.mark.parametrize("name", ["upload.csv", "upload.csv.gz"])
def test_an_erased_person_is_treated_as_if_never_in_the_file(tmp_path: Path, name: str) -> None:
    def read(text: str, erased: Collection[bytes]) -> tuple[Any, Report]:
        source = tmp_path / name
        content = ("who,lat,lon\n" + text).encode()
        source.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        target = tmp_path / "canonical.parquet"
        report = ingest(source, name, schema(), KEY, target, lambda done, total: None, erased)
        return pq.read_table(target), report

    digest = hashlib.blake2b(b"ann", key=KEY, digest_size=16).digest()
    others = [digest[:8] + bytes(8), bytes(8) + digest[8:]]
    with_ann = "bob,45,5\n ann ,46,5\nann,400,5\neve,47,5\n"
    left, report = read(with_ann, [digest, *others])
    without, _ = read("bob,45,5\neve,47,5\n", [])
    assert bits(left) == bits(without)
    assert report.refused == {
        "the latitude is outside -90 to 90 degrees": 1,
        "the person was erased from this dataset": 1,
    }
    assert report.examples == []
    assert read(with_ann, others)[1].accepted == 3


@pytest.mark.parametrize(
    "values",
    [
        pa.array([7], pa.int8()), pa.array([7], pa.uint64()), pa.array([7.0], pa.float64()),
        pa.array([7], pa.decimal128(20, 0)), pa.array(["7"]), pa.array([b"7"]),
        pa.array(["7"]).dictionary_encode(), pa.array([7]).dictionary_encode(),
        pa.array(["7.0"]), pa.array([" 7.000"]),
    ],
)  # fmt: skip
def test_a_whole_number_is_one_person_however_stored(tmp_path: Path, values: pa.Array) -> None:
    assert stored(tmp_path, values) == written(tmp_path, "7")


@pytest.mark.parametrize(
    "values",
    [pa.array([-0.0]), pa.array(["-0"]), pa.array(["-0.0"]), pa.array([" -0.00"]), pa.array([0])],
    ids=str,
)
def test_zero_is_one_person_whatever_its_sign(tmp_path: Path, values: pa.Array) -> None:
    assert stored(tmp_path, values) == written(tmp_path, "0") == written(tmp_path, "-0.0")


def test_different_identifiers_are_different_persons(tmp_path: Path) -> None:
    names = ["7", "07", "007", "7.5", "-7", "seven", "Seven", "7a", "0"]
    assert len(set(written(tmp_path, *names))) == len(names)


def test_the_largest_whole_numbers_keep_every_digit(tmp_path: Path) -> None:
    large = [2**63 - 1, 2**63 - 2]
    assert stored(tmp_path, large) == written(tmp_path, *map(str, large))


@pytest.mark.parametrize("value", [7.5, float("inf"), 2.0**54])
def test_it_refuses_numbers_that_cannot_name_a_person(tmp_path: Path, value: float) -> None:
    _, report = parquet_of(tmp_path, {"who": [value, 1.0], "lat": [45, 45], "lon": [5, 5]})
    assert report.refused == {
        "the person is a number that is not whole or too large to be exact": 1
    }


@pytest.mark.parametrize("text", ["1.23457E+11", "1.2345678901234568e+16", '"1,2E+15"', "-4e+20"])
def test_it_refuses_identifiers_that_a_spreadsheet_shortened(tmp_path: Path, text: str) -> None:
    """Identifiers that a spreadsheet has shortened are refused.

    Different identifiers can be shortened to the same number, and the persons would count as one.
    """
    assert refused(tmp_path, f"{text},45,5,0") == {
        "the person is a number that is not whole or too large to be exact": 1
    }


@pytest.mark.parametrize(
    ("kind", "exact"),
    [(pa.float16(), 2**11 - 1), (pa.float32(), 2**24 - 1), (pa.float64(), 10**15 - 1)],
)
def test_a_float_to_which_two_numbers_are_rounded_names_nobody(
    tmp_path: Path, kind: pa.DataType, exact: int
) -> None:
    """Two persons would be one: 16777217, as a float of 32 bits, is 16777216."""
    numbers = [kind.to_pandas_dtype()(each) for each in (exact, exact + 1, exact + 2, -exact - 1)]
    columns = {"who": pa.array(numbers, kind), "lat": [45] * 4, "lon": [5] * 4}
    _, report = parquet_of(tmp_path, columns)
    assert (report.accepted, sum(report.refused.values())) == (1, 3)


def test_a_long_number_with_a_fraction_names_nobody(tmp_path: Path) -> None:
    """It may be a float, and would be another person than the same number without a fraction."""
    for name in ("1234567890123456.0", " -9007199254740993.00", "12345678901234567890.0"):
        assert refused(tmp_path, f"{name},45,5,0") == {
            "the person is a number that is not whole or too large to be exact": 1
        }
    assert written(tmp_path, "123456789012345.0") == written(tmp_path, "123456789012345")
    assert len(set(written(tmp_path, "1234567890123456", "1234567890123457"))) == 2


def test_names_that_resemble_an_exponent_are_accepted(tmp_path: Path) -> None:
    names = ["1e5", "12E7", "e+5", "1.5e+x", "ab1e+5"]
    assert len(set(written(tmp_path, *names))) == len(names)


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "NULL", "None", "nan", "NaN", "NA", "<NA>", r"\N", '""'),
        *("\u00a0\u200b", "\ufeffnull\u3000"),
    ],
)
def test_a_row_without_a_person_is_refused(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, f"{text},45,5,0") == MISSING


@pytest.mark.parametrize("values", [["a", None], [1, None], [1.5 - 0.5, float("nan")]])
def test_a_row_with_a_null_person_is_refused(tmp_path: Path, values: list[Any]) -> None:
    _, report = parquet_of(tmp_path, {"who": values, "lat": [45, 45], "lon": [5, 5]})
    assert report.refused == MISSING


def test_stored_text_that_is_not_utf_8_is_refused_alone(tmp_path: Path) -> None:
    values = pa.array([b"anna", b"jos\xe9", b"ben"], pa.binary())
    rows_read, report = parquet_of(tmp_path, {"who": values, "lat": [45] * 3, "lon": [5] * 3})
    assert people(rows_read) == written(tmp_path, "anna", "ben")
    assert report.refused == {"the text is not UTF-8; save the file with that encoding": 1}


def test_hashes_kept_between_batches_are_the_same_also_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(persons, "MAX_KNOWN_HASHES", 3)
    known: persons.Known = {}
    for names in (["a", "b", "a"], ["b", "c"], ["c", "d", "e\u0301", "\u00e9"], ["a", "\u00e9"]):
        values, rows = pa.array(names), np.arange(len(names))
        kept = persons.hash_persons(values, KEY, Sieve(rows, Tally()), known)
        alone = persons.hash_persons(values, KEY, Sieve(rows, Tally()))
        np.testing.assert_array_equal(kept, alone)
