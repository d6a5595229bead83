"""oEmbed endpoint (oembed.com), which lets other sites embed a published map.

On such a site, a link to a map's page is replaced by the map itself.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_safe

from dpgeo.artefacts import card
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import release_public
from dpgeo.releases.series_maps import newest_public, series_public

PAGE = re.compile(r"(?:/[a-z]{2}(?:-[a-z]{2})?)?/(?:maps|embed)/([^/]+)/?(?:still/)?")
"""Matches the path of a map's page or frame, in any language."""

SERIES_PAGE = re.compile(r"(?:/[a-z]{2}(?:-[a-z]{2})?)?/series/([0-9a-f-]{36})/(?:embed/)?")
"""Matches the path of a series' page or frame, in any language."""

WIDTH, HEIGHT = 800, 560
"""Usual size of an embedded map in pixels."""

NOT_IMPLEMENTED = 501


@require_safe
def oembed(request: HttpRequest) -> HttpResponse:
    """Return the oEmbed description of the map at an address, but never of a draft.

    The description of a series embeds the map that is the newest whenever the frame is loaded.
    """
    if request.GET.get("format", "json") != "json":
        return HttpResponse("Ask for format=json.", status=NOT_IMPLEMENTED)
    try:
        address = urlsplit(request.GET.get("url", ""))
        width, height = _size(request, "maxwidth", WIDTH), _size(request, "maxheight", HEIGHT)
    except ValueError:
        return HttpResponseBadRequest("Give the url of a map, and sizes in pixels.")
    found = _found(address.path) if address.netloc == request.get_host() else None
    if found is None:
        raise Http404("There is no such map on this site.")
    release, title, path = found
    embedded = request.build_absolute_uri(path)
    document = {
        "version": "1.0",
        "type": "rich",
        "title": title,
        "author_name": release.dataset.organisation.name,
        "provider_name": "dpgeo",
        "provider_url": request.build_absolute_uri("/"),
        "width": width,
        "height": height,
        "html": format_html(
            '<iframe src="{}" title="{}" width="{}" height="{}" loading="lazy"></iframe>',
            *(embedded, title, width, height),
        ),
    }
    # The thumbnail, too, must not be larger than `maxwidth` and `maxheight`. It has only one size,
    # so it is left out if it does not fit.
    fits = all(
        not request.GET.get(name) or int(request.GET[name]) >= size
        for name, size in (("maxwidth", card.WIDTH), ("maxheight", card.HEIGHT))
    )
    if fits and release.files.filter(name=card.NAME).exists():
        picture = reverse("api:release-file", args=[release.pk, card.NAME])
        document |= {
            "thumbnail_url": request.build_absolute_uri(picture),
            "thumbnail_width": card.WIDTH,
            "thumbnail_height": card.HEIGHT,
        }
    answer = JsonResponse(document)
    answer["Access-Control-Allow-Origin"] = "*"
    return answer


def _found(path: str) -> tuple[Release, str, str] | None:
    """Return the map at a path, its title and the path of its frame; None if there is none.

    For the path of a series, the map is the newest one; title and frame are those of the series.
    """
    if match := SERIES_PAGE.fullmatch(path):
        try:
            series = series_public(UUID(match[1]))
        except ValueError:
            return None
        newest = newest_public(series) if series else None
        if series is None or newest is None:
            return None
        return newest, series.title, reverse("embed-series", args=[series.pk])
    match = PAGE.fullmatch(path)
    release = release_public(match[1]) if match else None
    if release is None:
        return None
    return release, release.title, reverse("embed", args=[release.pk])


def _size(request: HttpRequest, name: str, usual: int) -> int:
    """Return the usual size, or less if the request sets a lower maximum. Raises ValueError."""
    text = request.GET.get(name, "")
    if not text:
        return usual
    if not re.fullmatch(r"[0-9]{1,5}", text):
        raise ValueError(name)
    return max(1, min(usual, int(text)))
