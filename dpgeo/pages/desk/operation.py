"""Page for administrators: the remaining budgets, and the state of the installation."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may_administer, organisations_of
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.figures import job_figures
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.figures import Budget, budget_of
from dpgeo.releases.waiting import drafts_waiting

SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Line:
    """A dataset with what is left of its budgets."""

    dataset: Dataset
    budget: Budget
    points: Ledger | None


def lines_of(user: User) -> list[Line]:
    """Return the datasets of the organisations that a user administers, by organisation."""
    managed = [each.pk for each in organisations_of(user) if may_administer(user, each)]
    datasets = Dataset.objects.filter(organisation__in=managed)
    return [
        Line(dataset, budget_of(dataset), points_ledger(dataset.ledger))
        for dataset in datasets.select_related("organisation", "ledger").order_by(
            "organisation__name", "title"
        )
    ]


@login_required
@require_safe
@never_cache
def operation(request: HttpRequest) -> HttpResponse:
    """Show remaining budgets to administrators and, to superusers, the installation's state."""
    user = person(request)
    lines = lines_of(user)
    if not lines and not user.is_superuser:
        raise Http404("No such page.")
    context: dict[str, object] = {"nav": "operation", "lines": lines}
    if user.is_superuser:
        figures = job_figures()
        context |= {
            "figures": figures,
            "hours": round(figures.oldest / SECONDS_AN_HOUR, 1),
            "waiting": drafts_waiting(),
            "space": read_disk_space(),
        }
    return render(request, "desk/operation.html", context)
