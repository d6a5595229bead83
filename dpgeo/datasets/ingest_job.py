"""The job of an upload, which writes its canonical file or erases a person."""

from __future__ import annotations

import secrets
from uuid import UUID

from dpgeo.core.errors import Conflict
from dpgeo.datasets.erasure import erase
from dpgeo.datasets.models import Upload, UploadState
from dpgeo.datasets.person_keys import unseal
from dpgeo.datasets.storage import local_path, private_storage, remove, store, work_folder
from dpgeo.datasets.uploads import schema_of, upload_forget_raw
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.lease import JobLease, ProgressCallback, job_run
from dpgeo.phrases import Phrase


def upload_ingest(*, upload_id: UUID, on_progress: ProgressCallback | None = None) -> bool:
    """Run an upload's job, ingestion or erasure; False if another process leases it."""
    upload = Upload.objects.select_related("dataset").get(pk=upload_id)
    if upload.job_id is None:
        raise Conflict("Confirm the columns of this upload first.")

    def work(lease: JobLease) -> None:
        upload.refresh_from_db()
        if upload.canonical_name:
            _finish(upload)
        elif upload.erasing is None:
            _ingest(upload, lease)
        else:
            erase(upload, lease)

    return job_run(job_id=upload.job_id, work=work, on_progress=on_progress)


def _finish(upload: Upload) -> None:
    """Delete the original file once it was read, unless it is to be kept.

    A dataset from which somebody was erased keeps none, since a file may name that person even in a
    row that could not be read. If the job is interrupted here, its next attempt continues here.
    """
    dataset = upload.dataset
    if not dataset.keep_raw or dataset.suppressions.exists():
        upload_forget_raw(uploads=Upload.objects.filter(pk=upload.pk))


def _ingest(upload: Upload, lease: JobLease) -> None:
    dataset = upload.dataset
    schema = schema_of(dataset, Columns.from_json(dataset.columns))
    storage = private_storage()
    lease.step(Phrase("Reading rows"))
    with local_path(storage, upload.raw_name) as source, work_folder() as folder:
        target = folder / "canonical.parquet"
        report = ingest(
            source,
            upload.file_name,
            schema,
            unseal(bytes(dataset.sealed_person_key)),
            target,
            lambda done, total: lease.step(Phrase("Reading rows"), done, total),
            [bytes(one) for one in dataset.suppressions.values_list("person", flat=True)],
        )
        lease.step(Phrase("Storing"))
        name = store(storage, f"canonical/{secrets.token_hex(16)}.parquet", target)
    updated = Upload.objects.filter(pk=upload.pk, job_id=lease.job_id, canonical_name="").update(
        canonical_name=name, report=report.to_json(), state=UploadState.READY, preview=""
    )
    if not updated:
        remove(storage, name)
    else:
        _finish(upload)
