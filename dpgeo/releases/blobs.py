"""Released blobs in the private storage, named by the jobs that paid for them.

These names make it possible to recover a draw that no row names, because the database was restored
from a backup or the worker was killed before the commit point. Such a draw is used instead of
drawing again: files made from it may have been published, and a second draw would be a second
measurement for the price of one.

A draw's name also states the version of the data that it was made from. Once that version was
replaced because a person was erased, the draw is neither recovered nor committed: it holds the
person's share. The release is drawn from the new version instead, and the sweep debits the older
draw by itself before it deletes it. Nobody can tell whether a restored database had published that
draw, so both draws are paid for.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterator
from uuid import UUID

from dpgeo.artefacts.codec import DamagedRelease, UnreadableRelease, decode
from dpgeo.core.released import Released
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage
from dpgeo.jobs.lease import JobLease
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release
from dpgeo.releases.requests import request_of, request_of_draw

logger = logging.getLogger(__name__)

FOLDER = "blobs"


def blob_prefix(job_id: UUID) -> str:
    """Return the prefix of the names of a job's blobs."""
    return f"{FOLDER}/{job_id}-"


def new_blob_name(release: Release) -> str:
    """Return a fresh name for a draw from a release's current version of the data."""
    return f"{blob_prefix(release.job_id)}{release.upload_id.hex}-{secrets.token_hex(16)}"


def is_from_replaced_data(release: Release, name: str) -> bool:
    """Whether a blob was drawn from a version of the data that an erasure has replaced.

    Names without a version were given before version 0.2.0. Of these, all that belong to a release
    from data that were rewritten by an erasure count as drawn before it.
    """
    version, hyphen, _ = name.removeprefix(blob_prefix(release.job_id)).partition("-")
    if hyphen:
        return version != release.upload_id.hex
    return "erased" in (release.upload.report or {})


def has_stored_blob(job_id: UUID) -> bool:
    """Return whether a job has stored a blob, be it complete or cut short."""
    prefix = blob_prefix(job_id)
    return any(name.startswith(prefix) for name in stored_names(private_storage(), FOLDER))


def commit_blob(release: Release, name: str, blob: bytes) -> bool:
    """Commit a blob to its release; return whether the release names this blob.

    The update is the commit point: it names a blob only in a row that names none, so the first blob
    committed is final. It names none either if the version of the data that `release` was read with
    has been replaced since.
    """
    current = Release.objects.filter(pk=release.pk, blob_name="", upload=release.upload_id)
    current.update(blob_name=name, blob_sha256=hashlib.sha256(blob).hexdigest())
    release.refresh_from_db()
    return release.blob_name == name


def recover_draw(release: Release, lease: JobLease | None = None) -> bool:
    """Commit the stored draw of an earlier attempt; return False if there is none.

    Drawn noise is never refunded, so `drawing` is recorded first. `lease` is the lease of the
    worker that runs the job, or None where no worker holds one, as in the sweep. Raises LeaseLost,
    and UnreadableRelease for a complete draw that is too large or too new for this software, so
    that no second draw is made beside it.
    """
    prefix = blob_prefix(release.job_id)
    storage = private_storage()
    for name in stored_names(storage, FOLDER):
        if name.startswith(prefix) and not is_from_replaced_data(release, name):
            with storage.open(name, "rb") as file:
                blob = file.read()
            try:
                released = decode(blob)
            except DamagedRelease:  # a worker was killed while storing it; nobody saw it
                continue
            except UnreadableRelease:
                _set_drawing(release, lease)
                raise
            if not is_draw_of(release, released):
                continue  # the draw of another request, which the sweep debits separately
            _set_drawing(release, lease)
            if commit_blob(release, name, blob) or release.blob_name:
                return True
    return False


def _set_drawing(release: Release, lease: JobLease | None) -> None:
    if lease:
        lease.set_drawing()
    else:
        Job.objects.filter(pk=release.job_id).update(drawing=True)


def is_anothers(release: Release, name: str) -> bool:
    """Whether a blob stored under a release's job is the draw of another request."""
    with private_storage().open(name, "rb") as file:
        blob = file.read()
    try:
        return not is_draw_of(release, decode(blob))
    except UnreadableRelease:
        return False


def is_draw_of(release: Release, released: Released) -> bool:
    """Whether a blob states a release's dataset, cost and request.

    A blob may be stored under the id of a job that did not draw it. This happens if storages were
    mixed up, or if a database was restored beside the storage of another installation. It also
    happens to an id derived from the name that a client gave to its request: after a restore the
    client may give the same name to another request.
    """
    return (
        released.about.get("dataset_slug") == release.dataset.slug
        and released.guarantee == release.cost
        and request_of_draw(released, release.parameters) == request_of(release)
    )


def stored_blobs() -> Iterator[tuple[UUID, str]]:
    """Yield, for every stored blob, the id of the job in its name, and that name."""
    for name in stored_names(private_storage(), FOLDER):
        try:
            yield UUID(name.removeprefix(f"{FOLDER}/")[:36]), name
        except ValueError:
            continue  # not a blob's name
