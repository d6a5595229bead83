"""The statistical suite's record, which any change that could affect the results makes stale."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.statistical.record import (
    RECORD,
    ROOT,
    SUITE,
    audited_files,
    file_hashes,
    fingerprint,
    is_fresh,
)

LOADED = """
import importlib, os, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
ours = [os.path.relpath(file) for file in files if file.startswith(os.getcwd() + os.sep)]
print(*[file for file in ours if not file.startswith(".venv")], sep="\\n")
"""
"""Script that prints which of the project's files are loaded when modules are imported."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the files on which the statistical suite depends, with a fresh record."""
    for path in audited_files():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / RECORD).write_text(json.dumps(fingerprint(tmp_path)))
    assert is_fresh(tmp_path)
    return tmp_path


def test_a_change_of_any_file_makes_the_record_stale(copy: Path) -> None:
    before = file_hashes(copy)
    for path in audited_files():
        with (copy / path).open("a") as file:
            file.write("\nCHANGED = 1\n" if path.suffix == ".py" else "\n# changed\n")
    after = file_hashes(copy)
    assert before.keys() == after.keys()
    assert not [path for path in before if before[path] == after[path]]
    assert not is_fresh(copy)


@pytest.mark.parametrize("path", ["dpgeo/privacy/sampler.py", "locks/run.txt", "tests/views.py"])
def test_one_changed_file_is_enough(copy: Path, path: str) -> None:
    with (copy / path).open("a") as file:
        file.write("\nCHANGED = 1\n")
    assert not is_fresh(copy)


def test_a_new_or_a_lost_test_file_makes_the_record_stale(copy: Path) -> None:
    new = copy / SUITE / "test_new.py"
    new.write_text("")
    assert not is_fresh(copy)
    new.unlink()
    assert is_fresh(copy)
    (copy / SUITE / "test_noise.py").unlink()
    assert not is_fresh(copy)


def test_comments_and_docstrings_leave_the_record_as_it_is(copy: Path) -> None:
    sampler = copy / "dpgeo" / "privacy" / "sampler.py"
    sampler.write_text(f'"""Reworded."""\n# Why.\n{sampler.read_text()}')
    assert is_fresh(copy)


def test_a_missing_record_and_one_of_another_python_are_stale(copy: Path) -> None:
    record = json.loads((copy / RECORD).read_text())
    (copy / RECORD).write_text(json.dumps({**record, "python": "3.0"}))
    assert not is_fresh(copy)
    (copy / RECORD).unlink()
    assert not is_fresh(copy)


def test_everything_that_the_suite_imports_is_hashed() -> None:
    names = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / SUITE).glob("*.py")]
    modules = [".".join(name.parts) for name in names if name.name != "__init__"]
    printed = subprocess.run(
        [sys.executable, "-c", LOADED, *modules], cwd=ROOT, capture_output=True, check=True
    )
    loaded = set(printed.stdout.decode().split())
    assert "dpgeo/privacy/sampler.py" in loaded
    assert loaded <= file_hashes().keys()
