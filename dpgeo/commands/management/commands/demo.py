"""`python manage.py demo`: an invented city, published through the same pipeline as any other."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dpgeo.accounts.models import Organisation, Role, Sector, User
from dpgeo.accounts.services import membership_set, organisation_create
from dpgeo.commands.console import job_wait, plain_errors
from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import BudgetExceeded
from dpgeo.core.levels import Level, make_level
from dpgeo.crowdsourcing.services import campaign_create
from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create
from dpgeo.datasets.uploads import upload_confirm, upload_ingest, upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public
from dpgeo.releases.services import release_request, release_run

PATIENCE_SECONDS = 60.0
"""How long to wait for the worker, which may still be starting, before working here."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """A release to request. `epsilon` is empty where the parameters say what it costs."""

    title: str
    description: str
    mechanism: str
    parameters: dict[str, Any]
    epsilon: str
    bound: int
    counting: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """A dataset to declare, the invented file to upload to it, and the maps to make of it."""

    slug: str
    title: str
    description: str
    unit: str
    budget: Fraction
    columns: Columns
    made_by: tuple[str, ...]
    maps: tuple[Map, ...] = field(default=())
    layers: tuple[str, ...] = field(default=())
    points_budget: Level | None = None


PLANNED_ON = "Contours of Vessby"
CAMPAIGN = "Lamps to look at"
TASKS = (
    ("Quay lamps", 0.45, 0.45),
    ("Station ramp", 0.39, 0.54),
    ("Campus bins", 0.57, 0.495),
    ("Norrhamn noise", 0.35, 0.7),
    ("Ring road sign", 0.7, 0.6),
    ("West road drain", 0.2, 0.5),
    ("Far shore", 0.05, 0.05),
)
"""Names, and shares of the study area's width and height at which they lie."""

SOURCES = (
    Source(
        slug="vessby-may-2026",
        title="Where people are in Vessby, May 2026",
        description=(
            "Vessby and its people are invented. Phones of a panel, seen where their owners live, "
            "work, shop and travel, over four weeks."
        ),
        unit="person",
        budget=Fraction(3),
        columns=Columns(longitude="longitude", latitude="latitude", person="person", time="time"),
        made_by=("city", "--people", "{people}"),
        maps=(
            Map(
                title="Where people are in Vessby",
                description="People seen in May 2026, in cells that follow where they are.",
                mechanism="dpcube",
                parameters={"cells": 256},
                epsilon="1",
                bound=8,
                counting="people",
            ),
            Map(
                title="People in Vessby, cell by cell",
                description="The same people in a plain grid, at half the privacy cost.",
                mechanism="uniform-grid",
                parameters={"cells": 128},
                epsilon="0.5",
                bound=6,
                counting="people",
            ),
            Map(
                title="Vessby by the time of day",
                description="The same people in each quarter of the day, with a slider.",
                mechanism="time-slices",
                parameters={"cells": 64, "slices": "6 hours"},
                epsilon="0.5",
                bound=8,
                counting="people",
            ),
            Map(
                title="Where people gather in Vessby",
                description="Twenty-four centres, found by noisy k-means, and the visits around.",
                mechanism="private-clusters",
                parameters={"clusters": 24, "rounds": 3},
                epsilon="0.25",
                bound=6,
                counting="visits",
            ),
            Map(
                title="People in the wards of Vessby",
                description="How many people were seen in each ward, in at most three of them.",
                mechanism="zones",
                parameters={"zones": "wards"},
                epsilon="0.2",
                bound=3,
                counting="people",
            ),
            Map(
                title=PLANNED_ON,
                description="Lines of equal density, each person in one place, for planning tasks.",
                mechanism="contours",
                parameters={"cells": 128},
                epsilon="0.5",
                bound=1,
                counting="people",
            ),
        ),
        layers=("wards",),
    ),
    Source(
        slug="vessby-street-lamps",
        title="Street lamps reported broken in Vessby",
        description="Invented reports by passers-by, one row each. Each report is protected.",
        unit="record",
        budget=Fraction(1),
        columns=Columns(longitude="longitude", latitude="latitude", time="time"),
        made_by=("reports", "--count", "{reports}"),
        maps=(
            Map(
                title="Broken street lamps in Vessby",
                description="Reports in May 2026.",
                mechanism="dpcube",
                parameters={"cells": 128},
                epsilon="0.5",
                bound=1,
                counting="visits",
            ),
            Map(
                title="Broken street lamps in Vessby, report by report",
                description="Every report in May 2026, moved at random.",
                mechanism="planar-laplace",
                parameters={"level": "ln 4", "radius": 200, "cells": 96},
                epsilon="",
                bound=1,
                counting="visits",
            ),
        ),
        points_budget=make_level("ln 16", 200),
    ),
)


class Command(BaseCommand):
    help = "Publishes maps of an invented city. A second call does only what is missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--people", type=int, default=100_000)

    def handle(self, *args: Any, people: int, **options: Any) -> None:
        self.sizes = {"people": str(people), "reports": str(max(people // 4, 1))}
        owner, steward = make_user("admin", superuser=True), make_user("steward")
        organisation = make_organisation(owner, steward)
        with plain_errors({}):
            for source in SOURCES:
                self._publish(source, organisation, owner)
            keep_campaign(organisation, owner)
        self._tell_logins(owner, steward)

    def _publish(self, source: Source, organisation: Organisation, owner: User) -> None:
        dataset = self._dataset(source, organisation, owner)
        if not dataset.uploads.filter(state=UploadState.READY).exists():
            self._ingest(source, dataset, owner)
        for name in source.layers:
            self._layer(name, dataset, owner)
        for wanted in source.maps:
            self._release(wanted, dataset, owner)

    def _dataset(self, source: Source, organisation: Organisation, owner: User) -> Dataset:
        known = Dataset.objects.filter(slug=source.slug).first()
        if known is not None:
            return known
        area = settings.BASE_DIR / "fixtures" / "vessby-area.geojson"
        return dataset_create(
            organisation=organisation,
            title=source.title,
            slug=source.slug,
            description=source.description,
            licence="CC BY 4.0",
            attribution="Invented data",
            unit=source.unit,
            study_area=json.loads(area.read_text())["geometry"],
            time_zone="Europe/Stockholm",
            budget=source.budget,
            points_budget=source.points_budget,
            created_by=owner,
            at_console=True,
        )

    def _layer(self, name: str, dataset: Dataset, owner: User) -> None:
        """Declare a layer that `python -m fixtures` writes."""
        if dataset.layers.filter(name=name).exists():
            return
        with invented_file([name], ".geojson") as path, path.open("rb") as file:
            public_layer_add(
                dataset=dataset,
                name=name,
                kind=LayerKind.ZONES.value,
                title=f"Invented {name} of Vessby",
                file=file,
                created_by=owner,
            )

    def _ingest(self, source: Source, dataset: Dataset, owner: User) -> None:
        upload = dataset.uploads.filter(state=UploadState.QUEUED).first()
        if upload is None:
            self.stdout.write(f"  Inventing data: {dataset.title}")
            upload = self._upload(source, dataset, owner)
        number = upload.pk
        if upload.job_id is None:
            raise CommandError("The upload was not queued.")
        job = job_wait(
            job_id=upload.job_id,
            run=lambda on_progress: upload_ingest(upload_id=number, on_progress=on_progress),
            output=self.stdout,
            patience=PATIENCE_SECONDS,
        )
        if job.state != JobState.DONE:
            raise CommandError(f"The invented data were not taken in: {job.failure}")

    def _upload(self, source: Source, dataset: Dataset, owner: User) -> Upload:
        words = [word.format(**self.sizes) for word in source.made_by]
        with invented_file(words) as path, path.open("rb") as file:
            upload = upload_receive(
                dataset=dataset, file=file, file_name=path.name, created_by=owner
            )
        return upload_confirm(upload=upload, columns=source.columns, confirmed_by=owner)

    def _release(self, wanted: Map, dataset: Dataset, owner: User) -> None:
        # The same request always has the same job, so it is paid for once however often we ask.
        job_id = uuid5(NAMESPACE_URL, f"dpgeo-demo:{dataset.pk}:{wanted.title}")
        known = Release.objects.filter(job_id=job_id).first()
        if known is not None and known.job.state in {JobState.DONE, JobState.CANCELLED}:
            return
        cost = f" (ε = {wanted.epsilon})" if wanted.epsilon else ""
        self.stdout.write(f"  Making a map: {wanted.title}{cost}")
        try:
            release = release_request(
                dataset=dataset,
                title=wanted.title,
                description=wanted.description,
                mechanism=wanted.mechanism,
                parameters=wanted.parameters,
                epsilon=wanted.epsilon,
                bound=wanted.bound,
                counting=wanted.counting,
                publish_when_done=True,
                requested_by=owner,
                job_id=job_id,
            )
        except BudgetExceeded:  # a demo that an older version made, with a smaller budget
            self.stdout.write("  Left out: the budget of these invented data does not hold it")
            return
        number = release.pk
        job = job_wait(
            job_id=job_id,
            run=lambda on_progress: release_run(release_id=number, on_progress=on_progress),
            output=self.stdout,
            patience=PATIENCE_SECONDS,
        )
        if job.state != JobState.DONE:
            raise CommandError(f"The map was not made: {job.failure}")

    def _tell_logins(self, *users: User) -> None:
        """Give each new account its password, and show it this once."""
        fresh = [user for user in users if not user.has_usable_password()]
        if not fresh:
            return
        self.stdout.write("\n  Sign in (shown once; `manage.py changepassword NAME` sets another):")
        for user in fresh:
            password = secrets.token_urlsafe(12)
            user.set_password(password)
            user.save(update_fields=["password"])
            self.stdout.write(f"    {user.username:9s} {password}")


def keep_campaign(organisation: Organisation, owner: User) -> None:
    """A campaign that everybody may open, once."""
    release = releases_public().filter(title=PLANNED_ON).first()
    if release is None or organisation.campaigns.filter(name=CAMPAIGN).exists():
        return
    west, south, east, north = release.dataset.bounds
    campaign_create(
        organisation=organisation,
        release=release,
        name=CAMPAIGN,
        tasks=[
            {
                "name": name,
                "longitude": round(west + across * (east - west), 5),
                "latitude": round(south + along * (north - south), 5),
            }
            for name, across, along in TASKS
        ],
        settings={
            "target": 0.9,
            "total_reward": 200.0,
            "willingness": 10.0,
            "least_reward": 1.0,
            "travel_metres": 3000.0,
            "worker_share": 0.01,
            "model": "field",
            "density": "bilinear",
        },
        shared=True,
        created_by=owner,
    )


def make_user(name: str, *, superuser: bool = False) -> User:
    """The account of that name; a new one cannot sign in yet."""
    known = User.objects.filter(username=name).first()
    if known is not None:
        return known
    user = User(username=name, is_staff=True, is_superuser=superuser)
    user.set_unusable_password()
    user.save()
    return user


def make_organisation(administrator: User, steward: User) -> Organisation:
    """The publisher of the demo, with both accounts as members."""
    known = Organisation.objects.filter(slug="vessby-transport").first()
    if known is not None:
        return known
    organisation = organisation_create(
        name="Vessby Transport",
        slug="vessby-transport",
        contact="maps@vessby.example",
        sector=Sector.GOVERNMENT,
        administrator=administrator,
    )
    membership_set(organisation=organisation, user=steward, role=Role.STEWARD)
    return organisation


@contextmanager
def invented_file(words: list[str], ending: str = ".parquet") -> Iterator[Path]:
    """A file written by `python -m fixtures`, for as long as it is needed."""
    with tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR) as folder:
        path = Path(folder) / f"vessby-{words[0]}{ending}"
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "fixtures", *words, "--out", str(path)],
            cwd=settings.BASE_DIR,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        yield path
