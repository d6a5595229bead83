"""Takes away what a process that was killed left lying: files that no row names.

A file is stored before the row that names it, so a file without a row may be about to get one.
Hence nothing is touched that is younger than `SAFE_AGE`, nor younger than the oldest unfinished
job: a machine that slept for a weekend wakes in the middle of its work.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.storage import Storage
from django.db.models import Min
from django.utils import timezone

from dpgeo.datasets.models import Piece, PublicLayer, Upload
from dpgeo.datasets.resumable_uploads import FOLDER, transfers_sweep
from dpgeo.datasets.storage import WORK_FOLDER, private_storage, remove
from dpgeo.jobs.models import UNFINISHED, Job

SAFE_AGE = timedelta(days=1)
"""Twice as long as a worker may hold a job (jobs.running.LONGEST_HOLD_SECONDS)."""


def uploads_sweep() -> int:
    """Delete abandoned files, and pieces of uploads and work; how many."""
    named = {
        "uploads": Upload.objects.values_list("raw_name", flat=True),
        "canonical": Upload.objects.values_list("canonical_name", flat=True),
        FOLDER: Piece.objects.values_list("stored_name", flat=True),
        "layers": PublicLayer.objects.values_list("stored_name", flat=True),
    }
    swept = transfers_sweep(safe_time())
    for folder, names in named.items():
        # Files are listed first: one that is stored in between is not on the list.
        found = list(stored_names(private_storage(), folder))
        swept += sweep(private_storage(), found, keep=set(names))
    return swept + _sweep_local()


def stored_names(storage: Storage, folder: str) -> Iterator[str]:
    """The names of all files below a folder of a storage."""
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in files:
        yield f"{folder}/{name}" if folder else name
    for name in folders:
        yield from stored_names(storage, f"{folder}/{name}" if folder else name)


def sweep(storage: Storage, names: Collection[str], keep: Collection[str]) -> int:
    """Delete those of `names` that are not to be kept and that nobody can be about to name."""
    before = safe_time()
    abandoned = [name for name in names if name not in keep and _older(storage, name, before)]
    for name in abandoned:
        remove(storage, name)
    return len(abandoned)


def safe_time() -> datetime:
    """Files written before this are not in anybody's hands."""
    unfinished = Job.objects.filter(state__in=UNFINISHED)
    oldest: datetime | None = unfinished.aggregate(oldest=Min("started_at"))["oldest"]
    day_ago = timezone.now() - SAFE_AGE
    return min(day_ago, oldest) if oldest else day_ago


def _older(storage: Storage, name: str, before: datetime) -> bool:
    try:
        return storage.get_modified_time(name) < before
    except FileNotFoundError:  # another reaper was quicker
        return False


def _sweep_local() -> int:
    """Delete what lies untouched in the folders for work in progress of this machine."""
    oldest = time.time() - SAFE_AGE.total_seconds()
    folders = (Path(settings.INCOMING_DIR), Path(settings.VAR_DIR) / WORK_FOLDER)
    left = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    # Messages of the embedded queue that a killed worker had taken or a killed sender not named.
    messages = Path(settings.QUEUE_DIR) / "messages"
    left += [path for path in messages.glob("*") if path.suffix != ".msg"]
    abandoned = [path for path in left if _touched(path) < oldest]
    for path in abandoned:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return len(abandoned)


def _touched(path: Path) -> float:
    """When a file, or anything in a folder, was last written."""
    try:
        below = list(path.rglob("*")) if path.is_dir() else []
        return max(float(entry.stat().st_mtime) for entry in (path, *below))
    except FileNotFoundError:
        return time.time()
