"""Registry of the kinds of map, which pages use to filter and name releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpgeo.phrases import translatable


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of map that mechanisms release.

    `title` is the heading for one such map, and `plural` the heading for several. `cells` is true
    if people are counted in the cells of a grid: publishers can then preview the noise on invented
    data, and tasks can be planned on the map. The task planner lists kinds with `for_planning` set
    before all others.
    """

    key: str
    title: str
    plural: str
    cells: bool = False
    for_planning: bool = False


HEATMAP = Kind(
    key="heatmap", title=translatable("Heatmap"), plural=translatable("Heatmaps"), cells=True
)
ZONES = Kind(
    key="zones",
    title=translatable("Counts of zones"),
    plural=translatable("Counts of zones"),
)
POINTS = Kind(
    key="points",
    title=translatable("Moved points"),
    plural=translatable("Moved points"),
)
CLUSTERS = Kind(
    key="clusters", title=translatable("Gathering places"), plural=translatable("Gathering places")
)
CONTOURS = Kind(
    key="contours",
    title=translatable("Contours"),
    plural=translatable("Contours"),
    cells=True,
    for_planning=True,
)
FLOWS = Kind(key="flows", title=translatable("Flows"), plural=translatable("Flows"))
TRIPS = Kind(key="trips", title=translatable("Made-up trips"), plural=translatable("Made-up trips"))
AVERAGES = Kind(key="averages", title=translatable("Averages"), plural=translatable("Averages"))
PLACES = Kind(key="places", title=translatable("Places"), plural=translatable("Places"))
PROFILE = Kind(
    key="profile",
    title=translatable("Profile of the week"),
    plural=translatable("Profiles of the week"),
)

KINDS: Mapping[str, Kind] = {
    kind.key: kind
    for kind in (
        HEATMAP,
        ZONES,
        POINTS,
        CLUSTERS,
        CONTOURS,
        AVERAGES,
        FLOWS,
        TRIPS,
        PLACES,
        PROFILE,
    )
}
