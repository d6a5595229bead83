"""Backups of a busy installation with SQLite or PostgreSQL, restored into either database.

Some tests kill the backup or the restore before it ends.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from dpgeo.commands.age_files import read_identities
from dpgeo.commands.archives import archive_verify
from tests.servers import Servers
from tests.services.installation import Installation, kill

pytestmark = pytest.mark.services

KILLED_AFTER = (0.2, 0.6, 1.2)
"""Seconds after which a restore is killed; a restore takes about two seconds."""


"""Most memory that a backup may take; the command alone, without data, takes about 150 MiB."""


class Machines:
    """Makes installations in folders of their own, with SQLite or with PostgreSQL and Redis."""

    def __init__(self, folder: Path, servers: Servers, stack: ExitStack) -> None:
        self.folder, self._servers, self._stack = folder, servers, stack

    def make(self, name: str, kind: str) -> Installation:
        settings = self._servers.migrated_environment() if kind == "postgresql" else None
        (self.folder / name).mkdir()
        return self._stack.enter_context(closing(Installation(self.folder / name, settings)))


@pytest.fixture
def machines(tmp_path: Path, servers: Servers) -> Iterator[Machines]:
    with ExitStack() as stack:
        yield Machines(tmp_path, servers, stack)


def run(installation: Installation, *words: str) -> str:
    """Run a command of manage.py, and return its output."""
    process = installation.start("manage.py", *words)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, (installation.folder / "log").read_text()[-4000:]
    return output.decode()


def ledgers(installation: Installation) -> list[list[int]]:
    """Return, for each ledger, the amount spent, the total budget, and the sum of the entries."""
    rows: list[list[int]] = installation.ask("totals")["ledgers"]
    return rows


def killed_while_writing(
    installation: Installation, folder: Path, recipient: str, identity: Path
) -> None:
    """Kill a backup once it writes, and check that what looks like an archive is a whole one."""
    process = installation.start("manage.py", "backup", str(folder), "--recipient", recipient)
    deadline = time.monotonic() + 120
    while not list(folder.glob("*.part")):
        assert process.poll() is None, (installation.folder / "log").read_text()[-4000:]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kill(process)
    left = list(folder.iterdir())
    assert left
    for path in left:
        if path.suffix != ".part":  # completed before the kill
            archive_verify(path, read_identities(identity))


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgresql"), ("postgresql", "sqlite")])
def test_a_busy_installation_is_restored_into_another_kind_of_database(
    machines: Machines, source: str, target: str
) -> None:
    old, new = machines.make("old", source), machines.make("new", target)
    prepared = old.ask("prepare", rows=20_000)
    ledger = prepared["ledger"]
    with old.worker():
        release = old.ask("request", dataset=prepared["dataset"])["release"]
        old.wait_for(release, state="published")
    identity = machines.folder / "identity"
    recipient = old.command("backup", "--make-identity", str(identity)).split()[0]
    killed_while_writing(old, machines.folder / "backups", recipient, identity)
    writing = old.begin("debits", ledger=ledger, count=400, epsilon="0.001")
    archives = run(old, "backup", str(machines.folder / "backups"), "--recipient", recipient)
    data, keys = archives.splitlines()[:2]
    assert old.answer(writing)["paid"] == 400
    ((spent, total, entries),) = ledgers(old)

    words = ["restore", data, "--keys", keys, "--identity", str(identity)]
    for seconds in KILLED_AFTER:
        process = new.begin("command", words=words)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        if ledgers(new):
            break
    else:
        run(new, *words)
    new.close()  # the next action starts a new process, which reads the restored keys
    # All that was left of the budget was debited, because the backup may be older than a draw.
    assert ledgers(new) == [[total, total, total]]
    assert spent == entries <= total
    seen = new.ask("look", release=release)
    assert seen["state"] == "published"
    new.command("reap", "--once")
    assert ledgers(new) == [[total, total, total]]
    # New rows get ids that no restored row has.
    assert new.ask("prepare", rows=10)["ledger"] > ledger
