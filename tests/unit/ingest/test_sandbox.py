"""The sandbox process that reads compressed and binary files: its limits and how it ends."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.ingest import sandbox
from dpgeo.ingest.canonical import declared_schema
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.preview import preview
from tests.unit.ingest.helpers import KEY, schema
from tests.unit.ingest.test_geojson import written

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"
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
        ("print('{\"errno\": 28}')", OSError, "No space"),
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


REPORT: dict[str, Any] = {"read": 1, "accepted": 1, "refused": {}, "examples": []}
LONG = {"row": 2, "reason": "the person is missing", "value": "x" * 61}


@pytest.mark.parametrize(
    "forged",
    [
        {"accepted": 2},
        {"read": "1"},
        {"accepted": True},
        {"read": 1 << 64, "accepted": 1 << 64},
        {"accepted": 0, "refused": {"anything": 1}},
        {"accepted": 0, "refused": {"the person is missing": 1}, "examples": [LONG]},
        {"examples": [{**LONG, "value": "x"}]},
        {"refused": []},
        {"more": 1},
    ],
    ids=str,
)
def test_a_report_that_no_file_has_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any]
) -> None:
    """Numbers and examples from a process that a file took over would be shown and counted with."""
    program, path = tmp_path / "forge.py", tmp_path / "a.parquet"
    program.write_text(f"print({json.dumps({'result': REPORT | forged})!r})")
    pq.write_table(pa.table(GOOD), path)
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    with pytest.raises(RuntimeError, match="says what it may not: ValueError"):
        run_ingest(path, tmp_path / "canonical")
    assert not (tmp_path / "canonical").exists()


FORGED_FILES: dict[str, Any] = {
    "no Parquet": None,
    "other columns": pa.table({"x": [1.0]}),
    "more rows than accepted": 2,
    "an erased person": 1,
}


@pytest.mark.parametrize("forged", FORGED_FILES)
def test_a_canonical_file_that_no_reading_makes_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    content = FORGED_FILES[forged]
    prepared, source = tmp_path / "forged.parquet", tmp_path / "a.parquet"
    if isinstance(content, int):
        fields = declared_schema(schema())
        rows = [dict.fromkeys(fields.names, 0)] * content
        content = pa.Table.from_pylist(rows, schema=fields)
    if content is None:
        prepared.write_bytes(b"PAR1junk")
    else:
        pq.write_table(content, prepared)
    program = tmp_path / "forge.py"
    program.write_text(
        f"import shutil; shutil.copy({str(prepared)!r}, 'canonical.parquet')\n"
        f"print({json.dumps({'result': REPORT})!r})"
    )
    pq.write_table(pa.table(GOOD), source)
    monkeypatch.setattr(sys, "executable", shim(tmp_path, program))
    erased = [bytes(16)] if forged == "an erased person" else []
    with pytest.raises(RuntimeError, match="says what it may not"):
        run_ingest(source, tmp_path / "canonical", erased)
    assert not (tmp_path / "canonical").exists()


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
    request = {"source": str(path), "file_name": "a", "schema": {"private": "words"}, "key": "00"}
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
