"""Database queries for the datasets, uploads and files that a user may see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

from django.db.models import Exists, OuterRef, Q, QuerySet

from dpgeo.accounts.selectors import Visitor, visible_organisations
from dpgeo.budgets.models import Entry
from dpgeo.core.errors import Conflict
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.storage import local_path, private_storage
from dpgeo.jobs.models import JobState

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""

TABLES = ("organisation", "ledger__geo", "data_protection")
"""Tables fetched together with datasets, because every list of datasets shows values of them."""


def datasets_visible_to(user: Visitor) -> QuerySet[Dataset]:
    """Return the datasets of a user's organisations, in every state."""
    return Dataset.objects.filter(organisation__in=visible_organisations(user)).select_related(
        *TABLES
    )


def datasets_public() -> QuerySet[Dataset]:
    """Return the datasets that have a published release."""
    releases = Dataset.objects.filter(pk=OuterRef("pk"), releases__state="published")
    return Dataset.objects.filter(Exists(releases)).select_related(*TABLES)


def near(box: Box, path: str = "") -> Q:
    """Return a filter for datasets whose study area has a bounding box that intersects `box`.

    `path` is the lookup from the filtered model to the dataset, such as "dataset__" for releases.
    """
    west, south, east, north = box
    sides = {"west__lte": east, "east__gte": west, "south__lte": north, "north__gte": south}
    return Q(**{f"{path}{side}": value for side, value in sides.items()})


def entries_of_datasets(datasets: QuerySet[Dataset]) -> QuerySet[Entry]:
    """Return the entries of all of the datasets' ledgers, both for counts and for points."""
    paths = ("", "beside__", "merged_into__", "merged_into__beside__")
    theirs = [Q(**{f"ledger__{path}datasets__in": datasets}) for path in paths]
    return Entry.objects.filter(reduce(Q.__or__, theirs)).distinct().select_related("ledger")


def datasets_readable_by(user: Visitor) -> QuerySet[Dataset]:
    """Return the public datasets and those of a user's organisations."""
    public, own = datasets_public().values("pk"), datasets_visible_to(user).values("pk")
    return Dataset.objects.filter(Q(pk__in=public) | Q(pk__in=own)).select_related(*TABLES)


def is_being_erased_from(dataset: Dataset) -> bool:
    """Return whether a person is yet to be erased from the data: a map would still count them."""
    return dataset.uploads.filter(erasing__isnull=False).exists()


def uploads_visible_to(user: Visitor) -> QuerySet[Upload]:
    """Return the uploads of a user's organisations."""
    return Upload.objects.filter(
        dataset__organisation__in=visible_organisations(user)
    ).select_related("dataset", "job")


def ready_upload(dataset: Dataset) -> Upload | None:
    """Return the newest ready upload; it stands for the newest version (`datasets.versions`)."""
    ready = dataset.uploads.filter(state=UploadState.READY)
    return ready.order_by("-version", "-created_at").first()


def is_erasure_hidden(upload: Upload) -> bool:
    """Return whether an erasure deleted the upload and API keys may not yet learn that it ended."""
    later = upload.dataset.uploads.filter(created_at__gt=upload.created_at).exclude(job=None)
    return upload.state == UploadState.ERASED and not all(
        each.job is None or each.job.is_end_shown for each in later.select_related("job")
    )


def rests_on_columns(dataset: Dataset) -> bool:
    """Return whether a release depends on the dataset's columns, which must then not change.

    Releases that are queued, are running or have drawn noise depend on them. Releases that were
    cancelled or failed before noise was drawn do not, since they measured nothing.
    """
    nothing_drawn = Q(job__state__in=(JobState.CANCELLED, JobState.FAILED), job__drawing=False)
    return dataset.releases.exclude(nothing_drawn, blob_name="").exists()


@contextmanager
def canonical_path(upload: Upload) -> Iterator[Path]:
    """Yield a local path to an upload's canonical file. Raises Conflict if there is none."""
    if not upload.canonical_name or not private_storage().exists(upload.canonical_name):
        raise Conflict("The prepared data of this upload are gone; upload the file again.")
    with local_path(private_storage(), upload.canonical_name) as path:
        yield path
