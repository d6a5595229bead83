"""An upgrade from 0.1.0 in the order of `docs/upgrade.md`, while readers look at the site.

The old site is the code of 0.1.0 from the project's history, on an installation that it filled. It
serves readers until the new one has taken over; every response to a reader is complete.
"""

from __future__ import annotations

import io
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.requirements import need
from tests.servers import free_port
from tests.services.installation import ROOT, Installation, kill
from tests.services.nginx import nginx, shipped
from tests.services.sites import Site, wait_until_it_answers
from tests.web.installation_0_1_0 import VERSION_0_1_0
from tests.web.test_upgrade import ARCHIVE, DRAFT, PUBLISHED, WAITING, WITHDRAWN

pytestmark = pytest.mark.services

PAGES = {
    "/": 200,
    f"/maps/{PUBLISHED}/": 200,
    f"/api/v1/releases/{PUBLISHED}": 200,
    f"/api/v1/releases/{PUBLISHED}/files/cells.geojson": 200,
    f"/maps/{WITHDRAWN}/": 410,
}
"""Paths that readers request, with the expected statuses before, during and after the upgrade."""


def code_of_0_1_0(folder: Path) -> Path:
    """Unpack the code of version 0.1.0, with today's built scripts; return its folder."""
    packed = subprocess.run(
        ["git", "archive", VERSION_0_1_0, "dpgeo", "manage.py", "locale"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    need(packed.returncode == 0, "the history of this repository: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    (folder / "frontend").mkdir()
    (folder / "frontend/dist").symlink_to(ROOT / "frontend/dist")
    return folder


@contextmanager
def web(code: Path, installation: Installation, port: int, *options: str) -> Iterator[None]:
    """Run the website of one version on an installation, until the end of the block."""
    words = [sys.executable, "-m", "gunicorn", "-c", "python:dpgeo.config.gunicorn"]
    words += [*options, "--workers", "1", "--bind", f"127.0.0.1:{port}", "dpgeo.config.wsgi"]
    with (installation.folder / "web.log").open("ab") as log:
        process = subprocess.Popen(
            words, cwd=code, env=installation.environment, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:
        wait_until_it_answers(process, port)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)
        kill(process)


class Readers:
    """Readers who request all pages again and again, and count the responses by status."""

    def __init__(self, port: int) -> None:
        self.site, self.seen, self.rounds = Site(port, {}), Counter[tuple[str, int]](), 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._stop.is_set():
            for path in PAGES:
                try:
                    status = self.site.ask("GET", path).status
                except OSError:
                    status = 0
                self.seen[path, status] += 1
            self.rounds += 1

    def stop(self) -> None:
        """Stop the readers, after the responses that they are waiting for."""
        self._stop.set()
        self._thread.join()

    def wait_for_rounds(self, number: int = 2) -> None:
        """Wait until every page has been requested `number` more times."""
        target = self.rounds + number
        while self.rounds < target:
            time.sleep(0.02)


@contextmanager
def proxy(folder: Path, port: int) -> Iterator[tuple[int, Path]]:
    """Run the shipped nginx in front of a port; yield nginx's port and its configuration file."""
    own = free_port()
    text = shipped()
    for given, here in (
        ("web:8000", f"127.0.0.1:{port}"),
        ("listen 8080", f"listen 127.0.0.1:{own}"),
        ("/tmp/", f"{folder}/"),  # noqa: S108
        ("root /etc/nginx;", f"root {ROOT / 'deploy'};"),
    ):
        assert given in text
        text = text.replace(given, here)
    with nginx(folder, text, own):
        yield own, folder / "nginx.conf"


def test_readers_are_served_while_0_1_0_is_upgraded(tmp_path: Path) -> None:
    code = code_of_0_1_0(tmp_path / "code")
    old, new = (Installation(tmp_path / name, migrated=False) for name in ("old", "new"))
    for each in (old, new):
        each.folder.mkdir()
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(old.folder / "var", filter="data")
    first, second = free_port(), free_port()
    nginx_folder = tmp_path / "nginx"
    nginx_folder.mkdir()
    with ExitStack() as stack, ExitStack() as old_site:
        stack.enter_context(closing(new))
        # The worker class of version 0.1.0 does not load with today's gunicorn, so another one is
        # used.
        old_site.enter_context(web(code, old, first, "--worker-class", "gthread"))
        port, config = stack.enter_context(proxy(nginx_folder, first))
        visitor = Site(port, {})
        readers = Readers(port)
        stack.callback(readers.stop)
        readers.wait_for_rounds()
        # This file puts the proxy into maintenance: pages can be read, but nothing can be written.
        (nginx_folder / "maintenance").touch()
        for path in ("/desk/", "/de/desk/", "/accounts/login/", "/admin/"):
            answer = visitor.ask("GET", path)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "60"), path
            assert b"maintained" in answer.body
        assert visitor.ask("POST", "/api/v1/uploads/", {}).status == 503
        # The new version gets a copy of the database, and the same files.
        copy_installation(old.folder / "var", new.folder / "var")
        new.migrate()
        with web(ROOT, new, second):
            readers.wait_for_rounds()
            switch(config, first, second)
            readers.wait_for_rounds()
            old_site.close()
            (nginx_folder / "maintenance").unlink()
            assert visitor.ask("GET", "/desk/").status == 302
            with new.worker(), new.reaper():
                seen = new.wait_for(WAITING, job="done")
            assert seen["state"] == "draft"
            assert new.ask("look", release=DRAFT)["state"] == "draft"
            readers.wait_for_rounds()
            readers.stop()
    wrong = {key: number for key, number in readers.seen.items() if PAGES[key[0]] != key[1]}
    assert not wrong
    # The old installation is unchanged, so one could go back to it.
    assert rows(old.folder / "var" / "dpgeo.sqlite3") == rows_of_archive(tmp_path / "archive")


def copy_installation(source: Path, target: Path) -> None:
    """Copy the database with SQLite's own backup function, and link to the files of `source`."""
    target.mkdir(mode=0o700)
    with (
        closing(sqlite3.connect(source / "dpgeo.sqlite3")) as old,
        closing(sqlite3.connect(target / "dpgeo.sqlite3")) as new,
    ):
        old.backup(new)
    shutil.copy(source / "secret-key", target / "secret-key")
    for name in ("private", "releases"):
        (target / name).symlink_to(source / name)


def switch(config: Path, old: int, new: int) -> None:
    """Let nginx send requests to the port `new`, and wait until none is sent to `old` any more.

    nginx reads its new configuration with a short delay, and its former workers end only after they
    have answered their requests.
    """
    text = config.read_text()
    config.write_text(text.replace(f"server 127.0.0.1:{old};", f"server 127.0.0.1:{new};"))
    process = int((config.parent / "nginx.pid").read_text())
    before = children_of(process)
    assert before
    subprocess.run(["kill", "-HUP", str(process)], check=True)
    deadline = time.monotonic() + 120
    while before & children_of(process):
        assert time.monotonic() < deadline, "a former worker of nginx still runs"
        time.sleep(0.05)


def children_of(process: int) -> set[str]:
    """Return the process ids of a process's children."""
    return set(Path(f"/proc/{process}/task/{process}/children").read_text().split())


def rows(database: Path) -> set[tuple[object, ...]]:
    """Return the rows of the ledger and of the list of migrations in a database."""
    with closing(sqlite3.connect(database)) as connection:
        entries = connection.execute("SELECT job, kind, units FROM budgets_entry").fetchall()
        migrated = connection.execute("SELECT app, name FROM django_migrations").fetchall()
    return {*entries, *migrated}


def rows_of_archive(folder: Path) -> set[tuple[object, ...]]:
    """Return the rows of the ledger and of the list of migrations before the upgrade.

    They are read from the archived installation in `folder`.
    """
    with tarfile.open(ARCHIVE) as archive:
        archive.extract("dpgeo.sqlite3", folder, filter="data")
    return rows(folder / "dpgeo.sqlite3")
