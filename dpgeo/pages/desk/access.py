"""Access control for the desk's pages; anyone without access gets 404."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.shown_files import upload_shown
from dpgeo.jobs.models import Job
from dpgeo.pages.rendering import say
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState


def person(request: HttpRequest) -> User:
    """Return the signed-in user of a request. Use this only in views behind `login_required`."""
    return cast(User, request.user)


@contextmanager
def report(request: HttpRequest, done: str = "") -> Iterator[None]:
    """Tell the user on the next page that something was `done`, or why a service refused it."""
    try:
        yield
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
    else:
        if done:
            messages.success(request, done)


def need(user: User, dataset: Dataset, action: str) -> Dataset:
    """Return `dataset` if the user may do `action` on it. Raises Http404 otherwise."""
    if not may(user, dataset, action):
        raise Http404("No such page.")
    return dataset


def dataset_for(request: HttpRequest, slug: str, action: str = "view") -> Dataset:
    """Return the dataset if the signed-in user may do `action` on it. Raises Http404 otherwise."""
    dataset = get_object_or_404(Dataset.objects.select_related("organisation", "ledger"), slug=slug)
    return need(person(request), dataset, action)


def upload_for(request: HttpRequest, upload_id: object, action: str = "view") -> Upload:
    """Return the upload if the signed-in user may do `action` on it. Raises Http404 otherwise."""
    uploads = Upload.objects.select_related("dataset__organisation", "dataset__ledger", "job")
    upload = get_object_or_404(uploads, id=upload_id)
    need(person(request), upload.dataset, action)
    return upload


def opened_upload(request: HttpRequest, upload_id: object, action: str = "view") -> Upload:
    """Return the upload whose page a member opens, and record that it was opened. Raises Http404.

    Every page that may show an upload's rows starts with this call. `action` is what the user must
    be allowed to do. Whether a page then shows any rows depends on the file, and the record must
    not depend on the file.
    """
    upload = upload_for(request, upload_id, action)
    upload_shown(upload=upload)
    return upload


def release_for(request: HttpRequest, release_id: str, action: str = "view") -> Release:
    """Return the release if the signed-in user may do `action` on it. Raises Http404 otherwise."""
    releases = Release.objects.select_related(
        "dataset__organisation", "dataset__ledger", "upload", "job", "created_by"
    )
    release = get_object_or_404(releases, id=release_id)
    need(person(request), release.dataset, action)
    return release


def awaits_decision(dataset: Dataset) -> bool:
    """Return whether a draft paid from the dataset's budget still waits for a decision."""
    drafts = Release.objects.filter(state=ReleaseState.DRAFT)
    return drafts.filter(dataset__ledger=dataset.ledger_id).exists()


def sees_counts(user: User, dataset: Dataset) -> bool:
    """Return whether a user may see exact numbers of rows.

    The numbers are hidden while a draft waits to be published or rejected, a decision that must
    depend on the draft alone (`releases.services.release_reject`).
    """
    return may(user, dataset, "see_private") and not awaits_decision(dataset)


def dataset_of_job(job: Job) -> Dataset:
    """Return the dataset that a job works on. Raises Http404 if there is none."""
    release = Release.objects.filter(job=job).select_related("dataset").first()
    if release:
        return release.dataset
    upload = get_object_or_404(Upload.objects.select_related("dataset"), job=job)
    return upload.dataset
