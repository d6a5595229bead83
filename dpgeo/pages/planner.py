"""Planner page, where anyone can plan tasks on a published map.

Plans are not stored.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dpgeo.accounts.selectors import joined_last, visible_organisations
from dpgeo.artefacts import map_array
from dpgeo.core.kinds import KINDS, Kind
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.selectors import campaign_visible
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.public_views import file_url
from dpgeo.pages.release_summary import build_summary
from dpgeo.postprocess.tasks.settings import Conditions
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

PLANNABLE = sorted(
    (kind for kind in KINDS.values() if kind.cells), key=lambda kind: not kind.for_planning
)
"""Kinds of releases with counts of people in cells; kinds made for planning come first."""

MAPS_OFFERED = 50

INITIAL = {"willingness": 10, "least_reward": 1, "travel_metres": 3000}
"""Conditions that the form asks for, and their first values: those of walks in a town."""


@require_safe
def plan(request: HttpRequest) -> HttpResponse:
    """Show the page where visitors enter tasks and see notifications and rewards."""
    campaign = _campaign(request)
    wanted = campaign.release_id if campaign else request.GET.get("release", "")
    offered = plannable()
    chosen = next((each for each in offered if each.pk == wanted), None)
    if wanted and chosen is None:
        chosen = _of_kinds(*PLANNABLE).filter(pk=wanted).first()
        if chosen is None:
            raise Http404("There is no published map of this id that tasks can be planned on.")
        offered.append(chosen)
    chosen = chosen or (offered[0] if offered else None)
    context = {"section": "plan", "offered": offered, "release": chosen}
    if chosen is None:
        return render(request, "public/plan_nothing.html", context)
    return render(
        request,
        "public/plan.html",
        {
            **context,
            "summary": build_summary(chosen),
            "array_url": file_url(chosen, map_array.NAME),
            "campaign": campaign,
            "conditions": [_condition(name, value) for name, value in INITIAL.items()],
            "organisations": visible_organisations(request.user),
            "newest": joined_last(request.user),
        },
    )


def _condition(name: str, initial: int) -> dict[str, object]:
    """Return what the form says of a condition under which workers accept a task."""
    schema = Conditions.model_json_schema()["properties"][name]
    return {**schema, "name": name, "most": int(schema["maximum"]), "initial": initial}


def plannable() -> list[Release]:
    """Return at most MAPS_OFFERED maps on which tasks can be planned.

    Contour maps come first. Within each kind, the newest maps come first.
    """
    maps: list[Release] = []
    for kind in PLANNABLE:
        maps += _of_kinds(kind)[: MAPS_OFFERED - len(maps)]
    return maps


def _of_kinds(*kinds: Kind) -> QuerySet[Release]:
    """Return the public maps of the given kinds, except maps divided by time."""
    keys = [
        key
        for key, mechanism in MECHANISMS.items()
        if mechanism.kind in kinds and not mechanism.by_time
    ]
    return releases_public().filter(mechanism__in=keys)


def _campaign(request: HttpRequest) -> Campaign | None:
    wanted = request.GET.get("campaign", "")
    if not wanted:
        return None
    try:
        return campaign_visible(request.user, wanted)
    except Campaign.DoesNotExist:
        raise Http404("There is no such campaign, or it is not shared with you.") from None
