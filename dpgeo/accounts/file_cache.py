"""A cache of counts in files, for all processes of one machine."""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

MAX_COUNTS = 10_000


class CountsInFiles(BaseCache):
    """Whole numbers that processes add to at once, none of them lost before its time.

    Django's cache of files is not fit for counting. It reads a count and writes it back, so that
    of two processes which do so at once one is forgotten; it lets a count end 300 seconds after
    it was last added to; and above 300 entries it deletes any third of them, so that whoever asks
    in many names wipes out what was counted of one. Here a lock makes each step whole, a count
    ends when it was to end, and beyond `MAX_COUNTS` those that have ended go, then those that end
    first.
    """

    def __init__(self, folder: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._folder = Path(folder)

    def add(
        self, key: str, value: int, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Begin a count that is not there yet; whether it was not."""
        path = self._path(key, version)
        with self._alone():
            if _read(path):
                return False
            self._make_room()
            ends = self.get_backend_timeout(timeout)
            _write(path, value, float("inf") if ends is None else ends)
            return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """A count, or `default` where there is none."""
        with self._alone():
            found = _read(self._path(key, version))
        return found[0] if found else default

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Add to a count, and say what it is then. Raises ValueError where there is none."""
        path = self._path(key, version)
        with self._alone():
            found = _read(path)
            if found is None:
                raise ValueError(f"Nothing is counted as {key!r}.")
            _write(path, found[0] + delta, found[1])
        return found[0] + delta

    def clear(self) -> None:
        """Forget all counts."""
        with self._alone():
            for path in self._paths():
                path.unlink()

    def _path(self, key: str, version: int | None) -> Path:
        name = self.make_and_validate_key(key, version=version)
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()}.count"

    def _paths(self) -> list[Path]:
        return list(self._folder.glob("*.count"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread of one process at a time."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / "lock").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _make_room(self) -> None:
        paths = self._paths()
        if len(paths) < MAX_COUNTS:
            return
        ends = {path: found[1] for path in paths if (found := _read(path))}
        first = sorted(ends, key=lambda path: ends[path])[: max(0, len(ends) - MAX_COUNTS // 2)]
        for path in {*paths} - {*ends} | {*first}:
            path.unlink()


def _read(path: Path) -> tuple[int, float] | None:
    """A count and when it ends. None for one that is not there, has ended or was cut short."""
    try:
        value, ends = path.read_text().split()
        found = int(value), float(ends)
    except (FileNotFoundError, ValueError):
        return None
    return found if found[1] > time.time() else None


def _write(path: Path, value: int, ends: float) -> None:
    path.write_text(f"{value} {ends}\n")
