"""One release on the desk: its progress, its draft, and what may be done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from dpgeo.accounts.selectors import may
from dpgeo.core.errors import DpgeoError
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.access import person, release_for
from dpgeo.pages.desk.jobs import job_context
from dpgeo.pages.desk.words import translated
from dpgeo.releases.models import ENDED, Release
from dpgeo.releases.services import (
    LONGEST_REJECTION,
    release_cancel,
    release_publish,
    release_reject,
    release_retry,
    release_withdraw,
)


@login_required
@require_safe
def release(request: HttpRequest, release_id: str) -> HttpResponse:
    """Progress while it runs, then the draft or the published release."""
    found = release_for(request, release_id)
    user = person(request)
    sees_private = may(user, found.dataset, "see_private")
    mechanism = MECHANISMS.get(found.mechanism)
    context: dict[str, Any] = {
        "release": found,
        "dataset": found.dataset,
        "mechanism_title": mechanism.title if mechanism else found.mechanism,
        "files": found.files.all(),
        "may_publish": may(user, found.dataset, "publish"),
        "may_request": may(user, found.dataset, "request"),
        "sees_private": sees_private,
        "served": found.state not in ENDED,
        "longest_rejection": LONGEST_REJECTION,
    }
    context |= job_context(found.job, sees_private=sees_private)
    return render(request, "desk/release.html", context)


def act(
    request: HttpRequest,
    release_id: str,
    action: str,
    service: Callable[..., Any],
    words: str,
    **asked: Any,
) -> HttpResponse:
    """Do one thing to a release and say what happened, or why not, on its page."""
    found: Release = release_for(request, release_id, action)
    try:
        service(release=found, by=person(request), **asked)
    except DpgeoError as refusal:
        messages.error(request, translated(refusal.message))
    else:
        messages.success(request, words)
    return redirect("desk-release", release_id=found.id)


@login_required
@require_POST
def publish(request: HttpRequest, release_id: str) -> HttpResponse:
    """Make a draft public."""
    words = gettext("Published. Everybody can see it.")
    return act(request, release_id, "publish", release_publish, words)


@login_required
@require_POST
def reject(request: HttpRequest, release_id: str) -> HttpResponse:
    """Decide that a draft is never published."""
    words = gettext("Rejected. It is not published, and what it cost stays spent.")
    reason = request.POST.get("reason", "")
    return act(request, release_id, "publish", release_reject, words, reason=reason)


@login_required
@require_POST
def withdraw(request: HttpRequest, release_id: str) -> HttpResponse:
    """Stop serving a published release."""
    words = gettext("Withdrawn. What it cost stays spent.")
    return act(request, release_id, "publish", release_withdraw, words)


@login_required
@require_POST
def cancel(request: HttpRequest, release_id: str) -> HttpResponse:
    """Stop a release before noise is drawn."""
    words = gettext("Cancelled. Nothing was spent.")
    return act(request, release_id, "request", release_cancel, words)


@login_required
@require_POST
def retry(request: HttpRequest, release_id: str) -> HttpResponse:
    """Try a failed release again that was paid for and drew noise; it is not charged again."""
    words = gettext("Trying again, at no further cost.")
    return act(request, release_id, "request", release_retry, words)
