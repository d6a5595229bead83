"""The share of the slowest test files that one run of the checks contains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rotation
from tests.rotation import files_in_turn


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the names of twelve test files, of which two name modules."""
    monkeypatch.setattr(rotation, "ROOT", tmp_path)
    names = [Path(f"test_{number:02}.py") for number in range(12)]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / names[3]).write_text("from dpgeo.jobs import leases, services\n")
    (tmp_path / names[4]).write_text('PROGRAM = "dpgeo.jobs.leases"\n')
    return names


def test_five_turns_run_every_file_once(files: list[Path]) -> None:
    turns = [files_in_turn(files, 5, turn, ()) for turn in range(7, 12)]
    assert sorted(file for turn in turns for file in turn) == files


@pytest.mark.parametrize("turn", range(5))
def test_files_that_name_a_changed_module_are_always_run(files: list[Path], turn: int) -> None:
    assert set(files[3:5]) <= files_in_turn(files, 5, turn, {Path("dpgeo/jobs/leases.py")})


def test_other_modules_of_the_same_name_choose_no_file(files: list[Path]) -> None:
    changed = {Path("dpgeo/budgets/leases.py"), Path("dpgeo/jobs/lease.py")}
    assert files_in_turn(files, 5, 0, changed) == files_in_turn(files, 5, 0, ())


def test_a_changed_test_file_is_always_run(files: list[Path]) -> None:
    for turn in range(5):
        assert files[9] in files_in_turn(files, 5, turn, {files[9]})
