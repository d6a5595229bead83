"""Template tags for the basemap: its credits, and whether it has a place search."""

from __future__ import annotations

from django import template
from django.template import Context
from django.utils.translation import gettext

from dpgeo.datasets.names_on_maps import names_on, world_names
from dpgeo.ground.map_names import sources_of
from dpgeo.ground.outside import OutsideGround
from dpgeo.pages.basemap import surroundings
from dpgeo.pages.ground import ground_under, outside_under
from dpgeo.pages.outside_ground import outside_ground
from dpgeo.spatial.area import StudyArea

register = template.Library()


@register.simple_tag
def ground_credits(area: StudyArea) -> list[str]:
    """Return the credits of the basemap under a study area and of its names, without duplicates."""
    ground = [region["attribution"] for region in ground_under(area)]
    named = sources_of(names_on(area, surroundings(area)))
    return list(dict.fromkeys([*(ground or [gettext("Outlines: Natural Earth")]), *named]))


@register.simple_tag
def has_ground_names(area: StudyArea) -> bool:
    """Return whether places can be found by name on a study area's map.

    This is so if the area's basemap has names, or if the list of the world's cities has one in the
    part that the map can show.
    """
    if any(region["searchable"] for region in ground_under(area)):
        return True
    return bool(world_names().cities(surroundings(area)))


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
