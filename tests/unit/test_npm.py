"""The runner of npm, which builds the map's scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.requirements import need

RUNNER = Path(__file__).parents[2] / "frontend" / "scripts" / "npm.py"


def test_npm_is_started_by_every_supported_python() -> None:
    need(shutil.which("npm") is not None, "Node.js on this machine")
    words = [sys.executable, str(RUNNER), "--show", "--version"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", shown)


def test_what_npm_says_is_shown_when_it_fails() -> None:
    need(shutil.which("npm") is not None, "Node.js on this machine")
    words = [sys.executable, str(RUNNER), "run", "no-such-script"]
    failed = subprocess.run(words, capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert "no-such-script" in failed.stderr
