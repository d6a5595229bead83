"""Real PostgreSQL and Redis servers for tests, from Debian's packages.

`python -m tests.servers COMMAND...` runs a command while both servers run. Their addresses are in
DATABASE_URL and CELERY_BROKER_URL. They listen on free ports of 127.0.0.1 and have passwords.
Django's test databases are copies of a migrated one, which DPGEO_MIGRATED_DATABASE names
(`tests.settings`).
"""

from __future__ import annotations

import itertools
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpgeo.commands.supervisor import tie_to_parent
from tests.migrated import kept_content, migrate

PATIENCE_SECONDS = 30.0

INSTALL = "PostgreSQL and Redis: apt-get install --no-install-recommends postgresql redis-server"

FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
"""Settings that let PostgreSQL write without waiting for the disk, because tests need not survive a
power failure.
"""


def postgresql_folder() -> Path | None:
    """Return the folder with the programs of the newest installed PostgreSQL; None without one."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_version)
    return programs[-1].parent if programs else None


def _folder_of_programs() -> Path:
    programs = postgresql_folder()
    assert programs is not None, INSTALL
    return programs


def redis_program() -> str | None:
    """Return the path of Redis's server program; None if it is not installed."""
    return shutil.which("redis-server")


def servers_installed() -> bool:
    """Return whether PostgreSQL and Redis can be started."""
    return bool(postgresql_installed() and redis_program())


def postgresql_installed() -> bool:
    """Return whether PostgreSQL can be started, for which root needs a separate account."""
    return bool(postgresql_folder() and (os.geteuid() or _has_account()))


@dataclass
class Servers:
    """PostgreSQL and Redis, running, which give each test its own database and queue."""

    postgresql: str
    redis: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    migrated: str = ""
    """Name of a migrated database that nobody uses, or "" before there is one."""

    def environment(self) -> dict[str, str]:
        """Return settings that give an installation its own empty database and queue."""
        return self._environment("template1")

    def migrated_environment(self) -> dict[str, str]:
        """Return settings for an installation whose database has all tables.

        The migrations are applied once for each state of the code, and their result is kept as a
        dump. A first database is filled from the dump, and further databases are copies of it.
        """
        if not self.migrated:
            filled = self.environment()["DATABASE_URL"]
            dump = kept_content(f".postgresql-{_folder_of_programs().parent.name}.sql", self._dump)
            subprocess.run(
                [
                    *(_folder_of_programs() / "psql", "--quiet", "--no-psqlrc", "--dbname", filled),
                    *("--single-transaction", "--set", "ON_ERROR_STOP=1"),
                ],
                input=dump,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            self.migrated = filled.rpartition("/")[2]
        return self._environment(self.migrated)

    def _dump(self, folder: Path) -> Path:
        """Migrate an empty database, and return the path of a dump of it, written to `folder`."""
        settings = self.environment()
        migrate({**settings, "DPGEO_VAR": str(folder)})
        path = folder / "dump.sql"
        words = ("--no-sync", "--file", path, "--dbname", settings["DATABASE_URL"])
        subprocess.run([_folder_of_programs() / "pg_dump", *words], check=True)
        return path

    def _environment(self, template: str) -> dict[str, str]:
        number = next(self._numbers)
        return {
            "DATABASE_URL": f"{self.postgresql}/{self._make_database(number, template)}",
            "CELERY_BROKER_URL": f"{self.redis}/{self._empty_queue(number)}",
        }

    def _make_database(self, number: int, template: str) -> str:
        import psycopg

        name = f"dpgeo_{number}"
        with psycopg.connect(f"{self.postgresql}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return name

    def _empty_queue(self, number: int) -> int:
        import redis

        database = number % 16  # Redis has 16 databases
        with redis.Redis.from_url(f"{self.redis}/{database}") as client:
            client.flushdb()
        return database


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Run PostgreSQL and Redis in a temporary folder; stop them by their process ids at the end."""
    with ExitStack() as stack:
        # PostgreSQL's account may not read pytest's folder, so the servers use a separate folder.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dpgeo-servers-")))
        folder.chmod(0o711)
        yield Servers(
            postgresql=stack.enter_context(_running_postgresql(folder / "postgresql")),
            redis=stack.enter_context(_running_redis(folder / "redis")),
        )


@contextmanager
def running_postgresql(*options: str, name: str = "dpgeo") -> Iterator[tuple[str, Path]]:
    """Run PostgreSQL without Redis, with further settings and a superuser called `name`.

    Yields its address and the path of its log.
    """
    with tempfile.TemporaryDirectory(prefix="dpgeo-servers-") as made:
        folder = Path(made)
        folder.chmod(0o711)
        with _running_postgresql(folder / "postgresql", *options, name=name) as address:
            yield address, folder / "postgresql" / "log"


@contextmanager
def _running_postgresql(folder: Path, *more: str, name: str = "dpgeo") -> Iterator[str]:
    programs = _folder_of_programs()
    account = _account()
    folder.mkdir(mode=0o700)
    password, port = secrets.token_hex(16), free_port()
    (folder / "password").write_text(password)
    if account:
        for path in (folder, folder / "password"):
            shutil.chown(path, account["user"], account["group"])
    data = folder / "data"
    initdb = subprocess.run(
        [programs / "initdb", "--pgdata", data, "--username", name, "--encoding", "UTF8",
         "--locale", "C.UTF-8", "--auth", "scram-sha-256", "--pwfile", folder / "password",
         "--no-sync"],
        cwd=folder, capture_output=True, timeout=120, check=False, **account,
    )  # fmt: skip
    assert initdb.returncode == 0, initdb.stderr.decode()
    options = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
    words = [word for option in (*options, *FAST, *more) for word in ("-c", option)]
    with _running([programs / "postgres", "-D", data, *words], folder, signal.SIGINT, account):
        url = f"postgres://{name}:{password}@127.0.0.1:{port}"
        _wait(lambda: _postgresql_answers(url), folder)
        yield url


@contextmanager
def _running_redis(folder: Path) -> Iterator[str]:
    program = redis_program()
    assert program is not None, INSTALL
    folder.mkdir(mode=0o700)
    password, port = secrets.token_hex(16), free_port()
    settings = folder / "settings"
    settings.write_text(
        f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\ndir {folder}\n'
    )
    with _running([program, settings], folder, signal.SIGTERM, {}):
        url = f"redis://:{password}@127.0.0.1:{port}"
        _wait(lambda: _redis_answers(url), folder)
        yield url


@contextmanager
def _running(
    command: Sequence[str | Path], folder: Path, stop: signal.Signals, account: dict[str, Any]
) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=tie_to_parent(),
            **account,
        )
    try:
        yield
    finally:
        process.send_signal(stop)
        try:
            process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _postgresql_answers(url: str) -> bool:
    import psycopg

    try:
        psycopg.connect(f"{url}/postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    import redis

    with redis.Redis.from_url(url, socket_timeout=2) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def _wait(condition: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, (folder / "log").read_text(errors="replace")
        time.sleep(0.05)


def free_port() -> int:
    """Return a free port of 127.0.0.1 that no outgoing connection takes.

    Linux gives outgoing connections ports from 32,768 on. A server that restarts on one of those
    could find it in use by another test's connection.
    """
    while True:
        number = secrets.choice(range(15_000, 32_768))
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", number))
            return number


def _version(path: Path) -> float:
    return float(path.parent.parent.name)


def _has_account() -> bool:
    return any(account.pw_name == "postgres" for account in pwd.getpwall())


def _account() -> dict[str, Any]:
    """Return options that start a process as PostgreSQL's account if the tests run as root.

    PostgreSQL refuses to run as root.
    """
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def main(command: Sequence[str]) -> int:
    """Run a command with the servers' addresses in its environment; return its exit code."""
    if not servers_installed():
        needed = os.environ.get("DPGEO_REQUIRE_ALL") == "1"
        sys.stderr.write(f"{'Failed' if needed else 'Skipped'}: this needs {INSTALL}\n")
        return 1 if needed else 0
    with running_servers() as servers:
        added = servers.migrated_environment()
        added["DPGEO_MIGRATED_DATABASE"] = servers.migrated
        return subprocess.run(command, env={**os.environ, **added}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
