"""Queries for campaigns, and for the density surfaces used to plan them."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import Q, QuerySet

from dpgeo.accounts.selectors import Visitor, visible_organisations
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.surface import density_surface
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released, release_public
from dpgeo.releases.states import PUBLIC
from dpgeo.spatial.area import StudyArea

CACHED_SURFACES = 4
"""Number of density surfaces that a process caches, each of at most 24 MB."""


def visible_campaigns(user: Visitor) -> QuerySet[Campaign]:
    """Return the campaigns that belong to the organisations of a user or an API key."""
    return Campaign.objects.filter(organisation__in=visible_organisations(user)).select_related(
        "organisation", "release"
    )


def campaign_visible(user: Visitor, campaign_id: str) -> Campaign:
    """Return a campaign of the user's organisations, or a shared one on a public release.

    Raises Campaign.DoesNotExist if there is none that the user may see.
    """
    mine = Q(organisation__in=visible_organisations(user))
    shared = Q(shared=True, release__state__in=PUBLIC)
    campaigns = Campaign.objects.select_related("organisation", "release")
    return campaigns.filter(mine | shared).get(pk=campaign_id)


def release_to_plan_on(release_id: str) -> Release:
    """Return the published release with this id. Raises InvalidInput if there is none."""
    release = release_public(release_id)
    if release is None:
        raise InvalidInput(
            "There is no published release of this id; take one from /api/v1/releases.",
            field="release",
        )
    return release


def ground_of(release: Release) -> tuple[DensitySurface, StudyArea]:
    """Return a release's surface of expected people, and its study area.

    Raises Conflict if the release has no counts of cells.
    """
    return _ground(release.pk, release.blob_sha256)


@lru_cache(maxsize=CACHED_SURFACES)
def _ground(release_id: str, _checksum: str) -> tuple[DensitySurface, StudyArea]:
    """Return a release's surface and study area, from the cache if possible.

    `_checksum` is that of the release's blob. It is only part of the cache's key, so that the
    surface is computed anew if the blob changes.
    """
    released = load_released(Release.objects.get(pk=release_id))
    return density_surface(released), released.area
