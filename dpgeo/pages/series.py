"""Public page of a series: its time line, all its maps, and its privacy protection."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from dpgeo.accounts.selectors import visible_organisations
from dpgeo.artefacts import preview
from dpgeo.artefacts.series_files import ARRAY, LONG
from dpgeo.artefacts.series_wording import A_PERIOD, promised
from dpgeo.core.series import Period
from dpgeo.pages.cards import release_card
from dpgeo.pages.citation import sharing
from dpgeo.pages.feed import series_address
from dpgeo.pages.oembed import HEIGHT, WIDTH
from dpgeo.pages.public_views import drawn_from, file_url, promises, release_context
from dpgeo.pages.release_summary import build_summary
from dpgeo.pages.rendering import say
from dpgeo.pages.shared_caches import shared
from dpgeo.postprocess.layers import can_compare
from dpgeo.releases.models import Release, Series
from dpgeo.releases.selectors import load_released
from dpgeo.releases.series_maps import maps_public

MAPS_PER_PAGE = 60

SHOWS = {
    Period.DAY: {
        "period": _("This day"),
        "change": _("Change since the day before"),
        "year": _("Change since a year before"),
        "beside": _("Two days side by side"),
    },
    Period.WEEK: {
        "period": _("This week"),
        "change": _("Change since the week before"),
        "year": _("Change since a year before"),
        "beside": _("Two weeks side by side"),
    },
    Period.MONTH: {
        "period": _("This month"),
        "change": _("Change since the month before"),
        "year": _("Change since a year before"),
        "beside": _("Two months side by side"),
    },
}
"""Names of the views that readers of a series can choose, for each length of its periods."""


@require_safe
@shared
def series(request: HttpRequest, series_id: uuid.UUID) -> HttpResponse:
    """Show a series with its published maps. Until one is published, only members see the page."""
    found = Series.objects.select_related("dataset__organisation").filter(pk=series_id).first()
    if found is None:
        raise Http404
    maps = maps_public(found)
    newest = maps.first()
    if newest is None and found.dataset.organisation not in visible_organisations(request.user):
        raise Http404
    context = {
        "section": "maps",
        "series": found,
        "period": gettext(A_PERIOD[found.terms.period]),
        "sentences": [say(each) for each in promised(found.terms)],
        "page": Paginator(maps, MAPS_PER_PAGE).get_page(request.GET.get("page")),
        "newest": newest,
    }
    if newest is None:
        return render(request, "public/series_plain.html", context)
    address = series_address(request, found)
    context |= {
        "files": [
            (form, reverse("api:series-file", args=[found.pk, name])) for name, form in LONG.items()
        ],
        "sharing": sharing(request, newest, build_summary(newest)),
        "address": address,
        "oembed": request.build_absolute_uri(f"{reverse('oembed')}?{urlencode({'url': address})}"),
        "embed_code": format_html(
            '<iframe src="{}" title="{}" width="{}" height="{}" loading="lazy"></iframe>',
            request.build_absolute_uri(reverse("embed-series", args=[found.pk])),
            *(found.title, WIDTH, HEIGHT),
        ),
    }
    if can_compare(load_released(newest).content):
        return render(request, "public/series.html", context | series_drawn(newest, found))
    context |= {
        "release": newest,
        "card": release_card(newest),
        "picture_url": file_url(newest, preview.NAME),
    }
    return render(request, "public/series_plain.html", context)


def series_drawn(newest: Release, found: Series) -> dict[str, Any]:
    """Return the template context of the newest map and of the panel beside it."""
    summary = build_summary(newest)
    return {
        **release_context(newest),
        "notes": [],
        "summary": summary,
        **promises(newest, summary),
        **drawn_from(newest),
        "series_url": reverse("api:series-file", args=[found.pk, ARRAY]),
        "files_url": file_url(newest, "FILE").removesuffix("FILE"),
        "shows": SHOWS[found.terms.period],
    }
