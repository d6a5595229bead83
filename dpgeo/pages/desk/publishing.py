"""Last step of making a map: its title, its cost, and the button that publishes it."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.fresh_tokens import seal, unseal
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.datasets.dataset_budgets import dataset_share_budget
from dpgeo.datasets.models import Dataset, UploadState
from dpgeo.datasets.same_people import open_warnings
from dpgeo.datasets.services import dataset_guess_people, dataset_update
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.cost import expected, first_problems, picture, protection, typed_fields
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm, all_files_field
from dpgeo.pages.desk.map_form import ReleaseForm
from dpgeo.pages.desk.path import steps
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_request


class PublishForm(DeskForm):
    """The form for the public texts of a map, all of which have defaults."""

    title = forms.CharField(
        max_length=200,
        label=_("Title"),
    )
    description = forms.CharField(
        required=False,
        label=_("One sentence about the data"),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    licence = forms.CharField(
        max_length=100,
        label=_("Licence"),
        widget=forms.TextInput(attrs={"list": "licences"}),
        help_text=_("What others may do with the published maps."),
    )
    all_files = all_files_field()


TOKEN_SALT = "dpgeo.desk.request"  # noqa: S105
TOKEN_SECONDS = 24 * 3600


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what will be spent and published; when submitted, spend it and queue the job."""
    dataset = dataset_for(request, slug, "request")
    asked = ReleaseForm(typed_fields(request.GET), dataset=dataset)
    at_cost = f"{reverse('desk-cost', args=[slug])}?{asked.query()}"
    form = PublishForm(request.POST or None, initial=initial(dataset, asked))
    if request.method == "POST" and form.is_valid():
        release = spend(request, form, asked)
        if release:
            return redirect("desk-release", release_id=release.id)
    if first_problems(request, asked) or asked.quote is None:
        return redirect(at_cost)
    token = {"job": str(uuid.uuid4()), "user": person(request).pk, "agreed": agreed(asked)}
    context = {
        "dataset": dataset,
        "steps": steps(6),
        "asked": asked,
        "quote": asked.quote,
        "unnamed": is_unnamed(dataset),
        "form": form,
        "back": at_cost,
        "ready": dataset.uploads.filter(state=UploadState.READY).exists(),
        "reading": dataset.uploads.filter(state=UploadState.QUEUED).first(),
        "publishes": may(person(request), dataset, "publish"),
        "picture": picture(asked),
        "warned": may(person(request), dataset, "see_private") and open_warnings(dataset).exists(),
        "token": seal(token, salt=TOKEN_SALT),
        **expected(asked),
        **protection(asked),
    }
    return render(request, "desk/publish.html", context, status=REFUSED if form.errors else 200)


def is_unnamed(dataset: Dataset) -> bool:
    """Return whether a dataset has the default title of a drawn area without a known place."""
    return dataset.title == gettext("Where people are")


def initial(dataset: Dataset, asked: ReleaseForm) -> dict[str, Any]:
    """Return the initial texts of the form."""
    subject = asked.subject
    headline = gettext(subject.title if is_unnamed(dataset) else subject.headline)
    return {
        "title": headline.format(place=dataset.title),
        "description": dataset.description,
        "licence": dataset.licence,
    }


def spend(request: HttpRequest, form: PublishForm, asked: ReleaseForm) -> Release | None:
    """Set the lifetime total for a first map and request the release, in one transaction.

    If the same page is sent twice, the same release is returned.
    """
    dataset, values = asked.dataset, form.cleaned_data
    token = read_token(request)
    if token is None:
        form.add_error(None, gettext("This page is too old; look at the cost again."))
        return None
    if repeated := dataset.releases.filter(job=token["job"]).first():
        return repeated
    if asked.quote is None or token["agreed"] != agreed(asked):
        form.add_error(
            None, gettext("What is left has changed meanwhile, and with it the cost: look again.")
        )
        return None
    try:
        with transaction.atomic():
            give_budget(request, asked)
            if "guess.people" in asked.typed:
                dataset_guess_people(dataset=dataset, people=asked.people)
            if values["licence"] != dataset.licence:
                dataset_update(dataset=dataset, changes={"licence": values["licence"]})
            return release_request(
                dataset=dataset,
                title=values["title"],
                description=values["description"],
                request=asked.quote.request,
                publish_when_done="draft" not in request.POST,
                all_files=values["all_files"],
                requested_by=person(request),
                job_id=uuid.UUID(token["job"]),
            )
    except DpgeoError as refusal:
        dataset.refresh_from_db()
        form.add_refusal(refusal)
        return None


def read_token(request: HttpRequest) -> dict[str, Any] | None:
    """Return the token, which allows one payment; None if it is not the user's or too old."""
    try:
        token = unseal(request.POST.get("token", ""), salt=TOKEN_SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        return None
    return token if token["user"] == person(request).pk else None


def agreed(asked: ReleaseForm) -> list[object]:
    """Return what the user agrees to on the page: budget, lifetime total, request and its cost.

    The form's signed token contains it, so that only what the user has seen is spent and published.
    """
    request = asked.asked.model_dump_json() if asked.asked else ""
    cost = asked.quote.cost_words if asked.quote else ""
    ledgers = [asked.dataset.ledger_id, asked.shared.pk if asked.shared else None]
    return [asked.dataset.pk, *ledgers, str(asked.total), request, cost]


def give_budget(request: HttpRequest, asked: ReleaseForm) -> None:
    """Set the dataset's total budget, or share the budget of a dataset about the same people."""
    dataset = asked.dataset
    if not asked.undecided:
        return
    if asked.shared:
        dataset_share_budget(dataset=dataset, ledger=asked.shared)
    elif asked.total is not None and may(person(request), dataset, "set_budget"):
        dataset_update(dataset=dataset, changes={"budget": asked.total})
