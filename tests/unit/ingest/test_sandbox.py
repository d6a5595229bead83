"""The sandbox process that reads compressed and binary files: its limits and how it ends."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import Measure
from dpgeo.ingest import sandbox
from dpgeo.ingest.batch import Batch
from dpgeo.ingest.canonical import NamedRows, declared_schema, hashed_rows, named_rows
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.preview import preview
from dpgeo.ingest.report import Tally
from dpgeo.ingest.row_messages import packed, unpacked
from dpgeo.ingest.schema import Columns
from tests.unit.ingest.helpers import KEY, schema
from tests.unit.ingest.test_geojson import written

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"
EXECUTABLE = sys.executable
GOOD: dict[str, Any] = {"who": ["anna", "ben"], "lat": [45.0, 46.0], "lon": [5.0, 6.0]}


def silent(_done: int, _total: int) -> None:
    pass


def run_ingest(path: Path, target: Path, erased: Collection[bytes] = ()) -> Any:
    return ingest(path, path.name, schema(), KEY, target, silent, erased)


def test_it_has_none_of_the_servers_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tell.py"
    program.write_text("import json, os; print(json.dumps({'result': dict(os.environ)}))")
    monkeypatch.setenv("SECRET_KEY", "very secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    facts = sandbox.run("any", {}, tmp_path, silent, dict)
    assert "secret" not in str(facts)
    assert facts["TMPDIR"] == str(tmp_path)


def shim(folder: Path, program: Path) -> str:
    """Write a program that stands in for the sandbox's worker, and return its path."""
    script = folder / "python"
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{program}' \"$4\" \"$5\"\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        ("import os; os.kill(os.getpid(), 11)", InvalidInput, "breaks its reader"),
        ("import os; os.abort()", InvalidInput, "breaks its reader"),
        ("import time; time.sleep(60)", InvalidInput, "far too long"),
        ("import os; os.kill(os.getpid(), 24)", InvalidInput, "far too long"),
        ("raise SystemExit(3)", RuntimeError, "status 3"),
        ("import os, time; os.close(1); time.sleep(60)", RuntimeError, "closed its output"),
        ("print('{\"errno\": 28}')", RuntimeError, "a disk that has some"),
        ("print('{\"errno\": 5}')", OSError, "Input/output"),
        (
            'print(\'{"failed": "E at No space left on device:1"}\')',
            RuntimeError,
            "may not",
        ),
        ('print(\'{"failed": "KeyError at x.py:1"}\')', RuntimeError, "KeyError at x.py:1"),
        ('print(\'{"refused": "no", "field": "file"}\')', InvalidInput, "no"),
        ('print(\'{"refused": {"template": 5}, "field": "file"}\')', RuntimeError, "ValueError"),
        ("print('[' * 100_000)", RuntimeError, "RecursionError"),
        ("print('no JSON')", RuntimeError, "JSONDecodeError"),
        ("print('{\"result\": 5}')", RuntimeError, "TypeError"),
    ],
)
def test_every_way_of_ending_has_its_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.setattr(sandbox, "ENDING_SECONDS", 1)
    path = tmp_path / "program.py"
    path.write_text(f"import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n{program}")
    monkeypatch.setattr(sys, "executable", shim(tmp_path, path))
    with pytest.raises(error, match=words):
        sandbox.run("any", {}, tmp_path, silent, dict, silence=1)


@pytest.mark.parametrize("suggested", [{"longitude": 5}, {"unknown": ""}], ids=str)
def test_an_invalid_preview_is_not_blamed_on_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suggested: dict[str, Any]
) -> None:
    program, path = tmp_path / "forge.py", tmp_path / "a.parquet"
    forged = {"result": {"columns": [], "rows": [], "suggested": suggested, "hints": []}}
    program.write_text(f"print({json.dumps(forged)!r})")
    pq.write_table(pa.table(GOOD), path)
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    with pytest.raises(RuntimeError, match="says what it may not: InvalidInput"):
        preview(path, "a.parquet")


MISSING = {"the person is missing": 1}
REPORT: dict[str, Any] = {"read": 1, "accepted": 0, "refused": MISSING, "examples": []}
LONG = {"row": 2, "reason": "the person is missing", "value": "x" * 61}


@pytest.mark.parametrize(
    "forged",
    [
        {"columns": {"a": 1}},
        {"columns": [5]},
        {"rows": 7},
        {"rows": [["a"]] * 21},
        {"rows": [[1]]},
        {"complete": "maybe"},
        {"file_format": []},
        {"named_format": "no such format"},
    ],
    ids=str,
)
def test_a_preview_of_other_types_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any]
) -> None:
    usual = {"columns": ["a"], "rows": [["b"]], "suggested": {}, "hints": []}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(GOOD), path)
    for said, refused in ((usual, False), (usual | forged, True)):
        program = tmp_path / "forge.py"
        program.write_text(f"print({json.dumps({'result': said})!r})")
        with monkeypatch.context() as usual_python:
            usual_python.setattr(sys, "executable", EXECUTABLE)
            script = shim(tmp_path, program)
        monkeypatch.setattr(sys, "executable", script)
        if refused:
            with pytest.raises(RuntimeError, match="says what it may not"):
                preview(path, "a.parquet")
        else:
            assert preview(path, "a.parquet").columns == ["a"]


@pytest.mark.parametrize(
    "forged",
    [
        {"read": 2},
        {"read": "1"},
        {"accepted": False},
        {"read": 1 << 64, "refused": {"the person is missing": 1 << 64}},
        {"refused": {"anything": 1}},
        {"examples": [LONG]},
        {"examples": [LONG | {"value": ""}] * 2},
        {"examples": [LONG | {"value": "", "row": 1 << 64}]},
        {"read": 0, "refused": {}, "examples": [{**LONG, "value": "x"}]},
        {"refused": []},
        {"more": 1},
        {"refused": {"the person was erased from this dataset": 1}},
        {"accepted": 1, "refused": {}},
    ],
    ids=str,
)
def test_a_report_that_no_file_has_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any]
) -> None:
    """Numbers and examples from a process that a file took over would be shown and counted with."""
    target = tmp_path / "canonical"
    source = forge(tmp_path, monkeypatch, result())
    assert run_ingest(source, target).refused == MISSING
    target.unlink()
    source = forge(tmp_path, monkeypatch, result(**forged))
    with pytest.raises(RuntimeError, match="says what it may not: ValueError"):
        run_ingest(source, target)
    assert not target.exists()


def forge(folder: Path, monkeypatch: pytest.MonkeyPatch, output: bytes) -> Path:
    """Have the sandbox say `output`, and return a file to read."""
    program, source = folder / "forge.py", folder / "a.parquet"
    program.write_text(f"import sys\nsys.stdout.buffer.write({output!r})\n")
    pq.write_table(pa.table(GOOD), source)
    with monkeypatch.context() as usual:
        usual.setattr(sys, "executable", EXECUTABLE)
        script = shim(folder, program)
    monkeypatch.setattr(sys, "executable", script)
    return source


def result(**changes: Any) -> bytes:
    return json.dumps({"result": REPORT | changes}).encode() + b"\n"


MEASURE = Measure("km", "Kilometres", "km", 0, 10)
CATEGORY = Category("mode", "Mode", ("bus", "tram"))
DECLARED = replace(
    schema(Columns("lon", "lat", "who", time="t")),
    measures=(MEASURE,),
    categories=(CATEGORY,),
    closed=((100, 200),),
)


def named(names: list[str] = ["anna"], size: int = 2, **values: Any) -> NamedRows:  # noqa: B006
    """Return rows that a file could hold, each of the first person, but for some columns."""
    codes = pa.array(np.zeros(size, dtype=np.int32))
    persons = pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
    usual: dict[str, Any] = {"x": 5e5, "y": 5e6, "time": 7, "attributes": None}
    usual |= {"measure_0": 5, "category_0": 1} | values
    fields = list(declared_schema(DECLARED))[2:]
    columns = [pa.array([usual[field.name]] * size, field.type) for field in fields]
    return NamedRows(np.arange(size), persons, columns)


def stored_bytes(rows: NamedRows, change: dict[int, Any] = {}) -> bytes:  # noqa: B006
    """Return rows as the sandbox says them, with some of the arrays exchanged."""
    message, arrays = packed(rows, DECLARED)
    arrays = [change.get(number, each) for number, each in enumerate(arrays)]
    content = b"".join(bytes(each) for each in arrays)
    return json.dumps({**message, "bytes": len(content)}).encode() + b"\n" + content


@pytest.mark.parametrize("unit", Unit)
def test_rows_arrive_as_they_were_read(unit: Unit) -> None:
    columns = replace(
        DECLARED.columns, destination_longitude="to_lon", destination_latitude="to_lat", place="at"
    )
    attributes = (Attribute("app", ("1", "2")),)
    declared = replace(DECLARED, columns=columns, unit=unit, attributes=attributes)
    values: dict[str, list[Any]] = {
        "who": ["anna", " Zoe\u0308 ", "NULL", "anna"],
        "lon": [5.0, 6.0, 7.0, 8.0], "lat": [45.0, 46.0, 47.0, 48.0], "t": [1, 2, 3, 300],
        "km": [2.5, None, 3.0, 99.0], "mode": ["bus", "tram", "", None],
        "app": ["2", "9", "1", None], "to_lon": [5.5, None, 6.5, -9.5],
        "to_lat": [45.5, None, 46.5, 59.5], "at": ["stop", None, "", "place"],
    }  # fmt: skip
    fields = {key: pa.array(values[name]) for key, name in declared.wanted.items()}
    tally = Tally()
    rows = named_rows(Batch(np.arange(4), fields, 4, 4), declared, tally)
    assert len(rows.numbers) == 4 - tally.refused.total() == (3 if unit is Unit.PERSON else 4)
    message, arrays = packed(rows, declared)
    arrived = unpacked(message, b"".join(bytes(each) for each in arrays), declared)
    here, there = (hashed_rows(each, declared, KEY, tally, (), {}) for each in (rows, arrived))
    assert here.equals(there)
    assert np.array_equal(rows.numbers, arrived.numbers)
    assert {name for name in here.schema.names if here[name].null_count} == {
        "measure_0", "destination_x", "destination_y", "place_key"
    }  # fmt: skip


FORGED_ROWS: dict[str, bytes] = {
    "a place beyond any map": stored_bytes(named(x=float("nan"))),
    "a place outside the area": stored_bytes(named(y=9e6)),
    "a time of another age": stored_bytes(named(time=1 << 40)),
    "a time of a closed period": stored_bytes(named(time=199)),
    "no time": stored_bytes(named(time=None)),
    "an attribute that is not declared": stored_bytes(named(attributes=0)),
    "a measure beyond its limit": stored_bytes(named(measure_0=1001)),
    "a category that is not declared": stored_bytes(named(category_0=3)),
    "a person without a name": stored_bytes(named([""])),
    "a person with a huge name": stored_bytes(named(["a" * 3001])),
    "more persons than rows": stored_bytes(named(["a", "b", "c"])),
    "names of which one ends before it begins": stored_bytes(
        named(["anna", "ben"]), {0: np.array([9, 7], dtype=np.int32)}
    ),
    "a row of another person": stored_bytes(named(), {2: np.array([0, 1], dtype=np.int32)}),
    "a row of a person before the first": stored_bytes(
        named(), {2: np.array([0, -1], dtype=np.int32)}
    ),
    "a row before the first": stored_bytes(named(), {3: np.array([-1, 0])}),
    "more bytes": stored_bytes(named(), {12: np.ones(3, dtype=np.uint8)}),
    "fewer bytes": stored_bytes(named(), {3: np.arange(1)}),
    "no numbers": b'{"rows": ["1", 0, 0]}\n',
    "a negative number of rows": b'{"rows": [-1, -1, 0]}\n',
    "far too many bytes": b'{"rows": [1, 0, 0], "bytes": 200000000}\n',
    "more rows than were accepted": stored_bytes(named()),
    "fewer rows than were accepted": stored_bytes(named(size=0, names=[])),
}


@pytest.mark.parametrize("forged", FORGED_ROWS)
def test_rows_that_no_file_has_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    accepted = 1 if forged.endswith("were accepted") else 2
    output = FORGED_ROWS[forged] + result(read=accepted, accepted=accepted, refused={})
    source = forge(tmp_path, monkeypatch, output)
    target = tmp_path / "canonical"
    with pytest.raises(RuntimeError, match="says what it may not"):
        ingest(source, source.name, DECLARED, KEY, target, silent)
    assert not target.exists()


def test_rows_of_an_erased_person_are_left_out_whoever_passes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = stored_bytes(named(["anna"])) + stored_bytes(named(["ben"]))
    source = forge(tmp_path, monkeypatch, rows + result(read=4, accepted=4, refused={}))
    digest = hashlib.blake2b(b"anna", key=KEY, digest_size=16).digest()
    target = tmp_path / "canonical"
    report = ingest(source, source.name, DECLARED, KEY, target, silent, [digest])
    assert (report.accepted, pq.read_metadata(target).num_rows) == (2, 2)
    assert report.refused == {"the person was erased from this dataset": 2}
    ben = hashlib.blake2b(b"ben", key=KEY, digest_size=16).digest()
    table = pq.read_table(target)
    assert table["person_high"].unique().to_pylist() == [int.from_bytes(ben[:8])]


SEARCHED = """
import json, mmap, sys
sys.path[:0] = [{root!r}]
from pathlib import Path
import numpy as np
from dpgeo.ingest import sandbox_worker as worker
real, memory = worker.load, open("/proc/self/mem", "rb", buffering=0)
places, written = open("/proc/self/maps"), {written!r}
space = mmap.mmap(-1, 1 << 22)
page = np.frombuffer(space, dtype=np.uint8)
own = page.ctypes.data


def found():
    # The words are searched for, and the memory is read, with all bits turned, so that the search
    # does not find itself.
    turned = [bytes.fromhex(word) for word in written]
    seen = set()
    places.seek(0)
    for line in places:
        ends, rights, *rest = line.split()
        first, last = (int(end, 16) for end in ends.split("-"))
        if rights[0] != "r" or first <= own < last or rest[-1] in ("[vvar]", "[vsyscall]"):
            continue
        while first < last:
            memory.seek(first)
            try:
                size = memory.readinto(memoryview(space)[: min(len(space), last - first)])
            except OSError:
                break  # what is reserved and not there
            np.bitwise_xor(page, 255, out=page)
            seen |= {{word for word in turned if space.find(word, 0, size) >= 0}}
            first += size if size < len(space) or size == last - first else size - 128
    return [int(word in seen) for word in turned]


def load(task):
    run = real(task)

    def searched(request, say):
        result = run(request, say)
        given, *secrets = found()
        say({{"progress": [0, 1000 * given + sum(secrets)]}})
        return result

    return searched


worker.load = load
worker.main()
"""
"""A worker that reads the file as usual, then searches all of its memory and says what it found."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process its own memory")
def test_neither_the_key_nor_a_hash_nor_who_was_erased_is_anywhere_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that takes the sandbox over could otherwise show them to its uploader."""
    key, erased = os.urandom(64), [os.urandom(16) for _ in range(2)]
    source, target = tmp_path / "a.parquet", tmp_path / "canonical"
    who = [f"somebody {number}" for number in range(1000)]
    pq.write_table(pa.table({"who": who, "lat": [45.0] * 1000, "lon": [5.0] * 1000}), source)
    ingest(source, source.name, schema(), key, target, silent, erased)
    hashed = pq.read_table(target, columns=["person_high"])["person_high"].to_pylist()[:3]
    secrets = [*(key[part : part + 16] for part in range(0, 64, 16)), *erased]
    secrets += [each.hex().encode() for each in secrets]
    secrets += [half.to_bytes(8, order) for half in hashed for order in ("big", "little")]
    words = [b"somebody 999", *secrets]
    written = [bytes(255 - byte for byte in word).hex() for word in words]
    program = tmp_path / "search.py"
    program.write_text(SEARCHED.format(root=str(Path(__file__).parents[3]), written=written))
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    said: list[int] = []
    ingest(source, source.name, schema(), key, target, lambda *pair: said.append(pair[1]), erased)
    assert said[-1] == 1000, "it found a name, which the sandbox reads, and nothing else"


def test_a_worker_that_only_sends_messages_is_terminated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "chatter.py"
    program.write_text(
        "import time\nwhile True: print('{\"progress\": [0, 0]}', flush=True); time.sleep(0.1)"
    )
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    begun = time.monotonic()
    with pytest.raises(Conflict, match="too busy"):
        sandbox.run("any", {}, tmp_path, silent, dict, limit=1)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("task", ["preview", "ingest"])
@pytest.mark.parametrize(
    ("work", "words"), [("while True: pass", "far too long"), ("time.sleep(3)", "")]
)
def test_tasks_are_limited_by_processor_time_not_by_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, work: str, words: str
) -> None:
    program = tmp_path / "look.py"
    program.write_text(
        "import time\nfrom dpgeo.ingest import sandbox_worker as worker\n"
        f"def look(request, say):\n    {work}\n    return 'seen'\n"
        "def load(task):\n"
        "    from dpgeo.ingest import sandbox_tasks as tasks\n"
        "    tasks.PROCESSOR_SECONDS[task] = 2\n"
        "    tasks.limit_task(task)\n"
        "    return look\n"
        "worker.load = load\nworker.main()\n"
    )
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    request = {"source": str(program)}
    if not words:
        assert sandbox.run(task, request, tmp_path, silent, str) == "seen"
        return
    with pytest.raises(InvalidInput, match=words):
        sandbox.run(task, request, tmp_path, silent, str)


class Lost(Exception):
    pass


def test_stopping_from_progress_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    size = 300_000
    rows = {"who": ["a"] * size, "lat": np.full(size, 45.0), "lon": np.full(size, 5.0)}
    pq.write_table(pa.table(rows), path)
    folder = tmp_path / "out"
    folder.mkdir()

    def stop(_done: int, _total: int) -> None:
        raise Lost

    with pytest.raises(Lost):
        ingest(path, "a.parquet", schema(), KEY, folder / "c", stop)
    assert list(folder.iterdir()) == []
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    assert not children.exists() or children.read_text() == ""


def test_an_internal_error_does_not_quote_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(GOOD), path)
    request = {"source": str(path), "file_name": "a", "schema": {"private": "words"}}
    with pytest.raises(RuntimeError, match=r"KeyError at sandbox_worker\.py") as caught:
        sandbox.run("ingest", request, tmp_path, silent, dict)
    assert "private" not in str(caught.value)


HUGE = 300 << 20


def huge_value(path: Path) -> None:
    """Write two rows, one with a value of hundreds of MB that compresses to a few hundred KB."""
    table = pa.table({**GOOD, "who": ["a" * HUGE, "b"]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    assert path.stat().st_size < 1 << 20


def in_another_process(program: str, *arguments: Path) -> list[str]:
    """Run a program in a separate process, and return its output.

    The memory of that process does not count towards the test's own.
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, timeout=120, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    return done.stdout.splitlines()


WRITTEN = """
import sys
from pathlib import Path
from tests.unit.ingest.test_sandbox import huge_value
huge_value(Path(sys.argv[1]))
"""

MEASURED = """
import resource, sys
from pathlib import Path
from dpgeo.core.errors import Conflict, InvalidInput
from tests.unit.ingest.test_sandbox import run_ingest
try:
    run_ingest(Path(sys.argv[1]), Path(sys.argv[2]))
except InvalidInput as refusal:
    print(refusal.message)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def test_a_huge_value_stays_within_the_memory_limit(tmp_path: Path) -> None:
    path, small = tmp_path / "huge.parquet", tmp_path / "small.parquet"
    in_another_process(WRITTEN, path)
    pq.write_table(pa.table(GOOD), small)
    messages = {}
    for source in (small, path):
        messages[source] = in_another_process(MEASURED, source, tmp_path / "out")
    assert int(messages[path][-1]) - int(messages[small][-1]) <= 512
    assert "more than 512 MB of memory" in messages[path][0]
    with pytest.raises(InvalidInput, match="memory"):
        preview(path, "huge.parquet")


def test_damaged_footers_never_end_the_calling_process(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({name: values * 50 for name, values in GOOD.items()}), path)
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    random = np.random.default_rng(9)
    refused = 0
    for _ in range(200 if AUDIT else 12):
        damaged = bytearray(whole)
        for position in random.integers(len(whole) - 8 - footer, len(whole) - 8, 4):
            damaged[position] = int(random.integers(0, 256))
        path.write_bytes(damaged)
        try:
            preview(path, "a.parquet")
        except InvalidInput:
            refused += 1
    assert refused > 4


def test_uncompressed_text_is_read_without_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    path = written(tmp_path, "who,lat,lon\n")
    assert preview(path, "a.csv").columns == ["who", "lat", "lon"]


def test_a_million_columns_are_refused_in_time(tmp_path: Path) -> None:
    names = ",".join(f"c{index}" for index in range(1_000_000))
    path = tmp_path / "wide.csv"
    path.write_text(f"{names}\n")
    begun = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidInput, match="header line is longer than 1 MiB"):
        preview(path, "wide.csv")
    path.write_text("," * 1_000_000 + "\n")
    with pytest.raises(InvalidInput, match="1,000,001 columns"):
        preview(path, "wide.csv")
    assert time.monotonic() - begun < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10
