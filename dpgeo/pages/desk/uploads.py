"""Upload pages: send a file, confirm its columns, follow the job, read the report."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may, may_administer
from dpgeo.core.errors import DpgeoError, InvalidInput
from dpgeo.datasets.locations import list_locations
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.practice import upload_practice
from dpgeo.datasets.previews import upload_look
from dpgeo.datasets.registration import registered, source_register
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.size_limit import check_size
from dpgeo.datasets.snapshots import Snapshot
from dpgeo.datasets.uploads import upload_discard, upload_receive
from dpgeo.ingest.understanding import ASK_BELOW
from dpgeo.pages.desk.access import (
    dataset_for,
    opened_upload,
    person,
    sees_counts,
    upload_for,
)
from dpgeo.pages.desk.check import columns, may_choose_columns
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.forms import UploadForm
from dpgeo.pages.desk.jobs import job_context
from dpgeo.pages.desk.path import steps
from dpgeo.pages.rendering import say

TOO_LARGE = 413


# The CSRF token is in the body, which must not be read before the user's permission is checked;
# `receive` then checks the token.
@csrf_exempt
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Receive a file. Before the body is read, refuse files too large and users without the right.

    Scripts that accept JSON receive {"next": address} or {"errors": [...]} instead of a page.
    """
    dataset = dataset_for(request, slug, "upload")
    try:
        check_size(int(request.META.get("CONTENT_LENGTH") or 0))
    except InvalidInput as refusal:
        return refuse(request, dataset, UploadForm(), [say(refusal)], TOO_LARGE)
    return receive(request, dataset)


@csrf_protect
def receive(request: HttpRequest, dataset: Dataset) -> HttpResponse:
    """Show the form, or store the submitted file."""
    if request.method != "POST":
        return render(request, "desk/upload_new.html", _context(request, dataset, UploadForm()))
    form = UploadForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            upload = upload_receive(
                dataset=dataset, file=file, file_name=file.name, created_by=person(request)
            )
            upload_look(upload=upload)
        except DpgeoError as refusal:
            form.add_error("file", say(refusal))
        else:
            address = reverse("desk-upload", args=[upload.id])
            return JsonResponse({"next": address}) if wants_json(request) else redirect(address)
    errors = [str(error) for of_field in form.errors.values() for error in of_field]
    return refuse(request, dataset, form, errors, REFUSED)


def refuse(
    request: HttpRequest, dataset: Dataset, form: UploadForm, errors: list[str], status: int
) -> HttpResponse:
    """Report the errors in a file, as JSON to a script or on the form's page to a person."""
    if wants_json(request):
        return JsonResponse({"errors": errors}, status=status)
    context = _context(request, dataset, form) | {"errors": errors if not form.errors else []}
    return render(request, "desk/upload_new.html", context, status=status)


def _context(request: HttpRequest, dataset: Dataset, form: UploadForm) -> dict[str, Any]:
    current = ready_upload(dataset)
    context = {"dataset": dataset, "form": form, "steps": steps(2), "ready": current is not None}
    context["folders"] = folders_for(person(request), dataset)
    context["again"] = bool(context["folders"] and current and current.source)
    context["source"] = current.source if current else {}
    return context


def folders_for(user: User, dataset: Dataset) -> list[str]:
    """Return the names of the server's folders from which a user may have a dataset read.

    Administrators may choose any folder of their organisation, others only those in use.
    """
    if may_administer(user, dataset.organisation):
        return [each.name for each in list_locations(dataset.organisation.slug)]
    return sorted({location for location, _ in registered(dataset)})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def register(request: HttpRequest, slug: str) -> HttpResponse:
    """Register a folder or table that the settings name, or have it read again."""
    dataset = dataset_for(request, slug, "upload")
    # After a form with errors, reloading the page can send a GET request to this URL.
    if request.method != "POST":
        return redirect("desk-upload-new", slug=slug)
    try:
        upload = source_register(
            dataset=dataset,
            location=request.POST.get("location"),
            folder=request.POST.get("folder"),
            as_of=request.POST.get("as_of"),
            by=person(request),
        )
        upload_look(upload=upload)
    except DpgeoError as refusal:
        context = _context(request, dataset, UploadForm())
        context |= {"source": request.POST, "unregistered": say(refusal)}
        return render(request, "desk/upload_new.html", context, status=REFUSED)
    return redirect("desk-upload", upload_id=upload.pk)


def wants_json(request: HttpRequest) -> bool:
    """Whether the client asks for JSON."""
    return request.headers.get("Accept") == "application/json"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    """Show an upload: first its columns, then its job's progress, then the private report."""
    the_upload = opened_upload(request, upload_id)
    user = person(request)
    waiting = {UploadState.RECEIVED, UploadState.FAILED}
    may_upload = may(user, the_upload.dataset, "upload")
    if the_upload.state in waiting and may_upload:
        return columns(request, the_upload)
    context: dict[str, Any] = {"upload": the_upload, "dataset": the_upload.dataset}
    context["steps"] = steps(3)
    context["sees_private"] = may(user, the_upload.dataset, "see_private")
    context["may_choose"] = may_upload and the_upload.is_kept and may_choose_columns(the_upload)
    context["sees_counts"] = sees_counts(user, the_upload.dataset)
    if the_upload.report and context["sees_counts"]:
        context |= report_shares(the_upload)
        context["snapshot"] = Snapshot.of(the_upload) if the_upload.source else None
    if the_upload.job:
        context |= job_context(user, the_upload.job)
    return render(request, "desk/upload.html", context)


def report_shares(upload: Upload) -> dict[str, Any]:
    """Return how many rows were refused, what percentage was accepted, and if that is too few."""
    report = upload.report or {}
    read, accepted = report["read"], report["accepted"]
    return {
        "refused": read - accepted,
        "stop": bool(read) and not accepted,
        "few": accepted < ASK_BELOW * read,
        "percent": 100 * accepted // read if read else 100,
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload_columns(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    """Change the columns of a file that was already read, as long as no release depends on them."""
    the_upload = opened_upload(request, upload_id, "upload")
    if the_upload.state != UploadState.READY or not may_choose_columns(the_upload):
        return redirect("desk-upload", upload_id=the_upload.id)
    return columns(request, the_upload)


@login_required
@require_POST
def upload_remove(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    """Delete an unused upload and its file."""
    the_upload = upload_for(request, upload_id, "upload")
    try:
        upload_discard(upload=the_upload, by=person(request))
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
        return redirect("desk-upload", upload_id=the_upload.id)
    messages.success(request, gettext("Removed: {name}.").format(name=the_upload.file_name))
    return redirect("desk-dataset", slug=the_upload.dataset.slug)


@login_required
@require_POST
def practice(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a practice upload of invented people in the dataset's study area."""
    dataset = dataset_for(request, slug, "upload")
    try:
        upload = upload_practice(dataset=dataset, created_by=person(request))
        upload_look(upload=upload)
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
        return redirect("desk-upload-new", slug=slug)
    return redirect("desk-upload", upload_id=upload.pk)
