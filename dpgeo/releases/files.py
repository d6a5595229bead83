"""Storage of release files: private for drafts, public once published."""

from __future__ import annotations

import gzip
import hashlib
import secrets
import shutil
from pathlib import Path

from django.core.files import File
from django.db import IntegrityError, transaction

from dpgeo.artefacts.files import BuiltFile
from dpgeo.core.errors import Conflict
from dpgeo.datasets.storage import private_storage, public_storage, remove, store
from dpgeo.releases.models import Release, ReleaseFile

INCOMPRESSIBLE = (".parquet", ".pmtiles", ".png", ".tif")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep_file(release: Release, built: BuiltFile) -> ReleaseFile:
    """Store a built file in the private storage and list it in the database.

    A file that is already listed is not stored again. If two workers store the same file at the
    same time, either copy may be kept: both have the same bytes, because both workers read the
    committed blob.
    """
    existing = release.files.filter(name=built.name).first()
    if existing:
        return existing
    sha256, size = checksum(built.path), built.path.stat().st_size
    gzipped = not built.name.endswith(INCOMPRESSIBLE)
    name = f"artefacts/{release.pk}/{secrets.token_hex(8)}/{built.name}"
    storage = private_storage()
    if gzipped:
        store(storage, f"{name}.gz", compress(built.path))
    store(storage, name, built.path)
    try:
        with transaction.atomic():
            return ReleaseFile.objects.create(
                release=release,
                name=built.name,
                media_type=built.media_type,
                stored_name=name,
                sha256=sha256,
                size=size,
                gzipped=gzipped,
            )
    except IntegrityError:
        remove(storage, name)
        remove(storage, f"{name}.gz")
        return release.files.get(name=built.name)


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


def check_stored(release: Release) -> None:
    """Raise Conflict if files of a draft are missing.

    This happens if the draft was rejected or withdrawn, which deletes its files, and the
    database was then restored from an earlier backup.
    """
    for file in release.files.filter(public=False):
        if not private_storage().exists(file.stored_name):
            raise Conflict(
                "Files of this release are gone: it was rejected or withdrawn after the backup "
                "that was restored. Reject it again, or put the files back."
            )


def make_public(release: Release) -> None:
    """Move a published release's files to the public storage. Repeating this is safe."""
    private, public = private_storage(), public_storage()
    for file in release.files.filter(public=False):
        name = f"{release.pk}/{file.name}"
        for suffix in ("", ".gz") if file.gzipped else ("",):
            public.delete(name + suffix)
            with private.open(file.stored_name + suffix, "rb") as content:
                public.save(name + suffix, File(content))
        ReleaseFile.objects.filter(pk=file.pk).update(public=True, stored_name=name)
        _remove_stored(file)


def remove_all(release: Release) -> None:
    """Delete all files of a withdrawn or rejected release, but keep its private blob."""
    for file in release.files.all():
        _remove_stored(file)
        file.delete()


def _remove_stored(file: ReleaseFile) -> None:
    storage = public_storage() if file.public else private_storage()
    remove(storage, file.stored_name)
    if file.gzipped:
        remove(storage, f"{file.stored_name}.gz")
