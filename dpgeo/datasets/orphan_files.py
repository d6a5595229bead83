"""Deletion of orphan files, which killed processes left and no database row names.

A file is stored before the row that names it, so a file without a row may be about to get one. Two
kinds of files are therefore kept: those younger than `SAFE_AGE`, and those younger than the oldest
unfinished job, since a machine that was asleep for a weekend continues in the middle of its work. A
work folder shows whether its process is still alive, and is deleted within minutes after the
process ends.
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
from dpgeo.datasets.storage import WORK_FOLDER, is_abandoned, private_storage, remove
from dpgeo.datasets.uploads import uploads_forget_old_raw
from dpgeo.jobs.models import UNFINISHED, Job

SAFE_AGE = timedelta(days=1)
"""Age up to which files are kept although no row names them.

It is twice the maximum time that a worker may hold a job (jobs.lease.MAX_HOLD_SECONDS).
"""


def uploads_sweep() -> int:
    """Delete old raw files, abandoned uploads, transfers and work files; return how many."""
    named = {
        "uploads": Upload.objects.values_list("raw_name", flat=True),
        "canonical": Upload.objects.values_list("canonical_name", flat=True),
        FOLDER: Piece.objects.values_list("stored_name", flat=True),
        "layers": PublicLayer.objects.values_list("stored_name", flat=True),
    }
    swept = uploads_forget_old_raw() + transfers_sweep(safe_time())
    for folder, names in named.items():
        # List the files before querying which of them rows name: a file stored in between is then
        # not on the list, and stays.
        stored = list(stored_names(private_storage(), folder))
        swept += sweep(private_storage(), stored, keep=set(names))
    return swept + _sweep_local()


def work_sweep() -> int:
    """Delete the work folders that killed processes left on this machine; return how many."""
    folders = [path for base in _work_bases() for path in base.iterdir() if path.is_dir()]
    abandoned = [folder for folder in folders if is_abandoned(folder)]
    for folder in abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return len(abandoned)


def _work_bases() -> list[Path]:
    bases = (Path(settings.INCOMING_DIR), Path(settings.VAR_DIR) / WORK_FOLDER)
    return [base for base in bases if base.is_dir()]


def stored_names(storage: Storage, folder: str) -> Iterator[str]:
    """Yield the names of all files in a folder of a storage and in its subfolders."""
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in files:
        yield f"{folder}/{name}" if folder else name
    for name in folders:
        yield from stored_names(storage, f"{folder}/{name}" if folder else name)


def sweep(storage: Storage, names: Collection[str], keep: Collection[str]) -> int:
    """Delete files of `names` older than `safe_time` and not in `keep`; return how many."""
    before = safe_time()
    abandoned = [name for name in names if name not in keep and _older(storage, name, before)]
    for name in abandoned:
        remove(storage, name)
    return len(abandoned)


def safe_time() -> datetime:
    """Return a time such that every job or request that wrote files before it has ended by now."""
    unfinished = Job.objects.filter(state__in=UNFINISHED)
    oldest: datetime | None = unfinished.aggregate(oldest=Min("started_at"))["oldest"]
    day_ago = timezone.now() - SAFE_AGE
    return min(day_ago, oldest) if oldest else day_ago


def _older(storage: Storage, name: str, before: datetime) -> bool:
    try:
        return storage.get_modified_time(name) < before
    except FileNotFoundError:  # another process deleted it first
        return False


def _sweep_local() -> int:
    """Delete abandoned files in this machine's work folders and queue; return how many."""
    oldest = time.time() - SAFE_AGE.total_seconds()
    left = [path for base in _work_bases() for path in base.iterdir()]
    # A message that waits in the embedded queue ends in .msg. It has another suffix while a process
    # writes it, and after a worker has taken it. If that process is killed, the file stays.
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
    """Return when a file, or the newest file in a folder, was last written."""
    try:
        below = list(path.rglob("*")) if path.is_dir() else []
        return max(float(entry.stat().st_mtime) for entry in (path, *below))
    except FileNotFoundError:
        return time.time()
