"""Search for named places, used by the study area forms and their scripts.

Places from this site's basemap come first, with their boundaries. They are followed by the
countries and cities that every site has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import shapely
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.datasets.names_on_maps import added_towns, names_on, world_places, world_search
from dpgeo.ground import names
from dpgeo.ground.regions import Bounds, Region, regions
from dpgeo.pages.ground import KINDS
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.named_places import (
    CITY_KILOMETRES,
    DWARFED,
    NamedPlace,
    PlaceSearch,
    Source,
    fold,
    is_town,
    square_around,
    usable_outline,
)

MAX_SUGGESTIONS = 8
MAX_SEARCHED = 40

DISTRICTS = ("country", "county", "municipality", "district")
"""Kinds of administrative areas of the basemap."""

MAX_TOWN_METRES = 10_000
"""Largest size in square kilometres at which a drawn area may be named after a town."""

OPEN_STREET_MAP = "https://www.openstreetmap.org/copyright"


class SitePlaces:
    """Search for places with a boundary in this site's basemap, then in the world's list."""

    def __init__(self, folder: Path, world: PlaceSearch) -> None:
        self._folder = folder
        self._world = world

    def suggest(self, text: str, most: int) -> list[str]:
        """Return up to `most` full names of places that match a text, best match first."""
        own = [full_name(place) for place, _ in self._outlined(text)]
        found = [*own, *self._world.suggest(text, most)]
        # The text may contain a typing error, or be a name in another language.
        if len(found) < most:
            more = (full_name(place) for place in world_search().search(text, most))
            found += [name for name in more if name not in self.doubles]
        return list(dict.fromkeys(found))[:most]

    @property
    def doubles(self) -> frozenset[str]:
        """Full names that are found but not suggested: another name of the place is suggested."""
        return self._world.doubles

    def find(self, name: str) -> NamedPlace | None:
        """Return the place with this full or short name, or None if no place matches.

        Places in this site's basemap come first. In the list of the world's places, the match must
        be unambiguous. If the text is only the beginning of a name in the basemap, that list is not
        searched. A town without an outline in the list is looked for in the basemap under its other
        names, unless the text says in which country it is.
        """
        wanted, matches = fold(name), list(self._outlined(name.partition(",")[0]))
        for of_place in (full_name, lambda place: place.name):
            for place, region in matches:
                if fold(of_place(place)) == wanted:
                    return self._place(place, region)
        meant = self._added_town(name) or self._world.find(name)
        if matches and meant and meant.square_kilometres and fold(meant.name) == wanted:
            middle = meant.area.shape.centroid
            for place, region in matches:
                if place.is_exact or is_town(place.name, wanted):
                    found = self._place(place, region)
                    if found and found.area.covers([middle.x], [middle.y]).all():
                        return found
        if not matches or meant is None or _head(meant.name) == _head(name):
            return meant
        same = (each for each in matches if fold(each[0].name) == _head(meant.name))
        return next((self._place(*each) for each in same), None)

    def _added_town(self, name: str) -> NamedPlace | None:
        """Return the town of the operator's table with this name in any language, or None.

        If several towns have this name, the largest is returned, but only if it has more than
        DWARFED times as many inhabitants as the next.
        """
        search = added_towns()
        towns = search.search(name, MAX_SUGGESTIONS) if search else []
        if not search or (towns and towns[0].kind == "country"):
            return None
        chosen = [each for each in towns if fold(full_name(each)) == fold(name)]
        chosen = chosen or [each for each in towns if each.is_exact]
        if not chosen or (
            len(chosen) > 1 and chosen[0].rank < chosen[1].rank + math.log10(DWARFED)
        ):
            return None
        town = chosen[0]
        return NamedPlace(
            name=town.name,
            kind=Phrase("city"),
            area=square_around(town.longitude, town.latitude, CITY_KILOMETRES),
            source=search.source,
            time_zone=self.time_zone_at(town.longitude, town.latitude),
            square_kilometres=CITY_KILOMETRES,
        )

    def time_zone_at(self, longitude: float, latitude: float) -> str:
        """Return the time zone of the known city that is nearest to a position in degrees."""
        return self._world.time_zone_at(longitude, latitude)

    def _outlined(self, text: str) -> Iterator[tuple[names.Found, Region]]:
        for region in regions(self._folder):
            if not region.names:
                continue
            try:
                places = names.search(region.names_file(self._folder), text, MAX_SEARCHED)
            except FileNotFoundError:  # the file was replaced after its basemap region was listed
                continue
            yield from ((place, region) for place in places if place.has_outline)

    def _place(self, place: names.Found, region: Region) -> NamedPlace | None:
        file = region.names_file(self._folder)
        shape = names.outline(file, place.id)
        if shape is None:
            return None
        return NamedPlace(
            name=place.name,
            kind=Phrase(KINDS.get(place.kind, KINDS["locality"])),
            area=StudyArea(usable_outline(shape)),
            source=ground_source(region, file),
            time_zone=self.time_zone_at(place.longitude, place.latitude),
        )


def _head(name: str) -> str:
    """Return the first part of a full name, normalised: "Vaduz, Liechtenstein" gives "vaduz"."""
    return fold(name.partition(",")[0])


def ground_source(region: Region, file: Path) -> Source:
    """Return the source of a region's names and boundaries.

    The source's date is the region's date or, if that is unknown, the modification date of the
    file.
    """
    if region.date:
        return Source(name="OpenStreetMap", url=OPEN_STREET_MAP, date=region.date)
    day = datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
    return Source(name="OpenStreetMap, as added to this site", url=OPEN_STREET_MAP, date=day)


def name_of(area: StudyArea) -> str:
    """Return the name of the public place that a drawn area lies in, or "" for none.

    This is the smallest administrative area of this site's basemap that contains most of the drawn
    area; otherwise, the largest town in it or around its middle; otherwise, the country that
    contains most of it. The name depends on the drawn outline and on public names alone.
    """
    holder = _smallest_holder(area)
    if not holder and area.ground_square_kilometres <= MAX_TOWN_METRES:
        holder = _largest_town(area)
    return holder or _country(area)


def _smallest_holder(area: StudyArea) -> str:
    folder, middle = Path(settings.GROUND_DIR), area.shape.representative_point()
    here = (middle.x, middle.y, middle.x, middle.y)
    holders = [
        (shape.area, name)
        for region in regions(folder)
        if region.names and region.names_file(folder).exists()
        for name, _, shape in names.places_within(
            region.names_file(folder), here, DISTRICTS, outlined=True
        )
        if _holds_most(shape, area)
    ]
    return min(holders, default=(0.0, ""))[1]


def _largest_town(area: StudyArea) -> str:
    # The names are ordered by importance, the most important first.
    for place in names_on(area, area.bounds):
        if place.kind != "country" and area.covers([place.longitude], [place.latitude]).all():
            return place.name
    middle = area.shape.representative_point()
    around = square_around(middle.x, middle.y, CITY_KILOMETRES)
    cities = [each for each in names_on(around, around.bounds) if each.kind == "city"]
    return cities[0].name if cities else ""


def _country(area: StudyArea) -> str:
    middle = area.shape.representative_point()
    country = world_places().country_at(middle.x, middle.y)
    return country[0] if country and _holds_most(country[1], area) else ""


def _holds_most(shape: shapely.Geometry, area: StudyArea) -> bool:
    """Return whether a shape contains at least half of an area, measured in square degrees."""
    shared = shapely.area(shapely.intersection(shape, area.shape))
    return bool(shared >= area.shape.area / 2)


def full_name(place: names.Found) -> str:
    """Return a place's name and the place that contains it, such as "Vaduz, Liechtenstein"."""
    return f"{place.name}, {place.within}" if place.within else place.name


def place_search() -> PlaceSearch:
    """Return the search for places that this site uses."""
    return SitePlaces(Path(settings.GROUND_DIR), world_places())


def box_of(name: str) -> Bounds | None:
    """Return the bounds of the place that best matches a name, or None for an unknown name."""
    folder = Path(settings.GROUND_DIR)
    matches = [
        place
        for region in regions(folder)
        if region.names and region.names_file(folder).exists()
        for place in names.search(region.names_file(folder), name, 1)
    ]
    if matches:
        return max(matches, key=lambda each: each.score).box
    box = world_places().box(name)
    mistyped = world_search().search(name, 1) if box is None else []
    return mistyped[0].box if mistyped else box


@login_required
@require_safe
def suggestions(request: HttpRequest) -> HttpResponse:
    """Return as JSON the full names of places that match a text."""
    names = place_search().suggest(request.GET.get("q", "")[:200], MAX_SUGGESTIONS)
    return JsonResponse({"places": names})


@login_required
@require_safe
def place(request: HttpRequest) -> HttpResponse:
    """Return a place's name, outline and kind as JSON, or 404 for an unknown name.

    If a square replaces an unknown outline, the member `words` says so, and what to do.
    """
    match = place_search().find(request.GET.get("name", "")[:200])
    if match is None:
        return HttpResponseNotFound()
    closer = gettext("To follow the place more closely, draw an outline on the map.")
    return JsonResponse(
        {
            "name": match.name,
            "kind": say(match.kind),
            "area": match.area.to_geojson(),
            "words": f"{replaced} {closer}" if (replaced := square_words(match)) else "",
        }
    )


def square_words(match: NamedPlace) -> str:
    """Return a sentence on the square that replaces an unknown boundary; "" if it is known."""
    if not match.square_kilometres:
        return ""
    words = gettext(
        "The boundary of {name} is not known here, so this is a square of {side} km around its "
        "middle."
    )
    return words.format(name=match.name, side=match.square_kilometres)
