"""Writes on uploads: receive, confirm, ingest, forget. `services.py` has those on datasets."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.budgets.models import Ledger
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets import declaration
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.selectors import rests_on_columns
from dpgeo.datasets.storage import local_path, private_storage, remove, work_folder
from dpgeo.ingest.preview import Preview, preview
from dpgeo.ingest.schema import Columns, Schema, field_of
from dpgeo.jobs.services import job_create, job_wake
from dpgeo.phrases import listed

INGEST_TASK = "datasets.ingest"

WAITING = (UploadState.RECEIVED, UploadState.FAILED)
"""Uploads whose columns are to be confirmed, or that cannot be read."""


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
    keeps nothing, if the file is empty or too large; IntegrityError where that upload exists.
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
    clean_name = declaration.clean_file_name(file_name)
    try:
        with transaction.atomic():
            return Upload.objects.create(
                id=upload_id or uuid.uuid4(),
                dataset=dataset,
                file_name=clean_name,
                size=size,
                raw_name=stored,
                created_by=created_by,
            )
    except IntegrityError:
        remove(storage, stored)
        raise


def upload_preview(*, upload: Upload) -> Preview:
    """The head of an upload with suggested columns, for its owner alone.

    The file is looked at once. One that is no table has failed, with its reason on record.
    Raises InvalidInput with that reason, and Conflict where the file was deleted or the machine is
    too busy.
    """

    if upload.preview:
        return Preview.from_json(json.loads(upload.preview))
    if upload.failure:
        raise InvalidInput(upload.failure, field="file")
    if not upload.raw_name:
        raise Conflict("The uploaded file is not kept; upload it again.")
    try:
        with local_path(private_storage(), upload.raw_name) as path, work_folder() as folder:
            seen = preview(path, upload.file_name, upload.dataset.area, folder)
    except InvalidInput as refusal:
        waiting = Upload.objects.filter(pk=upload.pk, state=UploadState.RECEIVED)
        waiting.update(state=UploadState.FAILED, failure=refusal.phrase)
        upload.refresh_from_db()
        raise
    upload.preview = json.dumps(seen.to_json())
    # Nothing is kept of a file that was read or deleted meanwhile.
    waiting = Upload.objects.filter(pk=upload.pk, state__in=WAITING).exclude(raw_name="")
    waiting.update(preview=upload.preview)
    return seen


def upload_look(*, upload: Upload) -> Upload:
    """Look at a file that has just arrived, so that one which cannot be read fails at once.

    Where the machine is too busy for that, whoever opens it next looks again.
    """
    with suppress(InvalidInput, Conflict):
        upload_preview(upload=upload)
    return upload


def upload_confirm(*, upload: Upload, columns: Columns, confirmed_by: User | None) -> Upload:
    """Accept an upload with its columns, and queue its ingestion.

    The first confirmation of a dataset freezes its declared facts. Its columns may be confirmed
    anew, other ones too, until a release is requested. Raises InvalidInput for a column that the
    file has not, Conflict for columns other than those releases rest on and for an upload that is
    on its way already.
    """
    dataset = upload.dataset
    _check_columns(dataset, upload, columns)
    with transaction.atomic():
        if dataset.uploads.filter(erasing__isnull=False, state=UploadState.QUEUED).exists():
            raise Conflict("A person is being erased from this dataset; confirm when that is done.")
        outdated = _fix_columns(dataset, upload, columns)
        job = job_create(task=INGEST_TASK)
        open_again = WAITING if rests_on_columns(dataset) else (*WAITING, UploadState.READY)
        stored = Upload.objects.select_for_update().get(pk=upload.pk)
        confirmed = Upload.objects.filter(pk=upload.pk, state__in=open_again).update(
            state=UploadState.QUEUED, job=job, canonical_name="", report=None
        )
        if not confirmed:
            raise Conflict("This upload is confirmed already.")
        job_wake(job=job)
    for name in (*outdated, stored.canonical_name):
        remove(private_storage(), name)
    upload.refresh_from_db()
    return upload


def upload_discard(*, upload: Upload, by: User | None) -> None:
    """Delete an upload that nothing was made from, with its file. `by` is None at the console.

    Raises NotAllowed, and Conflict for one that is read or was.
    """
    if by is not None and not may(by, upload.dataset, "upload"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    unused = Upload.objects.filter(
        pk=upload.pk, state__in=WAITING, canonical_name="", releases__isnull=True
    )
    with transaction.atomic():
        stored = unused.select_for_update(of=("self",)).first()
        if stored is None:
            raise Conflict("This upload is being read or was read; it stays on record.")
        stored.delete()
    remove(private_storage(), stored.raw_name)


def upload_forget_raw(*, uploads: QuerySet[Upload]) -> None:
    """Delete the uploaded files as they came; what was read from them stays.

    The rows forget first: a file that is left after a kill is swept by the reaper.
    """
    names = list(uploads.exclude(raw_name="").values_list("raw_name", flat=True))
    uploads.update(raw_name="", preview="")
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
            "The file is larger than the {size:g} GB allowed here; split it, or compress it as "
            "Parquet.",
            size=limit / 1e9,
            field="file",
        )


class _Limited(File):  # type: ignore[type-arg]
    """A file that stops being read once it is larger than an upload may be."""

    def __init__(self, file: Any, name: str) -> None:
        super().__init__(file, name=name)
        self._file = file
        self._seen = 0

    def seekable(self) -> bool:
        """No: it is read once, from its beginning."""
        return False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, for an object store. Raises InvalidInput beyond the limit."""
        chunk: bytes = self._file.read(size)
        self._seen += len(chunk)
        _check_size(self._seen)
        return chunk

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """The file's bytes, for a folder. Raises InvalidInput beyond the limit."""
        while chunk := self.read(chunk_size or 1 << 20):
            yield chunk


def schema_of(dataset: Dataset, columns: Columns) -> Schema:
    """All that a row's meaning depends on. Raises InvalidInput for unusable columns."""

    return Schema(
        columns=columns,
        unit=Unit(dataset.unit),
        area=dataset.area,
        time_zone=dataset.time_zone,
        attributes=dataset.attributes,
    )


def _check_columns(dataset: Dataset, upload: Upload, columns: Columns) -> None:
    """The columns fit the unit of privacy and the file. Raises InvalidInput.

    In a format whose first rows do not show all columns, a name is checked against those rows
    only while it is still to be chosen: what is fixed may not depend on which rows come first.
    """

    wanted = schema_of(dataset, columns).wanted
    seen = upload_preview(upload=upload)
    present = seen.columns
    if not seen.complete and dataset.frozen_at:
        return
    for role, name in wanted.items():
        if name not in present:
            raise InvalidInput(
                "The file has no column {name!r}; it has {columns}.",
                name=name,
                columns=listed(present[:20]),
                field=field_of(role),
            )


def _fix_columns(dataset: Dataset, upload: Upload, columns: Columns) -> list[str]:
    """Fix the columns; the names of canonical files that were read by others, to be deleted.

    The ledgers of all notions are locked: a release is paid for on one of them, so that none begins
    to rest on the old columns while they change. Raises Conflict where releases do, and while
    another file is being read.
    """

    its = Q(pk=dataset.ledger_id) | Q(beside=dataset.ledger_id)
    list(Ledger.objects.select_for_update().filter(its).order_by("pk"))
    stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
    outdated: list[str] = []
    if stored.frozen_at and Columns.from_json(stored.columns) != columns:
        if rests_on_columns(dataset):
            fixed = ", ".join(f"{role} = {name}" for role, name in stored.columns.items() if name)
            raise Conflict(
                "Releases rest on the columns of the first upload ({fixed}); rename those of "
                "this file.",
                fixed=fixed,
                field="columns",
            )
        outdated = _outdate(stored.uploads.exclude(pk=upload.pk))
    Dataset.objects.filter(pk=dataset.pk).update(
        frozen_at=stored.frozen_at or timezone.now(), columns=columns.to_json()
    )
    dataset.refresh_from_db()
    return outdated


def _outdate(others: QuerySet[Upload]) -> list[str]:
    """Have other uploads confirmed anew because the columns change; their canonical files.

    Raises Conflict while one of them is being read.
    """
    if others.filter(state=UploadState.QUEUED).exists():
        raise Conflict("Another file is being read; change the columns when that is done.")
    ready = others.filter(state=UploadState.READY)
    names = list(ready.values_list("canonical_name", flat=True))
    none: dict[str, Any] = {"canonical_name": "", "report": None, "job": None}
    ready.filter(raw_name="").update(
        **none,
        state=UploadState.FAILED,
        failure="Its columns were changed and its file is not kept; upload it again.",
    )
    ready.update(**none, state=UploadState.RECEIVED)
    return names
