"""Storages for tests: empty ones, and one without file paths, as an object store is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.files.storage import InMemoryStorage, Storage


def use_empty_storages(settings: Any, folder: Path) -> None:
    """Store files in a folder of this test, separate from those of other tests."""
    for name in ("private", "releases"):
        settings.STORAGES = {
            **settings.STORAGES,
            name: {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": str(folder / name)},
            },
        }


class PathlessStorage(Storage):
    """A storage that keeps files in memory and knows them only by name.

    `path` raises NotImplementedError, as Storage's own method does.
    """

    def __init__(self) -> None:
        self._files = InMemoryStorage()

    def _open(self, name: str, mode: str = "rb") -> Any:
        return self._files.open(name, mode)

    def _save(self, name: str, content: Any) -> str:
        return self._files.save(name, content)

    def delete(self, name: str) -> None:
        self._files.delete(name)

    def exists(self, name: str) -> bool:
        return self._files.exists(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        return self._files.listdir(path)

    def size(self, name: str) -> int:
        return self._files.size(name)

    def get_modified_time(self, name: str) -> datetime:
        return self._files.get_modified_time(name)
