"""Releases of an invented city, stored as a job would, but made without data or a job.

Their noise comes from a seeded generator, which only tests may use.
"""

from __future__ import annotations

import atexit
import dataclasses
import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import shapely
from django.utils import timezone
from numpy.typing import NDArray

from dpgeo.accounts.models import Organisation
from dpgeo.artefacts.codec import encode
from dpgeo.artefacts.files import BuiltFile, build_files, planned_files
from dpgeo.budgets.models import Ledger
from dpgeo.core.epsilon import to_micro
from dpgeo.core.guarantees import Counting, PureDP, Unit
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import (
    ContourRelease,
    GridRelease,
    PartitionRelease,
    Released,
    SlicesRelease,
    ZonesRelease,
)
from dpgeo.core.spend import Measured
from dpgeo.core.time_slices import TIME_SLICES
from dpgeo.datasets.declaration import Declaration
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import declaration_columns
from dpgeo.datasets.storage import private_storage, store, work_folder
from dpgeo.jobs.models import Job, JobState
from dpgeo.postprocess.contours import Smoothing, Spacing, line_values, make_surface
from dpgeo.releases import files
from dpgeo.releases.files import checksum, compress, make_public
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

BOUNDS = (12.42, 55.56, 12.74, 55.76)
"""A bounding box on a coast, so that maps show both land and water. The city in it is invented."""

TOTAL = Fraction(4)
HOODS = (
    (0.42, 0.55, 0.07, 1.0),
    (0.3, 0.4, 0.1, 0.35),
    (0.62, 0.66, 0.05, 0.3),
    (0.2, 0.7, 0.04, 0.2),
)


def city(grid: Grid, people: int = 400_000, seed: int = 7) -> NDArray[np.int64]:
    """Return invented counts of people per cell, concentrated in a few places and streets."""
    row, column = np.mgrid[0 : grid.rows, 0 : grid.columns]
    y, x = (row + 0.5) / grid.rows, (column + 0.5) / grid.columns
    crowd = np.zeros(grid.shape)
    for centre_x, centre_y, radius, weight in HOODS:
        distance = ((x - centre_x) ** 2 + (y - centre_y) ** 2) / radius**2
        crowd += weight * np.exp(-distance / 2) / radius**2
    streets = 1 + 3 * (np.abs(x + y - 0.97) < 0.012) + 2 * (np.abs(y - 0.4 * x - 0.35) < 0.01)
    crowd *= streets
    expected = people * crowd / crowd.sum()
    return np.asarray(np.random.default_rng(seed).poisson(expected), dtype=np.int64)


def grid_release(area: StudyArea, cells: int = 96, unit: str = Unit.PERSON) -> Released:
    """Return a release of the city on a uniform grid, with epsilon 1.

    Each person is in at most 4 cells.
    """
    grid = Grid.over(area, cells)
    epsilon = Fraction(1)
    noise = DiscreteLaplace(epsilon, 4)
    counts = np.where(grid.inside(area), city(grid) + _noise(noise, grid.shape), 0)
    content = GridRelease(grid=grid, counts=counts, noise=noise)
    trace = (Measured(label="cell counts", epsilon=epsilon, noise=noise),)
    return _released("uniform-grid", area, content, trace, Unit(unit))


def many_zones_release(area: StudyArea, zones: int, seed: int = 7) -> Released:
    """Return a release of many invented zones, smaller where the city is dense.

    Each person is in at most 4 zones.
    """
    grid = Grid.over(area, 128)
    crowd = np.where(grid.inside(area), city(grid) + 1.0, 0.0).ravel()
    generator = np.random.default_rng(seed)
    row, column = np.divmod(
        generator.choice(crowd.size, zones, p=crowd / crowd.sum()), grid.columns
    )
    places = grid.box_bounds(np.stack([row, row + 1, column, column + 1], axis=1))
    across, up = generator.random((2, zones))
    x = places[:, 0] + across * (places[:, 2] - places[:, 0])
    y = places[:, 1] + up * (places[:, 3] - places[:, 1])
    parts = shapely.voronoi_polygons(shapely.multipoints(np.stack([x, y], axis=1)))
    shapes = shapely.intersection(shapely.get_parts(parts), shapely.box(*area.bounds))
    shapes = shapes[shapely.area(shapes) > 0]
    names = tuple(f"Ward {number}" for number in range(1, len(shapes) + 1))
    epsilon = Fraction(1)
    noise = DiscreteLaplace(epsilon, 4)
    counts = generator.poisson(40, len(shapes)) + _noise(noise, (len(shapes),))
    content = ZonesRelease(
        zones=Zones(keys=names, names=names, shapes=shapes), counts=counts, noise=noise
    )
    trace = (Measured(label="zone counts", epsilon=epsilon, noise=noise),)
    return _released("zones", area, content, trace, Unit.PERSON)


def slices_release(area: StudyArea, cells: int = 32) -> Released:
    """Return a release of the city in two time slices.

    On working days people are in the west; at weekends a fifth as many are in the east.
    """
    grid = Grid.over(area, cells)
    epsilon = Fraction(1)
    noise = DiscreteLaplace(epsilon, 4)
    slices = TIME_SLICES["working days and weekends"]
    whole, half = city(grid), grid.columns // 2
    west, east = whole.copy(), whole // 5
    west[:, half:], east[:, :half] = 0, 0
    counts = np.stack([west, east])
    counts += np.stack([_noise(noise, grid.shape), _noise(noise, grid.shape, seed=2)])
    content = SlicesRelease(
        grid=grid,
        keys=slices.keys,
        titles=slices.titles,
        time_zone="Europe/Copenhagen",
        counts=np.where(grid.inside(area), counts, 0),
        noise=noise,
    )
    trace = (Measured(label="cell counts of all slices", epsilon=epsilon, noise=noise),)
    return _released("time-slices", area, content, trace, Unit.PERSON)


def contour_release(area: StudyArea, cells: int = 64) -> Released:
    """Return a release of contour lines of the city's density, with each person in one cell."""
    grid = Grid.over(area, cells)
    epsilon = Fraction(1)
    noise = DiscreteLaplace(epsilon, 1)
    inside = grid.inside(area)
    counts = np.where(inside, city(grid, people=60_000) + _noise(noise, grid.shape), 0)
    surface = make_surface(counts, noise, inside, Smoothing.INFERRED)
    content = ContourRelease(
        grid=grid,
        counts=counts,
        noise=noise,
        surface=surface,
        lines=line_values(surface, noise, grid, Spacing.NOISE, 1, 7),
    )
    trace = (Measured(label="cell counts", epsilon=epsilon, noise=noise),)
    return _released("contours", area, content, trace, Unit.PERSON)


def partition_release(area: StudyArea, cells: int = 128) -> Released:
    """Return a release of the city in boxes of cells, which are small where many people are."""
    grid = Grid.over(area, cells)
    half = Fraction(1, 2)
    noise = DiscreteLaplace(half, 4)
    inside = grid.inside(area)
    truth = np.where(inside, city(grid), 0)
    counts = np.where(inside, truth + _noise(noise, grid.shape), 0)
    boxes = np.array(list(_quarters(counts, 0, 0, cells)), dtype=np.int32)
    reached = np.array([inside[a:b, c:d].any() for a, b, c, d in boxes])
    sums = np.array([truth[a:b, c:d].sum() for a, b, c, d in boxes], dtype=np.int64)
    totals = np.where(reached, sums + _noise(noise, sums.shape, seed=2), 0)
    content = PartitionRelease(
        grid=grid,
        counts=counts,
        noise=noise,
        boxes=boxes,
        totals=totals,
        totals_noise=noise,
        answers="least-squares",
    )
    trace = tuple(
        Measured(label=label, epsilon=half, noise=noise) for label in ("cells", "partitions")
    )
    return _released("dpcube", area, content, trace, Unit.PERSON)


def install(
    released: Released, title: str, *, state: str = ReleaseState.PUBLISHED, files: bool = True
) -> Release:
    """Store a release as its job does: database rows, the blob and, if `files`, its files."""
    organisation, _ = Organisation.objects.get_or_create(
        slug="vessby-transport", defaults={"name": "Vessby Transport"}
    )
    dataset = _dataset(organisation, released.area)
    upload = Upload.objects.create(
        dataset=dataset, file_name="rows.csv", size=1, raw_name="r", state=UploadState.READY
    )
    with work_folder() as folder:
        blob = folder / "blob"
        blob.write_bytes(encode(released))
        sha256 = checksum(blob)
        release = Release.objects.create(
            dataset=dataset,
            upload=upload,
            title=title,
            description="Phones seen for ten minutes or more, March 2026.",
            mechanism=released.mechanism,
            cost_units=to_micro(released.guarantee.epsilon),
            total_units=to_micro(TOTAL),
            bound=released.bound,
            request=released.request,
            job=Job.objects.create(task="releases.run", state=JobState.DONE),
            salt=b"s" * 16,
            blob_name=store(private_storage(), f"blobs/{sha256}", blob),
            blob_sha256=sha256,
            state=state,
            published_at=None if state == ReleaseState.DRAFT else timezone.now(),
            withdrawn_at=timezone.now() if state == ReleaseState.WITHDRAWN else None,
        )
        if files:
            keep_files(release, released, folder)
    if files and state == ReleaseState.PUBLISHED:
        make_public(release)
    return release


def keep_files(release: Release, released: Released, folder: Path) -> None:
    """Store a release's files as its job does, but build each file only once in a test process.

    Files of an equal release that were built before are copied to `folder`. Files that are made on
    request are only listed; tests make them with `makers.ask_for`.
    """
    digest = hashlib.sha256(encode(released)).digest()
    if digest not in _BUILT:
        own = Path(tempfile.mkdtemp(prefix="dpgeo-built-"))
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        _BUILT[digest] = build_files(released, own, lambda file: file.at_once)
    sources = {each.name: each.path for each in _BUILT[digest]}

    def compressed(path: Path) -> Path:
        source = sources[path.name]
        packed = source.with_name(f"{source.name}.gz")
        if not packed.exists():
            compress(source)
        return Path(shutil.copy2(packed, folder))

    files.list_files(release, [each for each in planned_files(released) if not each.at_once])
    with mock.patch.object(files, "compress", compressed):
        for built in _BUILT[digest]:
            path = Path(shutil.copy2(built.path, folder))
            files.keep_file(release, dataclasses.replace(built, path=path))


_BUILT: dict[bytes, Sequence[BuiltFile]] = {}
"""Files of releases, by the hash of the release that determines them. They are kept until this
process ends, and all of its tests share them.
"""


def _dataset(organisation: Organisation, area: StudyArea) -> Dataset:
    dataset = Dataset.objects.filter(slug="vessby-phones").first()
    if dataset:
        return dataset
    ledger = Ledger.objects.create(
        name="Vessby phones", total_units=to_micro(TOTAL), spent_units=to_micro(Fraction(1))
    )
    return Dataset.objects.create(
        slug="vessby-phones",
        organisation=organisation,
        **declaration_columns(
            Declaration(
                title="Phones in Vessby",
                licence="CC BY 4.0",
                unit=Unit.PERSON,
                study_area=area.to_geojson(),
            )
        ),
        ledger=ledger,
        sealed_person_key=b"k" * 60,
    )


Gridded = GridRelease | SlicesRelease | ContourRelease | PartitionRelease


def _released(
    mechanism: str,
    area: StudyArea,
    content: Gridded | ZonesRelease,
    trace: tuple[Measured, ...],
    unit: Unit,
) -> Released:
    parameters: dict[str, Any] = (
        {"zones": "wards"} if isinstance(content, ZonesRelease) else {"cells": content.grid.columns}
    )
    epsilon = sum((line.amount for line in trace), Fraction(0))
    return Released(
        mechanism=mechanism,
        parameters=parameters,
        software="dpgeo test",
        about={
            "title": "People in Vessby",
            "description": "Invented.",
            "dataset": "Phones in Vessby",
            "dataset_slug": "vessby-phones",
            "publisher": "Vessby Transport",
            "licence": "CC BY 4.0",
            "attribution": "",
            "dataset_total_epsilon": str(TOTAL),
        },
        area=area,
        counting=Counting.PEOPLE,
        bound=4,
        guarantee=PureDP(epsilon, unit),
        trace=trace,
        content=content,
    )


def _noise(noise: DiscreteLaplace, shape: tuple[int, ...], seed: int = 1) -> NDArray[np.int64]:
    random = np.random.default_rng(seed)
    leave = 1 - np.exp(-float(noise.rate))
    drawn = random.geometric(leave, shape) - random.geometric(leave, shape)
    return np.asarray(drawn, dtype=np.int64)


def _quarters(counts: NDArray[np.int64], top: int, left: int, side: int) -> list[tuple[int, ...]]:
    part = counts[top : top + side, left : left + side]
    if side == 1 or part.sum() < 150:
        return [(top, top + side, left, left + side)]
    half = side // 2
    return [
        box
        for down in (0, half)
        for right in (0, half)
        for box in _quarters(counts, top + down, left + right, half)
    ]
