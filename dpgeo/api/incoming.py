"""Files on their way in, piece by piece, until they are whole.

A transfer is two files in the incoming folder: what was announced (`transfer-ID.json`) and the
bytes so far (`transfer-ID.part`). How far it is, is the length of the latter and stands nowhere
else, so it is true after any crash. Both carry the time of the last piece: whoever sweeps the
folder by age removes what was abandoned, and a sender that comes back later begins anew.

Nothing here is an upload yet, and no page or release can reach it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.http.request import UnreadablePostError

from dpgeo.accounts.models import User
from dpgeo.api.problems import TooLarge
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.datasets.declaration import clean_file_name
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.uploads import upload_receive

PIECE_BYTES = 1 << 20

OFFSET = "Upload-Offset"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A file of `size` bytes that was announced for the dataset of primary key `dataset`."""

    id: UUID
    dataset: int
    file_name: str
    size: int

    @property
    def facts(self) -> Path:
        """Where what was announced is kept."""
        return _folder() / f"transfer-{self.id.hex}.json"

    @property
    def part(self) -> Path:
        """Where the bytes are gathered."""
        return _folder() / f"transfer-{self.id.hex}.part"

    @property
    def offset(self) -> int:
        """How many bytes have arrived."""
        return self.part.stat().st_size


class _Whole(TemporaryUploadedFile):
    """A whole file as a browser's upload would be, so that a storage here can move it."""

    def __init__(self, file: IO[bytes], transfer: Transfer) -> None:
        UploadedFile.__init__(self, file, transfer.file_name, size=transfer.size)

    def temporary_file_path(self) -> str:
        """Where the file lies."""
        return str(self.file.name) if self.file else ""


def begin(*, dataset: Dataset, file_name: str, size: int) -> Transfer:
    """Announce a file. Raises TooLarge before a byte of it was sent, and InvalidInput."""
    if size < 1:
        raise InvalidInput("The file is empty; choose another.", field="size")
    limit = settings.DPGEO_MAX_UPLOAD_BYTES
    if size > limit:
        raise TooLarge(
            f"The file is larger than the {limit:,} bytes allowed here; split it, or compress it "
            "as Parquet.",
            field="size",
        )
    transfer = Transfer(uuid.uuid4(), dataset.pk, clean_file_name(file_name), size)
    transfer.part.touch(mode=0o600)
    facts = {"dataset": dataset.pk, "file_name": transfer.file_name, "size": size}
    transfer.facts.write_text(json.dumps(facts))
    return transfer


def find(transfer_id: UUID) -> Transfer | None:
    """A transfer that has not ended; None where there is none."""
    path = _folder() / f"transfer-{transfer_id.hex}.json"
    try:
        transfer = Transfer(id=transfer_id, **json.loads(path.read_text()))
    except (FileNotFoundError, ValueError):
        return None
    return transfer if transfer.part.exists() else None


def append(transfer: Transfer, *, offset: int, stream: IO[bytes], length: int) -> int:
    """Add up to `length` bytes at `offset`, and say how many there are then.

    What arrives before a connection breaks is kept. Raises Conflict where the file is not so far
    or another request writes, InvalidInput for bytes beyond the announced end.
    """
    with _hold(transfer) as file:
        at = file.seek(0, os.SEEK_END)
        if offset != at:
            raise Conflict(f"{at} bytes have arrived; go on from there.", field=OFFSET)
        if at + length > transfer.size:
            raise InvalidInput(
                f"{transfer.size} bytes were announced and {at} have arrived; send at most "
                f"{transfer.size - at} more.",
                field="Content-Length",
            )
        with contextlib.suppress(UnreadablePostError):
            while length and (piece := stream.read(min(length, PIECE_BYTES))):
                file.write(piece)
                length -= len(piece)
    os.utime(transfer.facts)
    return transfer.offset


def complete(transfer: Transfer, *, dataset: Dataset, user: User) -> Upload:
    """Make the whole file an upload of the same id. Raises Conflict while bytes are missing."""
    with _hold(transfer) as file:
        at = file.seek(0, os.SEEK_END)
        if at < transfer.size:
            raise Conflict(
                f"{at} of {transfer.size} bytes have arrived; send the rest.", field=OFFSET
            )
        file.seek(0)
        upload = upload_receive(
            dataset=dataset,
            file=_Whole(file, transfer),
            file_name=transfer.file_name,
            created_by=user,
            upload_id=transfer.id,
        )
    transfer.facts.unlink(missing_ok=True)
    transfer.part.unlink(missing_ok=True)
    return upload


@contextlib.contextmanager
def _hold(transfer: Transfer) -> Iterator[IO[bytes]]:
    """The bytes so far, for one request at a time. Raises Conflict while another has them."""
    try:
        file = transfer.part.open("r+b")
    except FileNotFoundError:
        raise Conflict("This file is complete already; read its address.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict("Another request is sending this file; let it end.") from None
        yield file


def _folder() -> Path:
    return Path(settings.INCOMING_DIR)
