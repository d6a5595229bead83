"""Settings of paid tasks, which the planner, the API and stored campaigns share.

The acceptance model is that of Zhu, Li, Zhou and Yu 2017, section 13.3.3. A worker at a distance of
d metres accepts a task with reward w with probability
    theta(w, d) = tanh(c w/d)    if w >= w0 and d <= MTD, else 0    (13.7)
theta increases with w and decreases with d; the source's equation 13.8, its derivative with respect
to d, has the wrong sign.
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from dpgeo.core.declared import REAL, Declared, fact
from dpgeo.phrases import translatable

MAX_TRAVEL_METRES = 200_000

LARGEST = 1e12
"""Upper limit on rewards and on metres per unit of reward, far above any plausible value."""

Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False), REAL]
Reward = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False), REAL]
Willingness = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False), REAL]
Travel = Annotated[float, Field(ge=0, le=MAX_TRAVEL_METRES, allow_inf_nan=False), REAL]


class Conditions(Declared):
    """When workers accept a task, and the probability with which each task is to be done."""

    target: Share = fact(
        "The probability with which each task is to be done, above 0 and up to 1.", 0.9
    )
    willingness: Willingness = Field(
        default=50.0,
        title=translatable("Metres for one unit of reward"),
        description=translatable(
            "At this many metres for each unit of reward, about three in four workers accept: c of "
            "tanh(c w/d)."
        ),
    )
    least_reward: Reward = Field(
        default=1.0,
        title=translatable("Least reward"),
        description=translatable("Below this, nobody accepts."),
    )
    travel_metres: Travel = Field(
        default=3000.0,
        title=translatable("Travel limit, in metres"),
        description=translatable("Nobody farther away accepts."),
    )
    worker_share: Share = fact(
        "The share of the people on the map who are workers, above 0 and up to 1.", 1.0
    )

    @property
    def needed(self) -> float:
        """Required expected number of acceptances, -ln(1 - target), which is inf for a target
        of 1.
        """
        return -math.log1p(-self.target) if self.target < 1 else math.inf


class Settings(Conditions):
    """Settings of a plan."""

    total_reward: Reward = fact("The total reward, divided among the tasks without a fixed reward.")
