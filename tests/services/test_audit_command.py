"""The audit of epsilon, run as a command with few draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]


def test_the_command_audits_in_processes_of_its_own_and_names_faults_that_it_missed() -> None:
    few = ["--only", "zones", "--effort", "0.003", "--processes", "1"]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.audit", *few],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.count("Finding(case='zones'") == 6
    assert "zones: a fault of 1.1 was missed" in ended.stdout
