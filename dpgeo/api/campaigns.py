"""Planning of crowdsourcing tasks on published maps, and campaigns: stored lists of tasks."""

from __future__ import annotations

from typing import Annotated, ClassVar

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpResponse
from pydantic import BeforeValidator
from rest_framework.request import Request

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.selectors import Visitor, organisations_of
from dpgeo.api.answers import NEXT, Answer, Json, Slug, Url, address_of
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import BODY, linked, operation
from dpgeo.api.paging import Order, next_url, page
from dpgeo.api.queries import PageQuery
from dpgeo.api.request_bodies import read_body
from dpgeo.api.throttling import count_tasks
from dpgeo.core.declared import Declared, Flag, Items, Members, Real, Text, fact
from dpgeo.core.errors import InvalidInput
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.planning import (
    MOST_TASKS,
    TaskPlans,
    compute_plans,
    parse_plan_request,
)
from dpgeo.crowdsourcing.selectors import campaign_visible, campaigns_of, release_to_plan_on
from dpgeo.crowdsourcing.services import campaign_create, campaign_delete
from dpgeo.phrases import InvalidValue

BY_NAME = Order(("name", "pk"), descending=False)

GEOCAST_WEIGHT = 200
"""Number of tasks that can be planned in the time in which one task's notified regions are
computed. A task with regions counts as this many more tasks towards the limit on planned tasks.
"""

ALLOCATIONS = ["uniform", "optimised", "optimal"]


def _read_names(value: object) -> object:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidValue("Must be a list of texts, in quotation marks.")
    return value


Names = Annotated[list[str], BeforeValidator(_read_names)]


class OnAMap(Declared):
    """A request body with tasks and the release on whose map they are planned."""

    release: Text = fact("The id of a published release.")
    tasks: Items = fact(
        f"At most {MOST_TASKS:,} objects with longitude, latitude and, optionally, a name and a "
        "fixed reward.",
        schema={"type": "array", "maxItems": MOST_TASKS, "items": {"type": "object"}},
    )


class Conditions(Declared):
    """Request fields for all tasks: when workers accept a task, and the target probability."""

    target: Real = fact(
        "The probability with which each task is to be done, above 0 and up to 1.",
        0.9,
        schema={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    )
    willingness: Real = fact(
        "c of the acceptance model tanh(c w/d): at this many metres for each unit of reward, 76 % "
        "of workers accept.",
        50.0,
        schema={"type": "number", "exclusiveMinimum": 0},
    )
    least_reward: Real = fact(
        "w0: below this reward nobody accepts.", 1.0, schema={"type": "number", "minimum": 0}
    )
    travel_metres: Real = fact(
        "MTD: nobody farther away accepts.",
        3000.0,
        schema={"type": "number", "minimum": 0, "maximum": 200_000},
    )
    worker_share: Real = fact(
        "The share of the people on the map who are workers, above 0 and up to 1.",
        1.0,
        schema={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    )
    model: Text = fact(
        "field: workers are a Poisson process with the released density. circle: the density at "
        "the task holds in the whole circle, as in the paper.",
        "field",
        schema={"type": "string", "enum": ["field", "circle"]},
    )
    density: Text = fact(
        "Between the centres of cells: bilinear, or contours: the value of a line on it and the "
        "mean of two lines between them.",
        "bilinear",
        schema={"type": "string", "enum": ["bilinear", "contours"]},
    )


class Settings(Conditions):
    """Settings of a plan."""

    total_reward: Real = fact(
        "The total reward, divided among the tasks without a fixed reward.",
        schema={"type": "number", "minimum": 0},
    )


class Planned(OnAMap, Settings):
    """A request for a plan."""

    allocations: Names = fact(
        "How the reward is allocated: uniform, optimised (more where people are few, as in the "
        "paper) or optimal (fewest people to notify).",
        ["uniform", "optimised"],
        schema={"type": "array", "items": {"type": "string", "enum": ALLOCATIONS}},
    )
    geocast: Flag = fact(
        "Whether to compute task regions too, by the first allocation; for at most 100 tasks.",
        False,
    )


class Named(Declared):
    """A request body with the name of a campaign."""

    name: Text = fact("The campaign's name.")


class NewCampaign(Named, OnAMap):
    """A campaign to be stored: tasks that are planned together on one release."""

    settings: Members = fact("The settings of /api/v1/plan.")
    shared: Flag = fact("Whether anybody who knows its address may read it.", False)
    organisation: Text = fact("The slug of its organisation; required for members of several.", "")


class PlannedTaskOut(Answer):
    """The plan of a task under one method of dividing the total reward among tasks.

    `success` is the target probability if there is a notification radius; otherwise, it is the
    success probability if everybody within the travel limit is notified. `notified_margin` is the
    nominal 95 % margin of the number `notified`, for the map's noise alone.
    """

    reward: float | None
    radius_metres: float | None
    notified: float | None
    notified_margin: float | None
    acceptance: float | None
    success: float | None
    reason: str = fact("Why there is no radius; empty if there is.")
    explanation: str = fact("The reason in words, and the remedy.")


class PlanTotalsOut(Answer):
    """Sums over the planned tasks under one method of dividing the reward."""

    planned: int
    not_planned: int
    reward: float
    notified: float
    expected_done: float
    largest_radius_metres: float


class TaskRegionsOut(Answer):
    """The regions of the map that are notified instead of a circle."""

    regions: int
    notified: float
    success: float = fact("The probability that anybody accepts.")
    reached: bool = fact("Whether the target is reached.")
    outline: Json = fact("GeoJSON, in degrees.")


class RegionTotalsOut(Answer):
    """Sums over the regions of all tasks."""

    allocation: str = fact("The allocation that they were computed for.")
    planned: int
    not_planned: int
    met_both_ways: int = fact("How many tasks both regions and circles can meet.")
    notified: float = fact("People in the regions of those tasks.")
    notified_in_circles: float = fact("People in their circles.")


class TaskOut(Answer):
    """A task with its plans, in the order in which tasks were sent."""

    name: str
    longitude: float | None
    latitude: float | None
    density_per_km2: float | None
    plans: dict[str, PlannedTaskOut] = fact("By allocation.")
    geocast: TaskRegionsOut | None = fact("If requested; null for a task without a reward.", None)


class PlanOut(Answer):
    """A plan of tasks. It is computed on request and not stored."""

    release: str
    lines_per_km2: list[float] = fact("The release's contour lines, people per km².")
    totals: dict[str, PlanTotalsOut] = fact("Sums over the planned tasks, by allocation.")
    tasks: list[TaskOut]
    geocast: RegionTotalsOut = fact("If requested.", None)


def plan_answer(plans: TaskPlans) -> PlanOut:
    """Return a plan; without regions if none were requested."""
    names = [name for name in TaskOut.model_fields if plans.geocast or name != "geocast"]
    tasks = [{name: getattr(task, name) for name in names} for task in plans.tasks]
    regions = {"geocast": plans.geocast} if plans.geocast else {}
    return PlanOut.model_validate(
        {
            "release": plans.release,
            "lines_per_km2": plans.lines_per_km2,
            "totals": plans.totals,
            "tasks": tasks,
            **regions,
        }
    )


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
        body=Planned,
        errors=[409, 503],
    )
    @heavy
    def post(self, request: Request) -> HttpResponse:
        """Compute whom to notify and what to offer for each task, from a published map alone.

        Nothing is stored, no private data are read and no budget is spent. If one task cannot be
        planned, the response says why, and the other tasks are still planned.
        """
        sent = read_body(request, Planned)
        release = release_to_plan_on(sent.release)
        read = parse_plan_request(
            tasks=sent.tasks,
            settings=dict(sent.part(Settings)),
            allocations=sent.allocations,
            geocast=sent.geocast,
        )
        weight = len(read.allocations) + GEOCAST_WEIGHT * read.geocast
        count_tasks(request, len(read.names) * weight)
        plans = compute_plans(release, read)
        return self.answer(plan_answer(plans), personal=True)


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
            campaigns_of(self.actor),
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
            name=sent.name,
            tasks=sent.tasks,
            settings=dict(Settings.read(sent.settings, strict=True)),
            shared=sent.shared,
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
        return self.answer(campaign_answer(campaign, request), personal=is_personal(request.user))

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
    mine = organisations_of(user)
    choices = list(mine.filter(slug=slug) if slug else mine[:2])
    if len(choices) != 1:
        raise InvalidInput("Name one of your organisations by its slug.", field="organisation")
    return choices[0]


def _campaign(request: Request, campaign_id: str) -> Campaign:
    try:
        return campaign_visible(_reader(request), campaign_id)
    except Campaign.DoesNotExist:
        raise Http404 from None


def _reader(request: Request) -> Visitor:
    """Return the user whose rights decide which campaigns are visible.

    That is an anonymous user if the request has a key without the scope for campaigns.
    """
    user = request.user
    key = user.acting_key if isinstance(user, User) else None
    return AnonymousUser() if key and Scope.CAMPAIGNS_WRITE not in key.scopes else user
