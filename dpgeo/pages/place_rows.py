"""Ranked lists of places, with their possible ranks, for the page of a release."""

from __future__ import annotations

from dataclasses import dataclass

from dpgeo.core.released import Content, PlacesRelease
from dpgeo.postprocess.top_places import RankedPlace, TopPlaces

MAX_CERTAIN_ROWS = 20
"""Largest k for which the page lists the k busiest places."""

MAX_POSSIBLE_ROWS = 6
"""Maximum number of rows of places that may, but need not, be among the k busiest."""

MAX_ROWS = 100
"""Maximum number of rows in the table of all places."""

SHARE_SHOWN = 1.5
"""Number of ranks on the scale of the bars, as a multiple of k, the number of busiest places."""


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place, and the bar of its possible ranks: `left` and `width` are in per cent of the scale.

    If `open` is true, the possible ranks go beyond the end of the scale.
    """

    place: RankedPlace
    left: float
    width: float
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceList:
    """The busiest places of one context.

    `layer` is the name of the map's layer, and `title` the title of the context, or "" for all
    contexts together. The places in `sure` are surely among the `k` busiest; `others` more places
    may be among them, and `perhaps` lists some of these. `edge` is the position at which rank k
    ends on the scale of the bars. `rows` are the rows of the whole table, which covers `size`
    places.
    """

    layer: str
    title: str
    k: int
    edge: float
    sure: tuple[PlaceRow, ...]
    perhaps: tuple[PlaceRow, ...]
    others: int
    rows: tuple[RankedPlace, ...]
    size: int
    joint_margin: int

    @property
    def edge_text(self) -> float:
        """Position, from 0 to 150, where rank k ends on the scale of ranks in the table's head."""
        return round(1.5 * self.edge, 2)

    @property
    def surely(self) -> int:
        """The number of places that are surely among the k busiest."""
        return len(self.sure)


def place_lists(content: Content) -> tuple[PlaceList, ...]:
    """Return a list for all contexts together, and one for each; () for releases without places."""
    if not isinstance(content, PlacesRelease):
        return ()
    return tuple(_list(content, context) for context in ("", *content.slices.keys))


def _list(content: PlacesRelease, context: str) -> PlaceList:
    top = TopPlaces.of(content, context)
    k = _about(len(top))
    ends = max(SHARE_SHOWN * k, 2.0)

    def row(place: RankedPlace) -> PlaceRow:
        left = 100 * (place.best - 1) / ends
        right = 100 * min(place.worst / ends, 1.0)
        return PlaceRow(place, round(left, 2), round(max(right - left, 0.0), 2), place.worst > ends)

    places = top.first(len(top))
    sure = [each for each in places if each.worst <= k]
    perhaps = [each for each in places if each.best <= k < each.worst]
    return PlaceList(
        layer=top.layer.name,
        title=top.layer.title if content.slices else "",
        k=k,
        edge=round(100 * k / ends, 2),
        sure=tuple(map(row, sure)),
        perhaps=tuple(map(row, perhaps[:MAX_POSSIBLE_ROWS])),
        others=len(perhaps),
        rows=tuple(places[:MAX_ROWS]),
        size=len(top),
        joint_margin=top.joint_margin,
    )


def _about(places: int) -> int:
    """Return k, the number of busiest places to list; it is at most half of all places."""
    return next((k for k in (MAX_CERTAIN_ROWS, 10, 5, 3) if 2 * k <= places), 1)
