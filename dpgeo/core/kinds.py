"""Kinds of release, by which catalogues filter and which pages name."""

from __future__ import annotations

from enum import StrEnum

from dpgeo.phrases import translatable


class Kind(StrEnum):
    """Kind of map that a mechanism releases."""

    HEATMAP = "heatmap"
    ZONES = "zones"
    POINTS = "points"
    CLUSTERS = "clusters"
    CONTOURS = "contours"

    @property
    def words(self) -> str:
        """Name of one release of this kind."""
        return _WORDS[self]

    @property
    def plural(self) -> str:
        """Name of all releases of this kind, in a catalogue."""
        return _PLURALS[self]


_WORDS = {
    Kind.HEATMAP: translatable("Heatmap"),
    Kind.ZONES: translatable("Counts of zones"),
    Kind.POINTS: translatable("Perturbed points"),
    Kind.CLUSTERS: translatable("Clusters"),
    Kind.CONTOURS: translatable("Contours"),
}

_PLURALS = {
    Kind.HEATMAP: translatable("Heatmaps"),
    Kind.ZONES: translatable("Counts of zones"),
    Kind.POINTS: translatable("Perturbed points"),
    Kind.CLUSTERS: translatable("Clusters"),
    Kind.CONTOURS: translatable("Contours"),
}
