"""The demo declared in `fixtures/demo.toml`, published through the usual services."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, UUID, uuid5

from django.conf import settings
from django.core.management.base import CommandError, OutputWrapper

from dpgeo.accounts.models import Organisation, Role, User
from dpgeo.accounts.services import membership_set, organisation_create
from dpgeo.commands.console import job_wait
from dpgeo.core.domain import LayerKind
from dpgeo.core.levels import make_level
from dpgeo.crowdsourcing.requests import NewCampaign
from dpgeo.crowdsourcing.services import campaign_create
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create
from dpgeo.datasets.uploads import upload_confirm, upload_receive
from dpgeo.ground.adding import ground_add
from dpgeo.ground.regions import regions
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.lease import ProgressCallback
from dpgeo.jobs.models import JobState
from dpgeo.releases.models import Release
from dpgeo.releases.publication import publish
from dpgeo.releases.requests import read_request
from dpgeo.releases.selectors import releases_public
from dpgeo.releases.services import release_request, release_run

FIXTURES = settings.BASE_DIR / "fixtures"

PATIENCE_SECONDS = 60.0
"""Seconds to wait for the worker, which may still be starting, before this process runs the job."""

Declared: TypeAlias = Mapping[str, Any]
"""A table of `fixtures/demo.toml`."""


class Demo:
    """The demo that `fixtures/demo.toml` declares: its datasets, maps, basemap and campaign."""

    def __init__(self, owner: User, steward: User, people: int, output: OutputWrapper) -> None:
        self.owner, self.output = owner, output
        self.sizes = {"people": str(people), "reports": str(max(people // 4, 1))}
        self.declared = tomllib.loads((FIXTURES / "demo.toml").read_text(encoding="utf-8"))
        self.organisation = make_organisation(self.declared["organisation"], owner, steward)
        # Make a second organisation for visitors who try a file of their own, so that they do not
        # publish it under that of the invented data.
        make_organisation(self.declared["own_organisation"], owner, steward)

    def publish(self) -> None:
        """Make and publish everything in the demo that does not exist yet.

        Raises CommandError if a job fails.
        """
        self._ground(self.declared["ground"])
        for declared in self.declared["datasets"]:
            dataset = self._dataset(declared)
            for name, file in declared.get("zones", {}).items():
                self._zones(name, FIXTURES / file, dataset)
            if not dataset.uploads.filter(state=UploadState.READY).exists():
                self._ingest(declared, dataset)
            for wanted in declared["maps"]:
                self._release(wanted, dataset)
        self._campaign(self.declared["campaign"])

    def _ground(self, declared: Declared) -> None:
        """Add the basemap of streets and names, unless it is already stored."""
        folder = Path(settings.GROUND_DIR)
        if declared["name"] in {region.name for region in regions(folder)}:
            return
        ground_add(
            folder,
            FIXTURES / declared["tiles"],
            name=declared["name"],
            extract=FIXTURES / declared["extract"],
        )

    def _dataset(self, declared: Declared) -> Dataset:
        known = Dataset.objects.filter(slug=declared["slug"]).first()
        if known is not None:
            return known
        level = declared.get("points_budget")
        return dataset_create(
            organisation=self.organisation,
            **{name: declared[name] for name in ("title", "slug", "description", "unit")},
            licence="CC BY 4.0",
            attribution=self.declared["attribution"],
            study_area=json.loads((FIXTURES / self.declared["area"]).read_text()),
            time_zone=self.declared["time_zone"],
            budget=Fraction(declared["budget"]),
            points_budget=make_level(**level) if level else None,
            created_by=self.owner,
            at_console=True,
        )

    def _zones(self, name: str, path: Path, dataset: Dataset) -> None:
        """Declare a layer of zones from the file at `path`."""
        if dataset.layers.filter(name=name).exists():
            return
        with path.open("rb") as file:
            public_layer_add(
                dataset=dataset,
                name=name,
                kind=LayerKind.ZONES.value,
                title=name.capitalize(),
                file=file,
                key_property="name",
                created_by=self.owner,
            )

    def _ingest(self, declared: Declared, dataset: Dataset) -> None:
        upload = dataset.uploads.filter(state=UploadState.QUEUED).first()
        if upload is None:
            self.output.write(f"  Inventing data: {dataset.title}")
            upload = self._upload(declared, dataset)
        if upload.job_id is None:
            raise CommandError("The upload was not queued.")
        number = upload.pk
        self._await(
            upload.job_id,
            lambda on_progress: upload_ingest(upload_id=number, on_progress=on_progress),
            "The invented data were not taken in",
        )

    def _upload(self, declared: Declared, dataset: Dataset) -> Upload:
        arguments = [argument.format(**self.sizes) for argument in declared["file"]]
        with invented_file(arguments) as path, path.open("rb") as file:
            upload = upload_receive(
                dataset=dataset, file=file, file_name=path.name, created_by=self.owner
            )
        columns = Columns(**declared["columns"])
        return upload_confirm(upload=upload, columns=columns)

    def _release(self, wanted: Declared, dataset: Dataset) -> None:
        # The same request always has the same job id, so it is paid for only once.
        job_id = uuid5(NAMESPACE_URL, f"dpgeo-demo:{dataset.pk}:{wanted['title']}")
        known = Release.objects.filter(job_id=job_id).first()
        if known is not None and known.job.state in {JobState.DONE, JobState.CANCELLED}:
            return
        cost = f" (ε = {wanted['epsilon']})" if wanted["epsilon"] else ""
        self.output.write(f"  Making a map: {wanted['title']}{cost}")
        facts = {"totals": 0, **wanted}
        texts = {name: facts.pop(name) for name in ("title", "description") if name in facts}
        release = release_request(
            dataset=dataset,
            request=read_request(dataset, **facts),
            **texts,
            publish_when_done=True,
            requested_by=self.owner,
            job_id=job_id,
        )
        number = release.pk
        self._await(
            job_id,
            lambda on_progress: release_run(release_id=number, on_progress=on_progress),
            "The map was not made",
        )
        release.refresh_from_db()
        if not release.rules.public:
            # Publish at once: waiting would protect nobody, since these people are invented.
            publish(release)

    def _campaign(self, declared: Declared) -> None:
        """Store a campaign (paid tasks on a map) as the demo declares it, unless its name is taken.

        Everybody who knows the campaign's id can open it.
        """
        release = releases_public().filter(title=declared["map"]).first()
        if release is None or self.organisation.campaigns.filter(name=declared["name"]).exists():
            return
        campaign_create(
            organisation=self.organisation,
            release=release,
            request=NewCampaign.read(
                {
                    "release": release.pk,
                    "name": declared["name"],
                    "tasks": [
                        {"name": name, "longitude": longitude, "latitude": latitude}
                        for name, (longitude, latitude) in declared["tasks"].items()
                    ],
                    "settings": declared["settings"],
                    "shared": True,
                }
            ),
            created_by=self.owner,
        )

    def _await(self, job_id: UUID, run: Callable[[ProgressCallback], bool], failed: str) -> None:
        job = job_wait(job_id=job_id, run=run, output=self.output, patience=PATIENCE_SECONDS)
        if job.state != JobState.DONE:
            raise CommandError(f"{failed}: {job.failure}")


def make_user(name: str, *, superuser: bool = False) -> User:
    """Return the account with this name; create it without a password if it does not exist.

    `superuser` applies to a new account only.
    """
    known = User.objects.filter(username=name).first()
    if known is not None:
        return known
    user = User(username=name, is_staff=True, is_superuser=superuser)
    user.set_unusable_password()
    user.save()
    return user


def make_organisation(declared: Declared, administrator: User, steward: User) -> Organisation:
    """Return the publisher that the demo declares; create it if it does not exist.

    The administrator and the steward become members of a new one.
    """
    known = Organisation.objects.filter(slug=declared["slug"]).first()
    if known is not None:
        return known
    organisation = organisation_create(**declared, administrator=administrator)
    membership_set(organisation=organisation, user=steward, role=Role.STEWARD)
    return organisation


@contextmanager
def invented_file(arguments: list[str]) -> Iterator[Path]:
    """Yield the path of a temporary file of invented data from `python -m fixtures`."""
    with tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR) as folder:
        path = Path(folder) / f"invented-{arguments[0]}.parquet"
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "fixtures", *arguments, "--out", str(path)],
            cwd=settings.BASE_DIR,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        yield path
