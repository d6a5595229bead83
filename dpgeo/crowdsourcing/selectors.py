"""Who may read which campaigns, and the surfaces that they are planned on."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import Q, QuerySet

from dpgeo.accounts.selectors import Visitor, organisations_of
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.postprocess.tasks.geocast import Partition
from dpgeo.postprocess.tasks.surface import density_surface, partition_of
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import released_of, releases_public
from dpgeo.releases.states import PUBLIC
from dpgeo.spatial.area import StudyArea

SURFACES_KEPT = 4
"""Surfaces that a process keeps at hand: 24 MB each at the most."""


def campaigns_of(user: Visitor) -> QuerySet[Campaign]:
    """The campaigns of a person's or key's organisations."""
    return Campaign.objects.filter(organisation__in=organisations_of(user)).select_related(
        "organisation", "release"
    )


def campaign_visible(user: Visitor, campaign_id: str) -> Campaign:
    """One campaign: one's own, or one that is shared and whose release is still published.

    Raises Campaign.DoesNotExist.
    """
    mine = Q(organisation__in=organisations_of(user))
    shared = Q(shared=True, release__state__in=PUBLIC)
    found = Campaign.objects.select_related("organisation", "release")
    return found.filter(mine | shared).get(pk=campaign_id)


def release_to_plan_on(release_id: str) -> Release:
    """A published release. Raises InvalidInput for any other."""
    release = releases_public().filter(pk=release_id).first()
    if release is None:
        raise InvalidInput(
            "There is no published release of this id; take one from /api/v1/releases.",
            field="release",
        )
    return release


def ground_of(release: Release) -> tuple[DensitySurface, StudyArea]:
    """The surface of expected people of a release, and its study area.

    Raises Conflict where its release has no counts of cells.
    """
    return _ground(release.pk, release.blob_sha256)


def regions_of(release: Release) -> Partition:
    """The measured regions of a release. Raises Conflict where there are none."""
    return _regions(release.pk, release.blob_sha256)


@lru_cache(maxsize=SURFACES_KEPT)
def _ground(release_id: str, _checksum: str) -> tuple[DensitySurface, StudyArea]:
    """A blob never changes, so what follows from it may be kept."""

    released = released_of(Release.objects.get(pk=release_id))
    return density_surface(released), released.area


@lru_cache(maxsize=SURFACES_KEPT)
def _regions(release_id: str, _checksum: str) -> Partition:

    return partition_of(released_of(Release.objects.get(pk=release_id)))
