"""Released blobs in the private storage: each draw lies under the id of the job that paid for it.

So a draw whose row was lost (the database was restored from a backup, or the worker was killed
before the commit point) is found again. It is adopted rather than drawn anew: files made from it
may be known to the world, and a second draw would be a second measurement for the price of one.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from uuid import UUID

from dpgeo.artefacts.codec import DamagedRelease, UnreadableRelease, decode
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.core.released import Released
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage
from dpgeo.jobs.lease import JobLease
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release

logger = logging.getLogger(__name__)

FOLDER = "blobs"


def blob_prefix(job_id: UUID) -> str:
    """How the names of a job's blobs begin."""
    return f"{FOLDER}/{job_id}-"


def commit_blob(release: Release, name: str, blob: bytes) -> bool:
    """The commit point: one row names one blob, once. Whether this is the blob it names."""
    Release.objects.filter(pk=release.pk, blob_name="").update(
        blob_name=name, blob_sha256=hashlib.sha256(blob).hexdigest()
    )
    release.refresh_from_db()
    return release.blob_name == name


def recover_draw(release: Release, lease: JobLease | None = None) -> bool:
    """Commit a draw of an earlier attempt, if one is stored. False where there is none.

    What was drawn is never refunded, so `drawing` is on record first: by the worker that holds
    the job, or by the sweep, which holds none. Raises LeaseLost, and UnreadableRelease for a draw
    that was written whole and is too large or too new for this software: none is drawn beside it.
    """

    prefix = blob_prefix(release.job_id)
    storage = private_storage()
    for name in stored_names(storage, FOLDER):
        if name.startswith(prefix):
            with storage.open(name, "rb") as file:
                blob = file.read()
            try:
                released = decode(blob)
            except DamagedRelease:  # cut short by a kill: nobody has seen it
                continue
            except UnreadableRelease:
                _set_drawing(release, lease)
                raise
            if not is_draw_of(release, released):
                continue  # the sweep debits it by itself
            _set_drawing(release, lease)
            commit_blob(release, name, blob)
            return True
    return False


def _set_drawing(release: Release, lease: JobLease | None) -> None:
    if lease:
        lease.set_drawing()
    else:
        Job.objects.filter(pk=release.job_id).update(drawing=True)


def is_anothers(release: Release, name: str) -> bool:
    """Whether a stored blob under the id of a release's job is no draw of that release."""

    with private_storage().open(name, "rb") as file:
        blob = file.read()
    try:
        return not is_draw_of(release, decode(blob))
    except UnreadableRelease:
        return False


def is_draw_of(release: Release, released: Released) -> bool:
    """Whether a blob says of itself what the release asked for, and paid for.

    Storages that were mixed up, or a database restored beside those of another installation, may
    hold a blob under an id that is not its own. And an id that follows from a request's name
    comes again where that name is used for another request after a restore.
    """
    asked = release.parameters.items()
    return (
        released.about.get("dataset_slug") == release.dataset.slug
        and released.mechanism == release.mechanism
        and all(released.parameters.get(name) == value for name, value in asked)
        and released.guarantee == release.cost
        and released.bound == release.bound
        and released.counting == Counting(release.counting)
        and released.bounding == Bounding(release.bounding)
    )


def stored_blobs() -> Iterator[tuple[UUID, str]]:
    """The job and the name of every stored blob."""
    for name in stored_names(private_storage(), FOLDER):
        try:
            yield UUID(name.removeprefix(f"{FOLDER}/")[:36]), name
        except ValueError:
            continue  # not a name of ours
