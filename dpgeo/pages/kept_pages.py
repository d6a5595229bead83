"""Public pages, kept in memory for strangers and written again when a fact changes.

Writing the page of a map takes thirty times as long as finding out that nothing on it has changed.
The proxy asks for a page once a second, and while it waits, all readers wait.

Privacy argument. A page is kept under a digest of everything that it shows: the public facts of its
release (`releases.list_cache`), its language and address, the installed basemaps and place names,
and what the view adds. Only pages that are the same for everybody are kept. Whether a page was
kept, which the response time reveals, therefore depends on public facts alone and on who asked
before: it reveals that some stranger has read this page, in this language, since its facts changed
or the process started. It reveals neither who nor when, and nothing about private data, because
readers with a session have no part in it. A cache before the site reveals the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language

from dpgeo.ground.regions import regions, world_version
from dpgeo.pages.compiled_queries import CompiledQuery
from dpgeo.pages.outside_ground import outside_ground
from dpgeo.pages.shared_caches import is_stranger
from dpgeo.releases.list_cache import (
    RELEASE_FACTS,
    TextCache,
    Texts,
    make_of_releases,
    release_rows,
)
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public_with, storable
from dpgeo.releases.states import ReleaseState

MOST_KEPT = 256
"""Largest number of kept pages, each of some 50 kB."""

FURTHER = ("dataset__study_area", "dataset__data_protection__updated_at")
"""Columns besides RELEASE_FACTS on which pages of maps depend.

The study area decides which sources of place names are credited. `updated_at` changes whenever the
statement on data protection does.
"""

Facts = Mapping[str, Any]
"""Values of a release by the names of their columns, as the database sends them."""

Shown = Callable[[], object]
"""Function that reads everything that a page shows."""


def _rows_of(release_id: str) -> QuerySet[Any]:
    return release_rows(releases_public_with(release_id), *FURTHER)


_row_query = CompiledQuery(_rows_of, "id of a release")

COLUMNS = (*RELEASE_FACTS, *FURTHER)

_pages = TextCache(MOST_KEPT)


def kept_page(
    request: HttpRequest,
    release_id: str,
    write: Callable[[Release], HttpResponse],
    *,
    beside: Callable[[Facts], object] = lambda _: "",
) -> HttpResponse | None:
    """Return a published map's page, from memory or rendered anew, or None.

    It is None if pages may not be kept for the request (`_may_keep`) or the map is not published.
    `write` renders the page of a release. `beside` gets the release's facts and reads what else the
    page shows, such as the titles of other maps.
    """
    if not (_may_keep(request) and storable(release_id)):
        return None

    def shown() -> object:
        rows = _row_query.rows(release_id)
        return [(row, beside(dict(zip(COLUMNS, row, strict=True)))) for row in rows]

    def write_text(release: Release) -> bytes:
        page = write(release)
        return page.content if page.status_code == 200 else b""

    def write_page() -> tuple[bytes, bool]:
        texts = list(make_of_releases(write_text, *FURTHER)(list(_rows_of(release_id))))
        return texts[0] if texts else (b"", False)

    text = _kept(request, shown, write_page)
    return HttpResponse(text) if text else None


def kept_rendering(
    request: HttpRequest, template: str, context: Callable[[], Mapping[str, Any]], *, shown: Shown
) -> HttpResponse:
    """Render a template; for strangers, return the page in memory if it is still up to date.

    `shown` reads all facts from which `context` makes the template's context; the page is up to
    date while they are the same.
    """
    if not _may_keep(request):
        return render(request, template, context())

    def write_page() -> tuple[bytes, bool]:
        return render(request, template, context()).content, True

    return HttpResponse(_kept(request, lambda: (template, shown()), write_page))


def _kept(request: HttpRequest, shown: Shown, write: Callable[[], tuple[bytes, bool]]) -> bytes:
    """Return a page from memory, or else from `write`, which also says whether it may be kept.

    A new page is not kept if what `shown` returns changed while the page was written, because it
    may show the old facts or the new ones. Nor is it kept if any map was withdrawn meanwhile: the
    page may show a map that was published after the first call of `shown` and withdrawn before the
    second.
    """
    before = shown()

    def make(_: object) -> Texts:
        withdrawn = _withdrawn()
        text, final = write()
        yield text, final and shown() == before and _withdrawn() == withdrawn

    texts = _pages.texts([(before,)], make, beside=_seen_by_all(request))
    return texts[0] if texts else b""


def _withdrawn() -> int:
    """Return how many published maps have been withdrawn so far."""
    return Release.objects.filter(state=ReleaseState.WITHDRAWN).count()


def _may_keep(request: HttpRequest) -> bool:
    # A page whose basemap is on another server needs headers of its own, which are not kept.
    asked = request.META.get("QUERY_STRING")
    return is_stranger(request) and not asked and not outside_ground()


def _seen_by_all(request: HttpRequest) -> tuple[object, ...]:
    """Return what every page shows: address, language, and installed basemaps and place names."""
    folder = Path(settings.GROUND_DIR)
    return (request.build_absolute_uri(), get_language(), regions(folder), world_version(folder))
