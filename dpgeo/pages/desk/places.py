"""Named places for study areas: the search that this site uses, for forms and their scripts."""

from __future__ import annotations

from functools import cache
from importlib import metadata, resources
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from dpgeo.pages.rendering import say
from dpgeo.spatial.named_places import PlaceSearch, WorldPlaces

MOST_SUGGESTED = 8


@cache
def place_search() -> PlaceSearch:
    """Return the search of this site; a richer one would be chosen here."""
    countries = Path(settings.BASE_DIR) / "frontend" / "dist" / "countries.jsonl"
    zones = Path(str(resources.files("tzdata"))) / "zoneinfo"
    return WorldPlaces(countries, zones, metadata.version("tzdata"))


@login_required
@require_safe
def suggestions(request: HttpRequest) -> HttpResponse:
    """Return the full names of places that match a text."""
    names = place_search().suggest(request.GET.get("q", "")[:200], MOST_SUGGESTED)
    return JsonResponse({"places": names})


@login_required
@require_safe
@gzip_page
def place(request: HttpRequest) -> HttpResponse:
    """Return a place's outline and the words that say where it is from."""
    found = place_search().find(request.GET.get("name", "")[:200])
    if found is None:
        return HttpResponseNotFound()
    return JsonResponse(
        {"name": found.name, "kind": say(found.kind), "area": found.area.to_geojson()}
    )
