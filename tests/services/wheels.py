"""Wheels built from this tree and installed in separate environments."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from tests.fresh_copy import environment
from tests.services.installation import ROOT

INSTALLER = runpy.run_path(str(ROOT / "locks" / "install.py"))


def build_client(folder: Path) -> Path:
    """Build the client's wheel from a copy, because setuptools leaves files next to the sources."""
    shutil.copytree(ROOT / "clients" / "python", folder / "source")
    return build_wheel(folder / "source", folder)


def build_wheel(project: Path, folder: Path) -> Path:
    """Build the wheel of a project into a folder and return its path."""
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder)]
    run([*words, str(project)])
    [wheel] = folder.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Install a wheel and its requirements, in the versions of locks/run.txt where listed.

    Returns the folder with the programs of the new environment, which sees no package of this
    environment.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    program = INSTALLER["uv_program"]()
    assert program, "there is no uv for this machine"
    registries = INSTALLER["uv_environment"](INSTALLER["pip_settings"](), dict(os.environ))
    words = [str(program), "pip", "install", "-q", "--python", str(folder / "bin" / "python")]
    run([*words, "-c", str(ROOT / "locks" / "run.txt"), str(wheel)], env=registries)
    return folder / "bin"


def run(words: list[str], **further: Any) -> str:
    """Run a program and return all its output; if it fails, fail with that output."""
    ran = ask(words, **further)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def ask(words: list[str], **further: Any) -> subprocess.CompletedProcess[str]:
    """Run a program without the settings of an existing installation; the program may fail."""
    return subprocess.run(
        words,
        **{"env": environment(), **further},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
