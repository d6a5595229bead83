"""Reports for a privacy officer: the budgets, what they paid for, and problems found.

Everything here is for members who may see the private facts of the organisation's datasets: which
datasets hold the same people, and what drafts cost. No row and no number of rows is read. API keys
see none of it.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils import timezone

from dpgeo.accounts.models import Organisation
from dpgeo.audit.models import Event, EventKind
from dpgeo.budgets.models import EntryKind, Ledger
from dpgeo.budgets.selectors import ledger_entries, points_ledger
from dpgeo.budgets.warnings import cautions_on
from dpgeo.core.domain import LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.layers import declared_before_upload, domain_of
from dpgeo.datasets.models import Dataset, PeopleWarning, PublicLayer
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState

HOUSE_METRES = 30.0
"""Side in metres of a square in which hardly more than one house stands.

The count of a zone as small as that is about one household. The household's members are counted or
not counted together, but a budget protects only one person.
"""

Spent = dict[int, int]
"""What was spent from a ledger less refunds, in its units, by year in UTC."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a privacy officer should look at: the dataset concerned, and a sentence."""

    dataset: Dataset
    words: Phrase


@dataclass(frozen=True, slots=True)
class People:
    """A set of people: their budgets, the one for counts first, and the datasets about them."""

    ledgers: Sequence[Ledger]
    datasets: Sequence[Dataset]
    spent: Sequence[Spent]
    """Spent amounts by year, for each of the ledgers."""

    def lines(self) -> Iterator[tuple[Ledger, Spent]]:
        """Yield each ledger with what was spent from it by year."""
        return zip(self.ledgers, self.spent, strict=True)


@dataclass(frozen=True, slots=True)
class Line:
    """What was spent from one ledger: in one year, and in total until that year's end.

    `ledger` has the budget as it is now.
    """

    ledger: Ledger
    datasets: Sequence[Dataset]
    in_year: int
    until: int


@dataclass(frozen=True, slots=True)
class Report:
    """The yearly report of an organisation; `acts` counts events of the audit list by kind."""

    organisation: Organisation
    year: int
    lines: Sequence[Line]
    acts: Sequence[tuple[EventKind, int]]
    published: Sequence[tuple[Release, int]]
    """Releases published in the year, each with its price in units of its ledger."""
    findings: Sequence[Finding]


TOLD_ACTS = (
    *(EventKind.DATASET, EventKind.BUDGET, EventKind.REQUESTED, EventKind.PUBLISHED),
    *(EventKind.REJECTED, EventKind.WITHDRAWN, EventKind.ERASED, EventKind.READMITTED),
    *(EventKind.KEY_CREATED, EventKind.KEY_REVOKED, EventKind.ROLE, EventKind.LOCKED_OUT),
)
"""Kinds of events that the yearly report counts."""


def people_of(organisation: Organisation) -> list[People]:
    """Return an organisation's sets of people, each with budgets of its own, ordered by name."""
    ledgers = Ledger.objects.filter(datasets__organisation=organisation).distinct()
    found = []
    for ledger in ledgers.order_by("name", "pk"):
        points = points_ledger(ledger)
        both = [ledger] if points is None else [ledger, points]
        spent = _spent_by_year(ledger)
        datasets = list(ledger.datasets.order_by("declaration__title"))
        found.append(People(both, datasets, [spent[each.notion] for each in both]))
    return found


def report_years(people: Sequence[People]) -> list[int]:
    """Return the years in which anything was spent, and the present one, in order."""
    years = {year for each in people for spent in each.spent for year in spent}
    return sorted(years | {timezone.now().astimezone(datetime.UTC).year})


def _spent_by_year(ledger: Ledger) -> defaultdict[str, Spent]:
    """Return net amounts by notion and year; a refund counts in the year of the refund.

    Entries of ledgers that were merged into this one count in their own year, and entries of kind
    merger, which only move these amounts, do not count.
    """
    spent: defaultdict[str, Spent] = defaultdict(dict)
    entries = ledger_entries(ledger).exclude(kind=EntryKind.MERGER)
    for notion, at, units in entries.order_by("id").values_list("ledger__notion", "at", "units"):
        year = at.astimezone(datetime.UTC).year
        spent[notion][year] = spent[notion].get(year, 0) + units
    return spent


def oversight_findings(organisation: Organisation) -> list[Finding]:
    """Return everything that a privacy officer should look at in an organisation's datasets."""
    datasets = Dataset.objects.filter(organisation=organisation).select_related("ledger")
    found: list[Finding] = []
    for dataset in datasets.order_by("declaration__title"):
        found += [
            *_same_people(dataset),
            *(Finding(dataset, words) for words in cautions_on(dataset.ledger.total)),
            *_area(dataset),
        ]
        for layer in dataset.layers.all():
            found += [Finding(dataset, words) for words in _layer(dataset, layer)]
    return found


def _same_people(dataset: Dataset) -> Iterator[Finding]:
    """Yield warnings that a dataset has many people in common with a dataset of another budget.

    Warnings that have been answered are included.
    """
    warnings: QuerySet[PeopleWarning] = dataset.people_warnings.select_related("other", "answer")
    for warning in warnings.exclude(other__ledger=dataset.ledger_id):
        other = warning.other.title
        yield Finding(
            dataset,
            Phrase(
                "Many of the same people are in {other}, on another budget, and nobody has "
                "answered why. They lose the sum of both budgets.",
                other=other,
            )
            if warning.answer is None
            else Phrase(
                "Many of the same people are in {other}, on another budget, for a reason that is "
                "on record. They lose the sum of both budgets.",
                other=other,
            ),
        )


def _area(dataset: Dataset) -> Iterator[Finding]:
    if dataset.area_exchange:
        place = str(dataset.area_exchange["place"])
        words = Phrase(
            "The study area was exchanged for {place} after a file had been uploaded, so it may "
            "follow the data.",
            place=place,
        )
        yield Finding(dataset, words)


def _layer(dataset: Dataset, layer: PublicLayer) -> Iterator[Phrase]:
    """Yield findings on a layer: declared late, or with zones as small as a house."""
    if not layer.source_release and not declared_before_upload(layer):
        yield Phrase(
            "The layer {layer} was declared after a file had been uploaded, so it may follow the "
            "data. Compare it with its source.",
            layer=layer.title,
        )
    if layer.kind == LayerKind.ZONES:
        try:
            zones = domain_of(dataset, [layer.name]).layers[layer.name]
        # The study area was changed and excludes the layer, or the layer's file is missing.
        except (InvalidInput, OSError):
            return
        if getattr(zones, "smallest_side_metres", HOUSE_METRES) < HOUSE_METRES:
            yield Phrase(
                "The layer {layer} has zones as small as a single house. Who lives together moves "
                "in and out together, and a budget protects one person.",
                layer=layer.title,
            )


def yearly_report(organisation: Organisation, year: int) -> Report:
    """Return the report on a calendar year in UTC; for the present year, on its days so far."""
    begin, end = _begin(year), _begin(year + 1)
    lines = []
    for people in people_of(organisation):
        for ledger, spent in people.lines():
            until = sum(units for each, units in spent.items() if each <= year)
            lines.append(Line(ledger, people.datasets, spent.get(year, 0), until))
    events = Event.objects.filter(organisation=organisation.pk, at__gte=begin, at__lt=end)
    counted = [(kind, events.filter(kind=kind).count()) for kind in TOLD_ACTS]
    published = Release.objects.filter(
        Q(state=ReleaseState.PUBLISHED) | Q(state=ReleaseState.WITHDRAWN),
        dataset__organisation=organisation,
        published_at__gte=begin,
        published_at__lt=end,
    )
    return Report(
        organisation=organisation,
        year=year,
        lines=lines,
        acts=[each for each in counted if each[1]],
        published=[
            (each, each.ledger.price(each.cost))
            for each in published.select_related("dataset__ledger").order_by("published_at")
        ],
        findings=oversight_findings(organisation),
    )


def first_year(organisation: Organisation) -> int:
    """Return the year, in UTC, in which an organisation declared its first dataset.

    It is the present year if there is no dataset.
    """
    first = organisation.datasets.order_by("created_at").first()
    return (first.created_at if first else timezone.now()).astimezone(datetime.UTC).year


def _begin(year: int) -> datetime.datetime:
    return datetime.datetime(year, 1, 1, tzinfo=datetime.UTC)
