"""Public page of a series: its newest map, all its maps, and what it promises."""

from __future__ import annotations

import uuid

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.accounts.selectors import organisations_of
from dpgeo.artefacts import map_array
from dpgeo.artefacts.series_wording import A_PERIOD, promised
from dpgeo.pages.cards import card_of
from dpgeo.pages.public_views import file_url
from dpgeo.pages.rendering import say
from dpgeo.releases.models import Series
from dpgeo.releases.selectors import releases_public

MAPS_PER_PAGE = 60


@require_safe
def series(request: HttpRequest, series_id: uuid.UUID) -> HttpResponse:
    """Show a series, with its published maps. Without any, only members find the page."""
    found = Series.objects.select_related("dataset__organisation").filter(pk=series_id).first()
    if found is None:
        raise Http404
    maps = releases_public().filter(series=found).order_by("-number")
    newest = maps.first()
    if newest is None and found.dataset.organisation not in organisations_of(request.user):
        raise Http404
    context = {
        "section": "maps",
        "series": found,
        "period": gettext(A_PERIOD[found.terms.period]),
        "sentences": [say(each) for each in promised(found.terms)],
        "newest": newest,
        "page": Paginator(maps, MAPS_PER_PAGE).get_page(request.GET.get("page")),
    }
    if newest is not None:
        context |= {
            "release": newest,
            "card": card_of(newest),
            "array_url": file_url(newest, map_array.NAME),
        }
    return render(request, "public/series.html", context)
