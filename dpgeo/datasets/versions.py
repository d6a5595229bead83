"""Versions of a dataset's data: which canonical files a release reads.

An upload stands for a version. In a dataset whose files replace each other, the version is this
upload's file alone. In a dataset that grows, it is this file and all that were ready before: a file
gets the next number in the transaction that makes it ready. So a version always consists of the
same files, whatever is added later. An erasure replaces all of them by one file with the next
number.
"""

from __future__ import annotations

from django.db.models import Max, QuerySet

from dpgeo.datasets.models import Dataset, Upload, UploadState


def version_files(version: Upload) -> QuerySet[Upload]:
    """Return the uploads whose rows are in a version of the data, in the order of their numbers."""
    if not version.dataset.grows:
        return Upload.objects.filter(pk=version.pk)
    files = version.dataset.uploads.filter(state=UploadState.READY, version__lte=version.version)
    return files.order_by("version")


def next_version(dataset: Dataset) -> int:
    """Return the version number for the next file to become ready; 0 if files replace each other.

    Call it with the dataset locked.
    """
    if not dataset.grows:
        return 0
    last = dataset.uploads.aggregate(last=Max("version"))["last"]
    return int(last or 0) + 1


def rows_of(version: Upload) -> int:
    """Return the number of rows in a version of the data. The number is private."""
    return sum(int((each.report or {}).get("accepted", 0)) for each in version_files(version))
