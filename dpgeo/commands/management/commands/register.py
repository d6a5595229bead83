"""`python manage.py register SLUG NAME [FOLDER]`: register a folder or a table as data."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.commands.console import acting_user, job_wait, plain_errors
from dpgeo.commands.management.commands.ingest import DECLARED, ROLES, show_report, without_rivals
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.registration import source_register
from dpgeo.datasets.uploads import offered_columns, upload_confirm, upload_discard
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState

OPTIONS = {
    "slug": "SLUG",
    "location": "NAME",
    "folder": "FOLDER",
    **{f"columns.{role}": f"--{role}" for role in DECLARED},
}


class Command(BaseCommand):
    help = "Reads a folder of Parquet files, or a table, as a dataset's data."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", metavar="SLUG")
        parser.add_argument("location", metavar="NAME", help="A name in DPGEO_SOURCES.")
        parser.add_argument(
            "folder", metavar="FOLDER", nargs="?", default="", help="A folder below it, or a table."
        )
        for role in ROLES:
            parser.add_argument(f"--{role}", default="", metavar="COL", help=f"Column of {role}.")
        parser.add_argument(
            "--crs", default="", metavar="CODE", help="Coordinate system, such as EPSG:25832."
        )
        parser.add_argument(
            "--as-of", default="", metavar="COL", help="Column of a table that only grows."
        )
        parser.add_argument("--user", default="", help="Username on whose behalf this is done.")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors(OPTIONS):
            upload = self._register(options)
        if upload.job_id is None:
            raise CommandError("The registered data have no job.")
        job = job_wait(
            job_id=upload.job_id,
            run=lambda on_progress: upload_ingest(upload_id=upload.pk, on_progress=on_progress),
            output=self.stdout,
        )
        if job.state != JobState.DONE:
            raise CommandError(f"The data were not registered. {job.failure}")
        upload.refresh_from_db()
        show_report(upload, self.stdout)

    def _register(self, options: dict[str, Any]) -> Upload:
        """Store the folder or table as an upload of the dataset, and confirm its columns."""
        dataset = Dataset.objects.filter(slug=options["dataset"]).first()
        if dataset is None:
            raise InvalidInput(
                "There is no dataset {dataset!r}.", dataset=options["dataset"], field="slug"
            )
        upload = source_register(
            dataset=dataset,
            location=options["location"],
            folder=options["folder"],
            as_of=options["as_of"],
            by=acting_user(options["user"]),
        )
        try:
            return upload_confirm(upload=upload, columns=self._columns(upload, options))
        except BaseException:
            upload_discard(upload=upload, by=None)
            raise

    def _columns(self, upload: Upload, options: dict[str, Any]) -> Columns:
        """Return the columns that the options name.

        For a role, such as time, that they leave out, the column that the files suggest is used,
        unless it conflicts with a named column (`without_rivals`).
        """
        seen = upload_preview(upload=upload)
        offered = replace(offered_columns(upload, seen), file_format=seen.file_format)
        named = {role: options[role] for role in DECLARED if options.get(role)}
        if not named:
            return offered
        facts = {**without_rivals(offered.to_json(), named), **named}
        return Columns.from_json({**facts, "file_format": seen.file_format})
