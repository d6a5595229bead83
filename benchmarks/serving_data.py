"""Releases for the benchmark `serving`: one with files, and copies of its database rows."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpgeo.accounts.services import organisation_create
from dpgeo.artefacts.files import planned_files, write_files
from dpgeo.budgets.services import budget_debit
from dpgeo.core.guarantees import Counting, PureDP, Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.release_request import ReleaseRequest
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

CELLS = 1024

PEOPLE = 10_000_000
"""People on the map, most of them in a few crowded places, as in a city."""

BATCH = 500
"""Number of rows that are stored with one statement."""

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
    _copy(first, datasets, releases - 1)
    return str(first.pk)


def _first(dataset: Dataset) -> Release:
    release = make_release(dataset, "uniform-grid")
    grid, noise = Grid.over(AREA, CELLS), DiscreteLaplace(EPSILON, 1)
    counts = _crowded(grid) + _noise(noise, grid.shape)
    built_of = released(release, GridRelease(grid=grid, counts=counts, noise=noise))
    commit(release, built_of)
    planned = planned_files(built_of)
    with tempfile.TemporaryDirectory() as folder:
        files.list_files(release, [each for each in planned if not each.at_once])
        for built in write_files([each for each in planned if each.at_once], Path(folder)):
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
        request=ReleaseRequest(mechanism=mechanism, parameters={"cells": CELLS}),
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
        parameters=release.request.parameters,
        software="benchmark",
        about=about(release),
        area=AREA,
        counting=Counting.PEOPLE,
        bound=1,
        guarantee=PureDP(EPSILON, Unit.PERSON),
        trace=(Measured(label="cell counts", epsilon=EPSILON, noise=noise),),
        content=content,
    )


def _crowded(grid: Grid) -> NDArray[np.int64]:
    """Return the number of people in each cell, (rows, columns): crowded places and empty land."""
    row, column = np.mgrid[0 : grid.rows, 0 : grid.columns] / CELLS
    crowd = sum(
        weight * np.exp(-((row - y) ** 2 + (column - x) ** 2) / (2 * spread**2))
        for y, x, spread, weight in ((0.5, 0.5, 0.1, 1), (0.3, 0.7, 0.03, 3), (0.7, 0.2, 0.02, 4))
    )
    expected = PEOPLE * crowd / np.sum(crowd)
    return np.asarray(np.random.default_rng(1).poisson(expected), dtype=np.int64)


def _noise(noise: DiscreteLaplace, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return noise from a seeded generator, which is good enough for files that nobody publishes.

    It is a difference of two geometric draws.
    """
    random, leave = np.random.default_rng(2), 1 - np.exp(-float(noise.rate))
    drawn = random.geometric(leave, shape) - random.geometric(leave, shape)
    return np.asarray(drawn, dtype=np.int64)


def _copy(first: Release, datasets: Sequence[Dataset], number: int) -> None:
    """Add `number` copies of a release's row and of its list of files, with new ids."""
    listed = list(first.files.all())
    jobs = [Job(task="releases.run", state=JobState.DONE) for _ in range(number)]
    Job.objects.bulk_create(jobs, BATCH)
    releases, entries = [], []
    for count, job in enumerate(jobs):
        release = copy.copy(first)
        release._state = copy.copy(first._state)
        release.pk, release.dataset, release.job = make_public_id(), datasets[count % DATASETS], job
        releases.append(release)
        for file in listed:
            entry = copy.copy(file)
            entry.pk, entry.release, entry.job = None, release, None
            entries.append(entry)
    Release.objects.bulk_create(releases, BATCH)
    ReleaseFile.objects.bulk_create(entries, BATCH)
