"""Page for administrators: remaining budgets, limits, and the state of the installation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may_administer, visible_organisations
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.quotas import MIB, Use, organisation_use
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.figures import job_figures
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.figures import Budget, dataset_budget
from dpgeo.releases.waiting import drafts_waiting

SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Line:
    """A dataset with what is left of its budgets."""

    dataset: Dataset
    budget: Budget
    points: Ledger | None


def lines_of(user: User) -> list[Line]:
    """Return the datasets of the organisations that a user administers, with their budgets.

    They are sorted by organisation, then by title.
    """
    managed = [each.pk for each in visible_organisations(user) if may_administer(user, each)]
    datasets = Dataset.objects.filter(organisation__in=managed)
    return [
        Line(dataset, dataset_budget(dataset), points_ledger(dataset.ledger))
        for dataset in datasets.select_related("organisation", "ledger").order_by(
            "organisation__name", "declaration__title"
        )
    ]


@dataclass(frozen=True, slots=True)
class Limits:
    """An organisation with its limits, and how much of each it uses; sizes are in whole MiB."""

    organisation: Organisation
    use: Use

    @property
    def used_mib(self) -> int:
        """The size of the organisation's uploaded files, rounded up."""
        return -(-self.use.bytes // MIB)

    @property
    def most_mib(self) -> int | None:
        """The limit on the total size of the organisation's files, or None without one."""
        most = self.organisation.quota_bytes
        return None if most is None else most // MIB

    @property
    def most_epsilon(self) -> Fraction | None:
        """The largest total epsilon for one set of people, or None without a limit."""
        most = self.organisation.most_epsilon
        return None if most is None else Fraction(most)

    @property
    def most_level(self) -> Fraction | None:
        """The largest budget for points, as a level within 200 m; None if the operator set none."""
        most = self.organisation.most_level
        return None if most is None else Fraction(most)


def user_limits(user: User) -> list[Limits]:
    """Return the organisations that a user administers, with their limits."""
    managed = [each for each in visible_organisations(user) if may_administer(user, each)]
    return [Limits(each, organisation_use(each)) for each in managed]


@login_required
@require_safe
@never_cache
def operation(request: HttpRequest) -> HttpResponse:
    """Show budgets and limits to administrators and, to superusers, the installation's state."""
    user = person(request)
    lines = lines_of(user)
    if not lines and not user.is_superuser:
        raise Http404("No such page.")
    context: dict[str, object] = {"nav": "operation", "lines": lines, "limits": user_limits(user)}
    if user.is_superuser:
        figures = job_figures()
        context |= {
            "figures": figures,
            "hours": round(figures.oldest / SECONDS_AN_HOUR, 1),
            "waiting": drafts_waiting(),
            "space": read_disk_space(),
        }
    return render(request, "desk/operation.html", context)
