"""Template tags for the basemap: its credits, and whether it has a place search."""

from __future__ import annotations

from django import template
from django.template import Context

from dpgeo.ground.outside import OutsideGround
from dpgeo.pages.ground import ground_under, outside_under
from dpgeo.pages.outside_ground import outside_ground
from dpgeo.spatial.area import StudyArea

register = template.Library()


@register.simple_tag
def ground_credits(area: StudyArea) -> list[str]:
    """Return the credits of the basemap under a study area, without duplicates."""
    return list(dict.fromkeys(region["attribution"] for region in ground_under(area)))


@register.simple_tag
def has_ground_names(area: StudyArea) -> bool:
    """Return whether the basemap under a study area can be searched by place name."""
    return any(region["searchable"] for region in ground_under(area))


@register.simple_tag(takes_context=True)
def outside_ground_under(context: Context, area: StudyArea) -> OutsideGround | None:
    """Return the other server that a page's map loads its basemap from; None if it uses none.

    This also adds the server to the page's security policy, so only pages that tell their readers
    about the server may load from it (`dpgeo.config.security`).
    """
    outside = outside_under(area)
    if outside:
        context["request"].outside_origin = outside.origin
    return outside


@register.simple_tag
def outside_ground_allowed() -> OutsideGround | None:
    """Return the other server that this site's maps may load basemaps from, if any."""
    return outside_ground()
