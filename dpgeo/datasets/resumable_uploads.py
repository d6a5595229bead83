"""Resumable uploads: files that arrive in pieces.

Every piece is a separate file in the private storage, and a row records its position. So any web
process on any host can receive the next piece, and if two requests send the same bytes at the same
time, the first row wins. If a sender disconnects, the bytes that have arrived are kept.
"""

from __future__ import annotations

import contextlib
import io
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http.request import UnreadablePostError
from django.utils import timezone

from dpgeo.accounts.models import ApiKey, User
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.models import Dataset, Piece, Transfer, Upload, UploadState
from dpgeo.datasets.quotas import check_room
from dpgeo.datasets.selectors import is_erasure_hidden
from dpgeo.datasets.storage import open_stored, private_storage, remove, store, work_folder
from dpgeo.datasets.texts import clean_file_name
from dpgeo.datasets.uploads import record_first_upload, upload_receive

FOLDER = "incoming"

READ_BYTES = 1 << 20

MAX_OPEN = 20
"""Maximum number of transfers that one API key or one member may have open at a time."""

MAX_LISTED = 500
"""Maximum number of transfers and unread uploads listed for one dataset."""

MAX_PIECES = 10_000


def transfer_begin(
    *, dataset: Dataset, file_name: str, size: int, by: User, transfer_id: UUID | None = None
) -> Transfer | Upload:
    """Create the transfer of a file that is about to arrive in pieces.

    A call with a `transfer_id` can be repeated: each time, the transfer is returned, or the upload
    that it has become. Raises InvalidInput, or Conflict if the user has too many unfinished
    transfers, the organisation may keep no further file, or this id belongs to the transfer of a
    different file.
    """
    if size < 1:
        raise InvalidInput("The file is empty; choose another.", field="size")
    key = by.acting_key
    clean_name = clean_file_name(file_name)
    with transaction.atomic():
        # The user stays locked until the transfer exists, so that a concurrent request counts it
        # towards MAX_OPEN.
        User.objects.select_for_update().get(pk=by.pk)
        if transfer_id and (known := _announced(dataset, transfer_id)):
            if (known.file_name, known.size, known.key_id) != (clean_name, size, key and key.pk):
                raise Conflict(
                    "Another file of this dataset has this name; give each file its own.",
                    field="Idempotency-Key",
                )
            return known
        mine = Transfer.objects.filter(key=key) if key else Transfer.objects.filter(created_by=by)
        if mine.count() >= MAX_OPEN:
            raise Conflict(
                "{most} files are being sent already; complete one, or remove it with DELETE.",
                most=MAX_OPEN,
            )
        check_room(dataset.organisation_id, size)
        return Transfer.objects.create(
            id=transfer_id or uuid4(),
            dataset=dataset,
            file_name=clean_name,
            size=size,
            created_by=by,
            key=key,
            touched_at=timezone.now(),
        )


def _announced(dataset: Dataset, transfer_id: UUID) -> Transfer | Upload | None:
    """Return the transfer with an id, the upload that it has become, or None."""
    transfer = dataset.transfers.filter(pk=transfer_id).first()
    return transfer or dataset.uploads.filter(pk=transfer_id).first()


def files_open(dataset: Dataset, key: ApiKey | None) -> list[Transfer | Upload]:
    """Return the files that are arriving or whose columns are to be confirmed, newest first.

    There are at most MAX_LISTED. With a `key`, they are only the files begun with that key,
    because the names and sizes of members' files are private. A file's entry does not show a key
    whether the file can be read, or whether an erasure has deleted it, since both depend on rows.
    """
    announced = Q(key=key) if key else Q()
    arriving = dataset.transfers.filter(announced).order_by("-touched_at")[:MAX_LISTED]
    unread = Q(job=None) if key else Q(state=UploadState.RECEIVED)
    waiting = dataset.uploads.filter(announced, unread).order_by("-created_at")[:MAX_LISTED]
    shown = [each for each in waiting if each.is_kept or is_erasure_hidden(each)]
    files: list[Transfer | Upload] = [*arriving, *shown]
    return files[:MAX_LISTED]


def transfer_append(*, transfer: Transfer, offset: int, stream: IO[bytes], length: int) -> int:
    """Store up to `length` bytes of `stream` at `offset` and return the new offset.

    If the connection breaks, the bytes that arrived before are kept. Raises Conflict if `offset` is
    not the end of the stored bytes or if another request stored this piece first, or InvalidInput
    for bytes beyond the size stated when the transfer was begun.
    """
    at = transfer.offset
    if offset != at:
        raise Conflict(
            "{at} bytes have arrived; continue from there.", at=at, field="Upload-Offset"
        )
    if at + length > transfer.size:
        raise InvalidInput(
            "{size} bytes were announced and {at} have arrived; send at most {missing} more.",
            size=transfer.size,
            at=at,
            missing=transfer.size - at,
            field="Content-Length",
        )
    if transfer.pieces.count() >= MAX_PIECES:
        raise Conflict(
            "The file was sent in {most:,} pieces; announce it again and send larger ones.",
            most=MAX_PIECES,
        )
    with _arrived(stream, length) as path:
        if size := path.stat().st_size:
            name = f"{FOLDER}/{transfer.pk.hex}-{secrets.token_hex(8)}"
            _keep(transfer, at, size, store(private_storage(), name, path))
    return transfer.offset


def transfer_complete(*, transfer: Transfer, by: User) -> Upload:
    """Turn a complete transfer into an upload with the same id.

    Raises Conflict if bytes are missing or were lost.
    """
    pieces = list(transfer.pieces.all())
    at = sum(piece.size for piece in pieces)
    if at < transfer.size:
        raise Conflict(
            "{at} of {size} bytes have arrived; send the rest.",
            at=at,
            size=transfer.size,
            field="Upload-Offset",
        )
    try:
        upload = upload_receive(
            dataset=transfer.dataset,
            file=io.BufferedReader(_Joined(pieces), READ_BYTES),
            file_name=transfer.file_name,
            created_by=by,
            upload_id=transfer.pk,
            key=transfer.key,
        )
    except IntegrityError:  # another request has completed the transfer already
        return Upload.objects.get(pk=transfer.pk)
    except FileNotFoundError:
        raise Conflict("Bytes of this file were lost; announce and send it again.") from None
    transfer_discard(transfer=transfer)
    return upload


def transfer_discard(*, transfer: Transfer) -> None:
    """Delete a transfer and the bytes that have arrived."""
    names = list(transfer.pieces.values_list("stored_name", flat=True))
    Transfer.objects.filter(pk=transfer.pk).delete()
    for name in names:
        remove(private_storage(), name)


def transfers_sweep(before: datetime) -> int:
    """Delete the transfers that have received nothing since `before`; return how many."""
    abandoned = list(Transfer.objects.filter(touched_at__lt=before))
    for transfer in abandoned:
        transfer_discard(transfer=transfer)
    return len(abandoned)


def _keep(transfer: Transfer, start: int, size: int, name: str) -> None:
    """Record the position of stored bytes; of two requests for one position, the first wins."""
    try:
        with transaction.atomic():
            record_first_upload(transfer.dataset_id)
            Piece.objects.create(transfer=transfer, start=start, size=size, stored_name=name)
            Transfer.objects.filter(pk=transfer.pk).update(touched_at=timezone.now())
    except IntegrityError:
        remove(private_storage(), name)
        raise Conflict(
            "Another request has sent these bytes or removed the file; ask for the offset.",
            field="Upload-Offset",
        ) from None


@contextmanager
def _arrived(stream: IO[bytes], length: int) -> Iterator[Path]:
    """Yield up to `length` bytes of a request as a temporary local file."""
    with work_folder(Path(settings.INCOMING_DIR)) as folder:
        path = folder / "piece"
        with path.open("wb") as file, contextlib.suppress(UnreadablePostError):
            while length and (read := stream.read(min(length, READ_BYTES))):
                file.write(read)
                length -= len(read)
        yield path


class _Joined(io.RawIOBase):
    """A stream of the bytes of stored pieces, one piece after the other."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._names = [piece.stored_name for piece in pieces]
        self._file: Any = None

    def readable(self) -> bool:
        """Return True, since the stream can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read some of the next bytes; return how many, or 0 at the end.

        Raises FileNotFoundError if a piece is missing.
        """
        while True:
            if self._file is None:
                if not self._names:
                    return 0
                self._file = open_stored(private_storage(), self._names.pop(0))
            read = self._file.read(len(buffer))
            if read:
                buffer[: len(read)] = read
                return len(read)
            self._file.close()
            self._file = None
