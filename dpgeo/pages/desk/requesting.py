"""Pages for requesting a release in two steps: review, then pay."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dpgeo.accounts.fresh_tokens import seal, unseal
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.datasets.models import Dataset, UploadState
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.quotes import like, quote_context, quote_for, typed
from dpgeo.pages.desk.request_form import ReleaseForm
from dpgeo.releases.models import Release
from dpgeo.releases.services import Quote, release_request

TOKEN_SALT = "dpgeo.desk.request"  # noqa: S105
TOKEN_SECONDS = 24 * 3600


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def release_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form, or handle its submitted `step`: review, edit again or pay.

    Until the dataset has an upload that is ready, a page says so instead.
    """
    dataset = dataset_for(request, slug, "request")
    if not dataset.uploads.filter(state=UploadState.READY).exists():
        return render(request, "desk/release_wait.html", {"dataset": dataset})
    step = request.POST.get("step", "")
    if step in {"review", "spend"}:
        return settle(request, dataset, spends=step == "spend")
    form = form_for(request, dataset)
    sent = request.POST or request.GET
    if sent:
        form = form_for(request, dataset, initial=typed(form, sent.dict()))
    return show_form(request, dataset, form)


def form_for(
    request: HttpRequest, dataset: Dataset, *, data: Any = None, initial: Any = None
) -> ReleaseForm:
    """Return the form, bound to `data` or filled with `initial` values.

    By default it starts with the settings of the last release.
    """
    last = dataset.releases.order_by("-created_at").first()
    if initial is None and last:
        initial = like(last)
    publishes = may(person(request), dataset, "publish")
    return ReleaseForm(data, dataset=dataset, publishes=publishes, initial=initial)


def settle(request: HttpRequest, dataset: Dataset, *, spends: bool) -> HttpResponse:
    """Show the receipt or, if `spends`, pay for the release and queue its job.

    If there are errors, the form is shown again with all its input.
    """
    form = form_for(request, dataset, data=request.POST)
    if not form.is_valid():
        return show_form(request, dataset, form)
    if spends:
        release = spend(request, form)
        if release:
            return redirect("desk-release", release_id=release.id)
    else:
        quote = quote_for(form)
        if quote:
            return show_receipt(request, form, quote)
    return show_form(request, dataset, form)


def show_receipt(request: HttpRequest, form: ReleaseForm, quote: Quote) -> HttpResponse:
    """Show the receipt, the last page before paying, with a token that allows one payment."""
    token = {"job": str(uuid.uuid4()), "user": person(request).pk, "dataset": form.dataset.pk}
    context = {
        "dataset": form.dataset,
        "form": form,
        "quote": quote,
        "values": form.cleaned_data,
        "parameters": [
            (form[f"{form.cleaned_data['mechanism']}.{name}"].label, value)
            for name, value in form.parameters.items()
        ],
        "hidden": [form[name].as_hidden() for name in form.fields],
        "token": seal(token, salt=TOKEN_SALT),
    }
    return render(request, "desk/release_receipt.html", context)


def spend(request: HttpRequest, form: ReleaseForm) -> Release | None:
    """Request the release; if the same receipt is sent twice, the same release is returned."""
    job_id = paid_with(request, form.dataset)
    if job_id is None:
        form.add_error(
            None, gettext("This quote is too old; look at the cost again and confirm it.")
        )
        return None
    values = form.cleaned_data
    try:
        return release_request(
            dataset=form.dataset,
            title=values["title"],
            description=values["description"],
            request=form.release_request(),
            publish_when_done=values.get("publish_when_done", False),
            all_files=values["all_files"],
            requested_by=person(request),
            job_id=job_id,
        )
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return None


def paid_with(request: HttpRequest, dataset: Dataset) -> uuid.UUID | None:
    """Return the job id in a receipt's token.

    Returns None if the token is invalid, too old, or for another user or dataset.
    """
    try:
        token = unseal(request.POST.get("token", ""), salt=TOKEN_SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        return None
    if (token["user"], token["dataset"]) != (person(request).pk, dataset.pk):
        return None
    return uuid.UUID(token["job"])


def show_form(request: HttpRequest, dataset: Dataset, form: ReleaseForm) -> HttpResponse:
    """Show the form next to its quote."""
    context = {"form": form} | quote_context(dataset, form)
    status = REFUSED if form.is_bound and form.errors else 200
    return render(request, "desk/release_form.html", context, status=status)


@login_required
@require_safe
@never_cache
def quote(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the quote for the fields in the query, as HTML to insert into the form's page."""
    dataset = dataset_for(request, slug, "request")
    form = form_for(request, dataset)
    form = form_for(request, dataset, initial=typed(form, request.GET.dict()))
    return render(request, "desk/quote.html", quote_context(dataset, form))
