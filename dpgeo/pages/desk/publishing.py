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

from dpgeo.accounts.fresh_tokens import seal
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.datasets.dataset_budgets import dataset_share_budget
from dpgeo.datasets.models import Dataset, UploadState
from dpgeo.datasets.same_people import open_warnings
from dpgeo.datasets.services import dataset_guess_people, dataset_update
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.cost import first_problem, picture_address, protection
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm, all_files_field
from dpgeo.pages.desk.path import steps
from dpgeo.pages.desk.requesting import TOKEN_SALT, paid_with
from dpgeo.pages.desk.settings import MapSettings
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


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what will be spent and published; when submitted, spend it and queue the job."""
    dataset = dataset_for(request, slug, "request")
    settings = MapSettings(dataset, request.GET)
    at_cost = f"{reverse('desk-cost', args=[slug])}?{settings.query()}"
    chosen = next(card for card in settings.cards() if card.chosen)
    if first_problem(request, settings) or not chosen.amount:
        return redirect(at_cost)
    form = PublishForm(request.POST or None, initial=initial(dataset, settings))
    if request.method == "POST" and form.is_valid():
        release = spend(request, form, settings)
        if release:
            return redirect("desk-release", release_id=release.id)
    token = {
        **{"job": str(uuid.uuid4()), "user": person(request).pk, "dataset": dataset.pk},
        "shown": shown(settings),
    }
    context = {
        "dataset": dataset,
        "steps": steps(6),
        "settings": settings,
        "unnamed": is_unnamed(dataset),
        "form": form,
        "card": chosen,
        "back": at_cost,
        "ready": dataset.uploads.filter(state=UploadState.READY).exists(),
        "reading": dataset.uploads.filter(state=UploadState.QUEUED).first(),
        "publishes": may(person(request), dataset, "publish"),
        "picture": picture_address(settings),
        "warned": may(person(request), dataset, "see_private") and open_warnings(dataset).exists(),
        "token": seal(token, salt=TOKEN_SALT),
        **protection(settings),
    }
    return render(request, "desk/publish.html", context, status=REFUSED if form.errors else 200)


def is_unnamed(dataset: Dataset) -> bool:
    """Return whether a dataset has the default title of a drawn area without a known place."""
    return dataset.title == gettext("Where people are")


def initial(dataset: Dataset, settings: MapSettings) -> dict[str, Any]:
    """Return the initial texts of the form."""
    headline = gettext(settings.kind.title if is_unnamed(dataset) else settings.kind.headline)
    return {
        "title": headline.format(place=dataset.title),
        "description": dataset.description,
        "licence": dataset.licence,
    }


def spend(request: HttpRequest, form: PublishForm, settings: MapSettings) -> Release | None:
    """Set the lifetime total for a first map and request the release, in one transaction.

    If the same page is sent twice, the same release is returned.
    """
    dataset, values = settings.dataset, form.cleaned_data
    job_id = paid_with(request, dataset)
    if job_id is None:
        form.add_error(None, gettext("This page is too old; look at the cost again."))
        return None
    agreed = signing.loads(request.POST["token"], salt=TOKEN_SALT).get("shown")
    repeated = Release.objects.filter(job=job_id).exists()
    if agreed != shown(settings) and not repeated:
        form.add_error(
            None, gettext("What is left has changed meanwhile, and with it the cost: look again.")
        )
        return None
    try:
        wanted = settings.request(settings.detail)
        if wanted is None:
            form.add_error(None, settings.total_problem)
            return None
        with transaction.atomic():
            give_budget(request, settings)
            if settings.people_text:
                dataset_guess_people(dataset=dataset, people=settings.guessed_people)
            if values["licence"] != dataset.licence:
                dataset_update(dataset=dataset, changes={"licence": values["licence"]})
            return release_request(
                dataset=dataset,
                title=values["title"],
                description=values["description"],
                request=wanted,
                publish_when_done="draft" not in request.POST,
                all_files=values["all_files"],
                requested_by=person(request),
                job_id=job_id,
            )
    except DpgeoError as refusal:
        dataset.refresh_from_db()
        form.add_refusal(refusal)
        return None


def shown(settings: MapSettings) -> list[str]:
    """Return the facts that the user agrees to on the page, as texts.

    The facts are the amount to spend, the lifetime total, the id of the ledger that is charged and
    the whole request. The form's signed token contains them, so that only what the user has seen is
    spent and published.
    """
    amount = next(card.amount for card in settings.cards() if card.chosen)
    wanted = settings.request(settings.detail)
    request = wanted.part(ReleaseRequest).model_dump_json() if wanted else ""
    return [amount, str(settings.total), str(settings.dataset.ledger_id), request]


def give_budget(request: HttpRequest, settings: MapSettings) -> None:
    """Set the dataset's total budget, or share the budget of a dataset about the same people."""
    dataset = settings.dataset
    if not settings.undecided:
        return
    if settings.shared:
        dataset_share_budget(dataset=dataset, ledger=settings.shared)
    elif settings.total is not None and may(person(request), dataset, "set_budget"):
        dataset_update(dataset=dataset, changes={"budget": settings.total})
