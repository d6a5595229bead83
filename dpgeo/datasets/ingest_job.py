"""The job of an upload, which either writes its canonical file or erases a person."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from dpgeo.core.errors import Conflict
from dpgeo.datasets.erasure import erase
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.row_schema import confirmed_columns, schema_of
from dpgeo.datasets.same_people import Comparison, file_checksum
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.snapshots import READING, snapshot_take
from dpgeo.datasets.storage import local_path, private_storage, remove, store, work_folder
from dpgeo.datasets.uploads import upload_forget_raw
from dpgeo.datasets.versions import next_version
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.report import Report
from dpgeo.jobs.lease import JobLease, ProgressCallback, job_run
from dpgeo.phrases import Phrase

Facts = dict[str, Any]
"""Fields to store with an upload, by name."""


def upload_ingest(*, upload_id: UUID, on_progress: ProgressCallback | None = None) -> bool:
    """Run an upload's job, which is an ingestion or an erasure.

    Returns False if another process holds the lease on the job.
    """
    upload = Upload.objects.select_related("dataset").get(pk=upload_id)
    if upload.job_id is None:
        raise Conflict("Confirm the columns of this upload first.")

    def work(lease: JobLease) -> None:
        upload.refresh_from_db()
        if upload.canonical_name:
            _finish(upload)
        elif upload.erasing is not None:
            erase(upload, lease)
        elif upload.state != UploadState.READY:
            _ingest(upload, lease)

    return job_run(job_id=upload.job_id, work=work, on_progress=on_progress)


def _finish(upload: Upload) -> None:
    """Delete the original file after it was read, unless the dataset keeps its files.

    A dataset from which somebody was erased keeps no files, since a file may name that person even
    in a row that could not be read. If the job is interrupted here, its next attempt continues
    here.
    """
    dataset = upload.dataset
    if not dataset.keep_raw or dataset.suppressions.exists():
        upload_forget_raw(uploads=Upload.objects.filter(pk=upload.pk))


def _ingest(upload: Upload, lease: JobLease) -> None:
    """Write the canonical file of an upload, and store it if its rows may be copied."""
    lease.step(READING)
    storage = private_storage()
    before = ready_upload(upload.dataset)
    with work_folder() as folder:
        target = folder / "canonical.parquet"
        read = _read_source if upload.source else _read_file
        is_copied, report, facts = read(upload, target, lease)
        comparison = Comparison(upload, target, lease)
        comparison.compare(comparison.missing(), report.accepted)
        name = ""
        if is_copied:
            lease.step(Phrase("Storing"))
            name = store(storage, f"canonical/{secrets.token_hex(16)}.parquet", target)
        facts |= {"canonical_name": name, "report": report.to_json(), "checksum": upload.checksum}
        try:
            while not (updated := _make_ready(upload, lease, comparison, facts, before)):
                if updated is None:
                    remove(storage, name)
                    return
                with local_path(storage, name) if name else nullcontext(target) as stored:
                    comparison.moved_to(stored)
                    comparison.compare(comparison.missing(), report.accepted)
        except Conflict:
            remove(storage, name)
            raise
    _finish(upload)


def _read_file(upload: Upload, target: Path, lease: JobLease) -> tuple[bool, Report, Facts]:
    """Read an uploaded file into a canonical one, and compute its checksum.

    Returns that the canonical file is to be stored, the report, and facts to store with the upload.
    """
    dataset = upload.dataset
    schema = replace(schema_of(dataset, confirmed_columns(upload)), closed=closed_times(dataset))
    with local_path(private_storage(), upload.raw_name) as source:
        upload.checksum = file_checksum(source, dataset)
        check_new(upload)
        report = ingest(
            source,
            upload.file_name,
            schema,
            hashing_key(dataset),
            target,
            lambda done, total: lease.step(READING, done, total),
            [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)],
        )
    return True, report, {}


def _read_source(upload: Upload, target: Path, lease: JobLease) -> tuple[bool, Report, Facts]:
    """Read a registered folder or table, as `_read_file` reads a file."""
    taken = snapshot_take(upload, closed_times(upload.dataset), lease, target)
    upload.checksum = taken.checksum
    return taken.is_copied, taken.report, {"source": taken.snapshot.to_json()}


def closed_times(dataset: Dataset) -> tuple[tuple[int, int], ...]:
    """Return the times, in seconds, of the closed periods of a dataset's open series.

    Rows of these times are refused, because they arrive too late. There are no such times if a
    further file replaces the data, since that file repeats the rows of earlier ones.

    Privacy argument. Whether a row is refused depends on its own time, and on the periods that the
    owner declared and reported as complete. It does not depend on which maps are already drawn,
    which API keys learn only later. API keys do not see the report either.
    """
    if not dataset.grows:
        return ()
    closed = [each.closed for each in dataset.series.filter(ended_at=None)]
    return tuple(window.seconds(dataset.time_zone) for window in closed if window)


def check_new(upload: Upload) -> None:
    """Raise Conflict if the same bytes were added to the dataset before.

    This applies to datasets to which files are added. Added twice, the file would count every visit
    twice, for good: an erasure removes only one person's rows. A file sent by an API key is
    compared only with files from the same key: the key sees whether a file was refused, and could
    otherwise find out whether somebody else added the very rows that it guesses.
    """
    if not upload.dataset.grows or upload.checksum is None:
        return
    others = upload.dataset.uploads.filter(version__gt=0).exclude(pk=upload.pk)
    if upload.key_id is not None:
        others = others.filter(key_id=upload.key_id)
    if others.filter(checksum=upload.checksum).exists():
        raise Conflict("This file was added to the data before; choose another.")


def _make_ready(
    upload: Upload,
    lease: JobLease,
    comparison: Comparison,
    facts: Facts,
    before: Upload | None,
) -> bool | None:
    """Mark an upload as ready, and store its warnings.

    Returns True when done. Returns False if other datasets' files became ready in the meantime and
    must be compared first, or None if another worker or an erasure was faster. `before` is the
    newest version when reading began. Raises Conflict if the same file, or anything of the same
    folder or table, was added in the meantime.
    """
    with transaction.atomic():
        comparison.lock()
        if comparison.missing():
            return False
        dataset = Dataset.objects.select_for_update().get(pk=upload.dataset_id)
        check_new(upload)
        if upload.source and dataset.grows and ready_upload(dataset) != before:
            raise Conflict("Rows were added while these were read; have the data read again.")
        mine = Upload.objects.filter(
            pk=upload.pk, job_id=lease.job_id, canonical_name="", state=UploadState.QUEUED
        )
        ready = {"state": UploadState.READY, "version": next_version(dataset)}
        if not mine.update(**facts, **ready, preview=""):
            return None
        comparison.warn()
    return True
