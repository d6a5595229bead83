"""The record of the statistical suite's last whole pass, and what makes it stale.

Under its fixed seeds the suite gives the same answers again as long as the code that it runs, its
own files, the packages and Python are the same. `tests/audited.json` holds the hash of all that
with which every test last passed. Where it still holds, a tenth of the cases is run. Comments and
docstrings change no answer, and are left out.

`python -m tests.statistical.record pass` runs the suite whole and writes the record.
`python -m tests.statistical.record options` prints what pytest is to be told: "--tenth", or nothing
where the record is stale.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = Path("tests/statistical")
RECORD = Path("tests/audited.json")
LOCKS = ("locks/run.txt", "locks/test.txt", "locks/full.txt")
PACKAGES = ("dpgeo", "tests", "fixtures", "benchmarks")


def audited_files(root: Path = ROOT) -> list[Path]:
    """Everything on which the suite's outcome depends, relative to `root`, in order of names."""
    found = {path.relative_to(root) for path in (root / SUITE).rglob("*.py")}
    open_ends = list(found)
    while open_ends:
        for path in _imported(root, open_ends.pop()):
            if path not in found:
                found.add(path)
                open_ends.append(path)
    return sorted(found | {Path(name) for name in LOCKS})


def _imported(root: Path, path: Path) -> Iterator[Path]:
    """The project's files that a file imports anywhere in it, with the packages they lie in."""
    for name in _imported_names((root / path).read_bytes()):
        yield from _files_of(root, name)


@cache
def _imported_names(source: bytes) -> tuple[str, ...]:
    """The dotted names that a file imports, of a module or within one."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "Relative imports are not followed."
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def _files_of(root: Path, name: str) -> Iterator[Path]:
    """The files that importing a dotted name, of a module or within one, executes."""
    words = name.split(".")
    if words[0] not in PACKAGES:
        return
    for length in range(1, len(words) + 1):
        place = Path(*words[:length])
        for path in (place / "__init__.py", place.with_suffix(".py")):
            if (root / path).is_file():
                yield path


def fingerprint(root: Path = ROOT) -> dict[str, str]:
    """What the record holds: Python's version, and one hash of all files' names and contents."""
    digest = hashlib.sha256(json.dumps(file_hashes(root)).encode())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": version, "sha256": digest.hexdigest()}


def file_hashes(root: Path = ROOT) -> dict[str, str]:
    """By name of a file, the hash of what counts in it."""
    files = audited_files(root)
    return {
        path.as_posix(): _hash((root / path).read_bytes(), is_python=path.suffix == ".py")
        for path in files
    }


@cache
def _hash(content: bytes, *, is_python: bool) -> str:
    """Of the bytes, or of a Python file's syntax tree without its docstrings."""
    if is_python:
        tree = ast.parse(content)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                setattr(node, "body", [each for each in body if not _is_docstring(each)])  # noqa: B010
        content = ast.dump(tree).encode()
    return hashlib.sha256(content).hexdigest()


def _is_docstring(node: ast.AST) -> bool:
    """Whether it is a string that stands alone, which nothing reads while tests run."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_fresh(root: Path = ROOT) -> bool:
    """Whether the suite has passed whole with everything as it is."""
    record = root / RECORD
    return record.exists() and json.loads(record.read_text()) == fingerprint(root)


def tenth(names: Iterable[str]) -> list[bool]:
    """Of each case, by name, whether it belongs to the tenth: of each test every tenth case, from
    the first on, so that no test is left out.
    """
    numbers: dict[str, int] = {}
    chosen = []
    for name in names:
        test = name.partition("[")[0]
        chosen.append(numbers.get(test, 0) % 10 == 0)
        numbers[test] = numbers.get(test, 0) + 1
    return chosen


def record_pass(options: list[str]) -> int:
    """The exit code of the whole suite; where it is 0 the record is written."""
    before = fingerprint()
    outer = {name: text for name, text in os.environ.items() if name != "DPGEO_AUDIT"}
    command = [sys.executable, "-m", "pytest", str(SUITE), "-m", "statistical", *options]
    code = subprocess.run(command, cwd=ROOT, env=outer, check=False).returncode
    if code == 0:
        assert fingerprint() == before, "Files were changed meanwhile: nothing is recorded."
        (ROOT / RECORD).write_text(json.dumps(before, indent=2) + "\n")
    return code


if __name__ == "__main__":
    if sys.argv[1] == "pass":
        workers = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
        sys.exit(record_pass(workers))
    sys.stdout.write("--tenth\n" if is_fresh() else "")
