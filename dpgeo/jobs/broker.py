"""Celery transport that exchanges messages as files in a folder, on one machine.

With kombu's own filesystem transport, a worker may read a message file that was created but not yet
written, which crashes the worker. Kombu's transport also moves messages through the system's
temporary folder. Here a message file gets its final name only when it is complete, and a worker
claims it by renaming it within the same folder.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from queue import Empty
from time import time_ns
from typing import Any

from kombu.transport import filesystem


class Channel(filesystem.Channel):  # type: ignore[misc]
    """Channel in which message files are complete as soon as they are visible."""

    def _put(self, queue: str, payload: Any, **_: Any) -> None:
        folder = Path(self.data_folder_out)
        unique = f"{time_ns():020d}_{uuid.uuid4()}"
        hidden = folder / f"{unique}.part"
        hidden.write_text(json.dumps(payload))
        hidden.rename(folder / f"{unique}.{queue}.msg")

    def _get(self, queue: str) -> Any:
        """Remove and return the oldest message. Raises queue.Empty if there is none."""
        folder = Path(self.data_folder_in)
        for message in sorted(folder.glob(f"*.{queue}.msg")):
            claimed = message.with_suffix(f".{uuid.uuid4()}")
            try:
                message.rename(claimed)
            except FileNotFoundError:
                continue  # Another worker claimed the message first.
            text = claimed.read_text()
            claimed.unlink()
            return json.loads(text)
        raise Empty


class Transport(filesystem.Transport):  # type: ignore[misc]
    """kombu's filesystem transport, using `Channel` instead of kombu's own channel."""

    Channel = Channel
