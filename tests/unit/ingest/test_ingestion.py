"""Ingestion, which turns an upload into a canonical file and a report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest import canonical, canonical_writer, cores, csv_lines
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.report import Report
from tests.unit.ingest.helpers import KEY, schema

HEADER = "who,lat,lon\n"


def silent(_done: int, _total: int) -> None:
    pass


def upload(folder: Path, content: str | bytes, name: str = "upload.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run(source: Path, target: Path, name: str = "") -> Report:
    return ingest(source, name or source.name, schema(), KEY, target, silent)


def test_the_canonical_file_has_the_agreed_columns(tmp_path: Path) -> None:
    target = tmp_path / "canonical.parquet"
    report = run(upload(tmp_path, HEADER + "anna,45,5\nanna,x,5\n"), target)
    assert (report.read, report.accepted) == (2, 1)
    table = pq.read_table(target)
    assert table.schema.equals(canonical.CANONICAL)
    assert {str(field.type) for field in table.schema} == {"uint64", "double", "int64", "int32"}
    assert pq.ParquetFile(target).metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_file_with_no_usable_row_is_accepted(tmp_path: Path) -> None:
    target = tmp_path / "canonical.parquet"
    report = run(upload(tmp_path, HEADER + "anna,99,5\n,45,5\n"), target)
    assert (report.read, report.accepted) == (2, 0)
    assert pq.read_table(target).num_rows == 0
    assert run(upload(tmp_path, HEADER), target).read == 0
    assert pq.read_table(target).num_rows == 0


def test_the_report_survives_json_and_names_rows(tmp_path: Path) -> None:
    bad = "".join(f"p{i},400.17,{'x' * 300}\n" for i in range(9))
    report = run(upload(tmp_path, HEADER + bad + "a,45,\x1b[31m\n"), tmp_path / "c.parquet")
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report
    assert report.refused == {
        "the latitude is outside -90 to 90 degrees": 9,
        "the longitude is not a number": 1,
    }
    assert [example.row for example in report.examples] == [2, 3, 4, 5, 6, 11]
    assert all(len(example.value) <= 60 for example in report.examples)
    assert "\x1b" not in report.examples[-1].value


def test_the_rows_of_an_upload_are_ordered_by_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical_writer, "ROW_GROUP", 10)
    monkeypatch.setattr(canonical_writer, "RUN", 100)
    lines = [f"p{i % 500},45,{i / 1000}\n" for i in range(1070)]
    target = tmp_path / "c.parquet"
    reached = []
    source = upload(tmp_path, HEADER + "".join(lines))
    ingest(source, source.name, schema(), KEY, target, lambda *done: reached.append(done))
    rows = pq.read_table(target)
    people, x = (rows[name].to_numpy() for name in ("person_high", "x"))
    changes = np.diff(people >> np.uint64(56)) != 0
    assert changes.sum() == len(set(people >> np.uint64(56))) - 1
    assert len(set(x)) == 1070
    assert reached[-1] == (source.stat().st_size,) * 2


def test_the_number_of_threads_changes_neither_rows_nor_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = ("p,45,5,6\n", '"p,45,5\n', "p,91,5\n", ",45,5\n", "p,45,x\n")
    lines = [
        odd[i // 5000 % 5] if i % 5000 == 0 else f"p{i},45,{i % 80 / 100}\n" for i in range(200_000)
    ]
    path = upload(tmp_path, HEADER + "".join(lines))
    assert path.stat().st_size > csv_lines.BLOCK_BYTES, "there are several blocks"
    results = []
    for threads in (1, 4):
        monkeypatch.setattr(cores, "thread_count", lambda threads=threads: threads)
        report = run(path, tmp_path / "c.parquet")
        assert report.read == 200_000
        assert len(report.refused) == 5
        results.append((report, (tmp_path / "c.parquet").read_bytes()))
    assert results[0] == results[1]


def test_results_come_in_the_order_of_their_tasks_and_so_do_errors() -> None:
    first = threading.Event()

    def task(number: int) -> int:
        if number == 0:
            first.wait(60)
        elif number == 1:
            first.set()  # task 0 waits for this, so it ends after task 1
        elif number == 7:
            raise Lost
        return number

    started: list[int] = []

    def tasks() -> Iterator[Callable[[], int]]:
        for number in range(20):
            started.append(number)
            yield partial(task, number)

    results = cores.in_order(tasks(), threads=3)
    assert list(islice(results, 7)) == list(range(7))
    with pytest.raises(Lost):
        next(results)
    assert len(started) <= 12, "tasks are not read far ahead"


def test_records_keep_their_order(tmp_path: Path) -> None:
    lines = [f"p{i % 50},45,{i / 100}\n" for i in range(37)]
    declared = schema(unit=Unit.RECORD)
    path = upload(tmp_path, HEADER + "".join(lines))
    ingest(path, "a.csv", declared, KEY, tmp_path / "c", lambda done, total: None)
    assert np.all(np.diff(pq.read_table(tmp_path / "c")["x"].to_numpy()) > 0)


class Lost(Exception):
    pass


def test_stopping_from_progress_leaves_nothing_behind(tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise Lost

    folder = tmp_path / "out"
    folder.mkdir()
    path = upload(tmp_path, HEADER + "anna,45,5\n")
    with pytest.raises(Lost):
        ingest(path, "a.csv", schema(), KEY, folder / "c.parquet", stop)
    assert list(folder.iterdir()) == []


def test_a_failed_file_leaves_the_older_target_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "c.parquet"
    run(upload(tmp_path, HEADER + "anna,45,5\n"), target)
    before = target.read_bytes()
    table = pa.table({"who": ["a"] * 300_000, "lat": [45.0] * 300_000, "lon": [5.0] * 300_000})
    broken = tmp_path / "broken.parquet"
    pq.write_table(table, broken, row_group_size=100_000, use_dictionary=False)
    content = bytearray(broken.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 5_000] = bytes(5_000)
    broken.write_bytes(content)
    with pytest.raises(InvalidInput):
        run(broken, target)
    assert target.read_bytes() == before
    assert list(folder.iterdir()) == [target]


def zipped() -> bytes:
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../etc/passwd", "who,lat,lon\n")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a.csv", "empty \\(0 bytes\\)"),
        (b"who,lat,lon\nanna,45,5\n", "a.parquet", "name says Parquet"),
        (b"PAR1", "a.parquet", "damaged or cut short"),
        (b"PARE" + b"x" * 50 + b"PARE", "a.parquet", "encrypted"),
        (zipped(), "a.csv", "name points outside it"),
        (b"\x1f\x8b\x08\x00", "a.csv.gz", "damaged or cut short"),
        ("who,lat,lon\n".encode("utf-32"), "a.csv", "UTF-32; save it as UTF-8"),
        (b"SQLite format 3\x00", "a.gpkg", "GeoPackage"),
        (b'{"type": "FeatureCollection"}', "a.geojson", "GeoJSON"),
        (b"<!DOCTYPE html>", "a.csv", "web page"),
        (b"%PDF-1.7", "a.pdf", "PDF"),
        (bytes(100), "a.csv", "zero bytes"),
        (b"\n" * 100_000, "a.csv", "only blank lines"),
        (b"\xff" * 5_000, "a.csv", "not UTF-8|UTF-16"),
        (os.urandom(3_000).replace(b"\n", b"").replace(b"\r", b""), "a.csv", "."),
    ],
)
def test_files_other_than_tables_are_refused_with_a_remedy(
    tmp_path: Path, content: bytes, name: str, words: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(InvalidInput, match=words) as caught:
        run(upload(tmp_path, content), folder / "c.parquet", name=name)
    assert caught.value.field in {"file", "columns.person", "columns.latitude", "columns.longitude"}
    assert list(folder.iterdir()) == []


def test_another_key_gives_other_persons(tmp_path: Path) -> None:
    path = upload(tmp_path, HEADER + "anna,45,5\n")
    persons = []
    for key in (KEY, bytes(32)):
        ingest(path, "a.csv", schema(), key, tmp_path / "c", silent)
        persons.append(pq.read_table(tmp_path / "c")["person_high"][0].as_py())
    assert persons[0] != persons[1]


def test_no_identifier_reaches_the_canonical_file(tmp_path: Path) -> None:
    name = "a-very-telling-identifier"
    run(upload(tmp_path, HEADER + f"{name},45,5\n"), tmp_path / "c")
    assert name.encode() not in (tmp_path / "c").read_bytes()


PEAK = """
import resource, sys
from pathlib import Path
from tests.unit.ingest.helpers import KEY, schema
from tests.unit.ingest.helpers import ingest_here as ingest
source, small, target = map(Path, sys.argv[1:])
ingest(small, small.name, schema(), KEY, target, lambda done, total: None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = ingest(source, source.name, schema(), KEY, target, lambda done, total: None)
print(report.accepted, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, form: str) -> None:
    """Reading a file with eight times as many rows needs about the same memory.

    Each Parquet file is a single row group without compression or dictionaries. Memory is
    in MB.
    """
    random = np.random.default_rng(1)
    rows = 200_000
    table = pa.table(
        {
            "who": pa.array(random.integers(0, 10**18, rows)).cast(pa.string()),
            "lat": random.uniform(31, 59, rows),
            "lon": random.uniform(-9, 9, rows),
        }
    )
    small, large = tmp_path / f"small.{form}", tmp_path / f"large.{form}"
    if form == "csv":
        pyarrow.csv.write_csv(table, small)
        header, _, lines = small.read_bytes().partition(b"\n")
        large.write_bytes(header + b"\n" + lines * 8)
    else:
        for path, times in ((small, 1), (large, 8)):
            whole = pa.concat_tables([table] * times)
            pq.write_table(
                whole, path, row_group_size=rows * 8, use_dictionary=False, compression="none"
            )
    assert large.stat().st_size > 60_000_000
    done = subprocess.run(
        [sys.executable, "-c", PEAK, large, small, tmp_path / "c"],
        capture_output=True, text=True, timeout=120, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    accepted, grown = map(int, done.stdout.split())
    assert accepted == 1_600_000
    assert grown < 40
