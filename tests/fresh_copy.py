"""Targets of the Makefile in a fresh copy, with nothing installed.

`python -m tests.fresh_copy PYTHON TARGET... [--OPTION...]` makes the targets one after the other in
the same copy, and stops at the first that fails. `test` and `test-unit` pass the options on to
pytest. With `run`, the demo must be published and the data of every map must be available over
HTTP; then the site is stopped. `built` is no target of the Makefile: it takes over what `make
frontend` has built here, and the migrated database that the tests have made. `python -m
tests.fresh_copy newest` prints the newest Python on this machine if it is newer than this one. Only
the standard library is used.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.migrated import KEPT
from tests.servers import free_port

ROOT = Path(__file__).resolve().parent.parent

PATIENCE_SECONDS = 900.0
"""Longest time, in seconds, for installing, building and publishing. Even a slow machine needs only
a fraction of it.
"""

GREETING = "dpgeo is at "

HERE = {
    *("DATABASE_URL", "CELERY_BROKER_URL", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL"),
    "PYTHONDONTWRITEBYTECODE",
}
"""Environment variables that commands in the fresh copy must not inherit from this process.

Those that begin with DPGEO_ or DJANGO_ are not inherited, either.
"""


def newest_python() -> str | None:
    """Return the newest working, supported Python on PATH or from pyenv.

    Returns None if no such Python is newer than the one that runs this.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in reversed(supported_minors()):
        if minor <= sys.version_info.minor:
            return None
        name = f"python3.{minor}"
        on_path = [folder / name for folder in map(Path, os.get_exec_path())]
        of_pyenv = sorted(pyenv.glob(f"3.{minor}.*/bin/{name}"), reverse=True)
        for program in (*on_path, *of_pyenv):
            if program.exists() and starts(program):
                return str(program)
    return None


def supported_minors() -> range:
    """Return the minor versions of Python 3 that `requires-python` allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", project["requires-python"])
    assert bounds is not None
    return range(int(bounds[1]), int(bounds[2]))


def starts(program: Path) -> bool:
    """Return whether a program is a Python that can create environments, not a broken shim."""
    words = [str(program), "-c", "import ensurepip, ssl, sqlite3, venv"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextmanager
def fresh_copy() -> Iterator[Path]:
    """Yield a temporary folder with the project's files but no build products."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    with tempfile.TemporaryDirectory(prefix="dpgeo-fresh-") as name:
        folder = Path(name) / "project"
        for path in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / path).is_file():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, folder / path)
        yield folder


def take_built(folder: Path) -> int:
    """Copy the built frontend, and the migrated database if the tests have made it.

    They are the same for every version of Python.
    """
    here, copy = ROOT / "frontend", folder / "frontend"
    assert (here / "dist" / "manifest.json").exists(), "Nothing is built here: make frontend"
    # copytree also copies modification times. make compares these, finds the build up to date, and
    # so installs no npm packages.
    shutil.copytree(here / "dist", copy / "dist")
    (copy / "node_modules").mkdir()
    installed = Path("node_modules", ".package-lock.json")
    shutil.copy2(here / installed, copy / installed)
    kept = folder / KEPT.relative_to(ROOT)
    kept.mkdir(parents=True)
    for path in KEPT.glob("*.sqlite3"):
        shutil.copy2(path, kept)
    return 0


def run_tests(folder: Path, python: str, target: str, *options: str) -> int:
    """Run `make` in a folder, with a target that runs tests, and return its exit code."""
    words = ["make", target, f"SYSTEM_PYTHON={python}", f"ARGS={' '.join(options)}"]
    return subprocess.run(words, cwd=folder, env=environment(), check=False).returncode


def publish_demo(folder: Path, python: str) -> int:
    """Run `make run`, and return 0 once its demo is published and the maps can be fetched."""
    port, log = free_port(), folder.parent / "log"
    words = ["make", "run", f"PORT={port}", f"SYSTEM_PYTHON={python}"]
    began = time.monotonic()
    with log.open("wb") as written:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment(),
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for_greeting(process, log)
        maps = fetch_maps(f"http://127.0.0.1:{port}")
    finally:
        stop(process)
    seconds = time.monotonic() - began
    sys.stdout.write(f"{maps} maps published and fetched after {seconds:.0f} s\n")
    return 0


def environment() -> dict[str, str]:
    """Return this environment without the settings of an existing installation."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in HERE and not name.startswith(("DPGEO_", "DJANGO_"))
    }


def wait_for_greeting(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the site prints its address. Raises AssertionError if it fails or is too slow."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while GREETING not in (printed := log.read_text(errors="replace")):
        assert process.poll() is None, printed
        assert not re.search(r"\bfailed\b", printed), printed
        assert time.monotonic() < deadline, printed
        time.sleep(0.5)


def fetch_maps(site: str) -> int:
    """Fetch the data of every map in the catalogue and return the number of maps.

    Raises an error if there are no maps or one has no data.
    """
    pages, maps = f"{site}/api/v1/releases", 0
    kinds: set[str] = set()
    for release in json.loads(fetch(pages))["results"]:
        content = fetch(f"{pages}/{release['id']}/files/map.bin")
        assert content, release
        kinds.add(release["kind"])
        maps += 1
    assert "heatmap" in kinds, kinds
    return maps


def fetch(address: str) -> bytes:
    """Return the body of the response from an address; an error status raises an error."""
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310
        content: bytes = answer.read()
    return content


def stop(process: subprocess.Popen[Any]) -> None:
    """Stop the site and all its processes as Ctrl-C does."""
    for number, seconds in ((signal.SIGINT, 30), (signal.SIGKILL, 30)):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                continue
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def main(words: list[str]) -> int:
    """Run the command line `words`, as in the module docstring, and return the exit code."""
    if words == ["newest"]:
        sys.stdout.write(f"{newest_python() or ''}\n")
        return 0
    python, *others = words
    options = [word for word in others if word.startswith("--")]
    code = 0
    with fresh_copy() as folder:
        for target in (word for word in others if word not in options):
            if target == "built":
                code = take_built(folder)
            elif target == "run":
                code = publish_demo(folder, python)
            else:
                code = run_tests(folder, python, target, *options)
            if code:
                break
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
