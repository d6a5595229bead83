"""Page about datasets that contain the same people, with warnings and answers.

Administrators can also merge the datasets' budgets here.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may, may_administer, visible_organisations
from dpgeo.budgets.models import Ledger
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Notion
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.same_people import open_warnings, other_datasets, people_answer
from dpgeo.pages.desk.access import dataset_for, person, report


def recovery_ledgers(user: User) -> QuerySet[Ledger]:
    """Return the ledgers that the user may merge and that hold draws of an unknown dataset.

    Such a ledger was made when, after a restore from a backup, noisy values were found that had
    been drawn for a dataset that the backup does not have.
    """
    unknown = Ledger.objects.filter(merged_into=None, notion=Notion.PURE_DP.value)
    unknown = unknown.exclude(recovers="").select_related("geo")
    if user.is_superuser:
        return unknown
    managed = [each.name for each in visible_organisations(user) if may_administer(user, each)]
    return unknown.filter(recovers_for__in=managed)


def mergeable(user: User, dataset: Dataset) -> QuerySet[Ledger]:
    """Return the ledgers that the user may merge into this dataset's ledger."""
    if not may_administer(user, dataset.organisation):
        return Ledger.objects.none()
    others = Q(datasets__in=other_datasets(dataset)) | Q(pk__in=recovery_ledgers(user))
    return Ledger.objects.filter(others).distinct().order_by("name", "pk")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Show warnings that two datasets may hold the same people, and record how members answer them.

    A member sees the warnings about pairs of datasets of which the member may see both.
    """
    dataset = dataset_for(request, slug, "see_private")
    user = person(request)
    if request.method == "POST":
        act = ACTIONS.get(request.POST.get("action", ""), _unknown)
        with report(request):
            messages.success(request, act(request, user, dataset))
        return redirect("desk-people", slug=slug)
    warnings = dataset.people_warnings.select_related("other", "answer")
    context = {
        "dataset": dataset,
        "open": [each for each in open_warnings(dataset) if may(user, each.other, "see_private")],
        "answered": [
            each for each in warnings.exclude(answer=None) if may(user, each.other, "see_private")
        ],
        "answers": dataset.people_answers.exclude(reason=""),
        "asked": dataset.people_asked and other_datasets(dataset).exists(),
        "others": other_datasets(dataset),
        "may_answer": may(user, dataset, "publish"),
        "may_merge": may_administer(user, dataset.organisation),
        "ledgers": mergeable(user, dataset),
    }
    return render(request, "desk/people.html", context)


def _answer(request: HttpRequest, user: User, dataset: Dataset) -> str:
    people_answer(
        dataset=dataset,
        by=user,
        reason=request.POST.get("reason", ""),
        standing="standing" in request.POST,
    )
    return gettext("Your answer is recorded.")


def _merge(request: HttpRequest, user: User, dataset: Dataset) -> str:
    wanted = request.POST.get("ledger", "")
    ledger = next((each for each in mergeable(user, dataset) if str(each.pk) == wanted), None)
    if ledger is None:
        raise InvalidInput("Choose one of these budgets.", field="ledger")
    dataset_merge_ledgers(dataset=dataset, ledger=ledger, by=user)
    return gettext("The budgets are one from now on.")


def _unknown(request: HttpRequest, user: User, dataset: Dataset) -> str:
    raise InvalidInput("Choose one of the actions on this page.", field="action")


ACTIONS: dict[str, Callable[[HttpRequest, User, Dataset], str]] = {
    "answer": _answer,
    "merge": _merge,
}
