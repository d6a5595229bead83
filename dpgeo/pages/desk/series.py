"""Page of a dataset's series: declare, end and resume them, say until when data are complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.artefacts.series_wording import promised
from dpgeo.core.domain import LayerKind
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import DpgeoError, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.parameters import parameters
from dpgeo.core.series_request import SeriesRequest
from dpgeo.core.window import Window
from dpgeo.core.zcdp import delta_text
from dpgeo.datasets.layers import layer_kinds
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.pages.desk.access import dataset_for, person, report
from dpgeo.pages.desk.request_form import RequestForm
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Series
from dpgeo.releases.requests import has_times
from dpgeo.releases.series import (
    ENDINGS,
    can_resume,
    coming_periods,
    due_periods,
    series_complete,
    series_declare,
    series_end,
    series_forecast,
    series_mechanisms,
    series_read,
    series_resume,
)

FIELDS = [name for name in SeriesRequest.model_fields if name not in ("mechanism", "parameters")]


class SeriesForm(RequestForm):
    """The form that declares a series."""

    model = SeriesRequest

    def __init__(self, typed: Mapping[str, Any], *, dataset: Dataset, bound: bool) -> None:
        kinds = set(layer_kinds(dataset).values())
        super().__init__(
            {"epsilon": "1", "most": "20", **typed} if not bound else typed,
            dataset=dataset,
            mechanisms=[
                key
                for key in series_mechanisms()
                if _needed_layers(find_mechanism(key).params) <= kinds
            ],
            names=FIELDS,
            bound=bound,
        )

    @property
    def declared(self) -> list[BoundField]:
        """The fields of the declaration that follow the method."""
        return [self[name] for name in FIELDS if name != "title"]


def _needed_layers(params: type[Any]) -> set[LayerKind]:
    """Return the kinds of layers without which a mechanism cannot count."""
    return {one.layer for one in parameters(params) if one.layer and not one.optional}


@dataclass(frozen=True, slots=True)
class Offer:
    """The promise and the cost of a series before it is declared, and the margin of each map."""

    sentences: list[str]
    epsilon: str
    delta: str
    margin: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """An entry in the page's list of series."""

    series: Series
    due: int
    next: Window | None
    """The days of the next map; None after the last map."""
    coming: Sequence[Window]
    """The coming periods, of which none is over yet."""
    ending: str
    """The reason why the series ended; "" while it has not."""
    can_resume: bool


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def series(request: HttpRequest, slug: str) -> HttpResponse:
    """List a dataset's series; declare, end or resume one, or say until when data are complete."""
    dataset = dataset_for(request, slug)
    user = person(request)
    form, offer = SeriesForm(request.GET.dict(), dataset=dataset, bound=False), None
    if request.method == "POST":
        action = request.POST.get("action", "")
        if action in ACTIONS:
            with report(request):
                messages.success(request, ACTIONS[action](request, user, dataset))
            return redirect("desk-series", slug=slug)
        form = SeriesForm(request.POST.dict(), dataset=dataset, bound=True)
        if form.is_valid() and form.asked:
            try:
                offer = _offer(dataset, form.asked)
                if action == "declare":
                    series_declare(dataset=dataset, asked=form.asked, by=user)
                    messages.success(request, gettext("The series is declared."))
                    return redirect("desk-series", slug=slug)
            except DpgeoError as refusal:
                offer = None
                form.add_refusal(refusal)
    context = {
        "dataset": dataset,
        "lines": [_line(each) for each in dataset.series.select_related("dataset")],
        "form": form,
        "offer": offer,
        "possible": dataset.unit == Unit.PERSON.value and has_times(dataset),
        "may_request": may(user, dataset, "request"),
    }
    status = 422 if form.errors else 200
    return render(request, "desk/series.html", context, status=status)


def _line(series: Series) -> Line:
    ending = say(Phrase(ENDINGS[series.ending])) if series.ending else ""
    return Line(
        series=series,
        due=len(due_periods(series)),
        next=series.window(series.drawn + 1) if series.has_map(series.drawn + 1) else None,
        coming=coming_periods(series),
        ending=ending,
        can_resume=can_resume(series),
    )


def _offer(dataset: Dataset, asked: SeriesRequest) -> Offer:
    terms, request = series_read(dataset, asked)
    return Offer(
        sentences=[say(each) for each in promised(terms)],
        epsilon=format_epsilon(terms.epsilon),
        delta=delta_text(terms.delta) if terms.delta else "",
        margin=series_forecast(dataset, request).margin,
    )


def _named(request: HttpRequest, dataset: Dataset) -> Series:
    try:
        return dataset.series.get(pk=request.POST.get("series", ""))
    except (Series.DoesNotExist, ValidationError):
        raise InvalidInput("Choose one of the series on this page.", field="series") from None


def _complete(request: HttpRequest, user: User, dataset: Dataset) -> str:
    through = request.POST.get("through", "")
    series_complete(series=_named(request, dataset), through=through, by=user)
    return gettext("Recorded. Maps that are due are drawn one after another.")


def _end(request: HttpRequest, user: User, dataset: Dataset) -> str:
    series_end(series=_named(request, dataset), by=user)
    return gettext("The series has ended.")


def _resume(request: HttpRequest, user: User, dataset: Dataset) -> str:
    series_resume(series=_named(request, dataset), by=user)
    return gettext("The series goes on: its map is drawn again.")


ACTIONS: dict[str, Callable[[HttpRequest, User, Dataset], str]] = {
    "complete": _complete,
    "end": _end,
    "resume": _resume,
}
