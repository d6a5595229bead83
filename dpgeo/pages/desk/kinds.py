"""Page that asks what a map should show, and what a dataset lacks for each subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
from dpgeo.core.kinds import KINDS
from dpgeo.core.subjects import SUBJECTS, Need, Subject
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.desk.access import dataset_for
from dpgeo.pages.desk.path import steps
from dpgeo.releases.requests import has_times


@dataclass(frozen=True, slots=True)
class Missing:
    """What a dataset lacks for a kind of map, in words, with a link to the page that fixes it."""

    words: str
    address: str = ""
    link: str = ""


class Lack(NamedTuple):
    """A thing that maps need: how a dataset shows that it has it, and what to tell the owner.

    `frozen` is told instead once the columns are fixed, and nothing can be added.
    """

    has: Callable[[Dataset], object]
    words: str
    address: Callable[[Dataset], str]
    link: str
    frozen: str = ""


def _has_layer(kind: LayerKind) -> Callable[[Dataset], bool]:
    return lambda dataset: dataset.layers.filter(kind=kind).exists()


def _has_trips(dataset: Dataset) -> object:
    columns = dataset.columns or {}
    by_person = has_times(dataset) and dataset.unit == Unit.PERSON
    return columns.get("destination_latitude") or by_person


def _columns_page(dataset: Dataset) -> str:
    upload = dataset.uploads.first()
    return reverse("desk-upload", args=[upload.pk]) if upload else ""


def _layers_page(dataset: Dataset) -> str:
    return reverse("desk-layers", args=[dataset.slug])


def _details_page(dataset: Dataset) -> str:
    return reverse("desk-dataset-edit", args=[dataset.slug])


LACKS: Mapping[Need, Lack] = {
    Need.ZONES: Lack(
        _has_layer(LayerKind.ZONES),
        _("It needs the outlines of the districts, from a public source that you name."),
        _layers_page,
        _("Add outlines"),
    ),
    Need.PLACES: Lack(
        _has_layer(LayerKind.PLACES),
        _("It needs a list of places with their positions, from a public source."),
        _layers_page,
        _("Add places"),
    ),
    Need.TIMES: Lack(
        has_times,
        _("It needs a column that says when each row was."),
        _columns_page,
        _("See the columns"),
    ),
    Need.TRIPS: Lack(
        _has_trips,
        _(
            "It needs columns that say where a row's trip ends, or else a column with the time and "
            "one with the person."
        ),
        _columns_page,
        _("See the columns"),
    ),
    Need.MEASURES: Lack(
        lambda dataset: dataset.measured,
        _("It needs a column with numbers, such as a speed or a price."),
        _details_page,
        _("Name a column"),
        _(
            "No column to average was named before the first file was confirmed; name one in a "
            "new dataset about the same people."
        ),
    ),
    Need.CATEGORIES: Lack(
        lambda dataset: dataset.categorised,
        _("It needs a column with a few values, such as the mode of transport."),
        _details_page,
        _("Name a column"),
        _(
            "No category was named before the first file was confirmed; name one in a new "
            "dataset about the same people."
        ),
    ),
    Need.POINTS_BUDGET: Lack(
        lambda dataset: points_ledger(dataset.ledger),
        _("It needs a budget of its own, which can be set until the first map is out."),
        _details_page,
        _("Set a budget for points"),
    ),
}


def _missing(need: Need, dataset: Dataset) -> Missing | None:
    lack, ledger = LACKS[need], dataset.ledger
    if lack.has(dataset):
        return None
    if lack.frozen and dataset.frozen_at:
        return Missing(gettext(lack.frozen))
    if need is Need.POINTS_BUDGET and ledger.is_zcdp:
        return Missing(gettext("A budget in rho has no budget for points beside it."))
    if need is Need.POINTS_BUDGET and ledger.promised_at:
        return Missing(
            gettext(
                "A published map promises that nothing ever shows who is in the data; points would."
            )
        )
    return Missing(gettext(lack.words), lack.address(dataset), gettext(lack.link))


def missing(subject: Subject, dataset: Dataset) -> Missing | None:
    """Return the first thing that a dataset lacks for maps of a subject, such as flows, or None."""
    regions = (dataset.columns or {}).get("regions")
    if regions and not subject.by_district and Need.ZONES not in subject.needs:
        return Missing(gettext("It needs positions, and the rows of these data name regions."))
    lacking = (_missing(need, dataset) for need in subject.needs)
    return next(filter(None, lacking), None)


@dataclass(frozen=True, slots=True)
class Choice:
    """A subject of maps, such as flows, for a dataset, and what the dataset lacks for it."""

    kind: Subject
    missing: Missing | None
    chosen: bool


def offer_for(dataset: Dataset, chosen: str) -> dict[str, list[Choice]]:
    """Return the subjects of maps, such as flows, by whether a dataset has what they need.

    The `kinds` (the common ones) and `more` can be chosen. Those `wanting` need something that the
    owner can still add, and those `impossible` something that these data will never have. The
    subject with the key `chosen` is marked or, if it cannot be chosen, the first common one.
    """
    offer: dict[str, list[Choice]] = {"kinds": [], "more": [], "wanting": [], "impossible": []}
    for subject in SUBJECTS.values():
        choice = Choice(subject, missing(subject, dataset), subject.key == chosen)
        if choice.missing is None:
            offer["kinds" if subject.common else "more"].append(choice)
        else:
            offer["wanting" if choice.missing.address else "impossible"].append(choice)
    if not any(choice.chosen for choice in (*offer["kinds"], *offer["more"])):
        offer["kinds"][0] = replace(offer["kinds"][0], chosen=True)
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
        "more_opened": any(choice.chosen for choice in offer["more"]),
        "wanting_opened": any(
            choice.chosen for choice in (*offer["wanting"], *offer["impossible"])
        ),
    }
    return render(request, "desk/kind.html", context)
