"""Which datasets and uploads a person may see, and where their files are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db.models import Q, QuerySet

from dpgeo.accounts.selectors import Visitor, organisations_of
from dpgeo.budgets.models import Entry
from dpgeo.core.errors import Conflict
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.storage import local_path, private_storage
from dpgeo.jobs.models import JobState

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""

TABLES = ("organisation", "ledger__geo")
"""What is said of a dataset wherever it is listed."""


def datasets_visible_to(user: Visitor) -> QuerySet[Dataset]:
    """The datasets of a person's organisations, in whatever state."""
    return Dataset.objects.filter(organisation__in=organisations_of(user)).select_related(*TABLES)


def datasets_public() -> QuerySet[Dataset]:
    """The datasets of which a release is published now."""
    shown = Dataset.objects.filter(releases__state="published").values("pk")
    return Dataset.objects.filter(pk__in=shown).select_related(*TABLES)


def near(box: Box, path: str = "") -> Q:
    """Datasets whose study area's bounding box touches a box.

    `path` leads to the dataset from what is filtered, such as "dataset__" from releases.
    """
    west, south, east, north = box
    sides = {"west__lte": east, "east__gte": west, "south__lte": north, "north__gte": south}
    return Q(**{f"{path}{side}": value for side, value in sides.items()})


def entries_of_datasets(datasets: QuerySet[Dataset]) -> QuerySet[Entry]:
    """The entries of the ledgers of every notion that datasets draw on."""
    theirs = Q(ledger__datasets__in=datasets) | Q(ledger__beside__datasets__in=datasets)
    return Entry.objects.filter(theirs).distinct().select_related("ledger")


def datasets_readable_by(user: Visitor) -> QuerySet[Dataset]:
    """The public datasets, and those of a person's organisations."""
    public, own = datasets_public().values("pk"), datasets_visible_to(user).values("pk")
    return Dataset.objects.filter(Q(pk__in=public) | Q(pk__in=own)).select_related(*TABLES)


def uploads_visible_to(user: Visitor) -> QuerySet[Upload]:
    """The uploads of a person's organisations."""
    return Upload.objects.filter(dataset__organisation__in=organisations_of(user)).select_related(
        "dataset", "job"
    )


def ready_upload(dataset: Dataset) -> Upload | None:
    """The newest upload that releases can be made from."""
    return dataset.uploads.filter(state=UploadState.READY).order_by("-created_at").first()


def rests_on_columns(dataset: Dataset) -> bool:
    """Whether a release of the dataset waits, runs or was drawn, so that its columns stay.

    What was cancelled or failed before noise was drawn measured nothing.
    """
    nothing_drawn = Q(job__state__in=(JobState.CANCELLED, JobState.FAILED), job__drawing=False)
    return dataset.releases.exclude(nothing_drawn, blob_name="").exists()


@contextmanager
def canonical_path(upload: Upload) -> Iterator[Path]:
    """The canonical file of a ready upload as a local path. Raises Conflict if there is none."""
    if not upload.canonical_name or not private_storage().exists(upload.canonical_name):
        raise Conflict("The prepared data of this upload are gone; upload the file again.")
    with local_path(private_storage(), upload.canonical_name) as path:
        yield path
