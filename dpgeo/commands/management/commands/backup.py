"""`python manage.py backup FOLDER`: write a verified backup of the data, and one of the keys."""

from __future__ import annotations

import os
import signal
import threading
from argparse import ArgumentParser
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import close_old_connections

from dpgeo.commands.age_files import new_identity, read_recipients
from dpgeo.commands.backup import backup_make, backups_expire
from dpgeo.commands.console import plain_errors

RETRY_SECONDS = 600.0
"""Seconds after which `--every` tries again if a backup failed."""


class Command(BaseCommand):
    help = (
        "Writes a consistent archive of database and files while the site runs, and an encrypted "
        "one of the keys, and reads both back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?")
        parser.add_argument(
            "--recipient",
            action="append",
            default=[],
            metavar="age1...",
            help="For whom the archives are encrypted; DPGEO_BACKUP_RECIPIENTS if not given.",
        )
        parser.add_argument(
            "--key-recipient",
            action="append",
            default=[],
            metavar="age1...",
            help="For whom the archive of the keys is encrypted, if not for the same.",
        )
        parser.add_argument("--plain", action="store_true", help="Do not encrypt the data.")
        parser.add_argument(
            "--keep", type=int, metavar="N", help="Delete all but the N newest backups in FOLDER."
        )
        parser.add_argument(
            "--every", type=float, metavar="HOURS", help="Make a backup so often, until stopped."
        )
        parser.add_argument(
            "--make-identity", type=Path, metavar="FILE", help="Make a key that opens backups."
        )

    def handle(self, *args: Any, folder: Path | None, **options: Any) -> None:
        if options["make_identity"]:
            self._make_identity(options["make_identity"])
            return
        named = os.environ.get("DPGEO_BACKUP_RECIPIENTS", "").replace(",", " ").split()
        recipients = options["recipient"] or named
        if folder is None:
            raise CommandError("FOLDER: name the folder for the archives.")
        if not (recipients or options["key_recipient"]) or not (recipients or options["plain"]):
            raise CommandError(
                "--recipient: name a recipient of age; --make-identity FILE makes one."
            )
        if options["keep"] is not None and options["keep"] < 1:
            raise CommandError("--keep: give the number of backups to keep, at least 1.")
        if options["every"] is not None and not 0.01 <= options["every"] <= 24 * 31:
            raise CommandError("--every: give between 0.01 and 744 hours.")
        with plain_errors({}):
            wanted: dict[str, Any] = {
                "folder": folder,
                "recipients": read_recipients(recipients),
                "key_recipients": read_recipients(options["key_recipient"] or recipients),
                "plain": options["plain"],
            }
        if options["every"] is None:
            self._make(wanted, options["keep"])
        else:
            self._repeat(wanted, options["keep"], options["every"] * 3600)

    def _make(self, wanted: dict[str, Any], keep: int | None) -> None:
        """Make a backup, then delete those that have expired."""
        with plain_errors({}):
            backup = backup_make(**wanted)
        self.stdout.write(f"{backup.data}\n{backup.keys}")
        self.stdout.write(
            f"{backup.rows:,} rows and {backup.files:,} files, read back and complete. Keep the "
            "archive of the keys elsewhere."
        )
        if backup.missing:
            self.stderr.write(
                f"{len(backup.missing):,} files are missing and not in the backup. Put them "
                "back from an older one:"
            )
            self.stderr.write("\n".join(backup.missing))
        if keep is not None and (expired := backups_expire(folder=wanted["folder"], keep=keep)):
            self.stdout.write(f"{expired:,} older files are deleted.")

    def _repeat(self, wanted: dict[str, Any], keep: int | None, seconds: float) -> None:
        """Make backups at intervals until stopped; if one fails, log it and try again."""
        stopping = threading.Event()

        def stop(number: int, frame: FrameType | None) -> None:
            # Stop at once. A backup under way leaves incomplete files, which a later backup
            # deletes.
            stopping.set()
            raise SystemExit(0)

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        while not stopping.is_set():
            pause = seconds
            try:
                self._make(wanted, keep)
            except (CommandError, DatabaseError, OSError) as error:
                self.stderr.write(f"No backup was made ({type(error).__name__}); trying again.")
                pause = min(seconds, RETRY_SECONDS)
            close_old_connections()
            stopping.wait(pause)

    def _make_identity(self, path: Path) -> None:
        try:
            recipient = new_identity(path)
        except FileExistsError:
            raise CommandError(f"--make-identity: {path} exists; it is not replaced.") from None
        self.stdout.write(
            f"{recipient}\nThis is the recipient. Move {path} off this machine: it opens backups."
        )
