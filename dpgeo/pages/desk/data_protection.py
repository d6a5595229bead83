"""Desk pages on data protection: who processes a dataset and why, and a draft of an assessment."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.datasets.data_protection import (
    ProcessingDeclaration,
    data_protection_set,
    dataset_data_protection,
)
from dpgeo.datasets.form_fields import form_fields
from dpgeo.datasets.models import LegalBasis
from dpgeo.pages.assessment import assessment_parts
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm


class DataProtectionForm(DeskForm):
    """The form for what owners tell the public about the processing."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.fields |= form_fields(ProcessingDeclaration, ProcessingDeclaration.model_fields)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def data_protection(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form with the statements made so far, and store them when the form is sent."""
    dataset = dataset_for(request, slug, "edit")
    stated = dataset_data_protection(dataset)
    initial: dict[str, Any] = (
        {name: getattr(stated, name) for name in ProcessingDeclaration.model_fields}
        if stated
        else {
            "controller": dataset.organisation.name,
            "basis": LegalBasis.TASK.value,
            "contact": dataset.contact_address,
        }
    )
    form = DataProtectionForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            data_protection_set(dataset=dataset, by=person(request), **form.cleaned_data)
        except DpgeoError as refusal:
            form.add_refusal(refusal)
        else:
            messages.success(request, gettext("Saved."))
            return redirect("desk-data-protection", slug=slug)
    context = {
        "form": form,
        "dataset": dataset,
        "stated": stated,
        "sees_private": may(person(request), dataset, "see_private"),
    }
    status = REFUSED if form.errors else 200
    return render(request, "desk/data_protection.html", context, status=status)


@login_required
@require_safe
@never_cache
def assessment(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the draft of an impact assessment, to be printed or copied into a text document.

    It names drafts, so only users who may see private facts can read it.
    """
    dataset = dataset_for(request, slug, "see_private")
    context = {"dataset": dataset, "parts": assessment_parts(dataset)}
    return render(request, "desk/assessment.html", context)
