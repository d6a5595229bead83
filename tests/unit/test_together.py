"""Commands that are run at the same time, with a limit on how many."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.together import run_together


def python(code: str) -> str:
    """Return the command that runs Python code."""
    return shlex.join([sys.executable, "-S", "-c", code])


def test_no_more_commands_run_at_once_than_are_allowed(tmp_path: Path) -> None:
    begun = f"import pathlib, time; begun = pathlib.Path({str(tmp_path / 'begun')!r})"
    alone = python(f"{begun}; begun.touch(exist_ok=False); time.sleep(0.3); begun.unlink()")
    assert run_together([alone] * 3, at_once=1) == 0


def test_a_failure_fails_the_whole_and_stops_no_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    after = tmp_path / "after"
    failing, next_one = python("raise SystemExit(3)"), python(f"open({str(after)!r}, 'w')")
    assert run_together([failing, next_one], at_once=1) == 3
    assert after.exists()
    assert "exit code 3" in capfd.readouterr().out
