"""Page that asks what a map should show, and what a dataset lacks for each subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.domain import LayerKind
from dpgeo.core.guarantees import Unit
from dpgeo.core.kinds import KINDS
from dpgeo.core.subjects import SUBJECTS, Need, Subject
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


def lacks_zones(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if the dataset has no layer of zones; None if it has one."""
    if dataset.layers.filter(kind=LayerKind.ZONES).exists():
        return None
    return Missing(
        gettext("It needs the outlines of the districts, from a public source that you name."),
        reverse("desk-layers", args=[dataset.slug]),
        gettext("Add outlines"),
    )


def lacks_places(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if the dataset has no list of places; None if it has one."""
    if dataset.layers.filter(kind=LayerKind.PLACES).exists():
        return None
    return Missing(
        gettext("It needs a list of places with their positions, from a public source."),
        reverse("desk-layers", args=[dataset.slug]),
        gettext("Add places"),
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
    """Return what to tell the owner if no column to average is declared; None if one is."""
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
    """Return what to tell the owner if the rows contain no trips; None if they do.

    They contain trips if they have a destination, or if they have both a person and a time.
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
    """Return what to tell the owner if no category is declared; None if one is."""
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


def lacks_points(dataset: Dataset) -> Missing | None:
    """Return what to tell the owner if there is no budget for moved points; None if there is
    one.
    """
    if points_ledger(dataset.ledger) is not None:
        return None
    if dataset.ledger.is_zcdp:
        return Missing(gettext("A budget in rho has no budget for points beside it."))
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


LACKS: Mapping[Need, Callable[[Dataset], Missing | None]] = {
    Need.ZONES: lacks_zones,
    Need.PLACES: lacks_places,
    Need.TIMES: lacks_times,
    Need.TRIPS: lacks_trips,
    Need.MEASURES: lacks_measures,
    Need.CATEGORIES: lacks_categories,
    Need.POINTS_BUDGET: lacks_points,
}


def missing(subject: Subject, dataset: Dataset) -> Missing | None:
    """Return the first thing that a dataset lacks for maps of a subject, such as flows, or None."""
    regions = (dataset.columns or {}).get("regions")
    if regions and not subject.by_district and Need.ZONES not in subject.needs:
        return Missing(gettext("It needs positions, and the rows of these data name regions."))
    lacking = (LACKS[need](dataset) for need in subject.needs)
    return next(filter(None, lacking), None)


@dataclass(frozen=True, slots=True)
class Choice:
    """A subject of maps, such as flows, for a dataset, and what the dataset lacks for it."""

    kind: Subject
    missing: Missing | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """The subjects of maps for a dataset: those that can be chosen, and those that lack something.

    Subjects in `kinds` (the common ones) and in `more` can be chosen. Subjects in `wanting` need
    something that the owner can still add, and subjects in `impossible` something that these data
    will never have.
    """

    kinds: list[Choice]
    more: list[Choice]
    wanting: list[Choice]
    impossible: list[Choice]


def offer_for(dataset: Dataset, chosen: str) -> Offer:
    """Sort the subjects of maps, such as flows, by whether a dataset has what they need.

    The subject with the key `chosen` is marked or, if it cannot be chosen, the first common one.
    """
    offer = Offer([], [], [], [])
    for subject in SUBJECTS.values():
        choice = Choice(subject, missing(subject, dataset), subject.key == chosen)
        if choice.missing is None:
            (offer.kinds if subject.common else offer.more).append(choice)
        else:
            (offer.wanting if choice.missing.address else offer.impossible).append(choice)
    if not any(choice.chosen for choice in (*offer.kinds, *offer.more)):
        offer.kinds[0] = replace(offer.kinds[0], chosen=True)
    return offer


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
    chosen = request.GET.get("kind", next(iter(SUBJECTS)))
    offer = offer_for(dataset, chosen)
    context = {
        "dataset": dataset,
        "steps": steps(4),
        "offer": offer,
        "methods": methods_by_kind(),
        "more_opened": any(choice.chosen for choice in offer.more),
        "wanting_opened": any(choice.chosen for choice in (*offer.wanting, *offer.impossible)),
    }
    return render(request, "desk/kind.html", context)
