"""Template tag for the credit under maps."""

from __future__ import annotations

from django import template

from dpgeo.pages.ground import ground_under
from dpgeo.spatial.area import StudyArea

register = template.Library()


@register.simple_tag
def ground_credits(area: StudyArea) -> list[str]:
    """Return whom the ground under a study area is from, each once."""
    return list(dict.fromkeys(region["attribution"] for region in ground_under(area)))
