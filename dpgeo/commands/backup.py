"""Backup of an installation while it runs: an archive of the data, and one of the keys.

The archive is consistent. It holds the rows of one snapshot of the database, every file that these
rows name, and all draws and decisions that are stored when it ends. Files never change once they
are stored, so a file that still exists has the content that the snapshot refers to. If files
are missing, the whole backup starts again from a new snapshot, which does not name those that were
deleted meanwhile. Files that the new snapshot names and that are missing again are lost. The backup
is made without them, and names them in the list of its members.

Both archives are verified. Each is also encrypted for an identity that exists only in this process,
and is read back from the disk with that identity from end to end. Only then does it get its final
name. The keys that open the archives later need not be on this machine.
"""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import Storage
from django.db import connection
from django.utils import timezone

import dpgeo
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.commands.age_files import passing_identity
from dpgeo.commands.archives import (
    ABOUT,
    FORMAT,
    VERSION,
    ArchiveWriter,
    archive_verify,
    archive_writer,
)
from dpgeo.commands.rows import dump_rows, migrations, snapshot, tables
from dpgeo.datasets.decisions import JOURNAL
from dpgeo.datasets.missing_files import missing_files_record
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import is_missing, private_storage, public_storage, work_folder
from dpgeo.releases.blobs import FOLDER as BLOBS
from dpgeo.releases.missing_files import named_files

ATTEMPTS = 3
"""Number of snapshots after which a backup is made without the files that are missing."""

ARCHIVE = re.compile(r"dpgeo-(?P<time>\d{8}T\d{6}Z)(?P<keys>-keys)?\.tar(\.age)?(?P<part>\.part)?")
"""Pattern of the file names of archives, both of complete ones and of those still being written."""

PRIVATE, PUBLIC, ROWS, KEYS = "private/", "releases/", "database/", "keys/"
"""Prefixes of the names of an archive's members, one for each kind of member."""


@dataclass(frozen=True, slots=True)
class Backup:
    """The two archives of a finished backup.

    `missing` are the names of the files that the database names but that do not exist.
    """

    data: Path
    keys: Path
    rows: int
    files: int
    missing: tuple[str, ...]


def backup_make(
    *, folder: Path, recipients: Sequence[Any], key_recipients: Sequence[Any], plain: bool = False
) -> Backup:
    """Write and verify an archive of the data and one of the keys, both in `folder`.

    The data are encrypted for `recipients`, unless `plain` is true, and the keys for
    `key_recipients`. Raises InvalidInput if an archive that was written cannot be read back.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"dpgeo-{timezone.now():%Y%m%dT%H%M%SZ}"
    suffix = ".tar" if plain else ".tar.age"
    data, keys = folder / f"{name}{suffix}", folder / f"{name}-keys.tar.age"
    passing = passing_identity()
    own = [passing.to_public()]
    written = _write_data(_part(data), [] if plain else [*recipients, *own])
    _write_keys(_part(keys), [*key_recipients, *own])
    for path in (data, keys):
        archive_verify(_part(path), [passing])
    # Give the archive of data its final name last, so that none exists without the archive of its
    # keys.
    for path in (keys, data):
        _sync(_part(path))
        _part(path).rename(path)
    event_record(EventKind.BACKED_UP, subject=name)
    return Backup(data, keys, *written)


def backups_expire(*, folder: Path, keep: int) -> int:
    """Delete all but the newest `keep` complete backups in a folder; return how many files went.

    Incomplete archives that a killed backup left are deleted after a day, since another backup may
    be running. Files with other names are left alone.
    """
    found = [(path, match) for path in folder.iterdir() if (match := ARCHIVE.fullmatch(path.name))]
    complete = sorted({match["time"] for _, match in found if not (match["keys"] or match["part"])})
    kept = set(complete[-keep:])
    yesterday = time.time() - 24 * 3600
    expired = [
        path
        for path, match in found
        if (match["part"] and path.stat().st_mtime < yesterday)
        or (not match["part"] and kept and match["time"] < min(kept))
    ]
    for path in expired:
        path.unlink(missing_ok=True)
    return len(expired)


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _write_data(path: Path, recipients: Sequence[Any]) -> tuple[int, int, tuple[str, ...]]:
    """Write the archive of the data; return the numbers of rows and files, and what is missing."""
    known: set[tuple[bool, str]] = set()
    for _ in range(ATTEMPTS):
        path.unlink(missing_ok=True)
        with archive_writer(path, recipients) as archive, snapshot() as using:
            rows = _add_rows(archive, using)
            files, missing = _add_files(archive, named_files(using))
        if missing <= known:
            break
        known = missing
    missing_files_record(missing)
    return rows, files, tuple(sorted(name for _, name in missing))


def _add_rows(archive: ArchiveWriter, using: str) -> int:
    about = {
        "format": FORMAT,
        "version": VERSION,
        "dpgeo": dpgeo.__version__,
        "made_at": timezone.now().isoformat(),
        "database": connection.vendor,
        "migrations": migrations(using),
    }
    archive.add_json(ABOUT, about)
    rows = 0
    with work_folder() as folder:
        for model in tables():
            path = folder / "rows"
            with path.open("wb") as file:
                for line in dump_rows(model, using):
                    file.write(line)
                    rows += 1
            with path.open("rb") as file:
                archive.add(f"{ROWS}{model._meta.label}.jsonl", file, path.stat().st_size)
    return rows


def _add_files(
    archive: ArchiveWriter, named: Iterable[tuple[bool, str]]
) -> tuple[int, set[tuple[bool, str]]]:
    """Add to the archive the `named` files, all draws and all decisions.

    Decisions, such as erasures, are files of the journal (`datasets.decisions`). `named` has pairs:
    whether a file is in the public storage, and its name. Returns how many files were added, and
    which of the named ones are missing.
    """
    added: set[tuple[bool, str]] = set()
    missing: set[tuple[bool, str]] = set()
    for file in named:
        if file not in added | missing:
            (added if _add_file(archive, *file) else missing).add(file)
    # Also add draws and decisions that are newer than the snapshot: a restore has to debit such
    # draws and repeat such decisions, for instance erasures. The sweep may meanwhile delete a
    # release's second draw, but only after that draw has been debited in the ledger.
    for folder in (BLOBS, JOURNAL):
        for name in list(stored_names(private_storage(), folder)):
            if (False, name) not in added and _add_file(archive, False, name):
                added.add((False, name))
    archive.missing = [_member(*file) for file in missing]
    return len(added), missing


def _member(public: bool, name: str) -> str:
    """Return the name that a stored file has in an archive."""
    return f"{PUBLIC if public else PRIVATE}{name}"


def _add_file(archive: ArchiveWriter, public: bool, name: str) -> bool:
    """Add a stored file to the archive, and return whether it exists."""
    storage: Storage = public_storage() if public else private_storage()
    # If the release was published since the snapshot, its files have moved from the private to the
    # public storage.
    if not storage.exists(name):
        storage = private_storage() if public else public_storage()
    try:
        file: Any = storage.open(name, "rb")
        file.seek(0)  # An object store sends the content only now.
    except Exception as error:
        if not is_missing(error):
            raise
        return False
    with file:
        archive.add(_member(public, name), file, file.size)
    return True


def _write_keys(path: Path, recipients: Sequence[Any]) -> None:
    """Write the archive of the keys, which is always encrypted."""
    path.unlink(missing_ok=True)
    with archive_writer(path, recipients) as archive:
        about = {"format": FORMAT, "version": VERSION, "dpgeo": dpgeo.__version__}
        archive.add_json(ABOUT, about)
        for name, key in present_keys().items():
            archive.add(f"{KEYS}{name}", io.BytesIO(key), len(key))


def key_files() -> dict[str, Path]:
    """Return the paths of the files with keys, by the names that the files have in an archive.

    A key that a setting or the environment gives has no file.
    """
    files = {}
    if not settings.PERSON_KEY:
        files["person-key"] = Path(settings.PERSON_KEY_FILE)
    if not os.environ.get("DPGEO_SECRET_KEY"):
        files["secret-key"] = Path(settings.VAR_DIR) / "secret-key"
    return files


def present_keys() -> dict[str, bytes]:
    """Return the keys that this installation has, by the names of their files."""
    files = key_files()
    keys = {name: path.read_bytes() for name, path in files.items() if path.exists()}
    if settings.PERSON_KEY:
        keys["person-key"] = settings.PERSON_KEY.encode()
    if "secret-key" not in files:
        keys["secret-key"] = settings.SECRET_KEY.encode()
    return keys
