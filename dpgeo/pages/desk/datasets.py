"""Pages on which members declare, change and view a dataset."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dpgeo.accounts.selectors import may, visible_organisations
from dpgeo.budgets.export import write_entries
from dpgeo.budgets.selectors import ledger_entries, points_ledger
from dpgeo.budgets.warnings import cautions_on
from dpgeo.core.errors import DpgeoError
from dpgeo.core.number_text import number_text
from dpgeo.core.zcdp import delta_text
from dpgeo.datasets.declaration import time_zones
from dpgeo.datasets.declaration_form import SIDES
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.same_people import open_warnings
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.services import PLACE, dataset_create, dataset_update
from dpgeo.pages.basemap import basemap_names, plain_land
from dpgeo.pages.desk.access import dataset_for, person, sees_counts
from dpgeo.pages.desk.figures import dataset_budget
from dpgeo.pages.desk.forms import CURRENCY, DatasetForm, licence_choices
from dpgeo.pages.rendering import say
from dpgeo.releases.currencies import SEVERAL, USUAL_DELTA, usual_margins
from dpgeo.spatial.area import StudyArea

REFUSED = 422


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_new(request: HttpRequest) -> HttpResponse:
    """Show the form for a new dataset, and declare the dataset when the form is sent."""
    organisations = visible_organisations(person(request))
    if not organisations.exists():
        raise Http404("No such page.")
    form = DatasetForm(request.POST or None, organisations=organisations)
    if request.method == "POST" and form.is_valid():
        dataset = declare(request, form)
        if dataset:
            messages.success(request, gettext("Saved. Now upload its file."))
            caution(request, dataset)
            return redirect("desk-upload-new", slug=dataset.slug)
    return show_form(request, form, None)


def caution(request: HttpRequest, dataset: Dataset) -> None:
    """Warn if the dataset's budget is unusual or has yet to be approved by someone else."""
    if dataset.proposals.filter(decided_at=None).exists():
        words = gettext("Another administrator has to approve the budget; until then it stays.")
        messages.warning(request, words)
    dataset.ledger.refresh_from_db()
    for sentence in map(say, cautions_on(dataset.ledger.total)):
        messages.warning(request, sentence)


def declare(request: HttpRequest, form: DatasetForm) -> Dataset | None:
    """Declare and return the dataset, or show the service's error on the form and return None."""
    values = form.cleaned_data
    try:
        return dataset_create(
            organisation=values["organisation"],
            **form.facts(),
            leave_out_water=values.get("leave_out_water", False),
            budget=values["budget"],
            ledger=values["ledger"],
            accounting=form.currency,
            points_budget=form.points_budget,
            created_by=person(request),
        )
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return None


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Change a dataset's texts and, before the first confirmed upload, other fields."""
    dataset = dataset_for(request, slug, "edit")
    form = DatasetForm(
        request.POST or None,
        organisations=visible_organisations(person(request)),
        dataset=dataset,
        sets_budget=may(person(request), dataset, "set_budget"),
    )
    if request.method == "POST" and form.is_valid():
        try:
            dataset_update(dataset=dataset, changes=changed_declaration(form))
        except DpgeoError as refusal:
            form.add_refusal(refusal)
        else:
            messages.success(request, gettext("Saved."))
            if {"budget", "points_level", "points_radius"} & set(form.changed_data):
                caution(request, dataset)
            return redirect("desk-dataset", slug=dataset.slug)
    return show_form(request, form, dataset)


def changed_declaration(form: DatasetForm) -> dict[str, Any]:
    """Return the form's values under the model's field names."""
    changes = form.facts()
    if "budget" in form.fields:
        changes["budget"] = form.cleaned_data["budget"]
    if changes.get("budget", 0) is None:
        # The budget field was left empty, which is allowed while the dataset has no budget.
        del changes["budget"]
    if form.currency is not None and {*CURRENCY} & set(form.changed_data):
        changes["accounting"] = form.currency
    if form.points_budget and {"points_level", "points_radius"} & set(form.changed_data):
        changes["points_budget"] = form.points_budget
    if form.study_area:
        changes["leave_out_water"] = form.cleaned_data.get("leave_out_water", False)
    if form.named_place:
        changes[PLACE] = form.named_place
    return changes


def show_form(request: HttpRequest, form: DatasetForm, dataset: Dataset | None) -> HttpResponse:
    """Show the form, with status 422 if it has errors."""
    context = {
        "form": form,
        "dataset": dataset,
        "licences": licence_choices(),
        "time_zones": sorted(time_zones()),
    }
    if "accounting" in form.fields:
        context |= currencies(dataset)
    status = REFUSED if form.errors else 200
    return render(request, "desk/dataset_form.html", context, status=status)


def currencies(dataset: Dataset | None) -> dict[str, Any]:
    """Return the context of `desk/_currencies.html`, which compares epsilon and rho as currencies.

    They are compared for the dataset's total budget or, before one is declared, an epsilon of 1.
    """
    ledger = dataset.ledger if dataset else None
    total = (ledger.total if ledger else None) or Fraction(1)
    delta = (ledger.delta if ledger else None) or USUAL_DELTA
    rows = usual_margins(total, delta)
    compared = {"total": total, "delta_text": delta_text(delta), "rows": rows}
    return {"compared": compared, "several": SEVERAL}


@login_required
@require_safe
def land(request: HttpRequest) -> HttpResponse:
    """Return land and place names in a box as JSON, for the map on which an area is chosen."""
    try:
        sides = [float(number_text(request.GET[name])) for name in SIDES]
        area = StudyArea.from_bounds(*sides)
    except (KeyError, ValueError):
        return HttpResponseBadRequest("Give west, south, east and north in degrees.")
    answer = JsonResponse(plain_land(area) | basemap_names(area))
    answer["Cache-Control"] = "private, max-age=86400"
    return answer


@login_required
@require_safe
def dataset(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a dataset's declaration, uploads, releases and ledger."""
    the_dataset = dataset_for(request, slug)
    user = person(request)
    releases = the_dataset.releases.select_related("job", "created_by").order_by("-created_at")
    context = {
        "dataset": the_dataset,
        "budget": dataset_budget(the_dataset),
        "points": points_ledger(the_dataset.ledger),
        "uploads": the_dataset.uploads.select_related("job", "created_by"),
        "releases": releases,
        "ready": ready_upload(the_dataset),
        "layers": the_dataset.layers.all(),
        "entries": ledger_entries(the_dataset.ledger),
        "shares": the_dataset.ledger.datasets.exclude(id=the_dataset.id),
        "may_edit": may(user, the_dataset, "edit"),
        "may_upload": may(user, the_dataset, "upload"),
        "may_request": may(user, the_dataset, "request"),
        "sees_private": may(user, the_dataset, "see_private"),
        "sees_counts": sees_counts(user, the_dataset),
        "warned": any(may(user, each.other, "see_private") for each in open_warnings(the_dataset)),
    }
    return render(request, "desk/dataset.html", context)


@login_required
@require_POST
def dataset_erase(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue the erasure of one person from a dataset."""
    the_dataset = dataset_for(request, slug, "upload")
    typed = request.POST.get("person", "")
    try:
        version = person_erase(dataset=the_dataset, person=typed, by=person(request))
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
        return redirect("desk-dataset", slug=slug)
    messages.success(request, gettext("A version without this person is being made."))
    return redirect("desk-upload", upload_id=version.pk)


@login_required
@require_safe
def dataset_ledger(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the ledger as a file.

    Only users who may see private facts can download it, because the ledger lists drafts.
    """
    the_dataset = dataset_for(request, slug, "see_private")
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{the_dataset.slug}-ledger.csv"'
    answer["Cache-Control"] = "private, no-store"
    write_entries(the_dataset.ledger, answer)
    return answer
