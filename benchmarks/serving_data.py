"""Releases for the benchmark `serving`: one with files, and copies of its database rows."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpgeo.accounts.services import organisation_create
from dpgeo.artefacts.files import build_files
from dpgeo.budgets.services import budget_debit
from dpgeo.core.guarantees import Counting, PureDP, Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import Content, GridRelease, Released
from dpgeo.core.spend import Measured
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases import files
from dpgeo.releases.models import Release, ReleaseFile, make_public_id
from dpgeo.releases.publication import publish
from dpgeo.releases.release_job import about, commit
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

AREA = StudyArea.from_bounds(4.3, 52.0, 4.6, 52.2)

DATASETS = 20

CELLS = 48

EPSILON = Fraction(1, 2)


def fill(releases: int) -> str:
    """Publish `releases` releases, and return the id of the one that has files."""
    organisation = organisation_create(name="Example City")
    datasets = [
        dataset_create(
            organisation=organisation,
            title=f"Walks {number}",
            licence="CC BY 4.0",
            unit="person",
            study_area=AREA.to_geojson(),
            time_zone="UTC",
            budget=Fraction(4),
            created_by=None,
        )
        for number in range(DATASETS)
    ]
    first = _first(datasets[0])
    listed = list(first.files.all())
    for number in range(releases - 1):
        _another(first.pk, datasets[number % DATASETS], listed)
    return str(first.pk)


def _first(dataset: Dataset) -> Release:
    release = make_release(dataset, "uniform-grid")
    grid = Grid.over(AREA, CELLS)
    counts = (np.arange(grid.size, dtype=np.int64) * 7919 % 401 - 40).reshape(grid.shape)
    noise = DiscreteLaplace(EPSILON, 1)
    built_of = released(release, GridRelease(grid=grid, counts=counts, noise=noise))
    commit(release, built_of)
    with tempfile.TemporaryDirectory() as folder:
        for built in build_files(built_of, Path(folder)):
            files.keep_file(release, built)
    publish(release)
    return release


def make_release(dataset: Dataset, mechanism: str) -> Release:
    """Request a release, debit its epsilon, and return it."""
    upload = Upload.objects.create(
        dataset=dataset, state=UploadState.READY, file_name="none", size=1, raw_name="none"
    )
    release = Release.objects.create(
        dataset=dataset,
        upload=upload,
        title="Walks of an evening",
        mechanism=mechanism,
        parameters={"cells": CELLS},
        cost_units=500_000,
        total_units=dataset.ledger.total_units,
        job=Job.objects.create(task="releases.run", state=JobState.DONE),
        salt=b"salt",
    )
    cost = PureDP(EPSILON, Unit.PERSON)
    budget_debit(
        ledger=dataset.ledger, job=release.job_id, cost=cost, what=release.title, who="a benchmark"
    )
    return release


def released(release: Release, content: Content) -> Released:
    """Return the `Released` object of a release with the given content."""
    noise = DiscreteLaplace(EPSILON, 1)
    return Released(
        mechanism=release.mechanism,
        parameters=release.parameters,
        software="benchmark",
        about=about(release),
        area=AREA,
        counting=Counting.PEOPLE,
        bound=1,
        guarantee=PureDP(EPSILON, Unit.PERSON),
        trace=(Measured(label="cell counts", epsilon=EPSILON, noise=noise),),
        content=content,
    )


def _another(first: str, dataset: Dataset, listed: list[ReleaseFile]) -> None:
    release = Release.objects.get(pk=first)
    release.pk, release.dataset = make_public_id(), dataset
    release.job = Job.objects.create(task="releases.run", state=JobState.DONE)
    release._state.adding = True
    release.save(force_insert=True)
    for file in listed:
        file.pk, file.release, file._state.adding = None, release, True
    ReleaseFile.objects.bulk_create(listed)
