"""Wheels of the project and its client, installed in otherwise empty environments."""

from __future__ import annotations

import re
import subprocess
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dpgeo
from tests.fresh_copy import GREETING, environment, fetch, stop
from tests.servers import free_port
from tests.services.installation import ROOT
from tests.services.sites import answers
from tests.services.wheels import ask, build_client, build_wheel, install_wheel, run

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


def test_the_clients_wheel_needs_httpx_alone(tmp_path: Path) -> None:
    wheel = build_client(tmp_path / "wheel")
    programs = install_wheel(wheel, tmp_path / "environment")
    assert list((programs.parent / "lib").glob("*/site-packages/dpgeo_client/py.typed"))
    assert "list" in run([str(programs / "dpgeo-client"), "--help"])
    page = f"http://127.0.0.1:{free_port()}/maps/x/"
    output = ask([str(programs / "dpgeo-client"), "get", page])
    assert output.returncode == 1
    assert "did not answer as expected" in output.stdout
    assert "Traceback" not in output.stdout
    drawn = ask([str(programs / "dpgeo-client"), "plot", page])
    assert drawn.returncode == 1
    assert "pip install 'dpgeo-client[geo,plot]'" in drawn.stdout


def test_the_servers_wheel_serves_a_whole_site_without_node(tmp_path: Path) -> None:
    wheel = build_wheel(ROOT, tmp_path / "wheel")
    members = set(zipfile.ZipFile(wheel).namelist())
    package = {path for path in (ROOT / "dpgeo").rglob("*") if path.is_file()}
    assert {
        str(path.relative_to(ROOT)) for path in package if "__pycache__" not in path.parts
    } <= members
    program = str(install_wheel(wheel, tmp_path / "environment") / "dpgeo")
    assert run([program, "--version"]) == f"dpgeo {dpgeo.__version__}\n"
    assert ask([program, "begin"]).returncode == 2
    with serving(program, tmp_path) as site:
        page = fetch(f"{site}/de/").decode()
        assert '<html lang="de"' in page
        assert "Anmelden" in page
        scripts = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', page)
        assert scripts
        assert all(fetch(f"{site}{address}") for address in scripts)
    assert (tmp_path / "data" / "dpgeo" / "dpgeo.sqlite3").exists()
    migrations = run([program, "manage", "migrate", "--check"], env=settings_of(tmp_path))
    assert "Traceback" not in migrations


def settings_of(folder: Path) -> dict[str, str]:
    """Return environment variables that put user data in `folder` and no programs on PATH."""
    return {**environment(), "XDG_DATA_HOME": str(folder / "data"), "PATH": "/nonexistent"}


@contextmanager
def serving(program: str, folder: Path) -> Iterator[str]:
    """Run `dpgeo serve` in an empty folder; yield the site's address once the program prints it."""
    port, log = free_port(), folder / "log"
    (empty := folder / "empty").mkdir()
    with log.open("wb") as written:
        process = subprocess.Popen(
            [program, "serve", "--port", str(port), "--workers", "1"],
            cwd=empty,
            env=settings_of(folder),
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 300
        while GREETING not in (printed := log.read_text(errors="replace")):
            assert process.poll() is None, printed
            assert time.monotonic() < deadline, printed
            time.sleep(0.2)
        # The address is printed as soon as the port is open, but in a new environment the first
        # import, which precedes the first response, takes longer.
        while not answers(port):
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)
    assert list(empty.iterdir()) == []
