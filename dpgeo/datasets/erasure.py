"""Erasure of one person: a new version of the data without that person's rows.

The new version is a single file, made from all files of the data, even if the dataset is one to
which files are added. Older versions and their files are deleted. The keyed hash of the person's
identifier stays with the dataset, and later uploads reject that person's rows. This rule depends on
each row alone and does not change anybody else's rows, so a release protects everybody else exactly
as before (see `ingest.canonical`).

Earlier releases stay as they are: they contain no rows, hide each person as the budget states, and
may have been copied anywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.decisions import ERASED, READMITTED, decision_record
from dpgeo.datasets.models import Dataset, Suppression, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.snapshots import (
    is_in_place,
    snapshot_read,
    snapshot_without,
    version_paths,
)
from dpgeo.datasets.storage import private_storage, remove, store, work_folder
from dpgeo.datasets.uploads import INGEST_TASK, upload_forget_raw
from dpgeo.datasets.versions import next_version, rows_of, version_files
from dpgeo.ingest.batch import Sieve
from dpgeo.ingest.report import Tally
from dpgeo.jobs.lease import JobLease
from dpgeo.jobs.services import job_create, job_wake
from dpgeo.phrases import Phrase


class DataChanged(Exception):
    """Raised if a newer version of the data became ready, from which the job then restarts."""


def person_erase(*, dataset: Dataset, person: str, by: User | None) -> Upload:
    """Queue a new version of the data without one person.

    `person` is the identifier as written in the uploaded files; only its keyed hash is stored. From
    now on, every upload rejects this person's rows. `by` is None if the operator calls this at the
    console. Raises NotAllowed, InvalidInput for an invalid identifier, or Conflict if the privacy
    unit is a record, if there are no data, or while a file is being read.
    """
    if by is not None and not may(by, dataset, "upload"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    if dataset.unit != Unit.PERSON:
        raise Conflict(
            "The rows of this dataset name no person; upload a file without the rows to be erased."
        )
    digest = _digest(dataset, person)
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        current = ready_upload(dataset)
        if current is None:
            raise Conflict("This dataset has no data.")
        if dataset.uploads.filter(state=UploadState.QUEUED).exists():
            raise Conflict("A file is being read; try again when that is done.")
        version = digest_erase(dataset=dataset, current=current, digest=digest, by=by)
        event_record(
            EventKind.ERASED, by=by, organisation=dataset.organisation_id, subject=dataset.slug
        )
        decision_record(ERASED, dataset=dataset.slug, person=digest.hex())
    return version


def digest_erase(*, dataset: Dataset, current: Upload, digest: bytes, by: User | None) -> Upload:
    """Queue a new version of the data without the person whose keyed hash is `digest`.

    `current` is the newest version so far.
    """
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
        invented=current.invented,
    )
    job_wake(job=job)
    return version


def person_readmit(*, dataset: Dataset, person: str, by: User | None) -> bool:
    """Let later uploads accept an erased person's rows again.

    This corrects an erasure in which the identifier was mistyped. Returns False if the person was
    not erased. Raises NotAllowed or InvalidInput.
    """
    if by is not None and not may(by, dataset, "upload"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    digest = _digest(dataset, person)
    with transaction.atomic():
        event_record(
            EventKind.READMITTED, by=by, organisation=dataset.organisation_id, subject=dataset.slug
        )
        readmitted = bool(dataset.suppressions.filter(person=digest).delete()[0])
        decision_record(READMITTED, dataset=dataset.slug, person=digest.hex())
    return readmitted


def erase(upload: Upload, lease: JobLease) -> None:
    """Write a version of the newest data without the person, then delete all older versions."""
    lease.step(Phrase("Reading rows"))
    current = ready_upload(upload.dataset)
    if current is None or upload.erasing is None:
        raise Conflict("This dataset has no data.")
    # All who were ever erased are left out, since an earlier erasure may have failed.
    persons = {bytes(upload.erasing)}
    persons |= set(map(bytes, upload.dataset.suppressions.values_list("person", flat=True)))
    facts = _leave_out(current, persons, lease)
    try:
        with transaction.atomic():
            old = _replace(upload, current, lease, **facts)
    except BaseException:
        remove(private_storage(), facts["canonical_name"])
        raise
    for each in old:
        remove(private_storage(), each)


def _leave_out(current: Upload, persons: Set[bytes], lease: JobLease) -> dict[str, Any]:
    """Return what to store with the version that leaves persons out.

    Its canonical file is stored if the files of the `current` version are.
    """
    source = snapshot_without(current, persons) if current.source else None
    name = ""
    with work_folder() as folder:
        target = folder / "canonical.parquet"
        if source and is_in_place(current):
            taken = snapshot_read(current.dataset, source, lease, target)
            copied, source = taken.report.accepted, taken.snapshot
        else:
            with version_paths(current, lease) as paths:
                copied = _copy_without(paths, target, persons, lease)
            if not version_files(current).filter(canonical_name="").exists():
                lease.step(Phrase("Storing"))
                name = f"canonical/{secrets.token_hex(16)}.parquet"
                name = store(private_storage(), name, target)
    erased = max(0, rows_of(current) - copied)
    report = {"read": copied, "accepted": copied, "refused": {}, "examples": [], "erased": erased}
    stored = source.to_json() if source else {}
    return {"canonical_name": name, "report": report, "source": stored}


def _replace(upload: Upload, current: Upload, lease: JobLease, **result: Any) -> list[str]:
    """Replace all older versions with the new one, and return their canonical files' names.

    Releases without a committed draw then use the new version, which has the old rows except the
    person's. A draw that was made from the old rows but not committed is not used
    (`releases.blobs`). `result` holds the fields to store with the new version.
    """
    dataset = upload.dataset
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    if ready_upload(dataset) != current:
        raise DataChanged
    lease.step(Phrase("Deleting older versions"))
    waiting = Upload.objects.filter(pk=upload.pk, state=UploadState.QUEUED, job_id=lease.job_id)
    result["version"] = next_version(dataset)
    if not waiting.update(**result, state=UploadState.READY, erasing=None):
        raise DataChanged
    older = dataset.uploads.filter(created_at__lte=upload.created_at) | dataset.uploads.filter(
        state=UploadState.READY
    )
    # Leave other queued uploads that erase a person as they are, since their jobs run after this
    # one. There are such uploads only after a restore.
    older = older.exclude(pk=upload.pk).exclude(state=UploadState.QUEUED, erasing__isnull=False)
    names = list(older.exclude(canonical_name="").values_list("canonical_name", flat=True))
    dataset.releases.filter(blob_name="").update(upload=upload)
    transaction.on_commit(
        lambda: upload_forget_raw(uploads=dataset.uploads.filter(state=UploadState.ERASED))
    )
    gone: dict[str, Any] = {"state": UploadState.ERASED, "canonical_name": "", "report": None}
    gone |= {"source": {}, "erasing": None}
    # Keep the checksum of a file that was added to the data, so that the same file is not added
    # again.
    older.filter(version__gt=0).update(**gone)
    older.filter(version=0).update(**gone, checksum=None)
    return names


def _digest(dataset: Dataset, person: str) -> bytes:
    """Return the keyed hash of an identifier, as ingestion computes it.

    Raises InvalidInput if the identifier is invalid, or Conflict if the hashing key is missing.
    """
    import pyarrow as pa

    from dpgeo.ingest.persons import hash_persons

    tally = Tally()
    sieve = Sieve(np.ones(1, dtype=np.int64), tally)
    high, low = hash_persons(pa.array([person]), hashing_key(dataset), sieve)
    if tally.report().refused:
        raise InvalidInput("This is not an identifier of a person.", field="person")
    return int(high[0]).to_bytes(8, "big") + int(low[0]).to_bytes(8, "big")


def _copy_without(
    sources: Sequence[Path], target: Path, persons: Set[bytes], lease: JobLease
) -> int:
    """Copy canonical files into one, without the rows of persons; return the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpgeo.ingest.persons import erased_among

    copied = done = 0
    total = sum(pq.read_metadata(source).num_rows for source in sources)
    schema = pq.read_schema(sources[0])
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for source in sources:
            with pq.ParquetFile(source) as file:
                for batch in file.iter_batches():
                    high, low = (batch[f"person_{half}"].to_numpy() for half in ("high", "low"))
                    rest = batch.filter(pa.array(~erased_among(high, low, persons)))
                    writer.write_batch(rest)
                    copied += rest.num_rows
                    done += batch.num_rows
                    lease.step(Phrase("Reading rows"), done, total)
    return copied
