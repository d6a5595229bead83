"""Filters of the public catalogue, and the releases that match them.

An invalid filter is ignored and reported; it never makes a page fail.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet

from dpgeo.core.kinds import KINDS, Kind
from dpgeo.core.number_text import number_text
from dpgeo.datasets.selectors import datasets_public, near
from dpgeo.mechanisms.registry import find_kind, kind_mechanisms
from dpgeo.pages.desk.places import box_of
from dpgeo.pages.overview import Overview, overview
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

SIDES = ("west", "south", "east", "north")
LIMITS = (180.0, 90.0, 180.0, 90.0)
MAX_SEARCH_LENGTH = 200

Bounds = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The filters that a visitor has set; `misread` lists the names of invalid ones.

    `place` is the name of the place whose bounds are `bounds`, or "" if these were given as
    numbers.
    """

    search: str = ""
    kind: str = ""
    publisher: str = ""
    first: datetime.date | None = None
    last: datetime.date | None = None
    bounds: Bounds | None = None
    place: str = ""
    misread: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether any filter is set."""
        return self != Wanted(misread=self.misread)

    @property
    def query(self) -> str:
        """Return the filters as a query string without the page number, or "" if there are none."""
        given = {
            "q": self.search,
            "kind": self.kind,
            "publisher": self.publisher,
            "from": self.first,
            "to": self.last,
        }
        if self.place:
            given["near"] = self.place
        elif self.bounds:
            given |= {side: f"{value:g}" for side, value in zip(SIDES, self.bounds, strict=True)}
        return urlencode({name: value for name, value in given.items() if value})


class Known(NamedTuple):
    """The bounding box of a dataset's study area, and the slug and name of its publisher."""

    bounds: Bounds
    publisher: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Facet:
    """A clickable filter: its title, the number of maps that it selects, and its query string."""

    title: str
    count: int
    query: str
    chosen: bool


def read_wanted(given: Mapping[str, str]) -> Wanted:
    """Parse the filters of a query string."""
    misread: list[str] = []
    kind = given.get("kind", "")
    if kind and kind not in KINDS:
        misread.append("kind")
        kind = ""
    bounds, place = _bounds(given, misread), ""
    named = given.get("near", "").replace("\0", "").strip()[:MAX_SEARCH_LENGTH]
    if named and bounds is None:
        bounds = box_of(named)
        place = named if bounds else ""
        if bounds is None:
            misread.append("near")
    return Wanted(
        search=given.get("q", "").replace("\0", "").strip()[:MAX_SEARCH_LENGTH],
        kind=kind,
        publisher=given.get("publisher", "").replace("\0", "")[:MAX_SEARCH_LENGTH],
        first=_date(given, "from", misread),
        last=_date(given, "to", misread),
        bounds=bounds,
        place=place,
        misread=tuple(misread),
    )


def releases_wanted(wanted: Wanted) -> QuerySet[Release]:
    """Return the published releases that match the filters, newest day first."""
    releases = releases_public()
    for word in wanted.search.split():
        releases = releases.filter(
            Q(title__icontains=word)
            | Q(description__icontains=word)
            | Q(dataset__declaration__title__icontains=word)
            | Q(dataset__organisation__name__icontains=word)
        )
    if wanted.kind:
        releases = releases.filter(mechanism__in=kind_mechanisms(KINDS[wanted.kind]))
    if wanted.publisher:
        releases = releases.filter(dataset__organisation__slug=wanted.publisher)
    if wanted.first:
        releases = releases.filter(published_at__gte=_midnight(wanted.first))
    if wanted.last:
        releases = releases.filter(
            published_at__lt=_midnight(wanted.last) + datetime.timedelta(days=1)
        )
    if wanted.bounds:
        releases = releases.filter(near(wanted.bounds, "dataset__"))
    return releases


@dataclass(frozen=True, slots=True)
class Counted:
    """How many maps match the filters, and how many would with another kind or publisher."""

    found: int
    kinds: list[Facet]
    publishers: list[Facet]


def known_datasets() -> dict[int, Known]:
    """Return each dataset that has a published map, by its primary key."""
    rows = _known()
    return {key: Known(tuple(bounds), (slug, name)) for key, *bounds, slug, name in rows}


def _known() -> QuerySet[Any, Any]:
    columns = (*SIDES, "organisation__slug", "organisation__name")
    return datasets_public().values_list("pk", *columns)


def count_maps(wanted: Wanted, datasets: Mapping[int, Known]) -> Counted:
    """Count the maps that match, also for each other choice of kind or publisher.

    One query groups the maps by dataset and mechanism. An index contains both columns, so the
    catalogue stays quick however many maps it lists.
    """
    found = 0
    kinds: Counter[Kind | None] = Counter()
    publishers: Counter[tuple[str, str]] = Counter()
    for dataset, mechanism, count in _groups(wanted):
        if dataset not in datasets:  # The dataset got its first map after `datasets` was read.
            continue
        kind, publisher = find_kind(mechanism), datasets[dataset].publisher
        of_kind = not wanted.kind or kind is KINDS[wanted.kind]
        of_publisher = not wanted.publisher or publisher[0] == wanted.publisher
        found += count if of_kind and of_publisher else 0
        kinds[kind] += count if of_publisher else 0
        publishers[publisher] += count if of_kind else 0
    return Counted(found, _kind_facets(wanted, kinds), _publisher_facets(wanted, publishers))


def _groups(wanted: Wanted) -> QuerySet[Any, Any]:
    others = releases_wanted(replace(wanted, kind="", publisher="")).order_by()
    return others.values_list("dataset_id", "mechanism").annotate(count=Count("*"))


def _kind_facets(wanted: Wanted, counts: Mapping[Kind | None, int]) -> list[Facet]:
    return [
        Facet(
            kind.plural,
            counts[kind],
            replace(wanted, kind="" if kind.key == wanted.kind else kind.key).query,
            kind.key == wanted.kind,
        )
        for kind in KINDS.values()
        if counts[kind] or kind.key == wanted.kind
    ]


def _publisher_facets(wanted: Wanted, counts: Mapping[tuple[str, str], int]) -> list[Facet]:
    return [
        Facet(
            name,
            count,
            replace(wanted, publisher="" if slug == wanted.publisher else slug).query,
            slug == wanted.publisher,
        )
        for (slug, name), count in sorted(
            counts.items(), key=lambda each: (each[0][1].lower(), each[0][0])
        )
        if count
    ]


def area_overview(wanted: Wanted, datasets: Mapping[int, Known]) -> Overview | None:
    """Return an overview map of the datasets' study areas, or None if there are no datasets."""
    areas = sorted({dataset.bounds for dataset in datasets.values()})
    links = [(each, replace(wanted, bounds=_rounded(each), place="").query) for each in areas]
    return overview(links, wanted.bounds) if links else None


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC)


def _date(given: Mapping[str, str], name: str, misread: list[str]) -> datetime.date | None:
    text = given.get(name, "")
    if not text:
        return None
    try:
        day = datetime.date.fromisoformat(text)
        # The filter computes the following day, which Python lacks after the last day of 9999.
        if day.year < datetime.MAXYEAR:
            return day
    except ValueError:
        pass
    misread.append(name)
    return None


def _bounds(given: Mapping[str, str], misread: list[str]) -> Bounds | None:
    texts = [given.get(side, "").strip() for side in SIDES]
    if not any(texts):
        return None
    try:
        west, south, east, north = (float(number_text(text)) for text in texts)
    except ValueError:
        misread.append("area")
        return None
    sides = (west, south, east, north)
    within = all(
        math.isfinite(side) and abs(side) <= limit
        for side, limit in zip(sides, LIMITS, strict=True)
    )
    if not within or west > east or south > north:
        misread.append("area")
        return None
    return sides


def _rounded(bounds: Bounds) -> Bounds:
    """Round bounds outwards to three decimals, about 100 m, to keep URLs short."""
    west, south, east, north = bounds
    return (
        math.floor(west * 1000) / 1000,
        math.floor(south * 1000) / 1000,
        math.ceil(east * 1000) / 1000,
        math.ceil(north * 1000) / 1000,
    )
