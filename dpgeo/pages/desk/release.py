"""Desk page of a release, with its progress, its draft and the available actions."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.core.parameters import parameters
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.access import person, release_for, report
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.jobs import job_context
from dpgeo.pages.desk.notes import may_annotate, note_forms
from dpgeo.pages.desk.request_form import request_fields
from dpgeo.pages.rendering import parameter_label
from dpgeo.releases.models import Release
from dpgeo.releases.notes import MAX_NOTE_LENGTH, release_annotate
from dpgeo.releases.selectors import open_actions
from dpgeo.releases.services import DECISIONS, MAX_REJECTION_LENGTH
from dpgeo.releases.states import ACTIONS, ReleaseState


def chosen_parameters(release: Release) -> list[tuple[str, object]]:
    """Return the label and the value of each parameter of a release."""
    mechanism = MECHANISMS.get(release.mechanism)
    known = parameters(mechanism.params) if mechanism else []
    choices = {each.name: each.choices for each in known}
    return [
        (parameter_label(name), gettext(value) if value in choices.get(name, ()) else value)
        for name, value in release.request.parameters.items()
    ]


WORDED = {"publish", "reject", "withdraw", "cancel", "retry"}
"""Actions with a button and texts of their own on the page; all others get a plain button."""


def publishes_at(release: Release) -> datetime | None:
    """Return when a finished draft will be published automatically; None if it will not be."""
    waits = release.state == ReleaseState.DRAFT and release.publish_when_done
    return release.job.end_shown_at if waits and not release.job.is_end_shown else None


@login_required
@require_safe
def release(request: HttpRequest, release_id: str) -> HttpResponse:
    """Show progress while the job runs, then the draft or the published release."""
    context = release_context(request, release_for(request, release_id))
    return render(request, "desk/release.html", context)


def release_context(request: HttpRequest, the_release: Release) -> dict[str, Any]:
    """Return the template context of a release's page on the desk."""
    user = person(request)
    sees_private = may(user, the_release.dataset, "see_private")
    mechanism = MECHANISMS.get(the_release.mechanism)
    actions = open_actions(user, the_release)
    context: dict[str, Any] = {
        "release": the_release,
        "dataset": the_release.dataset,
        "parameters": chosen_parameters(the_release),
        "mechanism_title": mechanism.title if mechanism else the_release.mechanism,
        "files": the_release.files.all(),
        "may_publish": may(user, the_release.dataset, "publish"),
        "may_request": may(user, the_release.dataset, "request"),
        "sees_private": sees_private,
        "served": the_release.rules.served,
        "standing": release_standing(the_release),
        "again": f"{reverse('desk-cost', args=[the_release.dataset.slug])}?"
        f"{urlencode(request_fields(the_release.request))}",
        "actions": actions,
        "plain_actions": [(name, ACTIONS[name].label) for name in actions if name not in WORDED],
        "longest_rejection": MAX_REJECTION_LENGTH,
        "publishes_at": publishes_at(the_release),
        "longest_note": MAX_NOTE_LENGTH,
        "note_forms": note_forms(request, the_release)
        if may_annotate(request, the_release)
        else [],
    }
    return context | job_context(user, the_release.job)


@login_required
@require_POST
def notes(request: HttpRequest, release_id: str) -> HttpResponse:
    """Replace the notes of a draft, or show the errors in them."""
    release = release_for(request, release_id, "request")
    rows = note_forms(request, release)
    # A list, not a generator, so that every row is validated and shows its own errors.
    valid = [row.is_valid() for row in rows]
    if all(valid):
        try:
            given = [row.note for row in rows if row.note]
            release_annotate(release=release, by=person(request), notes=given)
        except DpgeoError as refusal:
            rows[0].add_refusal(refusal)
        else:
            done = gettext("The notes are saved. They become public with the map.")
            messages.success(request, done if given else gettext("The map has no notes."))
            return redirect("desk-release", release_id=release.pk)
    context = release_context(request, release) | {"note_forms": rows, "notes_open": True}
    return render(request, "desk/release.html", context, status=REFUSED)


def release_standing(release: Release) -> str:
    """Return a sentence on a release's state, with the time at which the state began."""
    moment = localtime(getattr(release, release.rules.since))
    day_and_time = date_format(moment, gettext("j F Y, H:i"))
    return gettext(release.rules.standing).format(moment=day_and_time)


@login_required
@require_POST
def act(request: HttpRequest, release_id: str, action: str) -> HttpResponse:
    """Run an action on a release and report its result on the page.

    Raises Http404 for an unknown action.
    """
    if action not in ACTIONS:
        raise Http404
    release: Release = release_for(request, release_id, ACTIONS[action].needs)
    names = (*ACTIONS[action].inputs, *ACTIONS[action].seen)
    inputs: dict[str, Any] = {name: request.POST.get(name, "") for name in names}
    inputs |= {name: name in request.POST for name in ACTIONS[action].choices}
    with report(request, gettext(ACTIONS[action].done)):
        DECISIONS[action](release=release, by=person(request), **inputs)
    return redirect("desk-release", release_id=release.id)
