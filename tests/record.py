"""Record of the last full passes of suites with fixed seeds, with a fingerprint of their inputs.

The results of such a suite depend only on the code that it runs, its own files, the packages and
Python. `tests/audited.json` contains the hash of all these at each suite's last full pass. As long
as they have not changed, `pytest --recorded-one-in 40` runs only a sample of the suite. Comments
and docstrings are left out of the hash where they do not change results.

`python -m tests.record pass` runs all suites whole and writes the record of those that pass;
`python -m tests.record pass conformance` runs the suites that are named. During such a pass a test
fails if it opens a file of the project that the hash does not cover.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path("tests/audited.json")
PACKAGES = ("dpgeo", "tests", "fixtures", "benchmarks")

PARSER = hashlib.sha256(sys.version.encode() + Path(__file__).read_bytes()).hexdigest()
"""Hash of what decides how a source is parsed: this file and Python's version."""

PARSED = ROOT / ".pytest_cache" / f"sources-{PARSER[:16]}.json"
"""File in which test processes store the imports and hash of each source for later processes."""

MOST_PARSED = 5_000
"""Number of sources in PARSED at which it is emptied, since it also keeps outdated sources."""

BUILT = {"__pycache__", "node_modules", "dist"}
"""Folders whose content is generated from other files."""

RUNNER = {"pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/record.py"}
"""Files that choose which tests run, but do not change their results."""

RECORDING = "DPGEO_RECORDING"
"""Environment variable with the name of the suite whose pass is being recorded."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite whose passes are recorded: the tests in a folder.

    Besides what they import, their outcome depends on the modules in `programs`, which they start
    as separate programs, on `files`, such as lock files of packages, and on every file in the
    folders `trees`. `reads_docstrings` says that docstrings change results, as they do where they
    are shown to users. `on_one_python` says that a pass on one version of Python does not count for
    another, and `on_servers` that the tests run on PostgreSQL and Redis.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    programs: tuple[Path, ...] = ()
    trees: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reads_docstrings: bool = False
    on_one_python: bool = False
    on_servers: bool = False


QUICK_LOCKS = ("locks/run.txt", "locks/test.txt")

READ = ("docs/statement.md",)

WEB_FILES = (
    *QUICK_LOCKS,
    *READ,
    "docs/api.md",
    "docs/glossary.md",
    "docs/tools.md",
    *("Dockerfile", ".dockerignore", "docker-compose.yml", "manage.py", "tests/settings.py"),
)

WEB_TREES = (
    *("dpgeo", "frontend", "clients", "deploy", "fixtures", "locale", "translations"),
    *("tests/web", "tests/dcat-ap"),
)


def unit(
    name: str, *files: str, trees: tuple[str, ...] = (), reads_docstrings: bool = False
) -> Suite:
    """Return the suite of the unit tests in `name`, which also read `files` and all `trees`."""
    return Suite(
        name=name,
        folder=Path("tests/unit") / name,
        files=(*QUICK_LOCKS, *files),
        trees=trees,
        reads_docstrings=reads_docstrings,
    )


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="statistical",
            folder=Path("tests/statistical"),
            files=(*QUICK_LOCKS, "locks/full.txt", "tests/statistical/diffprivlib.json"),
            programs=(Path("dpgeo/ingest"),),
            options=("-m", "statistical"),
            on_one_python=True,
        ),
        Suite(name="conformance", folder=Path("tests/conformance"), files=(*QUICK_LOCKS, *READ)),
        Suite(
            name="reading",
            folder=Path("tests/unit/ingest"),
            files=QUICK_LOCKS,
            programs=(Path("dpgeo/ingest"),),
            trees=("fixtures",),
        ),
        unit("artefacts", *READ, "frontend/src/ui/tokens.css", trees=("tests/unit/artefacts",)),
        unit("engine"),
        unit("ground", trees=("fixtures",)),
        unit(
            "mechanisms",
            *(*READ, "docs/architecture.md"),
            trees=("docs/mechanisms",),
            reads_docstrings=True,
        ),
        unit("postprocess"),
        unit("spatial"),
        Suite(
            name="web",
            folder=Path("tests/web"),
            files=WEB_FILES,
            trees=WEB_TREES,
            reads_docstrings=True,
        ),
        Suite(
            name="web on servers",
            folder=Path("tests/web"),
            files=(*WEB_FILES, "locks/full.txt"),
            trees=WEB_TREES,
            options=("-m", "not one_database"),
            reads_docstrings=True,
            on_servers=True,
        ),
    )
}
"""The suites whose passes are recorded, by name."""


def audited_files(suite: Suite, root: Path = ROOT) -> list[Path]:
    """Return all files that can change a suite's outcome, relative to `root`, sorted by name."""
    files = {
        path.relative_to(root)
        for folder in (suite.folder, *suite.programs)
        for path in (root / folder).rglob("*.py")
    }
    open_ends, names = list(files), set[str]()
    while open_ends:
        new_names = {*_parsed((root / open_ends.pop()).read_bytes()).imports} - names
        names |= new_names
        new = {path for name in new_names for path in _files_of(root, name)} - files
        files |= new
        open_ends += new
    for tree in suite.trees:
        files.update(path.relative_to(root) for path in _sources(root / tree))
    return sorted(files | {Path(name) for name in suite.files})


def _sources(folder: Path) -> Iterator[Path]:
    """Yield all files in a folder and its subfolders, except those that are built."""
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif path.name not in BUILT:
            yield from _sources(path)


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of the source of a Python file.

    `imports` holds dotted names of modules, or of names in modules. The hash is that of the syntax
    tree without docstrings.
    """

    imports: tuple[str, ...]
    hash_without_docstrings: str


@cache
def _parsed(source: bytes) -> Source:
    """Parse a source, or return what an earlier process stored about the same bytes."""
    key = hashlib.sha256(source).hexdigest()
    if key not in _stored():
        found = _parse(source)
        _stored()[key] = [found.hash_without_docstrings, *found.imports]
    hashed, *imports = _stored()[key]
    return Source(tuple(imports), hashed)


def _parse(source: bytes) -> Source:
    tree = ast.parse(source)
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "Relative imports are not followed."
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        body = getattr(node, "body", None)
        if isinstance(body, list):
            setattr(node, "body", [each for each in body if not _is_docstring(each)])  # noqa: B010
    return Source(tuple(names), hashlib.sha256(ast.dump(tree).encode()).hexdigest())


@cache
def _stored() -> dict[str, list[str]]:
    """Return what is known of sources that were parsed before, by the hash of their bytes.

    Parsing all sources would take each test process many seconds. When this process ends, it writes
    what it has added to `PARSED`.
    """
    known: dict[str, list[str]] = {}
    with suppress(OSError, ValueError):
        known = json.loads(PARSED.read_text())
    before = len(known)

    def store() -> None:
        if len(known) == before:
            return
        PARSED.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=PARSED.parent, delete=False) as file:
            json.dump(known if len(known) < MOST_PARSED else {}, file)
        Path(file.name).replace(PARSED)

    atexit.register(store)
    return known


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


def fingerprint(suite: Suite, root: Path = ROOT) -> dict[str, str]:
    """Return the values to record for a suite: Python's version, and one hash of all files.

    The hash covers the names and contents of the files.
    """
    digest = hashlib.sha256(json.dumps(file_hashes(suite, root)).encode())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": version, "sha256": digest.hexdigest()}


def file_hashes(suite: Suite, root: Path = ROOT) -> dict[str, str]:
    """Return, for each file, a hash of the part of its content that can change results."""
    files = audited_files(suite, root)
    return {
        path.as_posix(): _parsed(content).hash_without_docstrings
        if path.suffix == ".py" and not suite.reads_docstrings
        else hashlib.sha256(content).hexdigest()
        for path in files
        for content in [(root / path).read_bytes()]
    }


def _is_docstring(node: ast.AST) -> bool:
    """Return whether a statement is only a string, which has no effect when tests run."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def read_record(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """Return the fingerprints of the recorded passes, by the suites' names."""
    record = root / RECORD
    return json.loads(record.read_text()) if record.exists() else {}


def is_fresh(suite: Suite, root: Path = ROOT) -> bool:
    """Return whether the whole suite has passed with the current files."""
    recorded, now = read_record(root).get(suite.name, {}), fingerprint(suite, root)
    return recorded.get("sha256") == now["sha256"] and (
        not suite.on_one_python or recorded.get("python") == now["python"]
    )


def allow_only_recorded_files(suite: Suite) -> None:
    """Make this process raise AssertionError if it reads a project file that the record does not
    cover.

    Installed packages, caches and files that are generated from others do not count as project
    files.
    """
    covered = {ROOT / path for path in audited_files(suite)} | {ROOT / RECORD}
    passed_over = {*BUILT, ".venv", ".pytest_cache", ".git", "var"}

    def check(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str):
            return
        path = Path(os.path.abspath(arguments[0]))  # noqa: PTH100 - resolve() would open links
        if path in covered or ROOT not in path.parents or not path.is_file():
            return
        inside = path.relative_to(ROOT)
        if not passed_over.intersection(inside.parts) and inside.as_posix() not in RUNNER:
            raise AssertionError(f"{inside} is read, but the record of {suite.name} omits it.")

    sys.addaudithook(check)


def record_pass(suite: Suite, options: list[str]) -> int:
    """Run the whole suite, record it if it passes, and return its exit code."""
    before = fingerprint(suite)
    outer = {name: text for name, text in os.environ.items() if name != "DPGEO_AUDIT"}
    added = {RECORDING: suite.name, "DPGEO_REQUIRE_ALL": "1"}
    servers = ["-m", "tests.servers", sys.executable] if suite.on_servers else []
    command = [sys.executable, *servers, "-m", "pytest", str(suite.folder), *suite.options]
    code = subprocess.run([*command, *options], cwd=ROOT, env=outer | added, check=False).returncode
    if code == 0:
        assert fingerprint(suite) == before, "Files were changed meanwhile: nothing is recorded."
        record = {**read_record(), suite.name: before}
        (ROOT / RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
    return code


if __name__ == "__main__":
    workers = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
    chosen = sys.argv[2:] or list(SUITES)
    sys.exit(max(record_pass(SUITES[name], workers) for name in chosen))
