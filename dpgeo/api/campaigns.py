"""Planning of crowdsourcing tasks on published maps, and campaigns: stored lists of tasks."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.selectors import Visitor, visible_organisations
from dpgeo.api.answers import NEXT, Answer, Json, Slug, Url, address_of
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import BODY, linked, operation
from dpgeo.api.paging import Order, next_url, page
from dpgeo.api.queries import PageQuery
from dpgeo.api.request_bodies import read_body
from dpgeo.api.throttling import count_tasks
from dpgeo.core.declared import fact
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.planning import compute_plan
from dpgeo.crowdsourcing.requests import NewCampaign, PlanRequest
from dpgeo.crowdsourcing.selectors import campaign_visible, release_to_plan_on, visible_campaigns
from dpgeo.crowdsourcing.services import campaign_create, campaign_delete

BY_NAME = Order(("name", "pk"), descending=False)


class PlannedTaskOut(Answer):
    """A task with its plan, in the order in which tasks were sent.

    `success` is the target probability if there is a notification radius; otherwise, it is the
    success probability if everybody within the travel limit is notified. `notified_margin` is the
    nominal 95 % margin of the number `notified`, for the map's noise alone.
    """

    name: str
    longitude: float | None
    latitude: float | None
    density_per_km2: float | None
    reward: float | None
    radius_metres: float | None
    notified: float | None
    notified_margin: float | None
    acceptance: float | None
    success: float | None
    reason: str = fact("Why there is no radius; empty if there is.")
    explanation: str = fact("The reason in words, and the remedy.")


class PlanTotalsOut(Answer):
    """Sums over the planned tasks."""

    planned: int
    not_planned: int
    reward: float
    notified: float
    expected_done: float
    largest_radius_metres: float


class PlanOut(Answer):
    """A plan of tasks. It is computed on request and not stored."""

    release: str
    totals: PlanTotalsOut
    tasks: list[PlannedTaskOut]


class CampaignOut(Answer):
    """A stored campaign: tasks and settings of an organisation."""

    id: str
    url: Url
    page: Url = fact("Where it is planned on a map.")
    name: str
    organisation: Slug
    release: str
    settings: Json
    tasks: list[Json]
    shared: bool


class CampaignListOut(Answer):
    """One page of campaigns, by name."""

    results: list[CampaignOut]
    next: Url | None = fact(NEXT)


def campaign_answer(campaign: Campaign, request: Request) -> CampaignOut:
    return CampaignOut(
        id=campaign.pk,
        url=address_of(request, "api:campaign", campaign.pk),
        page=f"{address_of(request, 'plan')}?campaign={campaign.pk}",
        name=campaign.name,
        organisation=campaign.organisation.slug,
        release=campaign.release_id,
        settings=campaign.settings,
        tasks=campaign.tasks,
        shared=campaign.shared,
    )


class PlanView(DocumentView):
    @operation(
        "plan",
        "Plan tasks",
        PlanOut,
        tag="campaigns",
        body=PlanRequest,
        errors=[409, 503],
    )
    @heavy
    def post(self, request: Request) -> HttpResponse:
        """Compute whom to notify and what to offer for each task, from a published map alone.

        Nothing is stored, no private data are read and no budget is spent. If one task cannot be
        planned, the response says why, and the other tasks are still planned.
        """
        plan = read_body(request, PlanRequest)
        release = release_to_plan_on(plan.release)
        count_tasks(request, len(plan.tasks))
        return self.answer(PlanOut.model_validate(compute_plan(release, plan)), personal=True)


class CampaignsView(DocumentView):
    scopes: ClassVar = {"GET": Scope.CAMPAIGNS_WRITE, "POST": Scope.CAMPAIGNS_WRITE}
    queries = PageQuery

    @operation(
        "campaigns",
        "List campaigns",
        CampaignListOut,
        tag="campaigns",
        links={"campaign": {"campaign_id": f"{BODY}/results/0/id"}},
    )
    def get(self, request: Request) -> HttpResponse:
        """List the campaigns of your organisations, sorted by name."""
        campaigns, cursor = page(
            visible_campaigns(self.actor),
            BY_NAME,
            limit=self.query.limit,
            cursor=self.query.cursor,
        )
        results = [campaign_answer(campaign, request) for campaign in campaigns]
        answer = CampaignListOut(results=results, next=next_url(request, cursor))
        return self.answer(answer, personal=True)

    @operation(
        "campaign_create",
        "Store a campaign",
        CampaignOut,
        tag="campaigns",
        status=201,
        body=NewCampaign,
        links=linked(["campaign", "campaign_delete"], campaign_id=f"{BODY}/id"),
    )
    def post(self, request: Request) -> HttpResponse:
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
        return self.answer(campaign_answer(campaign, request), personal=True, status=201)


class CampaignView(DocumentView):
    scopes: ClassVar = {"DELETE": Scope.CAMPAIGNS_WRITE}

    @operation(
        "campaign",
        "Get a campaign",
        CampaignOut,
        tag="campaigns",
    )
    def get(self, request: Request, campaign_id: str) -> HttpResponse:
        """Get one of your organisation's campaigns or a shared one."""
        campaign = _campaign(request, campaign_id)
        document = campaign_answer(campaign, request)
        return self.answer(document, personal=is_personal(request.user))

    @operation(
        "campaign_delete",
        "Delete a campaign",
        CampaignOut,
        tag="campaigns",
    )
    def delete(self, request: Request, campaign_id: str) -> HttpResponse:
        """Delete a campaign. The response shows it as it was last stored."""
        read_body(request)
        campaign = _campaign(request, campaign_id)
        document = campaign_answer(campaign, request)
        campaign_delete(campaign=campaign, by=self.actor)
        return self.answer(document, personal=True)


def _organisation(user: User, slug: str) -> Organisation:
    """Return the user's organisation `slug`, or the only one if `slug` is empty.

    Raises InvalidInput if there is no such organisation, or if `slug` is empty and the user has
    several organisations.
    """
    mine = visible_organisations(user)
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
