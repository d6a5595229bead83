"""What a request for a plan, a radius map or a new campaign consists of."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from dpgeo.core.declared import WHOLE, Declared, Flag, Items, Text, fact
from dpgeo.phrases import InvalidValue
from dpgeo.postprocess.tasks.radius_map import MAX_POINTS, MIN_POINTS
from dpgeo.postprocess.tasks.settings import Conditions, Reward, Settings

MAX_TASKS = 3_000
"""Maximum number of tasks in a request; planning 10,000 took 0.4 s of processor time."""


def _check_number(tasks: list[Any]) -> list[Any]:
    if len(tasks) > MAX_TASKS:
        raise InvalidValue(
            "At most {most:,} tasks are planned at once, and there are {count:,}; divide them.",
            most=MAX_TASKS,
            count=len(tasks),
        )
    return tasks


class OnRelease(Declared):
    """A request that is answered from a published map."""

    release: Text = fact("The id of a published release.")


class OnTasks(OnRelease):
    """Tasks and the release on whose map they are planned."""

    tasks: Annotated[Items, AfterValidator(_check_number)] = fact(
        f"At most {MAX_TASKS:,} objects with longitude, latitude and, optionally, a name and a "
        "fixed reward.",
        schema={"type": "array", "maxItems": MAX_TASKS, "items": {"type": "object"}},
    )


class PlanRequest(OnTasks, Settings):
    """A request for a plan.

    An unreadable task is not an error: the plan states why that task is not planned.
    """


class Format(StrEnum):
    """File format of a radius map."""

    GEOJSON = "geojson"
    GEOPACKAGE = "gpkg"


class RadiusMapRequest(OnRelease, Conditions):
    """A request for a radius map."""

    reward: Reward = fact("The reward of each task.")
    lattice: Annotated[int, Field(ge=MIN_POINTS, le=MAX_POINTS), WHOLE] = fact(
        "Radii are computed at this many points along the longer side of the study area; they "
        "count as tasks.",
        MAX_POINTS,
    )
    values: Flag = fact("Whether to include the values at the points.", False)
    format: Format = fact(
        "geojson, or gpkg for a GeoPackage with the tables radius_bands, radius_lines and "
        "radius_out_of_reach.",
        Format.GEOJSON,
    )


class NewCampaign(OnTasks):
    """A campaign to be stored: tasks that are planned together on one release."""

    name: Text = fact("The campaign's name.")
    settings: Settings = fact("The settings of /api/v1/plan.")
    shared: Flag = fact("Whether anybody who knows its address may read it.", False)
    organisation: Text = fact("The slug of its organisation; required for members of several.", "")
