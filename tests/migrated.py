"""Databases to which all migrations have been applied, made once and copied from then on.

Applying them takes some ten seconds of processor time, which each test process would spend anew.
The copies are kept in pytest's cache, under a hash of the code and the packages that they were made
with.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".pytest_cache" / "migrated"
DATABASE = "dpgeo.sqlite3"


@cache
def migrated_database(kept: Path = KEPT) -> bytes:
    """Return the content of a migrated SQLite database."""

    def make(folder: Path) -> Path:
        migrate({"DPGEO_VAR": str(folder)})
        made = folder / DATABASE
        with closing(sqlite3.connect(made)) as database:
            # Turn off WAL mode: a copy in memory would look for its log in a file beside itself.
            database.execute("PRAGMA journal_mode=DELETE")
        return made

    return kept_content(".sqlite3", make, kept)


def kept_content(suffix: str, make: Callable[[Path], Path], kept: Path = KEPT) -> bytes:
    """Return the content of the file that `make(folder)` makes, or of its copy in `kept`.

    The copy's name ends with `suffix`. If there is no copy yet, the first process that needs one
    calls `make`, while others wait.
    """
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{_fingerprint()}{suffix}"
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for former in kept.glob(f"*{suffix}"):
                former.unlink()
            with tempfile.TemporaryDirectory(dir=kept) as folder:
                make(Path(folder)).replace(path)
        return path.read_bytes()


def migrate(settings: Mapping[str, str]) -> None:
    """Apply all migrations to an installation's database, in a process of its own."""
    outer = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "CELERY_BROKER_URL"}
    }
    own = {"DPGEO_JOB_SLOTS": "", "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings", **settings}
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v", "0"],
        cwd=ROOT,
        env=outer | own,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]


def _fingerprint() -> str:
    """Return a hash of all that determines the migrated database.

    These are dpgeo's code and the versions of SQLite and the packages with migrations.
    """
    digest = hashlib.sha256(sqlite3.sqlite_version.encode())
    for package in ("django", "django-allauth"):
        digest.update(f"{package} {version(package)}\n".encode())
    for path in sorted((ROOT / "dpgeo").rglob("*.py")):
        digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def copied_into_memory() -> Iterator[None]:
    """Fill each SQLite database that is opened in memory within the block, if it is empty.

    When Django then prepares it as a test database, no migration is left to apply.
    """
    from django.db.backends.signals import connection_created

    def fill(connection: Any, **_: object) -> None:
        if connection.vendor != "sqlite" or not connection.is_in_memory_db():
            return
        own = connection.connection
        if own.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            with tempfile.NamedTemporaryFile(suffix=".sqlite3") as file:
                file.write(migrated_database())
                file.flush()
                with closing(sqlite3.connect(file.name)) as source:
                    source.backup(own)

    connection_created.connect(fill)
    try:
        yield
    finally:
        connection_created.disconnect(fill)
