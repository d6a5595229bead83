"""Small and read-only file systems for tests; tests are skipped where mounting is refused."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Disk:
    """A separate file system, mounted at `folder`."""

    folder: Path

    def fill(self, leave: int = 0) -> None:
        """Fill the disk so that only `leave` bytes are free."""
        self.clear()
        seen = os.statvfs(self.folder)
        with (self.folder / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, seen.f_bavail * seen.f_frsize - leave)

    def clear(self) -> None:
        """Delete the file that fills the disk."""
        (self.folder / "filler").unlink(missing_ok=True)

    def set_read_only(self) -> None:
        """Remount the disk read-only, so that all further writes fail."""
        _mount("-o", "remount,ro", str(self.folder))


@contextmanager
def small_disk(folder: Path, size: int = 8 * MIB) -> Iterator[Disk]:
    """Mount a file system of `size` bytes at a new folder; skip the test if mounting is refused."""
    folder.mkdir()
    if not _mount("-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)):
        pytest.skip("mounting a small file system needs root")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*words: str) -> bool:
    try:
        return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
