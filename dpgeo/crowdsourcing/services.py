"""Services that change campaigns, for an organisation's members and API keys."""

from __future__ import annotations

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import visible_organisations
from dpgeo.blanks import trim
from dpgeo.core.errors import InvalidInput, NotAllowed
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.requests import NewCampaign
from dpgeo.releases.models import Release

MAX_CAMPAIGNS = 1000
"""Maximum number of campaigns per organisation. A thousand with 3,000 tasks each take 0.3 GB."""


def campaign_create(
    *, organisation: Organisation, release: Release, request: NewCampaign, created_by: User
) -> Campaign:
    """Store a campaign.

    Raises InvalidInput if the name is invalid or there are too many campaigns, or NotAllowed if the
    user is not a member of the organisation.
    """
    _check_member(created_by, organisation.pk)
    name = _read_name(request.name)
    if Campaign.objects.filter(organisation=organisation).count() >= MAX_CAMPAIGNS:
        raise InvalidInput(
            "An organisation can have at most {most} campaigns; delete one first.",
            most=MAX_CAMPAIGNS,
            field="name",
        )
    return Campaign.objects.create(
        organisation=organisation,
        release=release,
        name=name,
        plan={
            "settings": request.settings.model_dump(),
            "tasks": [each if isinstance(each, dict) else {} for each in request.tasks],
        },
        shared=request.shared,
        created_by=created_by,
    )


def campaign_change(*, campaign: Campaign, name: str, shared: bool, by: User) -> Campaign:
    """Set the name of a campaign, and whether it is shared.

    Raises InvalidInput for an invalid name, or NotAllowed if the user is not a member of the
    campaign's organisation.
    """
    _check_member(by, campaign.organisation_id)
    campaign.name = _read_name(name)
    campaign.shared = shared
    campaign.save(update_fields=["name", "shared"])
    return campaign


def campaign_delete(*, campaign: Campaign, by: User) -> None:
    """Delete a campaign. Raises NotAllowed if the user is not a member of its organisation."""
    _check_member(by, campaign.organisation_id)
    campaign.delete()


def _check_member(user: User, organisation_id: int) -> None:
    if not visible_organisations(user).filter(pk=organisation_id).exists():
        raise NotAllowed(
            "Only members of an organisation can change its campaigns; ask an administrator to add "
            "you."
        )


def _read_name(name: str) -> str:
    """Return a campaign's name without surrounding spaces. Raises InvalidInput if it is invalid."""
    name = trim(name)
    if not 1 <= len(name) <= 200 or not name.isprintable():
        raise InvalidInput("Give the campaign a name of 1 to 200 characters.", field="name")
    return name
