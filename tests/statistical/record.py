"""Record of the statistical suite's last full pass, with a fingerprint of its inputs.

With fixed seeds the suite's results depend only on the code that it runs, its own files, the
packages and Python. `tests/audited.json` contains the hash of all these at the last full pass. As
long as they have not changed, only a tenth of the cases is run. Comments and docstrings are left
out of the hash, because they do not change results.

`python -m tests.statistical.record pass` runs the whole suite and writes the record. `python -m
tests.statistical.record options` prints options for pytest: "--one-in 10", or nothing if the record
is out of date.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = Path("tests/statistical")
RECORD = Path("tests/audited.json")
LOCKS = ("locks/run.txt", "locks/test.txt", "locks/full.txt")
PACKAGES = ("dpgeo", "tests", "fixtures", "benchmarks")


def audited_files(root: Path = ROOT) -> list[Path]:
    """Return all files that can change the suite's outcome, relative to `root`, sorted by name."""
    files = {path.relative_to(root) for path in (root / SUITE).rglob("*.py")}
    open_ends = list(files)
    while open_ends:
        for path in _imported(root, open_ends.pop()):
            if path not in files:
                files.add(path)
                open_ends.append(path)
    return sorted(files | {Path(name) for name in LOCKS})


def _imported(root: Path, path: Path) -> Iterator[Path]:
    """Yield the project's files that are imported anywhere in a file, and their packages' files."""
    for name in _imported_names((root / path).read_bytes()):
        yield from _files_of(root, name)


@cache
def _imported_names(source: bytes) -> tuple[str, ...]:
    """Return the dotted names that a file's source imports: modules, or names in modules."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "Relative imports are not followed."
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def _files_of(root: Path, name: str) -> Iterator[Path]:
    """Yield the files that run when a dotted name is imported."""
    words = name.split(".")
    if words[0] not in PACKAGES:
        return
    for length in range(1, len(words) + 1):
        place = Path(*words[:length])
        for path in (place / "__init__.py", place.with_suffix(".py")):
            if (root / path).is_file():
                yield path


def fingerprint(root: Path = ROOT) -> dict[str, str]:
    """Return the values to record: Python's version, and one hash of all files.

    The hash covers the names and contents of the files.
    """
    digest = hashlib.sha256(json.dumps(file_hashes(root)).encode())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": version, "sha256": digest.hexdigest()}


def file_hashes(root: Path = ROOT) -> dict[str, str]:
    """Return, for each file, a hash of the part of its content that can change results."""
    files = audited_files(root)
    return {
        path.as_posix(): _hash((root / path).read_bytes(), is_python=path.suffix == ".py")
        for path in files
    }


@cache
def _hash(content: bytes, *, is_python: bool) -> str:
    """Return a hash of the content or, for Python, of the syntax tree without docstrings."""
    if is_python:
        tree = ast.parse(content)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                setattr(node, "body", [each for each in body if not _is_docstring(each)])  # noqa: B010
        content = ast.dump(tree).encode()
    return hashlib.sha256(content).hexdigest()


def _is_docstring(node: ast.AST) -> bool:
    """Return whether a statement is only a string, which has no effect when tests run."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_fresh(root: Path = ROOT) -> bool:
    """Return whether the whole suite has passed with the current files."""
    record = root / RECORD
    return record.exists() and json.loads(record.read_text()) == fingerprint(root)


def record_pass(options: list[str]) -> int:
    """Run the whole suite, record it if it passes, and return its exit code."""
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
    sys.stdout.write("--one-in 10\n" if is_fresh() else "")
