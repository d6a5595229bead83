"""Queries for the releases that a user may see, and for their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.core.files.storage import Storage
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from dpgeo.accounts.selectors import Visitor, may, visible_organisations
from dpgeo.artefacts.codec import decode
from dpgeo.core.errors import Conflict
from dpgeo.core.released import Released
from dpgeo.datasets.models import Upload
from dpgeo.datasets.storage import open_stored, private_storage, public_storage
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.states import ACTIONS, KNOWN, PUBLIC, Gone, ReleaseState, is_timely

MAX_HIDDEN = timedelta(days=7)
"""Longest time for which the API hides from API keys that a job has ended."""

TABLES = ("dataset__organisation", "dataset__ledger__geo")


class ReleaseGone(Release.DoesNotExist):
    """Error for an ended release about which the user may learn only that it has ended."""

    def __init__(self, gone: Gone) -> None:
        super().__init__(gone.title)
        self.gone = gone


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file of a release, stored in `storage` under the name `name`.

    `gzip_name` is the name of its compressed copy, or "" if there is none. `sha256` and `size`
    refer to the uncompressed bytes. `title` is the release's title, and `published` says whether
    the release is published. This class is not a model, because building a model would take longer
    than sending the file.
    """

    title: str
    published: bool
    file_name: str
    media_type: str
    sha256: str
    size: int
    storage: Storage
    name: str
    gzip_name: str


class FileUnmade(Exception):
    """Raised for a file of a release that is listed, but not made yet."""

    def __init__(self, file: ReleaseFile) -> None:
        super().__init__(file.name)
        self.file = file


def storable(text: str) -> bool:
    """Return whether a text can be used in a query; PostgreSQL does not allow null characters."""
    return "\0" not in text


def releases_public() -> QuerySet[Release]:
    """Return the published releases, latest day first, and within a day by their random ids."""
    return Release.objects.filter(state__in=PUBLIC).select_related(*TABLES).order_by("-day", "-pk")


def release_public(release_id: str) -> Release | None:
    """Return the published release with this id, or None if there is none."""
    return releases_public().filter(pk=release_id).first() if storable(release_id) else None


def listed(releases: QuerySet[Release]) -> QuerySet[Release]:
    """Return the releases with what lists show of them, read with one more query for all files."""
    return releases.select_related(*TABLES, "series").prefetch_related("files")


def releases_visible_to(user: Visitor) -> QuerySet[Release]:
    """Return all published releases, and all releases of the user's organisations."""
    return Release.objects.filter(
        Q(state__in=PUBLIC) | Q(dataset__organisation__in=visible_organisations(user))
    ).select_related(*TABLES)


def release_visible(user: Visitor, release_id: str) -> Release:
    """Return a release if the user may see it.

    Users who are not members of its organisation may see it if it is published or withdrawn. For
    any other release, or an unknown id, raises Release.DoesNotExist, or its subclass ReleaseGone if
    such users may learn that the release has ended.
    """
    known = Q(state__in=KNOWN)
    mine = (
        Q(dataset__organisation__in=visible_organisations(user)) if user.is_authenticated else Q()
    )
    if not storable(release_id):
        raise Release.DoesNotExist
    try:
        return Release.objects.filter(known | mine).select_related(*TABLES).get(pk=release_id)
    except Release.DoesNotExist:
        hidden = Release.objects.filter(pk=release_id).only("state").first()
        if hidden is not None and hidden.rules.gone:
            raise ReleaseGone(hidden.rules.gone) from None
        raise


def jobs_of_keys(organisation_id: int) -> Iterator[Job]:
    """Yield the recent jobs of an organisation that API keys may have started.

    The jobs include those of all maps of series, since a key that declares days complete causes
    maps to be drawn.
    """
    mine = Q(dataset__organisation_id=organisation_id)
    recent = Q(job__finished_at=None) | Q(job__finished_at__gt=timezone.now() - MAX_HIDDEN)
    by_keys = Q(by_key=True) | Q(series__isnull=False)
    for results in (Upload.objects.filter(mine), Release.objects.filter(mine, by_keys)):
        for result in results.filter(recent).select_related("job"):
            if result.job is not None:
                yield result.job


def mask_draw(release: Release) -> Release:
    """Make a draft look undrawn until API keys may learn that its job has ended.

    The object is changed in place and must not be saved. Releases that are no longer drafts are not
    changed, since a person's decision, such as publication, is shown at once.
    """
    if release.state == ReleaseState.DRAFT and not release.job.is_end_shown:
        release.blob_name = release.blob_sha256 = ""
        release._prefetched_objects_cache = {"files": ReleaseFile.objects.none()}  # type: ignore[attr-defined]
    return release


def load_released(release: Release) -> Released:
    """Return a release's decoded blob.

    Raises Conflict if there is no blob yet, or StoredFileMissing.
    """
    if not release.blob_name:
        raise Conflict("This release has not been drawn yet.")
    with open_stored(private_storage(), release.blob_name) as blob:
        return decode(blob.read())


PUBLISHED_FILE = """
    SELECT file.stored_name, file.media_type, file.sha256, file.size, file.gzipped, release.title
    FROM releases_releasefile AS file
    JOIN releases_release AS release ON release.id = file.release_id
    WHERE file.release_id = %s AND file.name = %s AND file.public AND release.state IN ({states})
""".format(states=", ".join(["%s"] * len(PUBLIC)))  # noqa: S608 - placeholders alone
"""Query for a published file, the most frequent query of all.

It is written as SQL because Django takes longer to build it than the database takes to run it.
"""


def published_file(release_id: str, name: str) -> StoredFile | None:
    """Return the public file of a release with this name, or None if there is none.

    The database is queried each time, so that a withdrawal takes effect immediately.
    """
    with connection.cursor() as cursor:
        cursor.execute(PUBLISHED_FILE, [release_id, name, *PUBLIC])
        row = cursor.fetchone()
    if row is None:
        return None
    stored_name, media_type, sha256, size, gzipped, title = row
    return StoredFile(
        title=title,
        published=True,
        file_name=name,
        media_type=media_type,
        sha256=sha256,
        size=size,
        storage=public_storage(),
        name=stored_name,
        gzip_name=f"{stored_name}.gz" if gzipped else "",
    )


def stored_file(release: Release, name: str) -> StoredFile:
    """Return the file of a release with this name.

    Raises ReleaseFile.DoesNotExist if there is none, or if the release has ended or is not drawn
    yet, or FileUnmade if the file is not made yet.
    """
    if not release.rules.served or not (release.rules.public or release.blob_name):
        raise ReleaseFile.DoesNotExist
    file = release.files.select_related("job").get(name=name)
    if file.size is None:
        raise FileUnmade(file)
    return StoredFile(
        title=release.title,
        published=release.rules.public,
        file_name=name,
        media_type=file.media_type,
        sha256=file.sha256,
        size=file.size,
        storage=public_storage() if file.public else private_storage(),
        name=file.stored_name,
        gzip_name=f"{file.stored_name}.gz" if file.gzipped else "",
    )


def open_actions(user: Visitor, release: Release) -> list[str]:
    """Return the keys of the actions that a user can take on a release now."""
    drawn = bool(release.blob_name)
    return [
        name
        for name, action in ACTIONS.items()
        if is_timely(name, release.state, release.job, drawn=drawn)
        and may(user, release.dataset, action.needs)
    ]
