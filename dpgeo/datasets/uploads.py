"""Services that receive, confirm, retry and delete uploads."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from dpgeo.accounts.models import ApiKey, User
from dpgeo.accounts.selectors import may
from dpgeo.budgets.merging import ledgers_lock
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets import texts
from dpgeo.datasets.layers import with_regions
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.previews import (
    WAITING,
    check_kept,
    declared_columns,
    header_format,
    upload_preview,
)
from dpgeo.datasets.quotas import check_room, count_job
from dpgeo.datasets.row_schema import confirmed_columns, schema_of
from dpgeo.datasets.same_people import count_confirmation, people_ask
from dpgeo.datasets.selectors import rests_on_columns
from dpgeo.datasets.size_limit import within_limit
from dpgeo.datasets.storage import private_storage, remove
from dpgeo.ingest.forms import find_form, fits_name, form_by_name
from dpgeo.ingest.layout import unnamed_columns
from dpgeo.ingest.preview import Preview
from dpgeo.ingest.schema import Columns, Role, field_of
from dpgeo.jobs.services import job_create, job_wake
from dpgeo.phrases import Phrase, listed

INGEST_TASK = "datasets.ingest"


def upload_receive(
    *,
    dataset: Dataset,
    file: BinaryIO | UploadedFile,
    file_name: str,
    created_by: User | None,
    upload_id: UUID | None = None,
    key: ApiKey | None = None,
    invented: bool = False,
) -> Upload:
    """Stream a file to the private storage under an unguessable name.

    `upload_id` is the upload's id if the sender already knows it, and `key` the API key with which
    the file is sent, if any. `invented` marks a file about invented people. Raises InvalidInput if
    the file is empty or too large, Conflict if the organisation may keep no further file, or
    IntegrityError if the upload exists; nothing is stored then.
    """
    storage = private_storage()
    name = f"uploads/{secrets.token_hex(16)}"
    try:
        stored = storage.save(name, within_limit(file, name))
        size = storage.size(stored)
        if size == 0:
            raise InvalidInput("The file is empty; choose another.", field="file")
    except BaseException:
        remove(storage, name)
        raise
    clean_name = texts.clean_file_name(file_name)
    try:
        with transaction.atomic():
            check_room(dataset.organisation_id, size, but=upload_id)
            record_first_upload(dataset.pk)
            return Upload.objects.create(
                id=upload_id or uuid.uuid4(),
                dataset=dataset,
                file_name=clean_name,
                size=size,
                raw_name=stored,
                created_by=created_by,
                key=key,
                invented=invented,
            )
    except (Conflict, IntegrityError):
        remove(storage, stored)
        raise


def record_first_upload(dataset_id: int) -> None:
    """Record when the first bytes of a dataset arrived.

    Anything declared later may have been fitted to the data. The update locks the row until the
    transaction ends, so a concurrent declaration comes either before or after it.
    """
    first = Dataset.objects.filter(pk=dataset_id, first_upload_at=None)
    first.update(first_upload_at=timezone.now())


def offered_columns(upload: Upload, seen: Preview) -> Columns:
    """Return the columns to propose for confirmation: the upload's or dataset's, or else a guess.

    The dataset's columns are proposed if the file has them. A guess uses the dataset's person
    column if the file has it.
    """
    if upload.columns:
        return confirmed_columns(upload)
    guess = seen.understanding.columns if seen.understanding else seen.suggested
    person = Columns.from_json(upload.dataset.columns).person
    if person in seen.columns:
        guess = replace(guess, person=person)
    return declared_columns(upload.dataset, seen) or guess


def upload_confirm(*, upload: Upload, columns: Columns, by_key: bool = False) -> Upload:
    """Accept an upload with its columns and queue its ingestion.

    Columns without a format get the one that the file's name indicates. The first confirmation
    freezes the dataset's declared facts. The columns may be confirmed again, and changed, until a
    release is requested. `by_key` is whether an API key confirms them; a key learns nothing about
    the rows. Raises InvalidInput for a column that is not in the file. Raises Conflict if the
    upload is queued, or read and no longer changeable; if releases depend on other columns; or if
    invented people would be added to real ones.
    """
    dataset = upload.dataset
    open_again = WAITING if rests_on_columns(dataset) else (*WAITING, UploadState.READY)
    if upload.state not in open_again:
        raise Conflict("This upload is confirmed already.")
    check_kept(upload)
    columns = with_regions(dataset, with_format(upload, columns, by_key=by_key))
    _check_columns(dataset, upload, columns, by_key)
    count_confirmation(upload)
    count_job(dataset.organisation, upload.created_by)
    with transaction.atomic():
        if dataset.uploads.filter(erasing__isnull=False, state=UploadState.QUEUED).exists():
            raise Conflict("A person is being erased from this dataset; confirm when that is done.")
        outdated = _fix_columns(dataset, upload, columns, by_key)
        _check_invented(dataset, upload)
        _check_origin(dataset, upload)
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


def with_format(upload: Upload, columns: Columns, *, by_key: bool = False) -> Columns:
    """Return columns with the file's format: the declared one, or else that of the file's name.

    The file's content has no influence (`ingest.forms`). Raises InvalidInput if the declared format
    is unknown, or if the name indicates none.
    """
    # Rows of a folder or a table are previewed as Parquet, whatever the file name.
    named = "rows.parquet" if upload.source else upload.file_name
    code = columns.file_format or form_by_name(named)
    if not code and by_key:
        code = header_format(upload)
    elif not code and not upload.failure:
        code = upload_preview(upload=upload).named_format
    if not code:
        raise InvalidInput(
            "The name {name!r} does not tell the format of the file; declare it in file_format, "
            "such as csv or geojson.",
            name=upload.file_name,
            field="columns.file_format",
        )
    return replace(columns, file_format=find_form(code).code)


def check_name_fits(upload: Upload, columns: Columns) -> None:
    """Raise InvalidInput if the file's name contradicts the format declared through the API."""
    if not fits_name(upload.file_name, columns.file_format):
        raise InvalidInput(
            "The name {name!r} tells the format {named}; send the file under another name, or "
            "confirm it at the desk.",
            name=upload.file_name,
            named=form_by_name(upload.file_name),
            field="columns.file_format",
        )


def upload_retry(*, upload: Upload, by_key: bool = False) -> Upload:
    """Read a file again after its job has failed, with the columns confirmed before.

    Calling this twice has no further effect. Raises Conflict if no columns are confirmed or the
    file is gone.
    """
    if upload.job_id is None:
        raise Conflict("Confirm the columns of this upload first.")
    if upload.state != UploadState.FAILED:
        return upload
    if not upload.is_kept:
        raise Conflict("The uploaded file is not kept; upload it again.")
    try:
        columns = confirmed_columns(upload)
        return upload_confirm(upload=upload, columns=columns, by_key=by_key)
    except Conflict:
        upload.refresh_from_db()
        if upload.state == UploadState.FAILED:
            raise
        return upload  # the same request came twice at the same moment


def upload_discard(*, upload: Upload, by: User | None) -> None:
    """Delete an unused upload and its file. `by` is None at the console.

    Raises NotAllowed, or Conflict if the upload is being read or has been read.
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

    The rows are updated first, so that if the process is killed, the periodic cleanup deletes the
    files.
    """
    names = list(uploads.exclude(raw_name="").values_list("raw_name", flat=True))
    uploads.update(raw_name="", preview="")
    for name in names:
        remove(private_storage(), name)


def uploads_forget_old_raw() -> int:
    """Delete original files that are older than `DPGEO_RAW_DAYS` days.

    Files that are queued to be read are kept. An upload whose columns are not confirmed yet is
    marked as failed, since its file is gone. Returns how many files were deleted.
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
    """Mark the upload of a failed job as failed, so that it may be confirmed again."""
    Upload.objects.filter(job_id=job_id, state=UploadState.QUEUED).update(state=UploadState.FAILED)


def _check_columns(dataset: Dataset, upload: Upload, columns: Columns, by_key: bool) -> None:
    """Raise InvalidInput unless the columns fit the privacy unit and the file.

    In some formats the column names are part of the rows. Names are not checked in such files,
    because whether a file is accepted must not depend on which of its rows come first.
    """
    if columns.region and upload.source:
        raise InvalidInput(
            "Rows of a registered folder or table need positions; upload a table of persons and "
            "regions as a file.",
            field="columns.region",
        )
    wanted = schema_of(dataset, columns).wanted
    present = _present_columns(upload, columns, by_key)
    if present is None:
        return
    for role, name in wanted.items():
        if name in present.names:
            continue
        if not present.public:
            raise InvalidInput("The file has no column {name!r}.", name=name, field=field_of(role))
        raise InvalidInput(
            "The file has no column {name!r}; it has {columns}.",
            name=name,
            columns=listed(present.names[:20]),
            field=field_of(role),
        )


class _Present(NamedTuple):
    """The column names of a file, and whether the requester may see them."""

    names: list[str]
    public: bool = True


def _present_columns(upload: Upload, columns: Columns, by_key: bool) -> _Present | None:
    """Return the columns of a file in its declared format; None if only its rows tell them.

    A file that is declared to have no header is not read. For an API key, a file is read only if
    its name indicates a format with a header: the caller chooses the format, and in the wrong one
    any row might be parsed as names.
    """
    if unnamed := unnamed_columns(columns.layout.columns):
        return _Present(unnamed)
    if by_key and columns.file_format != header_format(upload):
        return None
    seen = upload_preview(upload=upload, file_format=columns.file_format)
    return _Present(seen.columns, not by_key or seen.tells_columns) if seen.complete else None


def _fix_columns(dataset: Dataset, upload: Upload, columns: Columns, by_key: bool) -> list[str]:
    """Freeze the dataset's columns; return the canonical files of other uploads that are outdated.

    The ledgers for counts and for points are both locked. Every release is charged to one of them,
    so no release can start with the old columns meanwhile. Raises Conflict if releases depend on
    the columns, or while another file is being read.
    """
    ledgers_lock(dataset.ledger_id)
    stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
    outdated: list[str] = []
    others = stored.uploads.exclude(pk=upload.pk).exclude(columns={}, canonical_name="")
    if stored.frozen_at and others.exists() and _same_meaning(stored, upload, columns, by_key):
        Dataset.objects.filter(pk=dataset.pk).update(people_asked=people_ask(stored))
        dataset.refresh_from_db()
        return outdated
    if stored.frozen_at and not _as_declared(Columns.from_json(stored.columns), columns):
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


def _check_invented(dataset: Dataset, upload: Upload) -> None:
    """Raise Conflict if a file of invented people would be added to real ones, or the reverse."""
    added = dataset.uploads.exclude(pk=upload.pk).filter(
        state__in=(UploadState.QUEUED, UploadState.READY)
    )
    if dataset.grows and added.exclude(invented=upload.invented).exists():
        raise Conflict(
            "Files are added to this dataset, and invented people must not be mixed with real "
            "ones; declare another dataset."
        )


def _check_origin(dataset: Dataset, upload: Upload) -> None:
    """Raise Conflict if a dataset would have both uploaded files and registered folders or
    tables.
    """
    used = dataset.uploads.exclude(pk=upload.pk).filter(
        state__in=(UploadState.QUEUED, UploadState.READY)
    )
    others = used.filter(source={}) if upload.source else used.exclude(source={})
    if others.exists():
        raise Conflict(
            "The data of a dataset are either uploaded or a registered folder; declare another "
            "dataset."
        )


def _as_declared(before: Columns, now: Columns) -> bool:
    """Return whether the columns `now` are the same as those declared `before`.

    The file format is ignored if the earlier declaration has none.
    """
    return now == (before if before.file_format else replace(before, file_format=now.file_format))


def _same_meaning(dataset: Dataset, upload: Upload, columns: Columns, by_key: bool) -> bool:
    """Return whether a later file's columns mean the same as those of the first file.

    The person column must be the same, because a ledger adds up the privacy loss of the same
    persons. Either both files have times, or neither, and likewise destinations and keys of places.
    Any other column of the first file must have the same role here if this file has it; if it lacks
    the column, another one may have that role. `by_key` is whether an API key confirms them: for a
    key, the names in some files are not read (`_present_columns`). How values are written may
    differ between files. Only the columns' names and the files' formats decide this, not the rows.
    """
    first, unit = Columns.from_json(dataset.columns), Unit(dataset.unit)
    if first.has_destination(unit) != columns.has_destination(unit):
        return False
    if bool(first.place) != bool(columns.place) or first.regions != columns.regions:
        return False
    if all(getattr(first, role) == getattr(columns, role) for role in Role):
        return True
    if first.person != columns.person or bool(first.time) != bool(columns.time):
        return False
    present = _present_columns(upload, columns, by_key)
    return present is not None and all(
        getattr(first, role) in {"", getattr(columns, role)}
        or getattr(first, role) not in present.names
        for role in Role
    )


def _outdate(others: QuerySet[Upload]) -> list[str]:
    """Let other ready uploads be confirmed again, since their columns are about to change.

    Those whose file is not kept become failed. Returns the names of their canonical files. Raises
    Conflict while one of them is being read.
    """
    if others.filter(state=UploadState.QUEUED).exists():
        raise Conflict("Another file is being read; change the columns when that is done.")
    ready = others.filter(state=UploadState.READY)
    names = list(ready.values_list("canonical_name", flat=True))
    none: dict[str, Any] = {"canonical_name": "", "report": None, "job": None}
    ready.filter(raw_name="", source={}).update(
        **none,
        state=UploadState.FAILED,
        failure="Its columns were changed and its file is not kept; upload it again.",
    )
    ready.update(**none, state=UploadState.RECEIVED)
    return names
