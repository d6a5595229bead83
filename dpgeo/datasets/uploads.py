"""Writes on uploads: receive, preview, confirm and delete."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, BinaryIO
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dpgeo.accounts.models import ApiKey, User
from dpgeo.accounts.selectors import may
from dpgeo.budgets.models import Ledger
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets import declaration
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.preview_slots import preview_slot
from dpgeo.datasets.same_people import count_confirmation, people_ask
from dpgeo.datasets.selectors import rests_on_columns
from dpgeo.datasets.storage import local_path, private_storage, remove, work_folder
from dpgeo.ingest.context import Context
from dpgeo.ingest.preview import Preview, preview
from dpgeo.ingest.schema import Columns, Role, Schema, field_of
from dpgeo.ingest.understanding import Understanding
from dpgeo.jobs.services import job_create, job_wake
from dpgeo.phrases import Phrase, listed

INGEST_TASK = "datasets.ingest"

WAITING = (UploadState.RECEIVED, UploadState.FAILED)
"""States in which an upload's columns can be confirmed."""


def upload_receive(
    *,
    dataset: Dataset,
    file: BinaryIO | UploadedFile,
    file_name: str,
    created_by: User | None,
    upload_id: UUID | None = None,
    key: ApiKey | None = None,
) -> Upload:
    """Stream a file to the private storage under an unguessable name.

    `upload_id` is the upload's id if the sender knows it already, and `key` the API key that
    announced the file, if any. Raises InvalidInput, and stores nothing, if the file is empty or too
    large; IntegrityError if the upload exists.
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
            record_first_upload(dataset.pk)
            return Upload.objects.create(
                id=upload_id or uuid.uuid4(),
                dataset=dataset,
                file_name=clean_name,
                size=size,
                raw_name=stored,
                created_by=created_by,
                key=key,
            )
    except IntegrityError:
        remove(storage, stored)
        raise


def record_first_upload(dataset_id: int) -> None:
    """Keep the moment of a dataset's first bytes: what is declared later may follow the data.

    The update locks the row until the transaction ends: whatever is being declared comes before or
    after.
    """
    first = Dataset.objects.filter(pk=dataset_id, first_upload_at=None)
    first.update(first_upload_at=timezone.now())


def upload_preview(*, upload: Upload) -> Preview:
    """Return an upload's first rows and suggested columns, for its owner alone.

    The file is parsed once. An unreadable file sets the upload to failed and records the reason.
    Raises InvalidInput with that reason, and Conflict if the file was deleted or the machine is too
    busy.
    """
    if upload.preview:
        return Preview.from_json(json.loads(upload.preview))
    if upload.failure:
        raise InvalidInput(upload.failure, field="file")
    with preview_slot():
        upload.refresh_from_db()  # somebody else may have opened its page meanwhile
        return _look(upload)


def _look(upload: Upload) -> Preview:
    if upload.preview:
        return Preview.from_json(json.loads(upload.preview))
    if not upload.raw_name:
        raise Conflict("The uploaded file is not kept; upload it again.")
    try:
        with local_path(private_storage(), upload.raw_name) as path, work_folder() as folder:
            seen = preview(path, upload.file_name, trial_context(upload.dataset), folder)
    except InvalidInput as refusal:
        waiting = Upload.objects.filter(pk=upload.pk, state=UploadState.RECEIVED)
        waiting.update(state=UploadState.FAILED, failure=refusal.phrase)
        upload.refresh_from_db()
        raise
    upload.preview = json.dumps(seen.to_json())
    # Store no preview of a file that was ingested or deleted meanwhile.
    waiting = Upload.objects.filter(pk=upload.pk, state__in=WAITING).exclude(raw_name="")
    waiting.update(preview=upload.preview)
    return seen


def upload_understand(*, upload: Upload, columns: Columns | None = None) -> Understanding | None:
    """Return what was understood of an upload, for its owner alone.

    `columns` is a declaration to try; without one, it is the dataset's if its columns are fixed and
    this file has them all, and the likeliest one otherwise. Returns None if nothing can be tried.
    Raises InvalidInput for a file that cannot be read, or not with these columns; Conflict if the
    file was deleted or the machine is too busy.
    """
    seen = upload_preview(upload=upload)
    columns = columns or declared_columns(upload.dataset, seen)
    if columns is None or (seen.understanding and seen.understanding.columns == columns):
        return seen.understanding
    if not upload.raw_name:
        raise Conflict("The uploaded file is not kept; upload it again.")
    with (
        preview_slot(),
        local_path(private_storage(), upload.raw_name) as path,
        work_folder() as folder,
    ):
        context = trial_context(upload.dataset)
        return preview(path, upload.file_name, context, folder, columns).understanding


def declared_columns(dataset: Dataset, seen: Preview) -> Columns | None:
    """Return the dataset's columns if a file has all of them; None without any."""
    if not dataset.columns:
        return None
    columns = Columns.from_json(dataset.columns)
    names = {getattr(columns, role) for role in Role} - {""}
    return columns if names <= set(seen.columns) else None


def offered_columns(upload: Upload, seen: Preview) -> Columns:
    """Return the columns to offer: those confirmed, the dataset's if a file has them, or a guess.

    A guess keeps the dataset's person column where the file has it.
    """
    if upload.columns:
        return confirmed_columns(upload)
    guess = seen.understanding.columns if seen.understanding else seen.suggested
    person = Columns.from_json(upload.dataset.columns).person
    if person in seen.columns:
        guess = replace(guess, person=person)
    return declared_columns(upload.dataset, seen) or guess


def trial_context(dataset: Dataset) -> Context:
    """Return what a file is tried against, before it is declared.

    After an exchange, nothing compares the rows with an area that can still be fitted.
    """
    area = None if dataset.area_exchange and not dataset.frozen_at else dataset.area
    return Context(Unit(dataset.unit), area, dataset.time_zone)


def upload_look(*, upload: Upload) -> Upload:
    """Parse a new file at once, so that an unreadable one fails immediately.

    If the machine is too busy, the file is parsed when somebody next opens its page.
    """
    with suppress(InvalidInput, Conflict):
        upload_preview(upload=upload)
    return upload


def upload_confirm(*, upload: Upload, columns: Columns) -> Upload:
    """Accept an upload with its columns and queue its ingestion.

    The first confirmation freezes the dataset's declared facts. The columns may be confirmed again,
    and changed, until a release is requested. Raises InvalidInput for a column that is not in the
    file; Conflict if releases depend on other columns, or if the upload is queued or read already.
    """
    dataset = upload.dataset
    _check_columns(dataset, upload, columns)
    count_confirmation(upload)
    with transaction.atomic():
        if dataset.uploads.filter(erasing__isnull=False, state=UploadState.QUEUED).exists():
            raise Conflict("A person is being erased from this dataset; confirm when that is done.")
        outdated = _fix_columns(dataset, upload, columns)
        job = job_create(task=INGEST_TASK)
        open_again = WAITING if rests_on_columns(dataset) else (*WAITING, UploadState.READY)
        stored = Upload.objects.select_for_update().get(pk=upload.pk)
        confirmed = Upload.objects.filter(pk=upload.pk, state__in=open_again).update(
            state=UploadState.QUEUED,
            job=job,
            canonical_name="",
            report=None,
            columns=columns.to_json(),
        )
        if not confirmed:
            raise Conflict("This upload is confirmed already.")
        job_wake(job=job)
    for name in (*outdated, stored.canonical_name):
        remove(private_storage(), name)
    upload.refresh_from_db()
    return upload


def upload_retry(*, upload: Upload) -> Upload:
    """Read a file again whose job has failed, with the columns confirmed before.

    Repeating it changes nothing. Raises Conflict if no columns are confirmed or the file is gone.
    """
    if upload.job_id is None:
        raise Conflict("Confirm the columns of this upload first.")
    if upload.state != UploadState.FAILED:
        return upload
    if not upload.raw_name:
        raise Conflict("The uploaded file is not kept; upload it again.")
    try:
        return upload_confirm(upload=upload, columns=confirmed_columns(upload))
    except Conflict:
        upload.refresh_from_db()
        if upload.state == UploadState.FAILED:
            raise
        return upload  # the same request came twice at the same moment


def upload_discard(*, upload: Upload, by: User | None) -> None:
    """Delete an unused upload and its file. `by` is None at the console.

    Raises NotAllowed, and Conflict if the upload is being read or was read.
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
    """Delete the original files of uploads; their canonical files stay.

    The rows are updated first: if the process is killed, the reaper deletes the files.
    """
    names = list(uploads.exclude(raw_name="").values_list("raw_name", flat=True))
    uploads.update(raw_name="", preview="")
    for name in names:
        remove(private_storage(), name)


def uploads_forget_old_raw() -> int:
    """Delete original files that were kept, or not confirmed, for `DPGEO_RAW_DAYS` days.

    An upload that was not confirmed fails. Returns how many files were deleted.
    """
    days: int = settings.DPGEO_RAW_DAYS
    with transaction.atomic():
        old = Upload.objects.select_for_update().filter(
            created_at__lt=timezone.now() - timedelta(days=days)
        )
        old = old.exclude(raw_name="").exclude(state=UploadState.QUEUED)
        names = dict(old.values_list("pk", "raw_name"))
        stored = Upload.objects.filter(pk__in=names)
        stored.filter(state__in=WAITING).update(
            state=UploadState.FAILED,
            failure=Phrase(
                "It was not read within {days} days, so it was deleted; upload it again.", days=days
            ),
        )
        stored.update(raw_name="", preview="")
    for name in names.values():
        remove(private_storage(), name)
    return len(names)


def upload_mark_failed(*, job_id: UUID) -> None:
    """Mark an upload as failed after its job failed; it may be confirmed again."""
    Upload.objects.filter(job_id=job_id, state=UploadState.QUEUED).update(state=UploadState.FAILED)


def _within_limit(file: Any, name: str) -> File:  # type: ignore[type-arg]
    """Return a file that limits the bytes read; of a file on disk, check the size."""
    if not isinstance(file, TemporaryUploadedFile):
        return _Limited(file, name=name)
    _check_size(file.size or 0)
    return file


def _check_size(size: int) -> None:
    """Raise InvalidInput if a file is larger than the largest upload."""
    limit = settings.DPGEO_MAX_UPLOAD_BYTES
    if size > limit:
        raise InvalidInput(
            "The file is larger than the {size:g} GB allowed here; split it, or compress it as "
            "Parquet.",
            size=limit / 1e9,
            field="file",
        )


class _Limited(File):  # type: ignore[type-arg]
    """A file that raises InvalidInput when more is read than an upload may hold."""

    def __init__(self, file: Any, name: str) -> None:
        super().__init__(file, name=name)
        self._file = file
        self._seen = 0

    def seekable(self) -> bool:
        """Return False: the file is read once, from its beginning."""
        return False

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes, for an object store. Raises InvalidInput beyond the limit."""
        chunk: bytes = self._file.read(size)
        self._seen += len(chunk)
        _check_size(self._seen)
        return chunk

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """Yield the file's bytes. Raises InvalidInput beyond the limit."""
        while chunk := self.read(chunk_size or 1 << 20):
            yield chunk


def confirmed_columns(upload: Upload) -> Columns:
    """Return the columns under which a file is read: its own, else the dataset's."""
    return Columns.from_json(upload.columns or upload.dataset.columns)


def schema_of(dataset: Dataset, columns: Columns) -> Schema:
    """Return the schema, which determines the meaning of a row. Raises InvalidInput."""
    return Schema(
        columns=columns,
        unit=Unit(dataset.unit),
        area=dataset.area,
        time_zone=dataset.time_zone,
        attributes=dataset.attributes,
    )


def _check_columns(dataset: Dataset, upload: Upload, columns: Columns) -> None:
    """Raise InvalidInput unless the columns fit the privacy unit and the file.

    In some formats the first rows do not show all columns. Files in these formats are checked for
    the columns' names only until the dataset's declaration is frozen: afterwards, whether a file is
    accepted may not depend on which of its rows come first.
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
    """Fix the columns; return the outdated canonical files of other uploads.

    The ledgers of all notions are locked: a release is paid from one of them, so no release can
    start on the old columns meanwhile. Raises Conflict if releases depend on the columns, and while
    another file is being read.
    """
    its = Q(pk=dataset.ledger_id) | Q(beside=dataset.ledger_id)
    list(Ledger.objects.select_for_update().filter(its).order_by("pk"))
    stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
    outdated: list[str] = []
    others = stored.uploads.exclude(pk=upload.pk).exclude(columns={}, canonical_name="")
    if stored.frozen_at and others.exists() and _same_meaning(stored, upload, columns):
        Dataset.objects.filter(pk=dataset.pk).update(people_asked=people_ask(stored))
        dataset.refresh_from_db()
        return outdated
    if stored.frozen_at and Columns.from_json(stored.columns) != columns:
        if rests_on_columns(dataset):
            fixed = ", ".join(f"{role} = {name}" for role, name in stored.columns.items() if name)
            raise Conflict(
                "Releases use the columns of the first upload ({fixed}); rename those of this "
                "file.",
                fixed=fixed,
                field="columns",
            )
        outdated = _outdate(stored.uploads.exclude(pk=upload.pk))
    Dataset.objects.filter(pk=dataset.pk).update(
        frozen_at=stored.frozen_at or timezone.now(),
        columns=columns.to_json(),
        people_asked=people_ask(stored),
    )
    dataset.refresh_from_db()
    return outdated


def _same_meaning(dataset: Dataset, upload: Upload, columns: Columns) -> bool:
    """Whether a further file's columns hold what those of the first file do.

    The person's column is the same, for a ledger adds up what is known of the same persons. Any
    other column of the first file has its role here, too, if this file has it; if not, another
    takes its place. How values are written is each file's own. All of this is seen from the
    columns' names, and from no row.
    """
    first = Columns.from_json(dataset.columns)
    present = upload_preview(upload=upload)
    if first.person != columns.person or bool(first.time) != bool(columns.time):
        return False
    return present.complete and all(
        getattr(first, role) in {"", getattr(columns, role)}
        or getattr(first, role) not in present.columns
        for role in Role
    )


def _outdate(others: QuerySet[Upload]) -> list[str]:
    """Reset other uploads because the columns change; return their canonical files.

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
