"""Free space on the file systems that hold this installation's folders.

If less than `DPGEO_MIN_FREE` is free, nothing new is accepted and no job starts. What was already
accepted can then be finished, the database can still be written, and an operator can still sign in.

Privacy argument. The free space depends on the sizes of private files. Nobody may measure it by
observing whether requests are refused for lack of space, or how long jobs wait. Each reading is
therefore reduced by a fresh secret amount, the mean of four uniform random numbers between 0 and
the least free space L. A reading is kept for a minute, and every decision of the process in that
minute uses it. Suppose that somebody learns readings exactly, by asking to upload files of many
sizes. To see a difference of d bytes, they have to average about L^2 / (48 d^2) readings: with the
default L and one person's rows (10 kB), that takes a century at one reading per minute. (Unlike a
single uniform number, the mean is rarely near its limits, so the largest of many readings does not
reveal the free space either.) This does not hide changes of many megabytes, such as the arrival of
a large file; the documentation says so.
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
"""Seconds for which a reading of the free space is reused."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of the free space that may still be used, reduced by a secret amount.

    `room` is the number of bytes above the least free space; it is negative if there is less.
    `low`, shown by `/readyz`, means that `room` is less than the least free space. The readings of
    two processes differ by at most the least free space, so if one process is short of space, `low`
    is true in all processes. `writable` is true if all folders are writable.
    """

    room: int
    low: bool
    writable: bool

    @property
    def short(self) -> bool:
        """Whether new data must be refused because there is too little space."""
        return not self.writable or self.room < 0


_kept: tuple[float, Reading] | None = None


def read_disk_space() -> Reading:
    """Return the process's reading of the free space from the past minute, or take a new one."""
    global _kept
    now = time.monotonic()
    if _kept is None or now - _kept[0] >= KEPT_SECONDS:
        _kept = now, _read()
        if _kept[1].short:
            logger.warning("there is too little free space, or a folder is read-only; jobs wait")
    return _kept[1]


@register()
def check_least_free(**_: Any) -> list[CheckMessage]:
    """Check that DPGEO_MIN_FREE is a number of bytes or a percentage."""
    try:
        least_free(0)
    except ValueError:
        return [
            Error(
                "DPGEO_MIN_FREE is neither a number of bytes nor a percentage.",
                hint="Give a number such as 536870912, or per cent such as 5%.",
                id="dpgeo.jobs.E001",
            )
        ]
    return []


def least_free(total: int) -> int:
    """Return the least free space, in bytes, of a file system of `total` bytes.

    Raises ValueError for an invalid setting.
    """
    text = str(settings.DPGEO_MIN_FREE).strip()
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
