"""Pages of the privacy officer: all budgets of an organisation, findings, and a yearly report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dpgeo.accounts.models import Organisation
from dpgeo.accounts.selectors import may_see_events, organisations_overseen_by
from dpgeo.budgets.models import Ledger
from dpgeo.datasets.models import Dataset
from dpgeo.pages.desk.access import person
from dpgeo.releases.oversight import (
    Finding,
    first_year,
    oversight_findings,
    people_of,
    report_years,
    yearly_report,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A budget as a row of the table: the units spent in each year, and the datasets that share
    it.
    """

    ledger: Ledger
    datasets: Sequence[Dataset]
    spent: Sequence[int]


@dataclass(frozen=True, slots=True)
class Office:
    """The part of a privacy officer's page that is about one organisation."""

    organisation: Organisation
    findings: Sequence[Finding]
    years: Sequence[int]
    rows: Sequence[Row]
    reports: Sequence[int]


@login_required
@require_safe
@never_cache
def oversight(request: HttpRequest) -> HttpResponse:
    """Show all budgets and findings of the organisations that the user watches over."""
    if not may_see_events(request.user):
        raise Http404("No such page.")
    offices = [_office(each) for each in organisations_overseen_by(person(request))]
    return render(request, "desk/oversight.html", {"nav": "oversight", "offices": offices})


def _office(organisation: Organisation) -> Office:
    people = people_of(organisation)
    years = report_years(people)
    rows = [
        Row(ledger, each.datasets, [spent.get(year, 0) for year in years])
        for each in people
        for ledger, spent in each.lines()
    ]
    reports = range(years[-1], first_year(organisation) - 1, -1)
    return Office(organisation, oversight_findings(organisation), years, rows, reports)


@login_required
@require_safe
@never_cache
def report(request: HttpRequest, slug: str, year: int) -> HttpResponse:
    """Show the privacy officer's report on one year of an organisation."""
    watched = organisations_overseen_by(person(request))
    organisation = next((each for each in watched if each.slug == slug), None)
    if organisation is None or not first_year(organisation) <= year <= report_years([])[-1]:
        raise Http404("No such page.")
    context = {"nav": "oversight", "report": yearly_report(organisation, year)}
    return render(request, "desk/report.html", context)
