"""Free space on the file systems of this installation's folders.

Below `DPGEO_LEAST_FREE` bytes nothing new is accepted and no job starts, so that what was accepted
can be finished, the database can still be written, and an operator can still sign in.

Privacy argument. How much is free depends on the size of private files. Whether a request is
refused for want of space, and how long a job waits, must not let anybody measure that. A reading is
therefore lowered by a fresh secret amount, the mean of four uniform ones between 0 and the least
free space L, and kept for a minute; every decision of a process in that minute uses it. Whoever
finds out readings exactly, by announcing files of many sizes, has to average over some
L^2 / (48 d^2) of them to see a difference of d bytes: at the default, for the 10 kB of one person's
rows, a century of one reading a minute. (The mean is smooth at its ends: the largest of many
readings does not give the free space away either, as it would with one uniform amount.) This does
not hide a change by many megabytes, such as the arrival of a large file; the documents say so.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

logger = logging.getLogger(__name__)

KEPT_SECONDS = 60.0
"""How long a reading is used."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The space that may still be used, and whether all folders can be written.

    `room` is in bytes, and negative when less than the least free space is left. `low` says that
    this is near, for `/readyz`: readings of two processes differ by at most the least free space,
    so where any of them is short, all are low.
    """

    room: int
    low: bool
    writable: bool

    @property
    def short(self) -> bool:
        """Whether nothing new may be stored."""
        return not self.writable or self.room < 0


_kept: tuple[float, Reading] | None = None


def read_disk_space() -> Reading:
    """Return the reading of the past minute, or a new one."""
    global _kept
    now = time.monotonic()
    if _kept is None or now - _kept[0] >= KEPT_SECONDS:
        _kept = now, _read()
        if _kept[1].short:
            logger.warning("there is too little free space, or a folder is read-only; jobs wait")
    return _kept[1]


@register()
def check_least_free(**_: Any) -> list[CheckMessage]:
    """Refuse a setting that is neither a number of bytes nor a percentage."""
    try:
        least_free(0)
    except ValueError:
        return [
            Error(
                "DPGEO_LEAST_FREE is neither a number of bytes nor a percentage.",
                hint="Give a number such as 536870912, or per cent such as 5%.",
                id="dpgeo.jobs.E001",
            )
        ]
    return []


def least_free(total: int) -> int:
    """Return the least free space of a file system of `total` bytes. Raises ValueError."""
    text = str(settings.DPGEO_LEAST_FREE).strip()
    if text.endswith("%"):
        percent = float(text.removesuffix("%"))
        if not 0 <= percent < 100:
            raise ValueError(text)
        return int(total * percent / 100)
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def _read() -> Reading:
    readings = [_read_folder(folder) for folder in _folders()]
    return Reading(
        min(each.room for each in readings),
        any(each.low for each in readings),
        all(each.writable for each in readings),
    )


def _read_folder(folder: Path) -> Reading:
    try:
        seen = os.statvfs(folder)
    except OSError:
        return Reading(0, low=True, writable=False)
    least = least_free(seen.f_blocks * seen.f_frsize)
    dither = sum(secrets.randbelow(least + 1) for _ in range(4)) // 4
    room = seen.f_bavail * seen.f_frsize - dither - least
    return Reading(room, low=room < least, writable=os.access(folder, os.W_OK))


def _folders() -> set[Path]:
    folders = (settings.VAR_DIR, settings.INCOMING_DIR, settings.PRIVATE_DIR, settings.RELEASES_DIR)
    return {Path(folder) for folder in folders}
