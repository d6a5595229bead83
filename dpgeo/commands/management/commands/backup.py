"""`python manage.py backup FOLDER`: write a verified backup of the data, and one of the keys."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.commands.age_files import new_identity, read_recipients
from dpgeo.commands.backup import backup_make
from dpgeo.commands.console import plain_errors


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
        with plain_errors({}):
            backup = backup_make(
                folder=folder,
                recipients=read_recipients(recipients),
                key_recipients=read_recipients(options["key_recipient"] or recipients),
                plain=options["plain"],
            )
        self.stdout.write(f"{backup.data}\n{backup.keys}")
        self.stdout.write(
            f"{backup.rows:,} rows and {backup.files:,} files, read back and complete. Keep the "
            "archive of the keys elsewhere."
        )
        if backup.missing:
            self.stderr.write(f"{backup.missing:,} files that rows name are missing here.")

    def _make_identity(self, path: Path) -> None:
        try:
            recipient = new_identity(path)
        except FileExistsError:
            raise CommandError(f"--make-identity: {path} exists; it is not replaced.") from None
        self.stdout.write(
            f"{recipient}\nThis is the recipient. Move {path} off this machine: it opens backups."
        )
