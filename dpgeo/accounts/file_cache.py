"""File-based cache of counters that all processes on one machine share."""

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
    """Counters in files that concurrent processes can increment without losing counts.

    Django's file cache is unsuitable for counters. It reads a counter and writes it back, so one of
    two concurrent increments can be lost. Each increment also resets the expiry time to 300 seconds
    from then. And above 300 entries it deletes a random third, so a client that sends requests
    under many names could erase other clients' counters. Here a lock makes each operation atomic,
    and increments leave the expiry time unchanged. Once there are `MAX_COUNTS` counters, expired
    ones are deleted, then those that expire soonest, until at most half are left.
    """

    def __init__(self, folder: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._folder = Path(folder)

    def add(
        self, key: str, value: int, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Create a counter that expires after `timeout` seconds, unless the counter exists.

        Returns whether it was created.
        """
        path = self._path(key, version)
        with self._locked():
            if _read(path):
                return False
            self._make_room()
            ends = self.get_backend_timeout(timeout)
            _write(path, value, float("inf") if ends is None else ends)
            return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """Return the value of a counter, or `default` if it does not exist."""
        with self._locked():
            counter = _read(self._path(key, version))
        return counter[0] if counter else default

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Increment a counter and return its new value.

        Raises ValueError if the counter does not exist.
        """
        path = self._path(key, version)
        with self._locked():
            counter = _read(path)
            if counter is None:
                raise ValueError(f"Nothing is counted as {key!r}.")
            _write(path, counter[0] + delta, counter[1])
        return counter[0] + delta

    def delete_expired(self) -> None:
        """Delete the files of expired counters."""
        for path in self._paths():
            # Lock one file at a time, so that no request has to wait for all.
            with self._locked():
                if _read(path) is None:
                    path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all counters."""
        with self._locked():
            for path in self._paths():
                path.unlink()

    def _path(self, key: str, version: int | None) -> Path:
        name = self.make_and_validate_key(key, version=version)
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()}.count"

    def _paths(self) -> list[Path]:
        return list(self._folder.glob("*.count"))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock all counters against other threads and processes."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / "lock").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _make_room(self) -> None:
        paths = self._paths()
        if len(paths) < MAX_COUNTS:
            return
        ends = {path: counter[1] for path in paths if (counter := _read(path))}
        first = sorted(ends, key=lambda path: ends[path])[: max(0, len(ends) - MAX_COUNTS // 2)]
        for path in {*paths} - {*ends} | {*first}:
            path.unlink()


def _read(path: Path) -> tuple[int, float] | None:
    """Return the value and the expiry time of a counter.

    Returns None if the counter does not exist or has expired, or if its file is incomplete.
    """
    try:
        value, ends = path.read_text().split()
        counter = int(value), float(ends)
    except (FileNotFoundError, ValueError):
        return None
    return counter if counter[1] > time.time() else None


def _write(path: Path, value: int, ends: float) -> None:
    path.write_text(f"{value} {ends}\n")
