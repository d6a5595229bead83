"""`python manage.py ingest FILE --dataset SLUG`: upload and ingest a file."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.utils.text import slugify

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.services import organisation_create
from dpgeo.commands.console import (
    acting_user,
    add_options,
    given_options,
    job_wait,
    plain_errors,
)
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.declaration import Declaration
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.services import dataset_create, dataset_discard
from dpgeo.datasets.storage import work_folder
from dpgeo.datasets.uploads import upload_confirm, upload_discard, upload_receive
from dpgeo.ingest.formats import TITLES
from dpgeo.ingest.preview import preview
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from dpgeo.phrases import phrase_of
from dpgeo.spatial.area import StudyArea

ROLES = (
    *("person", "latitude", "longitude", "time", "geometry"),
    *("destination_longitude", "destination_latitude", "place", "region"),
)
DECLARED = (*ROLES, "crs", "regions")

OPTIONS = {
    "study_area": "--area",
    "slug": "--dataset",
    "name": "--organisation",
    "file": "FILE",
    **{f"columns.{role}": f"--{role}" for role in DECLARED},
}


class Command(BaseCommand):
    help = "Uploads a file of positions to a dataset, confirms its columns and ingests it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help=f"{TITLES}; plain, gz or zip.",
        )
        parser.add_argument("--dataset", required=True, metavar="SLUG")
        for role in ROLES:
            parser.add_argument(f"--{role}", default="", metavar="COL", help=f"Column of {role}.")
        parser.add_argument(
            "--crs", default="", metavar="CODE", help="Coordinate system, such as EPSG:25832."
        )
        parser.add_argument(
            "--regions", default="", metavar="LAYER", help="Layer whose zones --region names."
        )
        parser.add_argument("--user", default="", help="Username on whose behalf this is done.")
        created = parser.add_argument_group("declaring the dataset first")
        created.add_argument(
            "--create", action="store_true", help="The dataset does not exist yet."
        )
        add_options(created, Declaration, without=["study_area"], required=False)
        created.add_argument("--organisation", default="", help="Name or short name of publisher.")
        created.add_argument("--area", default="", metavar="W,S,E,N", help="Box in degrees.")
        created.add_argument("--budget", default="", metavar="E", help="Total epsilon, for good.")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors(OPTIONS):
            upload = self._upload(options)
        job = upload.job
        if job is None:
            raise CommandError("The upload has no job.")
        job = job_wait(
            job_id=job.pk,
            run=lambda on_progress: upload_ingest(upload_id=upload.pk, on_progress=on_progress),
            output=self.stdout,
        )
        if job.state != JobState.DONE:
            raise CommandError(f"The file was not ingested. {job.failure}")
        upload.refresh_from_db()
        show_report(upload, self.stdout)

    def _upload(self, options: dict[str, Any]) -> Upload:
        """Check everything that can be checked in advance, then store and confirm the upload."""
        path: Path = options["file"]
        if not path.is_file():
            raise InvalidInput("There is no file {path!r}.", path=str(path), field="file")
        user = acting_user(options["user"])
        dataset = Dataset.objects.filter(slug=options["dataset"]).first()
        columns = self._columns(path, dataset, options)
        if dataset is None and not options["create"]:
            raise InvalidInput(
                "There is no dataset {dataset!r}; add --create to declare it.",
                dataset=options["dataset"],
                field="slug",
            )
        created = None if dataset else declare(options, user)
        target = dataset or created
        if target is None:
            raise CommandError("There is no dataset to upload to.")
        try:
            with path.open("rb") as file:
                upload = upload_receive(
                    dataset=target, file=file, file_name=path.name, created_by=user
                )
            try:
                return upload_confirm(upload=upload, columns=columns)
            except BaseException:
                upload_discard(upload=upload, by=None)
                raise
        except BaseException:
            if created is not None:
                dataset_discard(dataset=created)
            raise

    def _columns(self, path: Path, dataset: Dataset | None, options: dict[str, Any]) -> Columns:
        """Return the columns that the options name.

        For a role, such as time, that they leave out, the column that the file suggests is used,
        unless it conflicts with a named column (`without_rivals`). If the options name no column at
        all and the dataset's columns are already frozen, the frozen columns are used.
        """
        with work_folder() as folder:
            seen = preview(path, path.name, folder=folder)
        named = {role: options[role] for role in DECLARED if options[role]}
        if dataset and dataset.frozen_at and not named:
            return replace(Columns.from_json(dataset.columns), file_format=seen.file_format)
        guess = seen.understanding.columns if seen.understanding else seen.suggested
        chosen = {**without_rivals(guess.to_json(), named), **named}
        for hint in seen.hints:
            self.stdout.write(f"Note: {hint}")
        self.stdout.write(f"File format: {seen.file_format}")
        named["file_format"] = seen.file_format
        if taken := {role: name for role, name in chosen.items() if role not in named}:
            guessed = ", ".join(f"--{role} {name}" for role, name in taken.items())
            self.stdout.write(f"Columns taken from the file's header: {guessed}")
        return Columns(**chosen)


def declare(options: dict[str, Any], user: User | None) -> Dataset:
    """Declare the dataset, and its publisher unless one with that name exists."""
    for name in ("title", "organisation", "area", "budget"):
        if not options[name]:
            raise InvalidInput("`{name}` is required with --create.", name=name, field=name)
    budget = parse_epsilon(options["budget"], field="budget")
    area = parse_area(options["area"])
    usual = {"licence": "CC BY 4.0", "unit": Unit.PERSON}
    publisher = options["organisation"]
    organisation = (
        Organisation.objects.filter(slug=publisher).first()
        or Organisation.objects.filter(name=publisher).first()
        or Organisation.objects.filter(slug=slugify(publisher)).first()
        or organisation_create(name=publisher, administrator=user)
    )
    return dataset_create(
        organisation=organisation,
        **usual | given_options(options, Declaration),
        study_area=area.to_geojson(),
        budget=budget,
        slug=options["dataset"],
        created_by=user,
        at_console=True,
    )


def show_report(upload: Upload, output: OutputWrapper) -> None:
    """Write how many rows were accepted, why others were refused, and what comes next."""
    report = upload.report or {}
    output.write(
        f"{report['accepted']:,} of {report['read']:,} rows accepted "
        f"(private: do not publish these numbers)."
    )
    for reason, rows in report["refused"].items():
        output.write(f"  {rows:,} refused: {reason}")
    bound = 10 if upload.dataset.unit == Unit.PERSON else 1
    output.write(
        f"Next: python manage.py release {upload.dataset.slug} --epsilon 0.5 --bound {bound} "
        "--dry-run"
    )


def without_rivals(suggested: dict[str, str], named: dict[str, str]) -> dict[str, str]:
    """Return the suggested columns that do not conflict with the named ones.

    A suggested column is dropped if it gives the location in a different way than the named
    columns. A suggested time column is dropped too: times are optional, and rows with an unreadable
    time are rejected.
    """
    rivals = {"time", "clock"} if "time" in named else {"time", "clock", "time_format"}
    if "region" in named:
        rivals |= {"geometry", "latitude", "longitude", "crs", "position_format", "place"}
        rivals |= {"destination_latitude", "destination_longitude"}
    elif "geometry" in named:
        rivals |= {"latitude", "longitude", "position_format"}
    elif {"latitude", "longitude"} & named.keys():
        rivals |= {"geometry", "crs", "position_format"}
    return {
        role: name
        for role, name in suggested.items()
        if name not in {"", "EPSG:4326"} and role not in rivals
    }


def parse_area(text: str) -> StudyArea:
    """Parse "west,south,east,north" in degrees. Raises InvalidInput for any other text."""
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            "Give four numbers in degrees: west,south,east,north, like -74.3,40.5,-73.7,40.95 "
            "(write --area=-74.3,... because of the leading minus).",
            field="study_area",
        ) from None
    try:
        return StudyArea.from_bounds(west, south, east, north)
    except ValueError as error:
        raise InvalidInput(phrase_of(error), field="study_area") from None
