"""Release blobs in the private storage, named after the jobs that paid for them.

These names make it possible to recover a draw that is missing from the database, either because the
database was restored from a backup or because the worker was killed before the commit point. The
recovered draw is used instead of a new one: files made from it may have been published, and a
second draw would be a second measurement for the price of one.

A draw's name also contains the version of the data from which it was made. If that version was
replaced because a person was erased, the draw may contain that person's contribution, so it is
neither recovered nor committed. The release is drawn from the new version instead. Before that, the
older draw gets a debit of its own and is deleted (by the worker, or by the hourly reconciliation of
all stored files). Both draws are paid for, since the older draw may have been published before the
database was restored. If the budget does not pay for both in full, the release is not drawn again:
its own debit pays for the older draw.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterator
from uuid import UUID

from django.db import transaction

from dpgeo.artefacts.codec import DamagedRelease, UnreadableRelease, decode
from dpgeo.core.released import Released
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage
from dpgeo.jobs.lease import JobLease
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release
from dpgeo.releases.series_state import release_lineage, series_advance

logger = logging.getLogger(__name__)

FOLDER = "blobs"


def blob_prefix(job_id: UUID) -> str:
    """Return the prefix of the names of a job's blobs."""
    return f"{FOLDER}/{job_id}-"


def new_blob_name(release: Release) -> str:
    """Return a new name for a draw from the current version of a release's data."""
    return f"{blob_prefix(release.job_id)}{_version(release)}-{secrets.token_hex(16)}"


def _version(release: Release) -> str:
    """Return a text that identifies what a draw is made from: the version of the data and, in a
    series, the state that says how much each person has used.
    """
    return release.upload_id.hex + release_lineage(release)


def is_from_replaced_data(release: Release, name: str) -> bool:
    """Return whether a blob was drawn from data that an erasure has since replaced.

    For a map of a series that has no draw yet, also return true if the blob was drawn from another
    state of the series than the present one. Such a draw cannot be used.
    """
    return not name.startswith(f"{blob_prefix(release.job_id)}{_version(release)}-")


def has_other_draw(release: Release) -> bool:
    """Return whether a stored draw was made from other data or another state of the series.

    A release that has just been requested has such a draw only if the database was restored from a
    backup that is older than the draw. That draw may have been published.
    """
    return any(
        name.startswith(blob_prefix(release.job_id)) and is_from_replaced_data(release, name)
        for name in stored_names(private_storage(), FOLDER)
    )


def has_stored_blob(job_id: UUID) -> bool:
    """Return whether a job has stored a blob, complete or not."""
    prefix = blob_prefix(job_id)
    return any(name.startswith(prefix) for name in stored_names(private_storage(), FOLDER))


def commit_blob(release: Release, name: str, blob: bytes, *, bound: int) -> bool:
    """Commit a stored blob to its release; return whether it is now the release's blob.

    `bound` is the contribution bound of the draw, which the release then has; it differs from the
    request's if it was chosen privately. This update is the commit point. It changes only a row
    without a blob, so the first blob is final. It changes nothing if the version of the data has
    been replaced since `release` was read, or if the state of the release's series has changed
    since the draw. Raises StateMissing.
    """
    current = Release.objects.filter(pk=release.pk, blob_name="", upload=release.upload_id)
    with transaction.atomic():
        if current.update(
            blob_name=name, blob_sha256=hashlib.sha256(blob).hexdigest(), bound=bound
        ) and not series_advance(release):
            transaction.set_rollback(True)
    release.refresh_from_db()
    return release.blob_name == name


def recover_draw(release: Release, lease: JobLease | None = None) -> bool:
    """Commit the stored draw of an earlier attempt; return False if there is none.

    The job's `drawing` flag is set first, since drawn noise is never refunded. `lease` is
    the lease of the worker that runs the job, or None if reconciliation calls this while
    no worker runs the job. Raises LeaseLost. Also raises UnreadableRelease for a complete draw
    that is too large or too new for this software; this prevents a second draw.
    """
    prefix = blob_prefix(release.job_id)
    storage = private_storage()
    for name in stored_names(storage, FOLDER):
        if name.startswith(prefix) and not is_from_replaced_data(release, name):
            with storage.open(name, "rb") as file:
                blob = file.read()
            try:
                released = decode(blob)
            except DamagedRelease:  # A worker was killed while storing this blob; nobody saw it.
                continue
            except UnreadableRelease:
                _set_drawing(release, lease)
                raise
            if not is_from_release(release, released):
                # This is the draw of another request; reconciliation debits it separately.
                continue
            _set_drawing(release, lease)
            if commit_blob(release, name, blob, bound=released.bound) or release.blob_name:
                return True
    return False


def _set_drawing(release: Release, lease: JobLease | None) -> None:
    if lease:
        lease.set_drawing()
    else:
        Job.objects.filter(pk=release.job_id).update(drawing=True)


def is_anothers(release: Release, name: str) -> bool:
    """Return whether a blob under the id of a release's job was drawn for another request.

    Returns False for a blob that cannot be read.
    """
    with private_storage().open(name, "rb") as file:
        blob = file.read()
    try:
        return not is_from_release(release, decode(blob))
    except UnreadableRelease:
        return False


def is_from_release(release: Release, released: Released) -> bool:
    """Return whether a blob matches a release in dataset, cost and request.

    A blob may be stored under the id of a job that did not draw it, for example if a database is
    used with the storage of another installation. An id may also be derived from a name that the
    client gave to its request; after a restore, the client may use that name for another request.
    """
    return (
        released.about.get("dataset_slug") == release.dataset.slug
        and released.guarantee == release.cost
        and released.about.get("series", "") == str(release.series_id or "")
        and released.request == release.request
    )


def stored_blobs() -> Iterator[tuple[UUID, str]]:
    """Yield the job id and the name of each stored blob."""
    for name in stored_names(private_storage(), FOLDER):
        try:
            yield UUID(name.removeprefix(f"{FOLDER}/")[:36]), name
        except ValueError:
            continue  # This file is no blob: its name does not begin with a job's id.
