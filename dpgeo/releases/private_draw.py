"""Draws from private data with production noise; no other module has access to both of these.

Privacy argument for discarded draws. Drawing again until an attempt succeeds would be a selection
among draws, unless success is independent of the noise. It may depend on the noise: a mechanism may
fail because of what it drew, and a blob may be too large for the disk, since its compressed size
depends on the noise. So any failure between the first draw and the storage of the result ends the
job, with no refund and no further attempt. Before giving up, the job tries several times to store
the same bytes.

It is different if a worker is killed, loses its lease or cannot reach the database. Nobody saw what
the worker drew, and the cause is external and independent of the noise. Given such an event, the
next draw has the same distribution as the first, and only one draw, which was paid for, is ever
seen. If the worker had stored its blob, that blob is recovered; otherwise a new attempt draws
again. There are at most `MAX_ATTEMPTS` attempts.

One kind of kill may depend on the noise: if the system runs out of memory, it kills the process
that uses the most memory. If draws were discarded in this way, the probability of any output would
be at most `MAX_ATTEMPTS` times what its epsilon allows. Mechanisms therefore use only arrays whose
sizes are public or grow with measurements that were paid for.

A full disk is another such cause. So no noise is drawn while the disk has less free space than the
required minimum. A draw that does not fit on the disk waits in memory for up to `SPACE_SECONDS`,
and is never drawn again for that reason. Attempts that fail for lack of space are not counted,
except those that lost a draw (`JobLease.unstored_draw`).

A private choice of the contribution bound l is a draw of its own, which is stored in the release's
row before anything else is measured (`stored_bound`). A later attempt measures with the stored l.
How long it takes to count, and how much memory that takes, depends on l; so without this, a job
that is killed only for large l would select among draws of l. Nobody is shown l before the whole
draw is committed.

What is charged. A failure before the draw, such as a count that does not fit in memory, may reveal
the size of the data. Members see exact totals anyway, so they get a refund. API keys see no totals,
and could learn them for free by repeated requests. Therefore a request made with an API key is not
refunded once the data are opened.
"""

from __future__ import annotations

import errno
import logging
import os
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError

from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Unit
from dpgeo.core.parameters import layers_named
from dpgeo.core.window import Window
from dpgeo.datasets.erasure import DataChanged
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.selectors import is_being_erased_from
from dpgeo.datasets.snapshots import is_copied, is_in_place, rows_in_place, version_paths
from dpgeo.datasets.storage import private_storage, store, work_folder
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.engine.gathering import gather
from dpgeo.engine.series_view import SeriesView
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.lease import WAITS, JobLease
from dpgeo.jobs.outages import find_outage
from dpgeo.jobs.services import LeaseLost
from dpgeo.phrases import Phrase
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import StoredBound
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.view import PrivateView
from dpgeo.releases.models import Release
from dpgeo.releases.requests import stored_request
from dpgeo.releases.series_state import load_allowances

logger = logging.getLogger(__name__)

COUNTING = Phrase("Counting")

STORING_WAITS = (1, 5, 30, 120)
"""Seconds to wait between attempts to store a draw; noise must not be drawn again instead."""

SPACE_SECONDS = 6 * 3600.0
"""Seconds that a draw waits for disk space: half of the maximum duration of a lease."""

SPACE_POLL_SECONDS = 15.0

T = TypeVar("T")


class AnnouncedEntropy:
    """Production randomness that sets the job's `drawing` flag before the first word is read.

    A word is a uniform 64-bit integer.

    A job with this flag is never refunded. For an API key's request, the flag is already
    set before counting starts (`read_and_draw`); other requests can be refunded if they
    fail while counting.
    """

    def __init__(self, lease: JobLease) -> None:
        self._lease = lease
        self._entropy = SystemEntropy()
        self.announced = False

    def stream(self) -> RandomWords:
        """Open a new stream of random words, which are uniform 64-bit integers.

        Raises LeaseLost. When the first stream is opened, raises OSError if the disk lacks space.
        """
        if not self.announced:
            if read_disk_space().short:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._lease.set_drawing()
            self._lease.unstored_draw = True
            self.announced = True
        self._lease.step(Phrase("Drawing noise"))
        return self._entropy.stream()


def read_and_draw(
    release: Release,
    upload: Upload,
    lease: JobLease,
    work: Callable[[PrivateView, Any, AnnouncedEntropy], T],
) -> T:
    """Return the result of `work(view, params, entropy)` on a version of the private data.

    `upload` names the version (`datasets.versions`). The view contains only the rows of the
    request's window. Rows of which no copy is kept are read again (`datasets.snapshots`).
    Errors that `work` raises before noise is drawn are passed on unchanged. After that, only
    LeaseLost, DataChanged and DatabaseError are passed on; any other error becomes Conflict,
    because drawing again is not allowed.
    """
    dataset = release.dataset
    if is_copied(upload) and is_being_erased_from(dataset):
        # Rows that are read anew are read without all who were erased.
        raise Conflict(
            "A person is being erased from these data, or an erasure failed. Request the map again "
            "when the data are without that person; if the erasure failed, erase the person again."
        )
    request = stored_request(release)
    params = request.params
    domain = domain_of(dataset, layers_named(params))
    lease.step(COUNTING)
    with work_folder() as folder, ExitStack() as opened:
        in_place = is_in_place(upload)
        if release.by_key and not is_copied(upload):
            lease.set_drawing()
        counted: dict[str, Any] = {
            "domain": domain,
            "unit": Unit(dataset.unit),
            "counting": request.counting,
            "bound": request.bound,
            "salt": bytes(release.salt),
            "folder": folder,
            "memory_bytes": settings.DPGEO_COUNT_MEMORY_MIB << 20,
            "progress": lambda done, total: lease.step(COUNTING, done, total),
        }
        allowances = load_allowances(release, folder)
        view: DuckDBView
        if in_place and allowances is None:
            from dpgeo.datasets.spark_counts import spark_view

            rows = rows_in_place(upload, request.window)
            view = opened.enter_context(spark_view(rows, **counted))
        else:
            if in_place:
                path = _copied_rows(upload, request.window, folder)
            else:
                paths = opened.enter_context(version_paths(upload, lease))
                if release.by_key:
                    lease.set_drawing()
                path = _counted_rows(paths, request.window, dataset, folder, lease)
            view = (
                DuckDBView(path, **counted)
                if allowances is None
                else SeriesView(path, allowances=allowances, **counted)
            )
        entropy = AnnouncedEntropy(lease)
        try:
            return work(view, params, entropy)
        except (LeaseLost, DataChanged, DatabaseError):
            raise
        except Exception as error:
            if not entropy.announced:
                raise
            raise broken_off(release, error) from None


def _counted_rows(
    paths: Sequence[Path], window: Window | None, dataset: Dataset, folder: Path, lease: JobLease
) -> Path:
    """Return the path of one file with the rows of all files in `paths` that are in the window.

    Raises OSError if there is no space for that file, so that the job waits instead of filling the
    disk.
    """
    if window is None and len(paths) == 1:
        return paths[0]
    if read_disk_space().room < sum(path.stat().st_size for path in paths):
        raise OSError(errno.ENOSPC, "There is too little space for a copy of the data.")
    target = folder / "gathered.parquet"
    gather(
        paths,
        target,
        between=window.seconds(dataset.time_zone) if window else None,
        progress=lambda done, total: lease.step(COUNTING, done, total),
    )
    return target


def _copied_rows(upload: Upload, window: Window | None, folder: Path) -> Path:
    """Return the path of a temporary file with the rows that Spark would count in the window.

    A period of a series is counted from such a copy, because the only view that also finds out how
    many of the series' contributions each person has used, `SeriesView`, reads a single file.
    """
    from dpgeo.engine.spark import write_rows

    target = folder / "gathered.parquet"
    write_rows(rows_in_place(upload, window), target)
    return target


def broken_off(release: Release, error: Exception) -> Conflict:
    """Return a Conflict for an error raised after noise was drawn.

    Only the type and the traceback of the error are logged.
    """
    place = "".join(traceback.format_tb(error.__traceback__))
    logger.error("release %s: %s\n%s", release.pk, type(error).__name__, place)
    return Conflict(
        "The work broke off after noise was drawn. Drawing again would mean choosing among "
        "draws, so what it cost stays spent; request a new release, perhaps with another "
        "mechanism, and report this as a fault."
    )


def stored_bound(release: Release) -> StoredBound:
    """Return the contribution bound that an earlier attempt drew, and a function that stores one.

    The bound is None if no attempt has drawn it yet. The first bound that is stored is final, also
    if two workers draw one at the same time.
    """

    def keep(bound: int) -> int:
        Release.objects.filter(pk=release.pk, drawn_bound=None).update(drawn_bound=bound)
        release.refresh_from_db(fields=["drawn_bound"])
        return release.drawn_bound or bound

    release.refresh_from_db(fields=["drawn_bound"])
    return StoredBound(drawn=release.drawn_bound, keep=keep)


def store_draw(release: Release, name: str, drawn: bytes) -> str:
    """Store a draw in the private storage, and return its name there.

    If storing fails, the same bytes are stored again after each of the waits in
    `STORING_WAITS`. If the disk lacks space, this function first retries for up to
    `SPACE_SECONDS`. Raises Conflict if the last attempt fails.
    """
    waits = list(reversed(STORING_WAITS))
    end = time.monotonic() + SPACE_SECONDS
    while True:
        try:
            return store_bytes(name, drawn)
        except Exception as error:
            logger.error("release %s: not stored yet: %s", release.pk, type(error).__name__)
            if find_outage(error) in WAITS and time.monotonic() < end:
                time.sleep(SPACE_POLL_SECONDS)
            elif waits:
                time.sleep(waits.pop())
            else:
                raise broken_off(release, error) from None


def store_bytes(name: str, drawn: bytes) -> str:
    """Write bytes to the disk, then store them as `name`; return the name that they were given."""
    with work_folder() as folder:
        path = folder / "drawn"
        with path.open("wb") as file:
            file.write(drawn)
            file.flush()
            # The draw must be on the disk before the database refers to it.
            os.fsync(file.fileno())
        return store(private_storage(), name, path)
