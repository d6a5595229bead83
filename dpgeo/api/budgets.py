"""Budgets, to members and keys that may see them."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope
from dpgeo.api.base import DocumentView
from dpgeo.api.datasets import BY_SLUG
from dpgeo.api.documents import points_document
from dpgeo.api.member_serializers import BudgetListSerializer
from dpgeo.api.openapi import operation
from dpgeo.api.paging import CURSOR, next_url, page
from dpgeo.api.queries import LIMIT
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import format_epsilon
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import datasets_visible_to


class BudgetsView(DocumentView):
    """The budget of every dataset of an organisation."""

    scopes: ClassVar = {"GET": Scope.BUDGETS_READ}
    queries = (LIMIT, CURSOR)

    @operation("budgets", "List budgets", BudgetListSerializer, tag="budgets")
    def get(self, request: Request) -> Response:
        """What was declared, what is spent or held, and what is left."""
        found = datasets_visible_to(self.actor).prefetch_related("ledger__datasets")
        rows, cursor = page(found, BY_SLUG, limit=self.asked["limit"], cursor=self.asked["cursor"])
        document = {
            "results": [budget_document(dataset) for dataset in rows],
            "next": next_url(request, cursor),
        }
        return self.answer(BudgetListSerializer(document).data, personal=True)


def budget_document(dataset: Dataset) -> dict[str, Any]:
    """One dataset's budget."""
    ledger = dataset.ledger
    points = points_ledger(ledger)
    return {
        "dataset": dataset.slug,
        "total": format_epsilon(ledger.total),
        "spent": format_epsilon(ledger.spent),
        "left": format_epsilon(ledger.left),
        "points": points_budget_document(points) if points else None,
        "shared_with": sorted(each.slug for each in ledger.datasets.all() if each.pk != dataset.pk),
    }


def points_budget_document(ledger: Ledger) -> dict[str, Any]:
    """The budget for points."""
    left = ledger.total_units - ledger.spent_units
    return {
        "total": points_document(ledger, ledger.total_units),
        "spent": points_document(ledger, ledger.spent_units),
        "left": points_document(ledger, left),
    }
