"""Previews of uploads: what owners and API keys see of a file before its columns are confirmed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from django.db import transaction

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.layers import regions_of, with_regions
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.preview_slots import preview_slot
from dpgeo.datasets.same_people import file_checksum
from dpgeo.datasets.snapshots import first_file
from dpgeo.datasets.storage import local_path, private_storage, unchanged, work_folder
from dpgeo.ingest.context import Context
from dpgeo.ingest.forms import find_form, form_by_name
from dpgeo.ingest.preview import Preview, preview
from dpgeo.ingest.schema import Columns, Role
from dpgeo.ingest.understanding import Understanding

WAITING = (UploadState.RECEIVED, UploadState.FAILED)
"""States of an upload in which its columns can be confirmed."""


def upload_preview(*, upload: Upload, file_format: str = "") -> Preview:
    """Return an upload's first rows and suggested columns, which only its owner may see.

    In any one format (`ingest.forms`), the file is parsed only once. Without `file_format`, the
    format is the one last looked at or, the first time, the most likely one. If the file cannot be
    read in the most likely format, the upload fails and the reason is recorded. Raises InvalidInput
    with that reason, or Conflict if the file was deleted or the machine is too busy.
    """
    if seen := _seen(upload, file_format):
        return seen
    if upload.failure and not file_format:
        raise InvalidInput(upload.failure, field="file")
    with preview_slot():
        upload.refresh_from_db()  # Another request may have made the preview while this one waited.
        return _seen(upload, file_format) or _look(upload, file_format)


def upload_key_preview(*, upload: Upload) -> Preview:
    """Return what an API key may learn of a file: its header, if its name indicates one.

    For any other file, that is only the format that its name indicates, because whether its rows
    can be read depends on the rows. Raises the same errors as `upload_preview`.
    """
    check_kept(upload)
    if named := header_format(upload):
        return upload_preview(upload=upload, file_format=named)
    named = form_by_name(upload.file_name)
    return Preview([], [], Columns(), [], complete=False, named_format=named)


def _seen(upload: Upload, file_format: str) -> Preview | None:
    """Return the stored preview if it is in this format, or in any format if none is given."""
    if not upload.preview:
        return None
    seen = Preview.from_json(json.loads(upload.preview))
    matters = file_format and seen.file_format and upload.is_kept
    return None if matters and seen.file_format != file_format else seen


def check_kept(upload: Upload) -> None:
    """Raise an error if an upload's file was deleted.

    It is InvalidInput with the reason if the upload failed, and otherwise Conflict.
    """
    if not upload.is_kept and upload.failure:
        raise InvalidInput(upload.failure, field="file")
    if not upload.is_kept:
        raise Conflict("The uploaded file is not kept; upload it again.")


def _look(upload: Upload, file_format: str) -> Preview:
    check_kept(upload)
    context = trial_context(upload.dataset)
    try:
        with _original(upload) as (path, named), work_folder() as folder:
            seen = preview(path, upload.file_name, context, folder, file_format=file_format)
            if upload.raw_name:
                upload.checksum = upload.checksum or file_checksum(path, upload.dataset)
        seen = _with_named(seen, named)
        seen = replace(seen, understanding=_tried(upload, seen.understanding))
    except InvalidInput as refusal:
        if not file_format:
            waiting = Upload.objects.filter(pk=upload.pk, state=UploadState.RECEIVED)
            waiting.update(state=UploadState.FAILED, failure=refusal.phrase)
            upload.refresh_from_db()
        raise
    upload.preview = json.dumps(seen.to_json())
    # Do not store a preview of a file that was ingested or deleted in the meantime.
    waiting = Upload.objects.filter(pk=upload.pk, state__in=WAITING).exclude(raw_name="", source={})
    with transaction.atomic():
        dataset = Dataset.objects.select_for_update().get(pk=upload.dataset_id)
        if trial_context(dataset).to_json() != context.to_json():
            raise Conflict(
                "The dataset's area, unit or time zone was changed while the file was read; look "
                "at it again."
            )
        waiting.update(preview=upload.preview, checksum=upload.checksum)
    if upload.failure:
        waiting.update(state=UploadState.RECEIVED, failure="")
        upload.refresh_from_db()
    return seen


def upload_understand(*, upload: Upload, columns: Columns | None = None) -> Understanding | None:
    """Return how an upload was interpreted, which only its owner may see.

    `columns` is a declaration to try. Without one, the dataset's columns are tried if they are
    fixed and this file has all of them; otherwise the most likely ones are tried. Returns None if
    there is nothing to try. Raises InvalidInput for a file that cannot be read at all or not with
    these columns, or Conflict if the file was deleted or the machine is too busy.
    """
    seen = upload_preview(upload=upload, file_format=columns.file_format if columns else "")
    columns = columns or declared_columns(upload.dataset, seen)
    if columns is None and seen.understanding and seen.understanding.columns.region:
        columns = seen.understanding.columns
    if columns is not None:
        columns = with_regions(upload.dataset, columns)
    if columns is None or (seen.understanding and seen.understanding.columns == columns):
        return seen.understanding
    if not upload.is_kept:
        raise Conflict("The uploaded file is not kept; upload it again.")
    with preview_slot(), _original(upload) as (path, named), work_folder() as folder:
        if named.keys() & {getattr(columns, role) for role in Role}:
            return None
        context = trial_context(upload.dataset)
        if columns.region:
            context = replace(context, regions=regions_of(upload.dataset, columns.regions))
        seen = preview(path, upload.file_name, context, folder, columns)
        return _tried(upload, seen.understanding)


@contextmanager
def _original(upload: Upload) -> Iterator[tuple[Path, Mapping[str, str | None]]]:
    """Yield a local path to an upload's file, or to the first file of a registered folder.

    Also yields the columns that the file's path states, as a folder named `year=2024` does. Raises
    Conflict at the end if the file was changed or removed meanwhile.
    """
    if upload.source:
        with first_file(upload) as (path, named), unchanged(path):
            yield path, named
    else:
        with local_path(private_storage(), upload.raw_name) as path, unchanged(path):
            yield path, {}


def _tried(upload: Upload, understanding: Understanding | None) -> Understanding | None:
    """Return how the rows were interpreted, marked as a sample if they are of a table or folder."""
    if not upload.source or understanding is None:
        return understanding
    return replace(understanding, whole=False)


def _with_named(seen: Preview, named: Mapping[str, str | None]) -> Preview:
    """Add to a preview the columns that folder names such as `year=2024` state.

    A column that the file itself has is not added.
    """
    added = {name: value or "" for name, value in named.items() if name not in seen.columns}
    rows = [[*row, *added.values()] for row in seen.rows]
    return replace(seen, columns=[*seen.columns, *added], rows=rows)


def declared_columns(dataset: Dataset, seen: Preview) -> Columns | None:
    """Return the dataset's fixed columns if the file has all of them, or None otherwise.

    If the file's format is not that of the first file, its layout (such as the encoding and the
    delimiter) is guessed anew.
    """
    if not dataset.columns:
        return None
    columns = Columns.from_json(dataset.columns)
    names = {getattr(columns, role) for role in Role} - {""}
    if not names <= set(seen.columns):
        return None
    if columns.file_format == seen.file_format:
        return columns
    guess = seen.understanding.columns if seen.understanding else seen.suggested
    layout = guess.layout.to_json() if columns.file_format else {}
    return replace(columns, file_format=seen.file_format, **layout)


def trial_context(dataset: Dataset) -> Context:
    """Return the dataset's facts for trying a file before its columns are declared.

    If the study area was exchanged and nothing is confirmed yet, the context has no area: rows must
    not be compared with an area that can still be fitted to them.
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


def header_format(upload: Upload) -> str:
    """Return the format that a file's name, or the names in its archive, indicate.

    Returns "" if they indicate none, or a format without a header, such as GeoJSON.
    """
    named = form_by_name(upload.file_name)
    if not named and upload.file_name.lower().endswith(".zip"):
        with suppress(InvalidInput):
            named = upload_preview(upload=upload).named_format
    return named if named and find_form(named).format.has_header else ""
