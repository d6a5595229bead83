"""Planning of crowdsourcing tasks on published maps, and campaigns: stored lists of tasks."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.selectors import Visitor, organisations_of
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.campaign_serializers import (
    CampaignListSerializer,
    CampaignSerializer,
    PlanSerializer,
)
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import BODY, in_path, linked, operation
from dpgeo.api.paging import CURSOR, Order, next_url, page
from dpgeo.api.queries import LIMIT
from dpgeo.api.request_bodies import read_body
from dpgeo.api.throttling import count_tasks
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.planning import compute_plan
from dpgeo.crowdsourcing.requests import NewCampaign, PlanRequest
from dpgeo.crowdsourcing.selectors import campaign_visible, campaigns_of, release_to_plan_on
from dpgeo.crowdsourcing.services import campaign_create, campaign_delete

CAMPAIGN_ID = in_path("campaign_id", "The campaign's id.")

BY_NAME = Order(("name", "pk"), descending=False)


class PlanView(DocumentView):
    """A plan that is computed without storing anything."""

    @operation(
        "plan",
        "Plan tasks",
        PlanSerializer,
        tag="campaigns",
        body=PlanRequest,
        errors=[409, 503],
    )
    @heavy
    def post(self, request: Request) -> Response:
        """Compute whom to notify and what to offer for each task, from a published map alone.

        Nothing is stored, no private data are read and no budget is spent. If one task cannot be
        planned, the response says why, and the other tasks are still planned.
        """
        plan = read_body(request, PlanRequest)
        release = release_to_plan_on(plan.release)
        count_tasks(request, len(plan.tasks))
        return self.answer(self.write(PlanSerializer, compute_plan(release, plan)), personal=True)


class CampaignsView(DocumentView):
    """The stored campaigns of the user's organisations."""

    scopes: ClassVar = {"GET": Scope.CAMPAIGNS_WRITE, "POST": Scope.CAMPAIGNS_WRITE}
    queries = (LIMIT, CURSOR)

    @operation(
        "campaigns",
        "List campaigns",
        CampaignListSerializer,
        tag="campaigns",
        links={"campaign": {"campaign_id": f"{BODY}/results/0/id"}},
    )
    def get(self, request: Request) -> Response:
        """List the campaigns of your organisations, sorted by name."""
        campaigns, cursor = page(
            campaigns_of(self.actor),
            BY_NAME,
            limit=self.query["limit"],
            cursor=self.query["cursor"],
        )
        document = {"results": campaigns, "next": next_url(request, cursor)}
        return self.answer(self.write(CampaignListSerializer, document), personal=True)

    @operation(
        "campaign_create",
        "Store a campaign",
        CampaignSerializer,
        tag="campaigns",
        status=201,
        body=NewCampaign,
        links=linked(["campaign", "campaign_delete"], campaign_id=f"{BODY}/id"),
    )
    def post(self, request: Request) -> Response:
        """Store the tasks and settings of a campaign.

        Plans are not stored; they are computed anew each time.
        """
        sent = read_body(request, NewCampaign)
        campaign = campaign_create(
            organisation=_organisation(self.actor, sent.organisation),
            release=release_to_plan_on(sent.release),
            request=sent,
            created_by=self.actor,
        )
        answer = self.answer(self.write(CampaignSerializer, campaign), personal=True)
        answer.status_code = 201
        return answer


class CampaignView(DocumentView):
    """One stored campaign."""

    scopes: ClassVar = {"DELETE": Scope.CAMPAIGNS_WRITE}

    @operation(
        "campaign",
        "Get a campaign",
        CampaignSerializer,
        tag="campaigns",
        parameters=[CAMPAIGN_ID],
    )
    def get(self, request: Request, campaign_id: str) -> Response:
        """Get one of your organisation's campaigns or a shared one."""
        campaign = _campaign(request, campaign_id)
        document = self.write(CampaignSerializer, campaign)
        return self.answer(document, personal=is_personal(request.user))

    @operation(
        "campaign_delete",
        "Delete a campaign",
        CampaignSerializer,
        tag="campaigns",
        parameters=[CAMPAIGN_ID],
    )
    def delete(self, request: Request, campaign_id: str) -> Response:
        """Delete a campaign. The response shows it as it was last stored."""
        read_body(request)
        campaign = _campaign(request, campaign_id)
        document = self.write(CampaignSerializer, campaign)
        campaign_delete(campaign=campaign, by=self.actor)
        return self.answer(document, personal=True)


def _organisation(user: User, slug: str) -> Organisation:
    """Return the user's organisation `slug`, or the only one if `slug` is empty.

    Raises InvalidInput if there is no such organisation, or if `slug` is empty and the user has
    several organisations.
    """
    mine = organisations_of(user)
    choices = list(mine.filter(slug=slug) if slug else mine[:2])
    if len(choices) != 1:
        raise InvalidInput("Name one of your organisations by its slug.", field="organisation")
    return choices[0]


def _campaign(request: Request, campaign_id: str) -> Campaign:
    user: Visitor = request.user
    key = user.acting_key if isinstance(user, User) else None
    if key and Scope.CAMPAIGNS_WRITE not in key.scopes:
        user = AnonymousUser()  # A key without the scope sees what everybody sees.
    try:
        return campaign_visible(user, campaign_id)
    except Campaign.DoesNotExist:
        raise Http404 from None
