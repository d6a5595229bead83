"""Task plans by API: anybody plans on published maps, and members save tasks as campaigns."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches

from dpgeo.accounts.models import Role, Scope
from dpgeo.accounts.services import key_create
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import contour_release
from tests.web.api import Program
from tests.web.published import install, make_dataset, make_member, make_organisation

pytestmark = pytest.mark.django_db

HILL = {"name": "Hill", "longitude": 4.56, "latitude": 52.2}
SLOPE = {"name": "Slope", "longitude": 4.6, "latitude": 52.15}
AWAY = {"name": "Away", "longitude": 2.0, "latitude": 48.0}

SETTINGS = {"total_reward": 60, "willingness": 800, "travel_metres": 9000, "target": 0.9}


@pytest.fixture
def release() -> Release:
    return install(make_dataset(), contour_release(24))


def plan(release: Release, status: int = 200, **changes: Any) -> Any:
    body = {"release": release.pk, "tasks": [HILL, SLOPE], **SETTINGS, **changes}
    return Program().ask("post", "/api/v1/plan", body, status)


def keyed(slug: str = "example-city", scope: str = "") -> Program:
    organisation = make_organisation(slug)
    admin = make_member(organisation, f"admin-{slug}-{scope}", Role.ADMINISTRATOR)
    _, secret = key_create(
        organisation=organisation,
        name="planner",
        scopes=[scope or Scope.CAMPAIGNS_WRITE],
        created_by=admin,
    )
    return Program({"Authorization": f"Bearer {secret}"})


def kept(release: Release, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Lamps",
        "release": release.pk,
        "tasks": [HILL],
        "settings": SETTINGS,
        **changes,
    }


def test_anybody_plans_on_published_maps_and_nothing_is_stored(release: Release) -> None:
    answer = plan(release)
    assert [task["name"] for task in answer["tasks"]] == ["Hill", "Slope"]
    for task in answer["tasks"]:
        assert task["reason"] == ""
        assert task["success"] == 0.9
        assert 0 < task["radius_metres"] <= 9000
        assert task["notified"] > 0
    totals = answer["totals"]
    assert 0 < totals["reward"] <= 60
    even = plan(release, tasks=[{**HILL, "reward": 30}, {**SLOPE, "reward": 30}])
    assert totals["notified"] <= even["totals"]["notified"] + 1e-6
    assert Campaign.objects.count() == 0


def test_each_bad_task_is_reported_and_the_rest_planned(release: Release) -> None:
    bad: list[Any] = [
        AWAY,
        {"longitude": None, "latitude": 52.2},
        {"longitude": "4.5", "latitude": 52.2},
        {"longitude": 4.56, "latitude": 400.17},
        {"longitude": 10**400, "latitude": 52.2},
        {**HILL, "reward": 0.5},
        {**HILL, "reward": "seven"},
        "not a task",
        {},
    ]
    tasks = plan(release, tasks=[*bad, HILL])["tasks"]
    reasons = [task["reason"] for task in tasks]
    assert reasons == [
        "outside_area",
        "not_a_place",
        "not_a_place",
        "not_a_place",
        "not_a_place",
        "reward_too_low",
        "reward_too_low",
        "not_a_place",
        "not_a_place",
        "",
    ]
    assert all(bool(t["explanation"]) for t in tasks[:-1])


def test_drafts_and_withdrawn_maps_are_not_planned_on() -> None:
    dataset = make_dataset()
    draft = install(dataset, contour_release(), published=False)
    assert plan(draft, status=400)["field"] == "release"
    withdrawn = install(dataset, contour_release(), withdrawn=True)
    assert plan(withdrawn, status=400)["field"] == "release"


def test_tasks_of_one_address_are_limited(release: Release, settings: Any) -> None:
    caches["throttle"].clear()
    settings.DPGEO_TASKS_A_MINUTE = 3
    plan(release)
    plan(release, status=429)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tasks": [HILL] * 3_001}, "tasks"),
        ({"target": 0}, "target"),
        ({"travel_metres": 200_001}, "travel_metres"),
        ({"total_reward": -1}, "total_reward"),
        ({"allocations": ["uniform"]}, "allocations"),
    ],
)
def test_a_wrong_setting_is_named(release: Release, change: dict[str, Any], field: str) -> None:
    assert plan(release, status=400, **change)["field"] == field


def test_a_campaign_with_a_wrong_setting_is_refused(release: Release) -> None:
    wrong = kept(release, settings={**SETTINGS, "target": 2})
    problem = keyed().ask("post", "/api/v1/campaigns", wrong, 400)
    assert problem["field"] == "settings.target"
    assert "at most 1" in problem["detail"]
    assert Campaign.objects.count() == 0


def test_campaigns_are_saved_by_keys_and_read_by_the_organisation(release: Release) -> None:
    program = keyed()
    campaign = program.ask("post", "/api/v1/campaigns", kept(release), 201)
    assert campaign["settings"]["worker_share"] == 1
    assert program.ask("get", "/api/v1/campaigns")["results"] == [campaign]
    assert program.ask("get", f"/api/v1/campaigns/{campaign['id']}") == campaign
    other = keyed(slug="other-town")
    other.ask("get", f"/api/v1/campaigns/{campaign['id']}", status=404)
    unfit = keyed(scope=Scope.JOBS_READ)
    unfit.ask("get", f"/api/v1/campaigns/{campaign['id']}", status=404)
    other.ask("delete", f"/api/v1/campaigns/{campaign['id']}", status=404)
    assert other.ask("get", "/api/v1/campaigns")["results"] == []
    program.ask("delete", f"/api/v1/campaigns/{campaign['id']}")
    assert Campaign.objects.count() == 0


def test_saving_needs_an_account_or_a_key_with_the_scope(release: Release) -> None:
    Program().ask("post", "/api/v1/campaigns", kept(release), 401)
    Program().ask("get", "/api/v1/campaigns", status=401)
    keyed(scope=Scope.JOBS_READ).ask("post", "/api/v1/campaigns", kept(release), 403)
    assert Campaign.objects.count() == 0


def test_anybody_with_the_address_reads_a_shared_campaign(release: Release) -> None:
    program = keyed()
    shared = program.ask("post", "/api/v1/campaigns", kept(release, shared=True), 201)
    own = program.ask("post", "/api/v1/campaigns", kept(release), 201)
    assert Program().ask("get", f"/api/v1/campaigns/{shared['id']}")["name"] == "Lamps"
    Program().ask("get", f"/api/v1/campaigns/{own['id']}", status=404)
    Program().ask("delete", f"/api/v1/campaigns/{shared['id']}", status=401)
