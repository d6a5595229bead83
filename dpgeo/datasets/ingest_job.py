"""The job of an upload, which either writes its canonical file or erases a person."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import transaction

from dpgeo.core.errors import Conflict
from dpgeo.datasets.erasure import erase
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key
from dpgeo.datasets.row_schema import confirmed_columns, schema_of
from dpgeo.datasets.same_people import Comparison, file_checksum
from dpgeo.datasets.snapshots import snapshot_take
from dpgeo.datasets.storage import local_path, private_storage, remove, store, work_folder
from dpgeo.datasets.uploads import upload_forget_raw
from dpgeo.datasets.versions import next_version
from dpgeo.ingest.ingestion import ingest
from dpgeo.jobs.lease import JobLease, ProgressCallback, job_run
from dpgeo.phrases import Phrase


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
        elif not upload.source:
            _ingest(upload, lease)
        elif upload.state != UploadState.READY:
            _take(upload, lease)

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
    dataset = upload.dataset
    schema = replace(schema_of(dataset, confirmed_columns(upload)), closed=closed_times(dataset))
    storage = private_storage()
    lease.step(Phrase("Reading rows"))
    with local_path(storage, upload.raw_name) as source, work_folder() as folder:
        target = folder / "canonical.parquet"
        upload.checksum = file_checksum(source, dataset)
        check_new(upload)
        report = ingest(
            source,
            upload.file_name,
            schema,
            hashing_key(dataset),
            target,
            lambda done, total: lease.step(Phrase("Reading rows"), done, total),
            [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)],
        )
        comparison = Comparison(upload, target, lease)
        comparison.compare(comparison.missing(), report.accepted)
        lease.step(Phrase("Storing"))
        name = store(storage, f"canonical/{secrets.token_hex(16)}.parquet", target)
    facts = {"canonical_name": name, "report": report.to_json(), "checksum": upload.checksum}
    try:
        while not (updated := _make_ready(upload, lease, comparison, facts)):
            if updated is None:
                remove(storage, name)
                return
            with local_path(storage, name) as stored:
                comparison.moved_to(stored)
                comparison.compare(comparison.missing(), report.accepted)
    except Conflict:
        remove(storage, name)
        raise
    _finish(upload)


def _take(upload: Upload, lease: JobLease) -> None:
    """Record which files a registered folder has, and store a report on their rows."""
    lease.step(Phrase("Reading rows"))
    with work_folder() as folder:
        taken = snapshot_take(upload, closed_times(upload.dataset), lease, folder)
        upload.checksum = taken.checksum(upload.dataset)
        facts = {
            "source": taken.snapshot.to_json(),
            "report": taken.report.to_json(),
            "checksum": upload.checksum,
        }
        comparison = Comparison(upload, taken.people, lease)
        ready: bool | None = False
        while ready is False:
            comparison.compare(comparison.missing(), taken.report.accepted)
            ready = _make_ready(upload, lease, comparison, facts)


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
    if not upload.dataset.grows:
        return
    others = upload.dataset.uploads.filter(version__gt=0).exclude(pk=upload.pk)
    if upload.key_id is not None:
        others = others.filter(key_id=upload.key_id)
    if others.filter(checksum=upload.checksum).exists():
        raise Conflict("This file was added to the data before; choose another.")


def _make_ready(
    upload: Upload, lease: JobLease, comparison: Comparison, facts: dict[str, Any]
) -> bool | None:
    """Mark an upload as ready, and store its warnings.

    Returns True when done. Returns False if other datasets' files became ready in the meantime and
    must be compared first, or None if another worker or an erasure was faster. Raises Conflict if
    the same file was added in the meantime.
    """
    with transaction.atomic():
        comparison.lock()
        if comparison.missing():
            return False
        dataset = Dataset.objects.select_for_update().get(pk=upload.dataset_id)
        check_new(upload)
        mine = Upload.objects.filter(
            pk=upload.pk, job_id=lease.job_id, canonical_name="", state=UploadState.QUEUED
        )
        ready = {"state": UploadState.READY, "version": next_version(dataset)}
        if not mine.update(**facts, **ready, preview=""):
            return None
        comparison.warn()
    return True
