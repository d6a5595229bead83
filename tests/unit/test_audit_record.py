"""The record of complete passes of the slow suites, and which changes of files make it stale."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import conftest
from tests.record import (
    RECORD,
    RECORDING,
    ROOT,
    SUITES,
    Suite,
    audited_files,
    file_hashes,
    fingerprint,
    is_fresh,
)

LOADED = """
import importlib, json, os, sys
import duckdb, geopandas, hypothesis, pytest
for suite, names in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        for name in names:
            importlib.import_module(name)
        files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
        ours = [os.path.relpath(file) for file in files if file.startswith(os.getcwd() + os.sep)]
        ours = [file for file in ours if not file.startswith(".venv")]
        print(json.dumps([suite, ours]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, suite
"""
"""Script that prints which of the project's files are loaded when suites' modules are imported.

Other packages are imported once. Each suite is then imported in a fork of that process.
"""


STATISTICAL = SUITES["statistical"]

ONE_IN = 10
"""The tests change one of this many files, since each changed file has to be parsed anew, and it
would take long to change them all.
"""

every_suite = pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)


def copied(suite: Suite, folder: Path) -> Path:
    """Return a folder with a copy of the files on which a suite depends, and a fresh record."""
    for path in audited_files(suite):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    (folder / RECORD).write_text(json.dumps({suite.name: fingerprint(suite, folder)}))
    assert is_fresh(suite, folder)
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the files on which the statistical suite depends, with a fresh record."""
    return copied(STATISTICAL, tmp_path)


@every_suite
def test_a_change_of_any_file_makes_the_record_stale(suite: Suite, tmp_path: Path) -> None:
    copy = copied(suite, tmp_path)
    before = file_hashes(suite, copy)
    changed = audited_files(suite)[::ONE_IN]
    for path in changed:
        with (copy / path).open("a") as file:
            file.write("\nCHANGED = 1\n" if path.suffix == ".py" else "\n# changed\n")
    after = file_hashes(suite, copy)
    assert before.keys() == after.keys()
    others = {path for path in before if before[path] != after[path]}
    assert others == {path.as_posix() for path in changed}
    assert not is_fresh(suite, copy)


@pytest.mark.parametrize("path", ["dpgeo/privacy/sampler.py", "locks/run.txt", "tests/views.py"])
def test_one_changed_file_is_enough(copy: Path, path: str) -> None:
    with (copy / path).open("a") as file:
        file.write("\nCHANGED = 1\n")
    assert not is_fresh(STATISTICAL, copy)


def test_a_new_or_a_lost_test_file_makes_the_record_stale(copy: Path) -> None:
    new = copy / STATISTICAL.folder / "test_new.py"
    new.write_text("")
    assert not is_fresh(STATISTICAL, copy)
    new.unlink()
    assert is_fresh(STATISTICAL, copy)
    (copy / STATISTICAL.folder / "test_noise.py").unlink()
    assert not is_fresh(STATISTICAL, copy)


def test_comments_and_docstrings_leave_the_record_as_it_is(copy: Path) -> None:
    sampler = copy / "dpgeo" / "privacy" / "sampler.py"
    sampler.write_text(f'"""Reworded."""\n# Why.\n{sampler.read_text()}')
    assert is_fresh(STATISTICAL, copy)


def test_a_missing_record_is_stale_and_for_statistics_one_of_another_python(copy: Path) -> None:
    record = json.loads((copy / RECORD).read_text())
    record[STATISTICAL.name]["python"] = "3.0"
    (copy / RECORD).write_text(json.dumps(record))
    assert not is_fresh(STATISTICAL, copy)
    (copy / RECORD).write_text("{}")
    assert not is_fresh(STATISTICAL, copy)
    (copy / RECORD).unlink()
    assert not is_fresh(STATISTICAL, copy)


def modules_of(suite: Suite) -> list[str]:
    """Return the names of the modules in a suite's folder."""
    names = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / suite.folder).glob("*.py")]
    return [".".join(name.parts) for name in names if name.name != "__init__"]


def test_everything_that_suites_import_is_hashed() -> None:
    suites = {suite.name: suite for suite in SUITES.values() if "dpgeo" not in suite.trees}
    named = json.dumps({name: modules_of(suite) for name, suite in suites.items()})
    printed = subprocess.run(
        [sys.executable, "-c", LOADED, named], cwd=ROOT, capture_output=True, check=True
    )
    loaded = dict(json.loads(line) for line in printed.stdout.splitlines())
    assert loaded.keys() == suites.keys()
    for name, suite in suites.items():
        assert f"{suite.folder.as_posix()}/__init__.py" in loaded[name]
        assert set(loaded[name]) <= file_hashes(suite).keys(), name


class Item:
    """A stand-in for a test that pytest has collected, with the attributes that sampling reads."""

    def __init__(self, suite: Suite, number: int) -> None:
        self.path = ROOT / suite.folder / "test_any.py"
        self.nodeid = f"{suite.folder}/test_any.py::test[{number}]"


@pytest.mark.parametrize("on_servers", [False, True])
def test_only_suites_with_a_fresh_record_are_sampled(
    monkeypatch: pytest.MonkeyPatch, on_servers: bool
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://" if on_servers else "sqlite:///")
    monkeypatch.delenv(RECORDING, raising=False)
    monkeypatch.setattr(conftest, "is_fresh", lambda suite: suite.name in {"reading", "web"})
    folders = {suite.folder: suite for suite in SUITES.values()}
    items = [Item(suite, number) for suite in folders.values() for number in range(20)]
    config = SimpleNamespace(
        getoption={"--one-in": 1, "--recorded-one-in": 10}.__getitem__,
        hook=SimpleNamespace(pytest_deselected=lambda items: None),
        stash={},
    )
    conftest.pytest_configure(cast("Any", config))
    conftest.pytest_collection_modifyitems(cast("Any", config), cast("Any", items))
    sampled = {Path("tests/unit/ingest"), Path("tests/web")} if not on_servers else set()
    assert Counter(item.path.parent.relative_to(ROOT) for item in items) == {
        folder: 2 if folder in sampled else 20 for folder in folders
    }


def test_parallel_processes_are_told_which_suites_are_fresh(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(RECORDING, raising=False)
    config = SimpleNamespace(workerinput={}, stash={conftest.FRESH: ["web"]})
    node = SimpleNamespace(workerinput=config.workerinput, config=config)
    conftest.pytest_configure_node(node)
    config.stash = {}
    conftest.pytest_configure(cast("Any", config))
    assert config.stash == {conftest.FRESH: ["web"]}


READ = """
import sys
from tests.record import SUITES, allow_only_recorded_files
allow_only_recorded_files(SUITES["reading"])
open(sys.argv[1]).close()
"""


@pytest.mark.parametrize(("path", "is_covered"), [("locks/run.txt", True), ("README.md", False)])
def test_a_pass_is_not_recorded_where_a_test_reads_what_the_hash_omits(
    path: str, is_covered: bool
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, path], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode == 0) == is_covered, done.stderr
    assert is_covered or f"{path} is read, but".encode() in done.stderr
