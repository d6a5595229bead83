"""Writes on uploads: receive, confirm, ingest, forget. `services.py` has those on datasets."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dpgeo.accounts.models import User
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.datasets import declaration
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.storage import local_path, private_storage, remove, store, work_folder
from dpgeo.jobs.running import Held, Listener, job_run
from dpgeo.jobs.services import job_create, job_wake

if TYPE_CHECKING:
    from dpgeo.ingest.preview import Preview
    from dpgeo.ingest.schema import Columns, Schema

INGEST_TASK = "datasets.ingest"


def upload_receive(
    *,
    dataset: Dataset,
    file: BinaryIO | UploadedFile,
    file_name: str,
    created_by: User | None,
    upload_id: UUID | None = None,
) -> Upload:
    """Stream a file to the private storage under a name that nobody can guess.

    `upload_id` is the upload's, where it was told to the sender before. Raises InvalidInput, and
    keeps nothing, if the file is empty or too large.
    """
    storage = private_storage()
    name = f"uploads/{secrets.token_hex(16)}"
    try:
        stored = storage.save(name, _within_limit(file, name))
        size = storage.size(stored)
        if size == 0:
            raise InvalidInput("The file is empty; choose another.", field="file")
    except BaseException:
        remove(storage, name)
        raise
    return Upload.objects.create(
        id=upload_id or uuid.uuid4(),
        dataset=dataset,
        file_name=declaration.clean_file_name(file_name),
        size=size,
        raw_name=stored,
        created_by=created_by,
    )


def upload_preview(*, upload: Upload) -> Preview:
    """The head of an upload with suggested columns, for its owner alone. Raises InvalidInput."""
    from dpgeo.ingest.preview import preview

    if not upload.raw_name:
        raise Conflict("The uploaded file was deleted, as this dataset's owner chose.")
    with local_path(private_storage(), upload.raw_name) as path:
        return preview(path, upload.file_name, upload.dataset.area)


def upload_confirm(*, upload: Upload, columns: Columns, confirmed_by: User | None) -> Upload:
    """Accept an upload with its columns, and queue its ingestion.

    The first confirmation of a dataset freezes its declared facts and columns. Raises
    InvalidInput for a column that the file has not, Conflict for columns other than the frozen
    ones and for an upload that is on its way already.
    """
    dataset = upload.dataset
    _check_columns(dataset, upload, columns)
    declared = columns.to_json()
    with transaction.atomic():
        if dataset.uploads.filter(erasing__isnull=False, state=UploadState.QUEUED).exists():
            raise Conflict("A person is being erased from this dataset; confirm when that is done.")
        _freeze(dataset, declared)
        job = job_create(task=INGEST_TASK)
        waiting = (UploadState.RECEIVED, UploadState.FAILED)
        confirmed = Upload.objects.filter(pk=upload.pk, state__in=waiting).update(
            state=UploadState.QUEUED, job=job
        )
        if not confirmed:
            raise Conflict("This upload is confirmed already.")
        job_wake(job=job)
    upload.refresh_from_db()
    return upload


def upload_ingest(*, upload_id: UUID, listener: Listener | None = None) -> bool:
    """Write the canonical file of a confirmed upload. False when its job was not to be had."""
    upload = Upload.objects.select_related("dataset").get(pk=upload_id)
    if upload.job_id is None:
        raise Conflict("Confirm the columns of this upload first.")
    from dpgeo.datasets.erasure import erase

    work = _ingest if upload.erasing is None else erase
    return job_run(job_id=upload.job_id, work=lambda held: work(upload, held), listener=listener)


def _ingest(upload: Upload, held: Held) -> None:
    from dpgeo.ingest.reading import ingest
    from dpgeo.ingest.schema import Columns

    dataset = upload.dataset
    schema = _schema(dataset, Columns.from_json(dataset.columns))
    storage = private_storage()
    held.step("Reading rows")
    with local_path(storage, upload.raw_name) as source, work_folder() as folder:
        target = folder / "canonical.parquet"
        report = ingest(
            source,
            upload.file_name,
            schema,
            bytes(dataset.person_key),
            target,
            lambda done, total: held.step("Reading rows", done, total),
        )
        held.step("Storing")
        name = store(storage, f"canonical/{secrets.token_hex(16)}.parquet", target)
    kept = Upload.objects.filter(pk=upload.pk, job_id=held.job_id, canonical_name="").update(
        canonical_name=name, report=report.to_json(), state=UploadState.READY
    )
    if not kept:
        remove(storage, name)
    elif not dataset.keep_raw:
        upload_forget_raw(uploads=Upload.objects.filter(pk=upload.pk))


def upload_forget_raw(*, uploads: QuerySet[Upload]) -> None:
    """Delete the uploaded files as they came; what was read from them stays.

    The rows forget first: a file that is left after a kill is swept by the reaper.
    """
    names = list(uploads.exclude(raw_name="").values_list("raw_name", flat=True))
    uploads.update(raw_name="")
    for name in names:
        remove(private_storage(), name)


def upload_mark_failed(*, job_id: UUID) -> None:
    """An ingestion ended without a canonical file; the upload may be confirmed again."""
    Upload.objects.filter(job_id=job_id, state=UploadState.QUEUED).update(state=UploadState.FAILED)


def _within_limit(file: Any, name: str) -> File:  # type: ignore[type-arg]
    """The file, to be moved where a browser's upload lies on this disk already."""
    if not isinstance(file, TemporaryUploadedFile):
        return _Limited(file, name=name)
    _check_size(file.size or 0)
    return file


def _check_size(size: int) -> None:
    """Raise InvalidInput beyond the largest upload."""
    limit = settings.DPGEO_MAX_UPLOAD_BYTES
    if size > limit:
        raise InvalidInput(
            f"The file is larger than the {limit / 1e9:g} GB allowed here; split it, or "
            "compress it as Parquet.",
            field="file",
        )


class _Limited(File):  # type: ignore[type-arg]
    """A file that stops being read once it is larger than an upload may be."""

    def __init__(self, file: Any, name: str) -> None:
        super().__init__(file, name=name)
        self._file = file

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """The file's bytes. Raises InvalidInput beyond the limit."""
        seen = 0
        while chunk := self._file.read(chunk_size or 1 << 20):
            seen += len(chunk)
            _check_size(seen)
            yield chunk


def _schema(dataset: Dataset, columns: Columns) -> Schema:
    """All that a row's meaning depends on. Raises InvalidInput for unusable columns."""
    from dpgeo.ingest.schema import Schema

    return Schema(
        columns=columns,
        unit=Unit(dataset.unit),
        area=dataset.area,
        time_zone=dataset.time_zone,
    )


def _check_columns(dataset: Dataset, upload: Upload, columns: Columns) -> None:
    """The columns fit the unit of privacy and the file. Raises InvalidInput.

    In a format whose first rows do not show all columns, a name is checked against those rows
    only while it is still to be chosen: what is fixed may not depend on which rows come first.
    """
    wanted = _schema(dataset, columns).wanted
    seen = upload_preview(upload=upload)
    present = seen.columns
    if not seen.complete and dataset.frozen_at:
        return
    for role, name in wanted.items():
        if name not in present:
            raise InvalidInput(
                f"The file has no column {name!r}; it has {', '.join(present[:20])}.",
                field=f"columns.{role}",
            )


def _freeze(dataset: Dataset, declared: dict[str, Any]) -> None:
    """Fix the columns with the first confirmation. Raises Conflict if others are fixed."""
    from dpgeo.ingest.schema import Columns

    Dataset.objects.filter(pk=dataset.pk, frozen_at__isnull=True).update(
        frozen_at=timezone.now(), columns=declared
    )
    dataset.refresh_from_db()
    if Columns.from_json(dataset.columns) != Columns.from_json(declared):
        fixed = ", ".join(
            f"{name} = {column}" for name, column in dataset.columns.items() if column
        )
        raise Conflict(
            f"The columns were fixed by the first upload ({fixed}); rename those of this file.",
            field="columns",
        )
