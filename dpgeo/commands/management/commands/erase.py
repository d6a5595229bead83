"""`python manage.py erase SLUG --person ID`: remove one person from a dataset."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.accounts.models import User
from dpgeo.commands.console import acting_user, job_wait, plain_errors
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.erasure import person_erase, person_readmit
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import JobState


class Command(BaseCommand):
    help = "Makes a new version of a dataset without one person, and deletes all older ones."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", metavar="SLUG")
        parser.add_argument("--person", required=True, metavar="ID", help="As the files write it.")
        parser.add_argument(
            "--readmit", action="store_true", help="Take their rows from later uploads again."
        )
        parser.add_argument("--user", default="", help="Username on whose behalf this is done.")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors({"slug": "SLUG"}):
            dataset = Dataset.objects.filter(slug=options["dataset"]).first()
            if dataset is None:
                raise InvalidInput(
                    "There is no dataset {dataset!r}.", dataset=options["dataset"], field="slug"
                )
            by = acting_user(options["user"])
            if options["readmit"]:
                self._readmit(dataset, options["person"], by)
                return
            version = person_erase(dataset=dataset, person=options["person"], by=by)
        if version.job_id is None:
            raise CommandError("The erasure was not queued.")
        job = job_wait(
            job_id=version.job_id,
            run=lambda on_progress: upload_ingest(upload_id=version.pk, on_progress=on_progress),
            output=self.stdout,
        )
        if job.state != JobState.DONE:
            raise CommandError(f"Nobody was erased. {job.failure}")
        version.refresh_from_db()
        self._report(dataset, (version.report or {})["erased"])

    def _readmit(self, dataset: Dataset, person: str, by: User | None) -> None:
        readmitted = person_readmit(dataset=dataset, person=person, by=by)
        self.stdout.write(
            "Rows of this person are taken again from the next upload on."
            if readmitted
            else "This person was not erased from this dataset."
        )

    def _report(self, dataset: Dataset, erased: int) -> None:
        self.stdout.write(
            f"{erased:,} rows of this person erased (private: do not publish this number); all "
            "older versions and uploaded files were deleted. Later uploads do not bring the person "
            "back. Mind your backups."
        )
        drawn = dataset.releases.exclude(blob_name="").count()
        if drawn:
            self.stdout.write(
                f"{drawn} maps were drawn before and cannot take anything back: they hold no "
                "rows, and hide each person as the dataset's budget says."
            )
