"""Feeds of all published maps, and of the published maps of one series, newest first.

The feeds are Atom feeds (RFC 4287); a series also has a JSON Feed.

An entry is dated only by the day of publication, as on every public page, because a time of day
could reveal how long a job took.
"""

from __future__ import annotations

import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.artefacts import card
from dpgeo.releases.models import Release, Series
from dpgeo.releases.promises import promise_of
from dpgeo.releases.selectors import releases_public
from dpgeo.releases.series_maps import maps_public, series_public

MAX_ENTRIES = 50

EARLIEST = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
"""Date of a feed without entries, because Atom requires one."""


class AtomFeed(Atom1Feed):
    """Atom feed whose date is that of its newest entry; a feed without entries is not dated now."""

    def latest_post_date(self) -> datetime.datetime:
        """Return the day of the newest entry."""
        return super().latest_post_date() if self.items else EARLIEST


class Maps(Feed):  # type: ignore[type-arg]
    """The newest published maps, each with its privacy promise."""

    feed_type = AtomFeed

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the feed without the header Last-Modified.

        Entries are dated by the day, so a second map on one day would not change the header.
        """
        answer = super().__call__(request, *args, **kwargs)
        del answer.headers["Last-Modified"]
        return answer

    def title(self, series: Series | None) -> str:
        """Return the feed's title."""
        return gettext("Maps")

    def link(self, series: Series | None) -> str:
        """Return the path of the page that lists the maps."""
        return "/"

    def items(self, series: Series | None) -> list[Release]:
        """Return the maps, newest first."""
        return list(releases_public()[:MAX_ENTRIES])

    def item_title(self, item: Release) -> str:
        """Return a map's title."""
        return _plain(item.title)

    def item_description(self, item: Release) -> str:
        """Return a map's description and promise, as HTML."""
        return escape(_plain(_summary(item)))

    def item_link(self, item: Release) -> str:
        """Return the path of a map's page."""
        return reverse("release", args=[item.pk])

    def item_pubdate(self, item: Release) -> datetime.datetime:
        """Return the day on which a map was published."""
        return _day(item)

    def item_updateddate(self, item: Release) -> datetime.datetime:
        """Return the same day, because a published map never changes."""
        return _day(item)

    def item_author_name(self, item: Release) -> str:
        """Return a map's publisher."""
        return _plain(item.dataset.organisation.name)

    def item_copyright(self, item: Release) -> str:
        """Return a map's licence."""
        return _plain(item.dataset.licence)


class SeriesMaps(Maps):
    """The newest published maps of a series."""

    def get_object(self, request: HttpRequest, series_id: UUID) -> Series:
        """Return the series. Raises Http404 if it is not public."""
        return _series(series_id)

    def title(self, series: Series | None) -> str:
        """Return the series' title."""
        return _plain(series.title) if series else ""

    def link(self, series: Series | None) -> str:
        """Return the path of the series' page."""
        return _series_path(series) if series else "/"

    def items(self, series: Series | None) -> list[Release]:
        """Return the series' maps, newest first."""
        return list(maps_public(series)[:MAX_ENTRIES]) if series else []


@require_safe
def series_json_feed(request: HttpRequest, series_id: UUID) -> HttpResponse:
    """List the newest maps of a series as a JSON feed (jsonfeed.org, version 1.1)."""
    series = _series(series_id)
    publisher = series.dataset.organisation.name
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": series.title,
        "description": series.description,
        "home_page_url": series_address(request, series),
        "feed_url": request.build_absolute_uri(request.path),
        "authors": [{"name": publisher}],
        "items": [_item(request, release) for release in maps_public(series)[:MAX_ENTRIES]],
    }
    answer = JsonResponse(document, json_dumps_params={"ensure_ascii": False})
    answer["Content-Type"] = "application/feed+json"
    answer["Access-Control-Allow-Origin"] = "*"
    return answer


def series_address(request: HttpRequest, series: Series) -> str:
    """Return the address, without a language prefix, that identifies a series' page."""
    return request.build_absolute_uri(_series_path(series))


def _series_path(series: Series) -> str:
    return reverse("series", urlconf=settings.ROOT_URLCONF, args=[series.pk])


def _series(series_id: UUID) -> Series:
    series = series_public(series_id)
    if series is None:
        raise Http404
    return series


def _item(request: HttpRequest, release: Release) -> dict[str, Any]:
    address = request.build_absolute_uri(reverse("release", args=[release.pk]))
    picture = release.files.filter(name=card.NAME).exists()
    image = reverse("api:release-file", args=[release.pk, card.NAME])
    return {
        "id": address,
        "url": address,
        "title": release.title,
        "content_text": _summary(release),
        "date_published": f"{_day(release):%Y-%m-%dT%H:%M:%SZ}",
        **({"image": request.build_absolute_uri(image)} if picture else {}),
    }


def _summary(release: Release) -> str:
    return " ".join(filter(None, (release.description, promise_of(release).sentence)))


def _plain(text: str) -> str:
    """Return a text without control characters, most of which XML 1.0 cannot represent."""
    return "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")


def _day(release: Release) -> datetime.datetime:
    if release.published_at is None:
        return EARLIEST
    return release.published_at.replace(hour=0, minute=0, second=0, microsecond=0)
