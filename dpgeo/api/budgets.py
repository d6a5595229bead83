"""Budgets of datasets, for members and for API keys with the scope budgets:read."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from dpgeo.accounts.models import Scope
from dpgeo.api.base import DocumentView
from dpgeo.api.datasets import BY_SLUG
from dpgeo.api.member_answers import BudgetListOut, budget_answer
from dpgeo.api.openapi import operation
from dpgeo.api.paging import next_url, page
from dpgeo.api.queries import PageQuery
from dpgeo.datasets.selectors import datasets_visible_to


class BudgetsView(DocumentView):
    scopes: ClassVar = {"GET": Scope.BUDGETS_READ}
    queries = PageQuery

    @operation("budgets", "List budgets", BudgetListOut, tag="budgets")
    def get(self, request: Request) -> HttpResponse:
        """List each dataset's budget: the declared total, what is spent or reserved, and what is
        left.
        """
        datasets = datasets_visible_to(self.actor).prefetch_related("ledger__datasets")
        rows, cursor = page(datasets, BY_SLUG, limit=self.query.limit, cursor=self.query.cursor)
        results = [budget_answer(dataset, request) for dataset in rows]
        answer = BudgetListOut(results=results, next=next_url(request, cursor))
        return self.answer(answer, personal=True)
