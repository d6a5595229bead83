"""Embedded maps, the only pages that other sites may show in a frame."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from dpgeo.pages.citation import sharing
from dpgeo.pages.feed import series_address
from dpgeo.pages.public_views import drawn_from, release_context
from dpgeo.pages.release_summary import build_summary
from dpgeo.pages.series import series_drawn
from dpgeo.pages.shared_caches import shared
from dpgeo.postprocess.layers import can_compare
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released, release_visible
from dpgeo.releases.series_maps import newest_public, series_public

STILL_POLICY = "; ".join(
    [
        "default-src 'none'",
        "img-src 'self'",
        "style-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors *",
    ]
)
"""Content Security Policy of the embedded page without scripts."""


@require_safe
@xframe_options_exempt
@shared
def embed(request: HttpRequest, release_id: str) -> HttpResponse:
    """Show a published map with its legend, but never a draft, even to its owner.

    Nothing on the page changes anything, so framing it cannot be abused.
    """
    return _embedded(request, _shared(release_id))


@require_safe
@xframe_options_exempt
@shared
def embed_series(request: HttpRequest, series_id: UUID) -> HttpResponse:
    """Show the published maps of a series with a time line, the newest first.

    If the maps of the series cannot be compared, only the newest one is shown.
    """
    series = series_public(series_id)
    newest = newest_public(series) if series else None
    if newest is None:
        raise Http404("There is no such series.")
    if series is None or not can_compare(load_released(newest).content):
        return _embedded(request, newest)
    context = {
        "series": series,
        "newest": newest,
        "address": series_address(request, series),
        "sharing": sharing(request, newest, build_summary(newest)),
    }
    return render(request, "public/series_embed.html", context | series_drawn(newest, series))


def _embedded(request: HttpRequest, release: Release) -> HttpResponse:
    context = _context(request, release)
    served = release.rules.served
    if served:
        context |= drawn_from(release)
    return render(request, "public/embed.html", context, status=200 if served else 410)


@require_safe
@xframe_options_exempt
@shared
def still(request: HttpRequest, release_id: str) -> HttpResponse:
    """Show the static picture of a published map with its legend, for frames without scripts."""
    release = _shared(release_id)
    served = release.rules.served
    context = _context(request, release) | {"gone": not served}
    answer = render(request, "public/still.html", context, status=200 if served else 410)
    answer["Content-Security-Policy"] = STILL_POLICY
    return answer


def _shared(release_id: str) -> Release:
    """Return a release as anonymous visitors see it. Raises Http404."""
    try:
        return release_visible(AnonymousUser(), release_id)
    except Release.DoesNotExist:
        raise Http404("There is no such map.") from None


def _context(request: HttpRequest, release: Release) -> dict[str, Any]:
    summary = build_summary(release)
    return release_context(release) | {
        "summary": summary,
        "sharing": sharing(request, release, summary),
    }
