"""Kinds of release, as catalogues filter them and pages name them."""

from __future__ import annotations

from enum import StrEnum

from dpgeo.phrases import translatable


class Kind(StrEnum):
    """What comes out of a mechanism."""

    HEATMAP = "heatmap"
    ZONES = "zones"
    POINTS = "points"
    CLUSTERS = "clusters"
    CONTOURS = "contours"

    @property
    def words(self) -> str:
        """The kind as a page names it, of one release."""
        return _WORDS[self]

    @property
    def plural(self) -> str:
        """The kind as a catalogue names all of them."""
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
