"""Archives of an installation: a tar file whose last member lists all others with checksums."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dpgeo.commands.age_files import decrypted, encrypted
from dpgeo.core.errors import InvalidInput

FORMAT = "dpgeo-backup"
VERSION = 1

ABOUT, MANIFEST = "about.json", "manifest.json"

CHUNK = 1 << 20

AGE_MAGIC = b"age-encryption.org/"


@dataclass
class ArchiveWriter:
    """Writer of an archive's members, which records the checksum of each.

    `missing` are the names that members would have had whose files do not exist.
    """

    tar: tarfile.TarFile
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def add(self, name: str, source: IO[bytes], size: int) -> None:
        """Add a member of `size` bytes. Raises OSError if the source has fewer."""
        hashed = _Hashed(source)
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        self.tar.addfile(info, hashed)
        self.members[name] = {"size": size, "sha256": hashed.digest()}

    def add_json(self, name: str, facts: Any) -> None:
        """Add a member `name` whose content is `facts` as JSON."""
        text = json.dumps(facts, indent=1).encode()
        self.add(name, io.BytesIO(text), len(text))


class _Hashed:
    """A file whose bytes are hashed as they are read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def archive_writer(path: Path, recipients: Sequence[Any]) -> Iterator[ArchiveWriter]:
    """Write an archive to a file, encrypted unless there is no recipient.

    The list of members is added at the end. The file is complete once this returns.
    """
    with ExitStack() as stack:
        file = stack.enter_context(path.open("xb"))
        path.chmod(0o600)
        stream: IO[bytes] = file
        if recipients:
            stream = stack.enter_context(encrypted(file, recipients))
        tar = stack.enter_context(tarfile.open(fileobj=stream, mode="w|", bufsize=CHUNK))
        writer = ArchiveWriter(tar)
        yield writer
        manifest = {"members": writer.members, "missing": sorted(writer.missing)}
        text = json.dumps(manifest).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(text), 0o600
        tar.addfile(info, io.BytesIO(text))


@contextmanager
def archive_stream(path: Path, identities: Sequence[Any]) -> Iterator[tarfile.TarFile]:
    """Open an archive to read its members one after the other.

    Raises InvalidInput if it cannot be decrypted, or is no complete archive.
    """
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(path.open("rb"))
        begins = file.read(len(AGE_MAGIC))
        file.seek(0)
        if begins == AGE_MAGIC:
            if not identities:
                raise InvalidInput(
                    "This archive is encrypted; name its identity.", field="identity"
                )
            file = stack.enter_context(decrypted(file, identities))
        try:
            yield stack.enter_context(tarfile.open(fileobj=file, mode="r|", bufsize=CHUNK))
            # Read to the end, so that the last block is checked and no pipe breaks.
            while file.read(CHUNK):
                pass
        except (tarfile.TarError, EOFError):
            raise InvalidInput("{name} is no archive, or cut short.", name=path.name) from None


def archive_members(
    path: Path, identities: Sequence[Any]
) -> Generator[tuple[str, IO[bytes]], None, None]:
    """Yield the names and contents of an archive's members, without checking them."""
    with archive_stream(path, identities) as tar:
        for info in tar:
            content = tar.extractfile(info)
            if content is not None:
                yield info.name, content


def archive_verify(path: Path, identities: Sequence[Any]) -> dict[str, Any]:
    """Read an archive from end to end, and return the facts in its member about.json.

    The fact "missing" has the names of the files that did not exist when the archive was made.
    Raises InvalidInput if the archive is damaged, incomplete, or of another format.
    """
    try:
        about = _verify(path, identities)
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError):
        raise InvalidInput("{name} is no archive, or cut short.", name=path.name) from None
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise InvalidInput("{name} is not an archive that this version reads.", name=path.name)
    return about


def _verify(path: Path, identities: Sequence[Any]) -> dict[str, Any]:
    """Check all members of an archive against the list at its end.

    Returns what `archive_verify` does. Raises InvalidInput if members and list differ.
    """
    about: dict[str, Any] = {}
    missing: list[str] = []
    seen: dict[str, dict[str, Any]] = {}
    listed: dict[str, dict[str, Any]] | None = None
    with closing(archive_members(path, identities)) as members:
        for name, content in members:
            if name == MANIFEST:
                manifest = json.loads(content.read())
                listed, missing = manifest["members"], manifest["missing"]
                continue
            digest, size = hashlib.sha256(), 0
            kept = io.BytesIO()
            while data := content.read(CHUNK):
                digest.update(data)
                size += len(data)
                if name == ABOUT:
                    kept.write(data)
            seen[name] = {"size": size, "sha256": digest.hexdigest()}
            if name == ABOUT:
                about = json.loads(kept.getvalue())
    if listed is None or listed != seen:
        raise InvalidInput("{name} is damaged or incomplete.", name=path.name)
    return {**about, "missing": missing}
