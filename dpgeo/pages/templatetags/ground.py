"""Template tags for the ground under maps: its credit, and whether it can be searched."""

from __future__ import annotations

from django import template

from dpgeo.pages.ground import ground_under
from dpgeo.spatial.area import StudyArea

register = template.Library()


@register.simple_tag
def ground_credits(area: StudyArea) -> list[str]:
    """Return whom the ground under a study area is from, each once."""
    return list(dict.fromkeys(region["attribution"] for region in ground_under(area)))


@register.simple_tag
def has_ground_names(area: StudyArea) -> bool:
    """Return whether places under a study area can be found by name."""
    return any(region["searchable"] for region in ground_under(area))
