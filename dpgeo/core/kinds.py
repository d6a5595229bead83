"""Kinds of release, as catalogues filter them and pages name them."""

from __future__ import annotations

from enum import StrEnum


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
    Kind.HEATMAP: "Heatmap",
    Kind.ZONES: "Counts of zones",
    Kind.POINTS: "Perturbed points",
    Kind.CLUSTERS: "Clusters",
    Kind.CONTOURS: "Contours",
}

_PLURALS = {
    Kind.HEATMAP: "Heatmaps",
    Kind.ZONES: "Counts of zones",
    Kind.POINTS: "Perturbed points",
    Kind.CLUSTERS: "Clusters",
    Kind.CONTOURS: "Contours",
}
