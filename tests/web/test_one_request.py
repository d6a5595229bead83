"""One declaration of a request: the API, the desk's forms and the command judge it alike."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpgeo.core.guarantees import Bounding, Counting, Unit
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.datasets.models import Dataset
from dpgeo.pages.desk.map_form import option_names
from tests.web.api import Program, program_of
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

DAY = st.sampled_from(["2026-01-01", "2026-01-31", "2026-02-30", "yesterday", "0999-01-01"])

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "mechanism": st.sampled_from(["uniform-grid", "quadtree", "private-clusters", "magic"]),
    "epsilon": st.sampled_from(["0.5", "2", "0", "-1", "0.0000001", "many", "5000"]),
    "bound": st.integers(-1, 5) | st.just(100_001),
    "counting": st.sampled_from([*(each.value for each in Counting), "cars"]),
    "bounding": st.sampled_from([*(each.value for each in Bounding), "best"]),
    "totals": st.sampled_from([-1, 0, 10, 50, 51]),
    "most_sightings": st.sampled_from([0, 1, 4, 1_000_000, 1_000_001]),
    "most_visits": st.sampled_from([0, 1, 4, 1_000_000, 1_000_001]),
    "from_day": DAY,
    "to_day": DAY,
    "choose_bound": st.sampled_from([-1, 0, 5, 20, 21]),
    "household": st.sampled_from([-1, 0, 1, 4, 10, 11]),
}
"""Values of each field of a request, of which some are not valid; the parameters are left out."""


def requests(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for requests with at most four of the named fields beside an epsilon."""
    usual = {"mechanism": "uniform-grid", "epsilon": "0.5"}
    some = st.lists(st.sampled_from(names), max_size=4, unique=True)
    drawn = some.flatmap(lambda few: st.fixed_dictionaries({name: VALUES[name] for name in few}))
    return drawn.map(lambda changes: usual | changes)


def judged_by_api(program: Program, dataset: Dataset, asked: dict[str, Any]) -> str | None:
    """Return the field that the API refuses, or None if it quotes the request."""
    answer = program.send("POST", f"/api/v1/datasets/{dataset.slug}/quote", asked)
    assert answer.status_code in (200, 400, 409)
    return None if answer.status_code == 200 else answer.json().get("field", "")  # type: ignore[attr-defined]


def judged_by_form(desk: Desk, dataset: Dataset, asked: dict[str, Any]) -> set[str]:
    """Return the fields at which the desk's form shows errors."""
    typed = {name: str(value) for name, value in asked.items()}
    answer = desk.client.get(f"/desk/datasets/{dataset.slug}/map/cost/", typed)
    assert answer.status_code in (200, 422)
    return set() if answer.status_code == 200 else set(answer.context["form"].errors)


def judged_by_command(dataset: Dataset, asked: dict[str, Any]) -> str | None:
    """Return the field that the command refuses, or None if it prices the request."""
    typed = {name: str(value) for name, value in asked.items()}
    try:
        call_command("release", dataset.slug, dry_run=True, stdout=StringIO(), **typed)
    except CommandError as error:
        option = str(error).partition(":")[0]
        return option.removeprefix("--").replace("-", "_") if option.startswith("--") else ""
    return None


@pytest.mark.parametrize("unit", [Unit.PERSON, Unit.RECORD])
def test_a_request_has_the_same_verdict_wherever_it_is_made(unit: Unit) -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True, unit=unit.value)
    program = program_of(desk)
    names = ["mechanism", *option_names(dataset)]

    @settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
    @given(requests(names))
    def judged_alike(asked: dict[str, Any]) -> None:
        field = judged_by_api(program, dataset, asked)
        assert judged_by_command(dataset, asked) == field
        errors = judged_by_form(desk, dataset, asked)
        assert (field or "__all__") in errors if field is not None else not errors

    judged_alike()


def test_a_stored_request_is_read_as_it_was_written() -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True)
    release = desk.request(dataset, household=3, totals=10, from_day="2026-01-01",
                           to_day="2026-01-31", bounding="popular", choose_bound=5)  # fmt: skip
    stored = type(release).objects.get(pk=release.pk)
    assert stored.request == release.request
    assert type(stored.request) is ReleaseRequest
    assert type(release).objects.filter(request__household=3).get() == release
    assert stored.request.epsilon == stored.of_household
