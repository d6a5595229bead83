"""`python manage.py restore ARCHIVE`: restore a backup into an empty installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.commands.age_files import read_identities
from dpgeo.commands.console import plain_errors
from dpgeo.commands.restoration import Restored, restore_run, waiting_erasures
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.jobs.models import Job, JobState


class Command(BaseCommand):
    help = "Restores a backup into an empty database, and closes what may have been spent since."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("archive", metavar="ARCHIVE", type=Path)
        parser.add_argument("--keys", type=Path, help="The archive of the keys, if not in place.")
        parser.add_argument("--identity", type=Path, action="append", default=[], metavar="FILE")
        parser.add_argument(
            "--draws-complete",
            action="store_true",
            help="The private storage is in place as it was when the site stopped: budgets stay "
            "open, and draws that are found there are debited.",
        )

    def handle(
        self, *args: Any, archive: Path, keys: Path | None, draws_complete: bool, **options: Any
    ) -> None:
        for path in filter(None, (archive, keys, *options["identity"])):
            if not path.is_file():
                raise CommandError(f"There is no file {path}.")
        with plain_errors({}):
            identities = [each for path in options["identity"] for each in read_identities(path)]
            restored = restore_run(
                data=archive,
                keys=keys,
                identities=identities,
                draws_complete=draws_complete,
                say=self.stdout.write,
            )
        self._report(restored)
        for upload in waiting_erasures():
            upload_ingest(upload_id=upload.pk)
            if Job.objects.filter(upload=upload).exclude(state=JobState.DONE).exists():
                self.stderr.write("An erasure is not done yet; a worker will do it.")
        self.stdout.write("Done. Run `manage.py reap --once`, then start the site.")

    def _report(self, restored: Restored) -> None:
        self.stdout.write(f"{restored.rows:,} rows and {restored.files:,} files are back.")
        lines = {
            "draws were adopted.": restored.adopted,
            "draws were debited again.": restored.debited,
            "budgets are closed: what was left is debited.": restored.held,
            "requests have ended, because they may have been drawn since.": restored.lost,
            "releases were withdrawn or rejected again.": restored.ended,
            "people are erased again.": restored.erased,
        }
        for words, number in lines.items():
            if number:
                self.stdout.write(f"{number:,} {words}")
        if restored.missing:
            self.stderr.write(
                f"{len(restored.missing):,} files were missing when the backup was made. "
                "Put them back from an older one:"
            )
            self.stderr.write("\n".join(restored.missing))
