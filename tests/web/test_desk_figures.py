"""Numbers on the owners' pages: bars, exact epsilons and readable lengths."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpgeo.core.levels import make_level
from dpgeo.jobs.models import Job, JobState
from dpgeo.pages.desk.figures import Budget, dataset_budget
from dpgeo.pages.templatetags.figures import epsilon
from dpgeo.releases.services import release_cancel
from tests.web.desk import make_desk

pytestmark = pytest.mark.one_database


def width(budget: Budget) -> float:
    """Return the width of a budget's bar as a percentage of the full width."""
    return sum(budget.spent) + budget.held + sum(budget.future)


@pytest.mark.django_db
def test_a_budget_bar_shows_spent_and_reserved_epsilon_without_refunds() -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True)
    done, reserved, cancelled = (desk.request(dataset, epsilon=e) for e in ("0.5", "0.25", "0.75"))
    Job.objects.filter(pk=done.job_id).update(state=JobState.DONE)
    release_cancel(release=cancelled, by=desk.user)
    dataset.ledger.refresh_from_db()
    budget = dataset_budget(dataset)
    assert budget.spent == [25.0]
    assert budget.held == 12.5
    assert budget.held_epsilon == reserved.epsilon
    assert budget.left == Fraction("1.25")
    assert width(budget) <= 100


@pytest.mark.django_db
def test_a_failed_job_that_drew_noise_stays_spent() -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True)
    release = desk.request(dataset)
    Job.objects.filter(pk=release.job_id).update(state=JobState.FAILED, drawing=True)
    dataset.ledger.refresh_from_db()
    assert dataset_budget(dataset).spent == [25.0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([], "the whole budget"),
        (["0.5"], "about 3 more like the last"),
        (["0.9", "0.9"], "too little for one like the last"),
    ],
)
def test_the_remaining_budget_is_shown_as_a_number_of_releases(
    costs: list[str], words: str
) -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True)
    for epsilon_asked in costs:
        desk.request(dataset, epsilon=epsilon_asked)
    dataset.ledger.refresh_from_db()
    assert dataset_budget(dataset).more_words == words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 2), "0.5"),
        (Fraction(2), "2"),
        (Fraction(-1, 4), "\N{MINUS SIGN}0.25"),
        (Fraction(1, 10**6), "0.000001"),
        (Fraction(1, 3), "1/3"),
    ],
)
def test_an_epsilon_is_written_exactly(value: Fraction, text: str) -> None:
    assert epsilon(value) == text


@pytest.mark.django_db
def test_the_remaining_budget_for_points_is_shown_beside_the_one_for_counts() -> None:
    desk = make_desk()
    dataset = desk.declare(ready=True, points_budget=make_level("ln 16", 200))
    desk.request(
        dataset, mechanism="planar-laplace", parameters={"level": "ln 4"}, epsilon=None, bound=1
    )
    assert (
        "For points: about 1 more like the last, ln 4 left of level ln 16 within 200 m"
        in desk.page("/desk/")
    )
