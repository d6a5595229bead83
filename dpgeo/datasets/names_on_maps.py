"""Names of places on maps of a study area, from the basemap and from worldwide lists of places."""

from __future__ import annotations

import json
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from django.conf import settings

from dpgeo.ground.map_names import MapName, WorldNames, map_names, sources_of
from dpgeo.ground.regions import Bounds, regions, world_file
from dpgeo.ground.world_search import IndexedSearch, NameSearch, WorldSearch
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.named_places import WorldPlaces

MAX_DRAWN = 24
"""Maximum number of place names stored with a release, to be written on pictures of its map."""


@cache
def world_places() -> WorldPlaces:
    """Return the world's countries and cities, from the files that come with the software."""
    built = Path(settings.BASE_DIR) / "frontend" / "dist"
    zones = Path(str(resources.files("tzdata"))) / "zoneinfo"
    version = metadata.version("tzdata")
    return WorldPlaces(built / "countries.jsonl", zones, version, built / "cities.tsv")


@cache
def world_names() -> WorldNames:
    """Return the names of countries and cities on maps, from files that come with the software."""
    built = Path(settings.BASE_DIR) / "frontend" / "dist"
    return WorldNames(built / "country-names.tsv", world_places().cities.values())


def world_search() -> NameSearch:
    """Return an object that finds the world's countries and cities by name.

    It finds the towns in the operator's table or, without such a table, the cities that come with
    the software.
    """
    return added_towns() or _built_in_search()


def added_towns() -> IndexedSearch | None:
    """Return an object that finds towns in the operator's table; None without such a table."""
    added = world_file(Path(settings.GROUND_DIR))
    return IndexedSearch(added) if added.exists() else None


@cache
def _built_in_search() -> WorldSearch:
    return WorldSearch(world_places())


def names_on(area: StudyArea, around: Bounds) -> list[MapName]:
    """Return the names to write on maps of a study area and its surroundings."""
    folder = Path(settings.GROUND_DIR)
    touching = [each for each in regions(folder) if each.touches(area.bounds)]
    return map_names(area.bounds, around, folder, touching, world_names())


def names_for_pictures(area: StudyArea) -> str:
    """Return the largest places of a study area as JSON for `Released.about`, or "" for none.

    Pictures are drawn from a release alone, so the names are stored in it. They follow from the
    study area and the basemap, which are public.
    """
    found = [each for each in names_on(area, area.bounds) if each.kind != "country"][:MAX_DRAWN]
    if not found:
        return ""
    places = [[each.name, round(each.longitude, 5), round(each.latitude, 5)] for each in found]
    return json.dumps({"places": places, "sources": sources_of(found)}, ensure_ascii=False)
