"""Task plans: every task gets a circle of people to notify, or the reason why it has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.postprocess.tasks.plan import Reason, Tasks, plan_tasks
from dpgeo.postprocess.tasks.settings import Settings
from tests.unit.postprocess.tasks.surfaces import AREA, two_towns

SETTINGS = Settings(
    target=0.9,
    total_reward=40.0,
    willingness=40.0,
    least_reward=1.0,
    travel_metres=3000.0,
)

TOWN, SMALL_TOWN, EMPTY, OUTSIDE = (18.08, 59.32), (18.17, 59.28), (17.905, 59.205), (2.0, 48.0)


def tasks(*places: tuple[float, float], reward: float = math.nan) -> Tasks:
    lon, lat = np.array(places, dtype=np.float64).T
    return Tasks(longitude=lon, latitude=lat, reward=np.full(len(places), reward))


def reasons(given: Tasks, settings: Settings = SETTINGS) -> list[Reason]:
    return list(plan_tasks(two_towns(), AREA, given, settings).reasons)


def test_tasks_that_cannot_be_met_have_reasons_and_others_are_planned() -> None:
    given = tasks(TOWN, OUTSIDE, (math.nan, 59.3), (18.1, 400.17), EMPTY, SMALL_TOWN)
    assert reasons(given) == [
        Reason.PLANNED,
        Reason.OUTSIDE_AREA,
        Reason.NOT_A_PLACE,
        Reason.NOT_A_PLACE,
        Reason.NOBODY_NEAR,
        Reason.PLANNED,
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"target": 1.0}, Reason.TARGET_CERTAIN),
        ({"travel_metres": 0.0}, Reason.NO_TRAVEL),
        ({"total_reward": 1.5}, Reason.TOTAL_TOO_LOW),
        ({"total_reward": 0.0, "least_reward": 0.0}, Reason.TOTAL_TOO_LOW),
        ({"worker_share": 1e-9}, Reason.TOO_FEW_NEAR),
        ({"willingness": 1e-3}, Reason.OUT_OF_REACH),
    ],
)
def test_settings_that_no_task_can_meet_give_each_task_a_reason(
    change: dict[str, Any], reason: Reason
) -> None:
    settings = SETTINGS.model_copy(update=change)
    assert reasons(tasks(TOWN, SMALL_TOWN), settings) == [reason, reason]


def test_fixed_rewards_are_kept_and_too_low_ones_reported() -> None:
    given = tasks(TOWN, SMALL_TOWN, TOWN)
    given.reward[:] = [7.0, math.nan, 0.5]
    plan = plan_tasks(two_towns(), AREA, given, SETTINGS)
    assert plan.reward[0] == 7
    assert plan.reward[1] == pytest.approx(33)
    assert plan.reasons[2] is Reason.REWARD_TOO_LOW


def test_divided_rewards_meet_the_target_with_fewer_people_than_equal_ones() -> None:
    given = tasks(TOWN, SMALL_TOWN)
    plan = plan_tasks(two_towns(), AREA, given, SETTINGS)
    even = plan_tasks(two_towns(), AREA, tasks(TOWN, SMALL_TOWN, reward=20), SETTINGS)
    assert plan.notified.sum() < even.notified.sum()
    assert plan.planned.all()
    assert plan.success.tolist() == [0.9, 0.9]
    assert (plan.notified > 0).all()
    assert (plan.margin > 0).all()
    assert ((plan.acceptance > 0) & (plan.acceptance <= 1)).all()


@pytest.mark.parametrize(
    ("change", "limits"),
    [
        ({"target": "0"}, "above 0 and at most 1"),
        ({"target": "nan"}, "above 0 and at most 1"),
        ({"worker_share": "1.5"}, "above 0 and at most 1"),
        ({"travel_metres": "inf"}, "at least 0 and at most 200000"),
        ({"least_reward": "-1"}, "at least 0 and at most 1e"),
    ],
)
def test_a_setting_beyond_its_limits_names_them(change: dict[str, str], limits: str) -> None:
    with pytest.raises(InvalidInput, match=limits) as caught:
        Settings.read({"total_reward": "40", **change})
    assert caught.value.field == next(iter(change))


def test_no_task_is_a_plan_of_none() -> None:
    empty = Tasks(longitude=np.empty(0), latitude=np.empty(0), reward=np.empty(0))
    plan = plan_tasks(two_towns(), AREA, empty, SETTINGS)
    assert plan.reasons == []
    assert plan.radius.shape == (0,)
