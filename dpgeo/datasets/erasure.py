"""Erasing one person: a new version of the data without them; older versions and files go.

The keyed hash of who was erased stays with the dataset, and rows of that person are refused in
every later upload. That is a rule about each row by itself: it changes nobody else's rows, so
what a release promises to the others stays as it was (see `ingest.canonical`).

What was released before stays as it is: it holds no rows, hides each person as its budget says,
and copies of it may be anywhere.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset, Suppression, Upload, UploadState
from dpgeo.datasets.selectors import canonical_path, ready_upload
from dpgeo.datasets.storage import private_storage, remove, store, work_folder
from dpgeo.datasets.uploads import INGEST_TASK, upload_forget_raw
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import Tally
from dpgeo.jobs.lease import JobLease
from dpgeo.jobs.services import job_create, job_wake
from dpgeo.phrases import Phrase


class DataChanged(Exception):
    """Other data became ready meanwhile; the job is tried again from them."""


def person_erase(*, dataset: Dataset, person: str, by: User | None) -> Upload:
    """Queue a new version of the data without one person. `by` is None at the console.

    `person` is the identifier as the uploaded files write it; only its keyed hash is kept. From
    now on no upload of the dataset brings the person back. Raises NotAllowed, InvalidInput for
    what is no identifier, Conflict where rows have no persons, where there are no data, and while
    a file is being read.
    """
    if by is not None and not may(by, dataset, "upload"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    if dataset.unit != Unit.PERSON:
        raise Conflict(
            "Rows of this dataset have no person; upload a file without the rows to be erased."
        )
    digest = _digest(dataset, person)
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        current = ready_upload(dataset)
        if current is None:
            raise Conflict("This dataset has no data.")
        if dataset.uploads.filter(state=UploadState.QUEUED).exists():
            raise Conflict("A file is being read; ask again when that is done.")
        Suppression.objects.get_or_create(dataset=dataset, person=digest)
        job = job_create(task=INGEST_TASK)
        version = Upload.objects.create(
            dataset=dataset,
            file_name=current.file_name,
            size=current.size,
            raw_name="",
            state=UploadState.QUEUED,
            job=job,
            erasing=digest,
            created_by=by,
        )
        job_wake(job=job)
    return version


def person_readmit(*, dataset: Dataset, person: str, by: User | None) -> bool:
    """Take rows of an erased person from later uploads again; False for one who was not erased.

    For the identifier that was mistyped. Raises NotAllowed, and InvalidInput.
    """
    if by is not None and not may(by, dataset, "upload"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    found = dataset.suppressions.filter(person=_digest(dataset, person))
    return bool(found.delete()[0])


def erase(upload: Upload, held: JobLease) -> None:
    """Write the newest data without the person, then let every older version go."""
    held.step(Phrase("Reading rows"))
    current = ready_upload(upload.dataset)
    if current is None or upload.erasing is None:
        raise Conflict("This dataset has no data.")
    storage = private_storage()
    with canonical_path(current) as source, work_folder() as folder:
        target = folder / "canonical.parquet"
        kept, erased = _copy_without(source, target, bytes(upload.erasing), held)
        held.step(Phrase("Storing"))
        name = store(storage, f"canonical/{secrets.token_hex(16)}.parquet", target)
    report = {"read": kept, "accepted": kept, "refused": {}, "examples": [], "erased": erased}
    try:
        with transaction.atomic():
            old = _replace(upload, current, held, canonical_name=name, report=report)
    except BaseException:
        remove(storage, name)
        raise
    for each in old:
        remove(storage, each)


def _replace(upload: Upload, current: Upload, held: JobLease, **made: Any) -> list[str]:
    """Put the new version in the place of all before it; the names of their canonical files.

    Jobs that have not drawn yet draw from the new version: its rows are those of the old one
    without the person, and no draw was seen.
    """
    dataset = upload.dataset
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    if ready_upload(dataset) != current:
        raise DataChanged
    held.step(Phrase("Deleting older versions"))
    waiting = Upload.objects.filter(pk=upload.pk, state=UploadState.QUEUED, job_id=held.job_id)
    if not waiting.update(**made, state=UploadState.READY, erasing=None):
        raise DataChanged
    older = dataset.uploads.filter(created_at__lte=upload.created_at) | dataset.uploads.filter(
        state=UploadState.READY
    )
    older = older.exclude(pk=upload.pk)
    names = list(older.exclude(canonical_name="").values_list("canonical_name", flat=True))
    dataset.releases.filter(blob_name="").update(upload=upload)
    transaction.on_commit(
        lambda: upload_forget_raw(uploads=dataset.uploads.filter(state=UploadState.ERASED))
    )
    older.update(state=UploadState.ERASED, canonical_name="", report=None, erasing=None)
    return names


def _digest(dataset: Dataset, person: str) -> bytes:
    """The keyed hash of an identifier, as ingestion makes it. Raises InvalidInput."""
    import pyarrow as pa

    from dpgeo.ingest.persons import hash_persons

    tally = Tally()
    sieve = Sieve(np.ones(1, dtype=np.int64), tally)
    high, low = hash_persons(pa.array([person]), bytes(dataset.person_key), sieve)
    if tally.report().refused:
        raise InvalidInput("This is no identifier of a person.", field="person")
    return int(high[0]).to_bytes(8, "big") + int(low[0]).to_bytes(8, "big")


def _copy_without(source: Path, target: Path, digest: bytes, held: JobLease) -> tuple[int, int]:
    """Copy a canonical file but for one person; how many rows were kept and left out."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    halves = (int.from_bytes(half, "big") for half in (digest[:8], digest[8:]))
    high, low = (pa.scalar(half, pa.uint64()) for half in halves)
    kept = erased = 0
    with pq.ParquetFile(source) as file:
        total = file.metadata.num_rows
        with pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer:
            for batch in file.iter_batches():
                same = pc.and_(
                    pc.equal(batch["person_high"], high), pc.equal(batch["person_low"], low)
                )
                rest = batch.filter(pc.invert(same))
                writer.write_batch(rest)
                kept, erased = kept + rest.num_rows, erased + batch.num_rows - rest.num_rows
                held.step(Phrase("Reading rows"), kept + erased, total)
    return kept, erased
