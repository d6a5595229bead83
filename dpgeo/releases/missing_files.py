"""All files that rows name, and which of the files found missing are still missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpgeo.datasets.models import MissingFile, PublicLayer, Upload
from dpgeo.datasets.storage import private_storage, public_storage
from dpgeo.releases.models import Release, ReleaseFile, Series

MAX_CHECKED = 200
"""Number of missing files for which each round asks the storage whether they are back."""


def named_files(using: str = "default") -> Iterator[tuple[bool, str]]:
    """Yield, for each file that a row names, whether it is in the public storage, and its name."""
    private: list[tuple[Any, str]] = [
        (Upload, "raw_name"),
        (Upload, "canonical_name"),
        (PublicLayer, "stored_name"),
        (Release, "blob_name"),
        (Series, "state_name"),
    ]
    for model, column in private:
        names = model._base_manager.using(using).exclude(**{column: ""})
        yield from ((False, name) for name in names.values_list(column, flat=True))
    made = ReleaseFile.objects.using(using).exclude(stored_name="")
    files = made.values_list("public", "stored_name", "gzipped")
    for public, name, gzipped in files:
        yield public, name
        if gzipped:
            yield public, f"{name}.gz"


def files_still_missing() -> int:
    """Forget recorded files that are stored again or that no row names; return how many are left.

    A file that was read while another process moved or deleted it is recorded as well, and is
    forgotten here.
    """
    recorded = list(MissingFile.objects.order_by("?")[:MAX_CHECKED])
    if recorded:
        named = set(named_files())
        for file in recorded:
            storage = public_storage() if file.public else private_storage()
            if (file.public, file.name) not in named or storage.exists(file.name):
                file.delete()
    return MissingFile.objects.count()
