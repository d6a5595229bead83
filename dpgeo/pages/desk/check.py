"""Page that shows members with access to private facts how a file was read.

Exact figures and the rows' positions are shown only here, not on later pages, where they could be
used to tune what becomes public. If most rows lie outside the study area, the area may be replaced
by another named place. From then on the page shows neither points nor counts, since an owner could
use them to fit the area to the rows, and the public outline would then reveal where there are rows.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, fields
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.datasets.layers import zone_layers
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.previews import declared_columns, upload_preview, upload_understand
from dpgeo.datasets.selectors import rests_on_columns
from dpgeo.datasets.services import PLACE, dataset_update
from dpgeo.datasets.uploads import offered_columns, upload_confirm
from dpgeo.ingest.forms import form_by_name
from dpgeo.ingest.preview import Preview
from dpgeo.ingest.schema import Columns, Role, role_name
from dpgeo.ingest.understanding import ASK_BELOW, STOP, Reading, Understanding
from dpgeo.pages.desk.access import awaits_decision, person, upload_for
from dpgeo.pages.desk.columns_form import ColumnsForm, file_formats
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.path import steps
from dpgeo.pages.desk.places import place_search, square_words
from dpgeo.pages.desk.where import PlaceForm
from dpgeo.pages.rendering import say
from dpgeo.pages.templatetags.figures import figure
from dpgeo.spatial.named_places import NamedPlace

MOSTLY = 0.5
"""If less than this fraction of the readable rows lies in the study area, the page offers to
replace the area by another place.
"""


FIRST_ROLES = (*(Role.GEOMETRY, Role.LONGITUDE, Role.LATITUDE, Role.PERSON, Role.TIME, Role.CLOCK),)
"""Roles of the columns that the page lists first, in this order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A possible answer to a question about the file: a button that has the file read accordingly.

    `fields` are the form values that the button sends, and `chosen` says whether the file on the
    page has been read in this way already.
    """

    label: str
    example: str
    rows: str
    fields: dict[str, str]
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the page that shows how one column was understood."""

    name: str
    role: str
    format: str
    examples: list[str]


def may_choose_columns(upload: Upload) -> bool:
    """Return whether the columns of an upload may still change."""
    return not rests_on_columns(upload.dataset)


def is_hidden(dataset: Dataset) -> bool:
    """Return whether points and counts are hidden.

    They are hidden after the study area has been replaced, until an upload is confirmed. They are
    also hidden while a draft on the same budget waits for a decision, because that decision must
    depend on the draft alone (`releases.services.release_reject`).
    """
    exchanged = bool(dataset.area_exchange) and not dataset.frozen_at
    return exchanged or awaits_decision(dataset)


def columns(request: HttpRequest, upload: Upload) -> HttpResponse:
    """Show how the file was read, and start the ingestion job when the user confirms it.

    Callers get the upload from `opened_upload`, which records that its rows may be seen here.
    """
    dataset = upload.dataset
    sees_private = may(person(request), dataset, "see_private")
    context: dict[str, Any] = {
        "upload": upload,
        "dataset": dataset,
        "steps": steps(3),
        "failure": say(upload.job.failure) if upload.job and sees_private else "",
        "fixed": not may_choose_columns(upload),
        "removable": upload.state != UploadState.READY,
    }
    try:
        preview = upload_preview(upload=upload, file_format=chosen_format(request))
    except DpgeoError as refusal:
        context["unreadable"] = say(refusal)
        context["formats"] = file_formats(form_by_name(upload.file_name))
        return render(request, "desk/upload_columns.html", context)
    form = form_for(request, upload, preview)
    if form.is_valid():
        declare(upload, form)
    understanding = understand(upload, form) if sees_private else None
    dataset.refresh_from_db()  # The area may be replaced while the file is read.
    hidden = is_hidden(dataset)
    confirms = request.method == "POST" and not {"try", "exchange"} & set(request.POST)
    goes_on = confirms and not stops(request, form, understanding, hidden)
    if goes_on and confirm(upload, form):
        return redirect("desk-upload", upload_id=upload.id)
    hints = preview.hints if request.method != "POST" else []
    context |= {"preview": preview, "form": form, "hints": [say(each) for each in hints]}
    context |= {"hidden": hidden, "awaits_decision": awaits_decision(dataset)}
    context["answered"] = form.is_bound
    if understanding:
        context |= understood(dataset, understanding, hidden)
    status = REFUSED if confirms else 200
    return render(request, "desk/upload_columns.html", context, status=status)


def chosen_format(request: HttpRequest) -> str:
    """Return the code of the format that the user chose, or "" if none was chosen."""
    code = request.POST.get("file_format", "")
    return code if code in {form_code for form_code, _ in file_formats(code)} else ""


def form_for(request: HttpRequest, upload: Upload, preview: Preview) -> ColumnsForm:
    """Return the form with the submitted values, or with the likeliest columns."""
    dataset = upload.dataset
    # If a file lacks the columns that are fixed for the dataset, the user may choose others; the
    # service decides whether they fit the fixed ones.
    chooses = may_choose_columns(upload) or declared_columns(dataset, preview) is None
    offered = offered_columns(upload, preview)
    return ColumnsForm(
        exchanged(request.POST) if "exchange" in request.POST else request.POST or None,
        columns=preview.columns,
        unit=dataset.unit,
        frozen=not chooses,
        unit_frozen=bool(dataset.frozen_at),
        layers=zone_layers(dataset),
        initial=offered.to_json()
        | {
            "unit": dataset.unit,
            "measures": dataset.measures,
            "categories": dataset.categories,
        },
    )


def exchanged(data: QueryDict) -> dict[str, str]:
    """Return the submitted form data, but with the columns of longitude and latitude swapped."""
    values: dict[str, str] = {member.name: data.get(member.name, "") for member in fields(Columns)}
    values |= {"longitude": values["latitude"], "latitude": values["longitude"]}
    declared = ("unit", "measures", "categories")
    return values | {name: data.get(name, "") for name in declared if name in data}


def declare(upload: Upload, form: ColumnsForm) -> None:
    """Save the form's privacy unit, measures and categories, with which the file is then read.

    An error from the service is shown on the form.
    """
    if form.declared == {"unit": upload.dataset.unit}:
        return
    try:
        dataset_update(dataset=upload.dataset, changes=form.declared)
    except DpgeoError as refusal:
        form.add_refusal(refusal)
    upload.refresh_from_db(fields=["preview"])


def understand(upload: Upload, form: ColumnsForm) -> Understanding | None:
    """Try to read the file with the form's columns, or else the likeliest ones.

    An error is shown on the form, and None is returned.
    """
    if form.is_bound and not form.is_valid():
        return None
    try:
        return upload_understand(upload=upload, columns=form.columns if form.is_bound else None)
    except DpgeoError as refusal:
        if form.is_bound:
            form.add_refusal(refusal)
        return None


def stops(
    request: HttpRequest, form: ColumnsForm, understanding: Understanding | None, hidden: bool
) -> bool:
    """Return whether to show the page again: the form has errors, or too few rows are usable.

    If at least one row is usable, an owner may choose to continue anyway.
    """
    if form.errors:
        return True
    if understanding is None or hidden:
        return False
    if understanding.verdict == STOP:
        form.add_error(None, gettext("No row can be used like this; see below what to change."))
        return True
    return understanding.share < ASK_BELOW and "anyway" not in request.POST


def confirm(upload: Upload, form: ColumnsForm) -> bool:
    """Confirm the columns and return whether that worked; show the service's error on the form."""
    try:
        upload_confirm(upload=upload, columns=form.columns)
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return False
    return True


def understood(dataset: Dataset, understanding: Understanding, hidden: bool) -> dict[str, Any]:
    """Return the template context on how a file was read; no rows or counts if `hidden`."""
    shown = 0 if hidden else 2
    declared = {each.column for each in dataset.attributes}
    declared |= {each.column for each in dataset.measured}
    declared |= {each.column for each in dataset.categorised}
    used = sorted(
        (each for each in understanding.understood if each.role), key=lambda each: order(each.role)
    )
    context: dict[str, Any] = {
        "lines": [
            Line(each.name, role_words(each.role), say(each.format), each.examples[:shown])
            for each in used
        ],
        "unused": [
            each.name
            for each in understanding.understood
            if not each.role and each.name not in declared
        ],
        "projection": say(understanding.projection),
        "zone": understanding.time_zone if understanding.columns.time else "",
        "questions": [
            (say(each.text), [build_answer(reading, understanding) for reading in each.answers])
            for each in understanding.questions
        ],
    }
    if hidden:
        return context
    inside = understanding.accepted / understanding.readable if understanding.readable else 1.0
    return context | {
        "tried": understanding,
        "stop": understanding.verdict == STOP,
        "few": understanding.share < ASK_BELOW,
        "percent": int(100 * understanding.share),
        "left_out": understanding.left_out,
        "alternatives": [build_answer(each, understanding) for each in understanding.alternatives],
        "points": understanding.points,
        # Offer another place if few rows lie inside the study area, unless longitude and latitude
        # seem to be swapped: then another place would not help.
        "outside": not dataset.frozen_at
        and inside < MOSTLY
        and all(each.kind != "swapped" for each in understanding.questions),
    }


def order(role: str) -> int:
    """Return the key that sorts columns by role: positions, persons, times, then all others."""
    return FIRST_ROLES.index(Role(role)) if role in FIRST_ROLES else len(FIRST_ROLES)


def role_words(role: str) -> str:
    """Return the readable name of a column's role."""
    return say(role_name(Role(role)))


def build_answer(reading: Reading, understanding: Understanding) -> Answer:
    """Return a button that has the file read in another way, saying how many rows that reads."""
    rows = gettext("reads {accepted} of {rows} rows")
    return Answer(
        say(reading.label),
        say(reading.example),
        rows.format(accepted=figure(reading.accepted), rows=figure(understanding.rows)),
        reading.columns.to_json(),
        reading.columns == understanding.columns,
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def other_place(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    """Show the form for replacing the study area by another named place, and replace it.

    The page shows no rows and no counts, which could be used to fit the area to them.
    """
    upload = upload_for(request, upload_id, "edit")
    dataset = upload.dataset
    form = PlaceForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and form.named:
        try:
            exchange_area(dataset, form.named)
        except DpgeoError as refusal:
            form.add_error(None, say(refusal))
        else:
            words = gettext("The map now covers {name}. Its record says that the area was changed.")
            words = words.format(name=form.named.name)
            messages.success(request, f"{words} {square_words(form.named)}".strip())
            return redirect("desk-upload", upload_id=upload.pk)
    context = {"upload": upload, "dataset": dataset, "form": form, "steps": steps(3)}
    status = REFUSED if form.errors else 200
    return render(request, "desk/other_place.html", context, status=status)


def exchange_area(dataset: Dataset, place: NamedPlace) -> None:
    """Replace a dataset's area by a named place, and update the time zone.

    The title is updated too if it was the name of the former area.
    """
    source = place.source
    changes: dict[str, Any] = {
        "study_area": place.area.to_geojson(),
        "time_zone": place.time_zone,
        PLACE: {PLACE: place.name, "name": source.name, "url": source.url, "date": source.date},
    }
    former = place_search().find(dataset.title)
    if former is not None and former.area.bounds == dataset.area.bounds:
        changes["title"] = place.name
    dataset_update(dataset=dataset, changes=changes)
