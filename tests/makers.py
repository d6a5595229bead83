"""Factories of invented organisations, people, datasets, uploads and releases."""

from __future__ import annotations

import io
import itertools
import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import timezone

from dpgeo.accounts.models import Organisation, Role, User
from dpgeo.accounts.services import membership_set, organisation_create
from dpgeo.artefacts import flow_files
from dpgeo.artefacts.files import FORMATS, MADE_UP_POINTS, WHOLE_RELEASE
from dpgeo.core.advice import Guess
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create, declaration_columns
from dpgeo.datasets.storage import private_storage, store
from dpgeo.datasets.uploads import upload_receive
from dpgeo.releases.file_making import file_make
from dpgeo.releases.models import Release
from dpgeo.releases.requests import read_request
from dpgeo.releases.services import Quote, release_quote, release_request, release_run
from dpgeo.spatial.projection import to_mercator

AREA = {
    "type": "Polygon",
    "coordinates": [[[10.0, 50.0], [10.1, 50.0], [10.1, 50.1], [10.0, 50.1], [10.0, 50.0]]],
}

OF_FLOWS = (flow_files.MATRIX, flow_files.FLOWMAP)

FILES = {
    *(f"cells{each.suffix}" for each in FORMATS if each not in OF_FLOWS),
    *MADE_UP_POINTS,
    *WHOLE_RELEASE,
}
"""The files of a release that has a single layer of cells."""

SOURCE = {"name": "Census of 2021", "url": "https://example.org/census", "date": "2021-06-30"}
"""A named public source, for a layer or an outline."""

CSV = b"who,lat,lon\nann,50.01,10.01\nbob,50.02,10.02\nann,50.05,10.05\neve,400.17,10.02\n"
"""Four rows of three people; one row has an impossible position."""

_numbers = itertools.count(1)


def redeclare(dataset: Dataset, **facts: Any) -> None:
    """Store other facts in a dataset's declaration, without any check."""
    declared = dataset.declaration.model_copy(update=facts)
    Dataset.objects.filter(pk=dataset.pk).update(**declaration_columns(declared))


def ask_for(release: Release, *names: str) -> Release:
    """Make files of a release that are otherwise made on request: the named ones, or else all."""
    unmade = release.files.filter(stored_name="")
    for file in unmade.filter(name__in=names) if names else unmade:
        file_make(file)
    release.refresh_from_db()
    return release


def make_organisation(name: str = "") -> Organisation:
    return organisation_create(name=name or f"Transport office {next(_numbers)}")


def make_user(
    organisation: Organisation | None = None, role: Role = Role.STEWARD, **fields: Any
) -> User:
    user = User.objects.create_user(username=f"person{next(_numbers)}", **fields)
    if organisation is not None:
        membership_set(organisation=organisation, user=user, role=role)
    return user


def make_dataset(organisation: Organisation | None = None, **changes: Any) -> Dataset:
    facts: dict[str, Any] = {
        "organisation": organisation or make_organisation(),
        "title": f"City trips {next(_numbers)}",
        "licence": "CC BY 4.0",
        "unit": "person",
        "study_area": AREA,
        "time_zone": "Europe/Berlin",
        "budget": Fraction(4),
        "created_by": None,
        "at_console": True,
    }
    return dataset_create(**{**facts, **changes})


def make_received(dataset: Dataset, content: bytes = CSV, file_name: str = "trips.csv") -> Upload:
    return upload_receive(
        dataset=dataset, file=io.BytesIO(content), file_name=file_name, created_by=None
    )


def write_canonical(path: Path, rows: int = 200, people: int = 20) -> None:
    """Write a canonical file of random positions in `AREA`; rows are one second apart."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpgeo.ingest.canonical import CANONICAL

    random = np.random.default_rng(1)
    x, y = to_mercator(random.uniform(10.0, 10.1, rows), random.uniform(50.0, 50.1, rows))
    person = random.integers(1, people + 1, rows).astype(np.uint64)
    time = pa.array(np.arange(rows, dtype=np.int64))
    codes = pa.array(np.arange(rows, dtype=np.int32) % 3)
    columns = [pa.array(person), pa.array(person), pa.array(x), pa.array(y), time, codes]
    table = pa.Table.from_arrays(columns, schema=CANONICAL)
    pq.write_table(table, path)


def make_ready(dataset: Dataset, folder: Path, rows: int = 200) -> Upload:
    """Return an upload that is marked as ingested and has a canonical file."""
    path = folder / f"{secrets.token_hex(4)}.parquet"
    write_canonical(path, rows)
    name = store(private_storage(), f"canonical/{path.name}", path)
    uploaded = Dataset.objects.filter(pk=dataset.pk, first_upload_at=None)
    uploaded.update(first_upload_at=timezone.now())
    return Upload.objects.create(
        dataset=dataset,
        file_name="trips.csv",
        size=1,
        raw_name="uploads/none",
        canonical_name=name,
        state=UploadState.READY,
        report={"read": rows, "accepted": rows, "refused": {}, "examples": []},
    )


def make_request(dataset: Dataset, by: User | None = None, **changes: Any) -> Release:
    fields: dict[str, Any] = {
        "dataset": dataset,
        "title": "Trips of a week",
        "mechanism": "uniform-grid",
        "parameters": {"cells": 8},
        "epsilon": "1",
        "bound": 5,
        "counting": "people",
        "totals": 0,
        "requested_by": by,
    }
    return request_release(**{**fields, **changes})


def request_release(dataset: Dataset, **asked: Any) -> Release:
    """Request a release from fields that are parsed as in the API and on the owners' pages."""
    names = set(ReleaseRequest.model_fields) & set(asked)
    request = read_request(dataset, **{name: asked.pop(name) for name in names})
    return release_request(dataset=dataset, request=request, **asked)


def quote_release(dataset: Dataset, guess: Guess | None = None, **asked: Any) -> Quote:
    """Return the quote for a request: its cost and the noise to expect."""
    return release_quote(
        dataset=dataset, request=read_request(dataset, **{"totals": 0, **asked}), guess=guess
    )


def make_release(dataset: Dataset, by: User | None = None, **changes: Any) -> Release:
    """Make a release and run its job; it is a draft unless `changes` say otherwise."""
    release = make_request(dataset, by, **changes)
    release_run(release_id=release.pk)
    return Release.objects.select_related("job", "dataset__ledger").get(pk=release.pk)


def spent(dataset: Dataset) -> int:
    """Return the units spent from the dataset's ledger."""
    dataset.ledger.refresh_from_db()
    return dataset.ledger.spent_units
