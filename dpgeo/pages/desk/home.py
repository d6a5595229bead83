"""Start page of the desk: remaining budgets, running jobs and open decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import visible_organisations
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.selectors import datasets_visible_to, entries_of_datasets
from dpgeo.jobs.models import UNFINISHED, JobState
from dpgeo.pages.desk.access import person, sees_counts
from dpgeo.pages.desk.figures import Budget, dataset_budget
from dpgeo.pages.desk.jobs import Progress, job_progress
from dpgeo.pages.desk.people import recovery_ledgers
from dpgeo.releases.models import Release
from dpgeo.releases.states import ENDED, PUBLIC, states_from

SHOWN_ENTRIES = 8
PAGE_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Line:
    """An entry in the desk's list of datasets.

    `upload` is the newest upload that is ready or, if none is, the newest one. `releases` is the
    number of releases whose job is done.
    """

    dataset: Dataset
    budget: Budget
    points: Ledger | None
    """The ledger for moved points; None if there is none."""
    releases: int
    shown: Release | None
    """The newest release that can be shown as a map."""
    upload: Upload | None
    sees_counts: bool

    @property
    def ready(self) -> bool:
        """Whether a release of the dataset can be requested."""
        return self.upload is not None and self.upload.state == UploadState.READY


def line_of(user: User, dataset: Dataset) -> Line:
    """Return a dataset's entry in the desk's list."""
    uploads = dataset.uploads
    ready = uploads.filter(state=UploadState.READY).first()
    done = dataset.releases.filter(job__state=JobState.DONE)
    return Line(
        dataset=dataset,
        budget=dataset_budget(dataset),
        points=points_ledger(dataset.ledger),
        releases=done.count(),
        shown=done.exclude(state__in=ENDED).first(),
        upload=ready or uploads.first(),
        sees_counts=sees_counts(user, dataset),
    )


@dataclass(frozen=True, slots=True)
class Work:
    """A release or an upload with its job's progress."""

    subject: Release | Upload
    progress: Progress


def visible_work(user: User, subjects: Iterable[Release | Upload]) -> list[Work]:
    """Return the given releases and uploads that have a job, with the progress the user may see."""
    return [Work(subject, job_progress(user, subject.job)) for subject in subjects if subject.job]


def unread_uploads(datasets: Iterable[Dataset]) -> list[Upload]:
    """Return the newest upload of every dataset whose newest upload could not be read."""
    newest = (dataset.uploads.order_by("-created_at").first() for dataset in datasets)
    return [upload for upload in newest if upload and upload.state == UploadState.FAILED]


@login_required
@require_safe
def desk(request: HttpRequest) -> HttpResponse:
    """Show every dataset of the user's organisations and the unfinished work."""
    user = person(request)
    datasets = datasets_visible_to(user)
    releases = Release.objects.filter(dataset__in=datasets).select_related("dataset", "job")
    uploads = Upload.objects.filter(dataset__in=datasets).select_related("dataset", "job")
    entries = entries_of_datasets(datasets)
    context = {
        "lines": [line_of(user, dataset) for dataset in datasets],
        "declares": visible_organisations(user).exists(),
        "published": releases.filter(state__in=PUBLIC).count(),
        "drafts": releases.filter(state__in=states_from("publish"), job__state=JobState.DONE),
        "running": visible_work(user, releases.filter(job__state__in=UNFINISHED)),
        "ingesting": visible_work(user, uploads.filter(job__state__in=UNFINISHED)),
        "unconfirmed": uploads.filter(state=UploadState.RECEIVED),
        "unread": unread_uploads(datasets),
        "failed": releases.filter(job__state=JobState.FAILED)[:3],
        "entries": entries.order_by("-at", "-id")[:SHOWN_ENTRIES],
        "entry_count": entries.count(),
        "recovered": recovery_ledgers(user),
    }
    return render(request, "desk/home.html", context)


@login_required
@require_safe
def ledger(request: HttpRequest) -> HttpResponse:
    """List all entries of the ledgers of the datasets that the user may see."""
    datasets = datasets_visible_to(person(request))
    entries = entries_of_datasets(datasets)
    pages = Paginator(entries.select_related("ledger").order_by("-at", "-id"), PAGE_ENTRIES)
    page = pages.get_page(request.GET.get("page"))
    return render(request, "desk/ledger.html", {"page": page, "nav": "ledger"})
