"""Storage of release files: private for drafts, public once published."""

from __future__ import annotations

import gzip
import hashlib
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from dpgeo.artefacts.formats import BuiltFile, PlannedFile
from dpgeo.core.errors import Conflict
from dpgeo.datasets.storage import open_stored, private_storage, public_storage, remove, store
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release, ReleaseFile

INCOMPRESSIBLE = (".parquet", ".pmtiles", ".png", ".tif")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def list_files(release: Release, planned: Iterable[PlannedFile]) -> None:
    """Enter in the database the files that are made on request; existing entries stay as is."""
    ReleaseFile.objects.bulk_create(
        [
            ReleaseFile(
                release=release, name=file.name, media_type=file.media_type, large=file.large
            )
            for file in planned
        ],
        ignore_conflicts=True,
    )


def keep_file(release: Release, built: BuiltFile) -> None:
    """Store a file that was built with its release in the private storage, and list it.

    A file that is already listed is not stored again. If two workers store the same file at the
    same time, either copy may be kept: both have the same bytes, because both workers read the
    committed blob.
    """
    if release.files.filter(name=built.name).exists():
        return
    stored = _store(release, built)
    try:
        with transaction.atomic():
            release.files.create(name=built.name, media_type=built.media_type, **stored)
    except IntegrityError:
        _remove(stored)


def keep_requested(file: ReleaseFile, built: BuiltFile) -> None:
    """Store a listed file that was built on request, unless it is not needed any more.

    The file is not needed if another worker has stored it, or its release was withdrawn or
    rejected.
    """
    stored = _store(file.release, built)
    # Pages that list a release's files are cached until `files_made` changes.
    with transaction.atomic():
        if ReleaseFile.objects.filter(pk=file.pk, stored_name="").update(**stored):
            Release.objects.filter(pk=file.release_id).update(files_made=F("files_made") + 1)
            return
    _remove(stored)


def _store(release: Release, built: BuiltFile) -> dict[str, Any]:
    """Store a built file in the private storage, and return the columns of its row."""
    sha256, size = checksum(built.path), built.path.stat().st_size
    gzipped = not built.name.endswith(INCOMPRESSIBLE)
    name = f"artefacts/{release.pk}/{secrets.token_hex(8)}/{built.name}"
    storage = private_storage()
    if gzipped:
        store(storage, f"{name}.gz", compress(built.path))
    store(storage, name, built.path)
    return {"stored_name": name, "sha256": sha256, "size": size, "gzipped": gzipped}


def _remove(stored: Mapping[str, Any]) -> None:
    """Delete a file that `_store` has stored."""
    for suffix in ("", ".gz"):
        remove(private_storage(), stored["stored_name"] + suffix)


def compress(path: Path) -> Path:
    """Write a gzip copy next to a file and return its path.

    The copy is reproducible, because it contains neither a file name nor a timestamp.
    """
    target = path.with_name(f"{path.name}.gz")
    with (
        path.open("rb") as source,
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed,
    ):
        shutil.copyfileobj(source, packed, 1 << 20)
    return target


def made_files(release: Release) -> QuerySet[ReleaseFile]:
    """Return the release's files that are stored, without those still to be made on request."""
    return release.files.exclude(stored_name="")


def check_stored(release: Release) -> None:
    """Raise Conflict if files of a draft are missing.

    This happens if the draft was rejected or withdrawn, which deletes its files, and the
    database was then restored from an earlier backup.
    """
    for file in made_files(release).filter(public=False):
        names = (file.stored_name + suffix for suffix in _suffixes(file))
        if not all(map(private_storage().exists, names)):
            raise Conflict(
                "Files of this release are gone: it was rejected or withdrawn after the backup "
                "that was restored. Reject it again, or put the files back."
            )


def make_public(release: Release) -> None:
    """Move a published release's files to the public storage. Repeating this is safe.

    Each process copies a file under a new name of its own. The first to enter its copy in the
    file's row wins; every other deletes its own copy and nothing else. So two processes that
    publish at once delete nothing that is published, and a withdrawal leaves no copy: whoever
    changes the row first (`remove_all` locks it) decides who deletes the copies. Copies are also
    deleted if copying fails. Only a process that is killed leaves copies that no row names; the
    sweep (`reconciliation`) deletes those that are a day old.
    """
    for file in made_files(release).filter(public=False):
        name = f"{release.pk}/{secrets.token_hex(8)}-{file.name}"
        try:
            moved = _copy_public(file, name)
        except Exception:
            _remove_public(file, name)
            # If another process has moved or deleted the file, the private copy is missing.
            if ReleaseFile.objects.filter(pk=file.pk, public=False).exists():
                raise
            continue
        if moved:
            _remove_stored(file)
        else:
            _remove_public(file, name)


def _copy_public(file: ReleaseFile, name: str) -> bool:
    """Copy a file to the public storage and enter the copy's name in the file's row.

    Returns False if another process has moved or deleted the file meanwhile.
    """
    for suffix in _suffixes(file):
        with open_stored(private_storage(), file.stored_name + suffix) as content:
            public_storage().save(name + suffix, File(content))
    row = ReleaseFile.objects.filter(pk=file.pk, public=False)
    return bool(row.update(public=True, stored_name=name))


def _remove_public(file: ReleaseFile, name: str) -> None:
    """Delete a copy in the public storage, unless the file's row names it."""
    if not ReleaseFile.objects.filter(pk=file.pk, stored_name=name).exists():
        for suffix in _suffixes(file):
            remove(public_storage(), name + suffix)


def _suffixes(file: ReleaseFile) -> tuple[str, ...]:
    """Return the suffixes of a file's stored names: "" and, if it has a gzipped copy, ".gz"."""
    return ("", ".gz") if file.gzipped else ("",)


def remove_all(release: Release) -> None:
    """Delete all files of a withdrawn or rejected release, but keep its private blob.

    Each file's row is locked while the file is deleted, so that no other process moves the file to
    the public storage at the same time. Workers that are making a file of the release lose their
    lease, because the file's job is deleted.
    """
    for key in list(release.files.values_list("pk", flat=True)):
        with transaction.atomic():
            file = ReleaseFile.objects.select_for_update().filter(pk=key).first()
            if file is None:
                continue
            _remove_stored(file)
            file.delete()
        if file.job_id is not None:
            Job.objects.filter(pk=file.job_id).delete()


def _remove_stored(file: ReleaseFile) -> None:
    storage = public_storage() if file.public else private_storage()
    if file.stored_name:
        for suffix in _suffixes(file):
            remove(storage, file.stored_name + suffix)
