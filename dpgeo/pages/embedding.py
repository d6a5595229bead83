"""Embedded maps: the only pages that other sites may frame."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from dpgeo.pages.citation import sharing
from dpgeo.pages.public_views import drawn_from, release_context
from dpgeo.pages.release_summary import summary_of
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import release_visible


@require_safe
@xframe_options_exempt
def embed(request: HttpRequest, release_id: str) -> HttpResponse:
    """Show a published map with its legend; never a draft, whoever asks.

    Nothing on the page changes anything, so framing it cannot be abused.
    """
    try:
        release = release_visible(AnonymousUser(), release_id)
    except Release.DoesNotExist:
        raise Http404("There is no such map.") from None
    summary = summary_of(release)
    context = release_context(release) | {
        "summary": summary,
        "sharing": sharing(request, release, summary),
    }
    served = release.rules.served
    if served:
        context |= drawn_from(release)
    return render(request, "public/embed.html", context, status=200 if served else 410)
