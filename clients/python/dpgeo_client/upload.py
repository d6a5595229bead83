"""Upload of files by the tus protocol, version 1.0.0, and confirmation of their columns."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpgeo_client import types
from dpgeo_client.connection import Connection
from dpgeo_client.errors import ApiError, NetworkError
from dpgeo_client.jobs import wait_for

PIECE_BYTES = 16_000_000

TUS = {"Tus-Resumable": "1.0.0"}

ATTEMPTS = 6
"""Largest number of attempts to send a piece; the first pause between attempts takes one second,
each further pause twice as long.
"""

FIRST_PAUSE_SECONDS = 1.0


class Upload:
    """A file that has been sent; `facts` is the API's JSON about it."""

    def __init__(self, connection: Connection, facts: types.Upload) -> None:
        self._connection = connection
        self.facts = facts

    def __repr__(self) -> str:
        return f"<Upload {self.facts['file_name']!r} {self.facts['state']}>"

    def preview(self) -> types.Preview:
        """Return the file's columns, and a guess at the role of each. Raises ApiError."""
        preview: types.Preview = self._connection.get(f"{self.facts['url']}/preview")
        return preview

    def confirm(
        self, columns: Mapping[str, object], *, wait: float = 3600, progress: bool = True
    ) -> Upload:
        """Name the columns by role, wait until the file has been read, and return this upload.

        Raises ApiError or NetworkError; RuntimeError if the file cannot be used; or TimeoutError if
        reading takes longer than `wait` seconds, while the job continues.
        """
        body = {"columns": {role: name for role, name in columns.items() if name}}
        self.facts = self._connection.post(f"{self.facts['url']}/confirm", body)
        address = self.facts["job_url"]
        if address is not None:
            job: types.Job = self._connection.get(address)
            wait_for(self._connection, job, wait, progress)
            self.facts = self._connection.get(self.facts["url"])
        if not self.facts["usable"]:
            raise RuntimeError("The file cannot be used; the publisher's desk says why.")
        return self


def send_file(connection: Connection, dataset: str, path: Path, bar: Any) -> types.Upload:
    """Send a file in pieces, resuming after network errors, and return its upload.

    Raises ApiError, NetworkError if the connection does not come back, or ValueError if the file is
    empty.
    """
    size = path.stat().st_size
    if not size:
        raise ValueError(f"{path.name} is empty.")
    bar.total = size
    named = base64.b64encode(path.name.encode()).decode()
    headers = {
        **TUS,
        "Upload-Length": str(size),
        "Upload-Metadata": f"filename {named}",
        "Idempotency-Key": str(uuid.uuid4()),
    }
    announced = f"/api/v1/datasets/{dataset}/uploads/tus"
    answer = _patient(lambda: connection.send("POST", announced, headers=headers))
    address = answer.headers["location"]
    with path.open("rb") as file:
        offset = 0
        while offset < size:
            offset = _send_piece(connection, address, file, offset)
            bar.update(offset - getattr(bar, "n", 0))
    upload: types.Upload = connection.get(address.removesuffix("/tus"))
    return upload


def _send_piece(connection: Connection, address: str, file: Any, offset: int) -> int:
    """Send the piece of a file that begins at `offset`; return the offset of the next piece.

    After a network error, the server is asked how much of the piece has arrived.
    """
    failed = False

    def send() -> int:
        nonlocal failed
        if failed:
            state = connection.send("HEAD", address, headers=TUS)
            arrived = int(state.headers["upload-offset"])
            if arrived > offset:
                return arrived
        failed = True
        file.seek(offset)
        headers = {
            **TUS,
            "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream",
        }
        piece = file.read(PIECE_BYTES)
        sent = connection.send("PATCH", address, content=piece, headers=headers)
        return int(sent.headers["upload-offset"])

    arrived: int = _patient(send)
    return arrived


def _patient(action: Any) -> Any:
    """Return an action's result; repeat it after network errors or if the server is busy."""
    pause = FIRST_PAUSE_SECONDS
    for _ in range(ATTEMPTS - 1):
        try:
            return action()
        except NetworkError:
            time.sleep(pause)
        except ApiError as error:
            if error.retry_after is None:
                raise
            time.sleep(max(pause, error.retry_after))
        pause *= 2
    return action()
