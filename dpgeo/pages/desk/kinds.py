"""Kinds of maps in plain words: what each shows, its methods, and what it requires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.domain import LayerKind
from dpgeo.core.guarantees import Unit
from dpgeo.core.kinds import KINDS, Subject
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.access import dataset_for
from dpgeo.pages.desk.path import steps


@dataclass(frozen=True, slots=True)
class Missing:
    """What a dataset lacks for a kind of map, in words, with a link to the page that fixes it."""

    words: str
    address: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapKind:
    """A kind of map that an owner can choose.

    Its methods are the mechanisms with the same `subject`. A map's title is built from `headline`
    and the name of the place. `counted_in` is a sentence that says what one place is.
    """

    key: str
    subject: Subject
    title: str
    words: str
    headline: str
    counted_in: str = _("A place is one square of the map.")
    missing: Callable[[Dataset], Missing | None] = lambda dataset: None
    by_district: bool = False
    """Whether a method that counts in squares by default counts in declared districts."""

    @property
    def methods(self) -> list[str]:
        """Return the keys of the mechanisms that make this map, the recommended one first."""
        return [key for key, each in MECHANISMS.items() if each.subject is self.subject]


def lacks_zones(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if the dataset has no districts; None if it has some."""
    if dataset.layers.filter(kind=LayerKind.ZONES).exists():
        return None
    return Missing(
        gettext("It needs the outlines of the districts, from a public source that you name."),
        reverse("desk-layers", args=[dataset.slug]),
        gettext("Add outlines"),
    )


def lacks_times(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if no time column is chosen; None if one is."""
    if (dataset.columns or {}).get("time"):
        return None
    upload = dataset.uploads.first()
    return Missing(
        gettext("It needs a column that says when each row was."),
        reverse("desk-upload", args=[upload.pk]) if upload else "",
        gettext("See the columns"),
    )


def lacks_measures(dataset: Dataset) -> Missing | None:
    """Return how to declare a column to average, or None if there is one."""
    if dataset.measured:
        return None
    if dataset.frozen_at:
        return Missing(
            gettext(
                "No column to average was named before the first file was confirmed; name one in a "
                "new dataset about the same people."
            )
        )
    return Missing(
        gettext("It needs a column with numbers, such as a speed or a price."),
        reverse("desk-dataset-edit", args=[dataset.slug]),
        gettext("Name a column"),
    )


def lacks_trips(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if rows say nothing about trips; None if they do.

    They do if they have a destination, or if they say whose they are and when they were.
    """
    columns = dataset.columns or {}
    if columns.get("destination_latitude"):
        return None
    if columns.get("time") and dataset.unit == Unit.PERSON:
        return None
    upload = dataset.uploads.first()
    return Missing(
        gettext(
            "It needs columns that say where a row's trip ends, or else a column with the time and "
            "one with the person."
        ),
        reverse("desk-upload", args=[upload.pk]) if upload else "",
        gettext("See the columns"),
    )


def lacks_categories(dataset: Dataset) -> Missing | None:
    """Return how to declare a category, or None if there is one."""
    if dataset.categorised:
        return None
    if dataset.frozen_at:
        return Missing(
            gettext(
                "No category was named before the first file was confirmed; name one in a new "
                "dataset about the same people."
            )
        )
    return Missing(
        gettext("It needs a column with a few values, such as the mode of transport."),
        reverse("desk-dataset-edit", args=[dataset.slug]),
        gettext("Name a column"),
    )


def lacks_district_averages(dataset: Dataset) -> Missing | None:
    """Return what is missing for averages by district: a column or the districts' outlines."""
    return lacks_measures(dataset) or lacks_zones(dataset)


def lacks_points(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if there is no budget for points; None if there is one."""
    if points_ledger(dataset.ledger) is not None:
        return None
    if dataset.ledger.promised_at:
        return Missing(
            gettext(
                "A published map promises that nothing ever shows who is in the data; points would."
            )
        )
    return Missing(
        gettext("It needs a budget of its own, which can be set until the first map is out."),
        reverse("desk-dataset-edit", args=[dataset.slug]),
        gettext("Set a budget for points"),
    )


MAP_KINDS = (
    MapKind(
        key="heat",
        subject=Subject.PLACES,
        title=_("Where people are"),
        words=_(
            "A heatmap: how many people in each square. Fine where it is busy, coarse where it "
            "is quiet."
        ),
        headline=_("Where people are: {place}"),
    ),
    MapKind(
        key="districts",
        subject=Subject.DISTRICTS,
        title=_("By district"),
        words=_("One count for each district, from outlines that are published elsewhere."),
        headline=_("People by district: {place}"),
        counted_in=_("A place is one district."),
        missing=lacks_zones,
    ),
    MapKind(
        key="time",
        subject=Subject.TIMES,
        title=_("By time of day or week"),
        words=_("A heatmap for each part of the day or day of the week, to play through."),
        headline=_("Where people are, by time: {place}"),
        counted_in=_("A place is one square at one time of day or week."),
        missing=lacks_times,
    ),
    MapKind(
        key="flows",
        subject=Subject.TRIPS,
        title=_("Where people go"),
        words=_("How many trips lead from each district or square to each other one."),
        headline=_("From where to where: {place}"),
        counted_in=_("A place is one way, from one district or square to another."),
        missing=lacks_trips,
    ),
    MapKind(
        key="averages",
        subject=Subject.AVERAGES,
        title=_("How much, on average"),
        words=_("The mean of a column in each square, such as a speed, a price or a share of yes."),
        headline=_("Averages: {place}"),
        missing=lacks_measures,
    ),
    MapKind(
        key="averages-districts",
        subject=Subject.AVERAGES,
        title=_("How much, on average, by district"),
        words=_("The mean of a column in each district, such as the mean speed or rent."),
        headline=_("Averages by district: {place}"),
        missing=lacks_district_averages,
        by_district=True,
    ),
    MapKind(
        key="week",
        subject=Subject.WEEK,
        title=_("Hour by hour"),
        words=_("Counts for each hour of the week, as a table of hours and days."),
        headline=_("The week of {place}"),
        missing=lacks_times,
    ),
    MapKind(
        key="category",
        subject=Subject.CATEGORIES,
        title=_("By category"),
        words=_("A heatmap for each value of a column, such as on foot, by bike and by car."),
        headline=_("Where people are, by category: {place}"),
        missing=lacks_categories,
    ),
)
MORE_KINDS = (
    MapKind(
        key="contours",
        subject=Subject.DENSITY,
        title=_("Lines of equal density"),
        words=_("Contours, from which tasks can be planned."),
        headline=_("How densely people are spread: {place}"),
    ),
    MapKind(
        key="gatherings",
        subject=Subject.GATHERINGS,
        title=_("Gathering places"),
        words=_("A few centres where people gather, each with a count."),
        headline=_("Where people gather: {place}"),
    ),
    MapKind(
        key="points",
        subject=Subject.REPORTS,
        title=_("Moved points"),
        words=_(
            "Every report as a point, moved at random. It hides where somebody was, not that "
            "they are in the data."
        ),
        headline=_("Reports, moved at random: {place}"),
        missing=lacks_points,
    ),
)
BY_KEY = {kind.key: kind for kind in (*MAP_KINDS, *MORE_KINDS)}


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind of map as offered for a dataset, with what the dataset lacks for it."""

    kind: MapKind
    missing: Missing | None
    chosen: bool


def choices(dataset: Dataset, kinds: tuple[MapKind, ...], chosen: str) -> list[Choice]:
    """Return the given kinds as choices for a dataset, with what the dataset lacks for each."""
    return [Choice(kind, kind.missing(dataset), kind.key == chosen) for kind in kinds]


def methods_by_kind() -> list[tuple[str, list[Any]]]:
    """Return all mechanisms, grouped by the kind of map that they make."""
    groups = (
        (kind.plural, [each for each in MECHANISMS.values() if each.kind is kind])
        for kind in KINDS.values()
    )
    return [(gettext(title), methods) for title, methods in groups if methods]


@login_required
@require_safe
def kind(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page that asks which kind of map to make."""
    dataset = dataset_for(request, slug, "request")
    chosen = request.GET.get("kind", MAP_KINDS[0].key)
    context = {
        "dataset": dataset,
        "steps": steps(4),
        "kinds": choices(dataset, MAP_KINDS, chosen),
        "more": choices(dataset, MORE_KINDS, chosen),
        "methods": methods_by_kind(),
        "opened": chosen in {each.key for each in MORE_KINDS},
    }
    return render(request, "desk/kind.html", context)
