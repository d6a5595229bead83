"""Writes on datasets and uploads: declare, receive, confirm, ingest."""

from __future__ import annotations

import os
import secrets
import uuid
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.core.validators import validate_slug
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may_grant_budget
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.services import ledger_create, ledger_set_total
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
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

FROZEN = ("unit", "study_area", "time_zone")
"""Declared facts on which the meaning of every release rests."""


def dataset_create(
    *,
    organisation: Organisation,
    title: str,
    licence: str,
    unit: str,
    study_area: Mapping[str, Any],
    time_zone: str,
    budget: Fraction | None,
    created_by: User | None,
    description: str = "",
    attribution: str = "",
    ledger: Ledger | None = None,
    slug: str = "",
    keep_raw: bool = True,
) -> Dataset:
    """Declare a dataset, with a budget of its own or the ledger it shares with other datasets.

    `created_by` is None for the operator at the console. Raises InvalidInput that names the
    field, and NotAllowed where someone who is no administrator asks for a budget.
    """
    if budget is not None and created_by and not may_grant_budget(created_by, organisation):
        raise NotAllowed(
            "A budget of its own needs the administrator's role; share the budget of a dataset "
            "about the same people, or ask an administrator to declare this one.",
            field="budget",
        )
    facts = _clean(
        {
            "title": title,
            "description": description,
            "licence": licence,
            "attribution": attribution,
            "unit": unit,
            "study_area": study_area,
            "time_zone": time_zone,
            "keep_raw": keep_raw,
        }
    )
    if (budget is None) == (ledger is None):
        raise InvalidInput("Give a budget, or the ledger to share, not both.", field="budget")
    if ledger and ledger.datasets.exclude(organisation=organisation).exists():
        raise InvalidInput("This ledger belongs to another organisation.", field="ledger")
    if ledger:
        _check_unit(ledger, facts["unit"], field="ledger")
    total = None if budget is None else parse_epsilon(budget, field="budget")
    address = _free_slug(slug, facts["title"])
    try:
        with transaction.atomic():
            return Dataset.objects.create(
                **facts,
                organisation=organisation,
                slug=address,
                ledger=ledger or ledger_create(name=facts["title"], total=total or Fraction(0)),
                created_by=created_by,
                person_key=os.urandom(32),
            )
    except IntegrityError:
        raise InvalidInput(
            f"The address {address!r} was taken a moment ago; choose another.", field="slug"
        ) from None


def dataset_update(*, dataset: Dataset, changes: Mapping[str, Any]) -> Dataset:
    """Change declared facts, and the `budget`. All changes are made, or none.

    Raises Conflict for a frozen fact and for a budget that may not become what was asked.
    """
    facts = _clean({name: value for name, value in changes.items() if name != "budget"})
    with transaction.atomic():
        stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
        for name in FROZEN:
            if stored.frozen_at and name in facts and facts[name] != getattr(stored, name):
                raise Conflict(
                    "This was fixed when the first upload was confirmed, because releases rest on "
                    "it; declare a new dataset that shares this one's budget.",
                    field=name,
                )
        if "unit" in facts:
            _check_unit(stored.ledger, facts["unit"], field="unit", but=stored)
        if "budget" in changes:
            ledger_set_total(
                ledger=stored.ledger, total=parse_epsilon(changes["budget"], field="budget")
            )
        if facts:
            Dataset.objects.filter(pk=dataset.pk).update(**facts)
    dataset.refresh_from_db()
    return dataset


def dataset_discard(*, dataset: Dataset) -> None:
    """Take a declaration back, with its unconfirmed uploads. Raises Conflict once it is frozen."""
    raw_names = list(dataset.uploads.values_list("raw_name", flat=True))
    with transaction.atomic():
        if not Dataset.objects.filter(pk=dataset.pk, frozen_at__isnull=True).delete()[0]:
            raise Conflict("An upload was confirmed already; the dataset stays on record.")
        Ledger.objects.filter(
            pk=dataset.ledger_id, datasets__isnull=True, entries__isnull=True
        ).delete()
    for name in raw_names:
        remove(private_storage(), name)


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


def _clean(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The declared facts as they are stored. Raises InvalidInput, also for an unknown one."""
    text = declaration.clean_text
    readers: dict[str, Any] = {
        "title": lambda value: text(value, field="title", longest=200, required=True),
        "description": lambda value: text(value, field="description", longest=20_000),
        "licence": lambda value: text(value, field="licence", longest=100, required=True),
        "attribution": lambda value: text(value, field="attribution", longest=300),
        "unit": declaration.clean_unit,
        "study_area": declaration.clean_area,
        "time_zone": declaration.clean_time_zone,
        "keep_raw": bool,
    }
    for name in facts:
        if name not in readers:
            raise InvalidInput(f"{name} cannot be set; leave it out.", field=name)
    return {name: readers[name](value) for name, value in facts.items()}


def _check_unit(ledger: Ledger, unit: str, *, field: str, but: Dataset | None = None) -> None:
    """Raise InvalidInput where other datasets of a ledger protect another unit.

    An epsilon per record and an epsilon per person do not add up: who has k records loses k times
    the one, and a total of both would promise nobody anything.
    """
    others = ledger.datasets.exclude(pk=but.pk) if but else ledger.datasets
    other = others.exclude(unit=unit).first()
    if other is not None:
        raise InvalidInput(
            f"The budget is shared with {other.title!r}, which protects each {other.unit} and not "
            f"each {unit}; such epsilons do not add up. Choose the same unit, or a budget of its "
            "own.",
            field=field,
        )


def _free_slug(slug: str, title: str) -> str:
    """The address asked for, or one made from the title. Raises InvalidInput."""
    if slug:
        try:
            validate_slug(slug)
        except ValidationError:
            slug_is_wrong = "Use letters, digits, hyphens and underscores, like city-trips."
            raise InvalidInput(slug_is_wrong, field="slug") from None
        if len(slug) > 80:
            raise InvalidInput("Shorten it to at most 80 characters.", field="slug")
        if Dataset.objects.filter(slug=slug).exists():
            raise InvalidInput(
                f"There is a dataset at {slug!r} already; choose another.", field="slug"
            )
        return slug
    base = slugify(title)[:70] or "dataset"
    taken = set(Dataset.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return base if base not in taken else next(name for name in numbered if name not in taken)


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
