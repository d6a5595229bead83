"""Page of a request: its cost, its privacy, and a map of invented people."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from math import ceil, sqrt
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.accounts.selectors import may
from dpgeo.artefacts.promises import (
    COUNTS,
    COUNTS_CERTAIN,
    TOGETHER,
    TOGETHER_CERTAIN,
    bound_of,
    of_one_map,
)
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import GeoInd, Notion
from dpgeo.mechanisms.registry import MECHANISMS, mechanisms_about
from dpgeo.pages import privacy_diagrams
from dpgeo.pages.basemap import basemap, basemap_names
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.kinds import missing
from dpgeo.pages.desk.map_form import ReleaseForm, read_fields
from dpgeo.pages.desk.path import steps
from dpgeo.pages.desk.request_form import request_fields
from dpgeo.pages.rendering import say
from dpgeo.phrases import translatable
from dpgeo.releases.quotes import release_forecast
from dpgeo.releases.rehearsal import Rehearsed, rehearse
from dpgeo.releases.requests import price_request

REHEARSED_SECONDS = 600

MAX_REHEARSED = 1 << 20
"""Largest number of regions of a map of invented people, which the website itself draws."""

SUGGESTED_TOTALS = ("0.5", "1", "2")
"""Suggested lifetime totals of epsilon for all maps of the same people; none is preselected."""

SUGGESTED_BOUNDS = (1, 5, 20)
"""Suggested contribution bounds: in how many cells, zones or places one person may count.

With the first, every figure is a number of people. On four datasets, maps with larger bounds were
hardly better, or were worse (docs/bounding.md).
"""

TOTAL = translatable(
    "{verdict}, if all of it is used: a guess is right at most {times} times in 100."
)
TOTAL_CERTAIN = translatable(
    "{verdict}, if all of it is used: in the worst case a guess is almost certain."
)

FEW_SHOWN = 10
"""If fewer places than this can stand out from the noise, the owner is told that the map will be
almost empty.
"""

OPENS = "Dpgeo-Opens"
"""Name of the response header that says which layer, unit and colour classes to show first.

They are those that the page of a published map would show first.
"""

LOOKS = "Dpgeo-Looks"
"""Name of the response header with a JSON object that maps each layer's name to the key of its
renderer in the scripts. On public pages, this object is in the HTML.
"""


def typed_fields(query: QueryDict) -> dict[str, str]:
    """Return the last text of each field that is not empty.

    An offered number and the field for another one have the same name.
    """
    return {name: texts[-1] for name in query if (texts := [*filter(None, query.getlist(name))])}


@login_required
@require_safe
def cost(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form of a request with its figures; `go` leads on if nothing is wrong."""
    dataset = dataset_for(request, slug, "request")
    form = ReleaseForm(typed_fields(request.GET), dataset=dataset)
    if missing(form.subject, dataset):
        return redirect(f"{reverse('desk-kind', args=[slug])}?kind={form.subject.key}")
    asks = request.GET.get("go") == "publish"
    problems = first_problems(request, form)
    if asks and not problems and form.quote:
        return redirect(f"{reverse('desk-publish', args=[slug])}?{form.query()}")
    typed_bound = form.typed.get("bound", "")
    wrong = bool(form.errors) or (asks and bool(problems))
    context = {
        "dataset": dataset,
        "steps": steps(5),
        "form": form,
        "quote": form.quote,
        "asked": form.asked,
        "cards": form.cards(),
        "problems": problems if asks or form.errors else [],
        "totals": totals(form),
        "other_total": "" if form.total_text in SUGGESTED_TOTALS else form.total_text,
        "bounds": bounds(form),
        "other_bound": "" if typed_bound in map(str, SUGGESTED_BOUNDS) else typed_bound,
        "may_grant": may(person(request), dataset, "set_budget"),
        **expected(form),
        **protection(form),
        **pictures(form),
    }
    return render(request, "desk/cost.html", context, status=422 if wrong else 200)


def first_problems(request: HttpRequest, form: ReleaseForm) -> list[str]:
    """Return what prevents publishing the map: the missing lifetime total, or the form's errors.

    This total is needed even for a map of moved points, because its page also states the total for
    counts.
    """
    if form.undecided and not form.shared:
        if not may(person(request), form.dataset, "set_budget"):
            words = gettext("An administrator of {name} has to say how much may ever be published.")
            return [words.format(name=form.dataset.organisation)]
        if not form.total_text:
            return [gettext("Say how much may ever be published about these people.")]
    labels = {name: f"{form[name].label}: " for name in form.fields if name != "total"}
    return [
        f"{labels.get(name, '')}{words}" for name, errors in form.errors.items() for words in errors
    ]


def totals(form: ReleaseForm) -> list[tuple[str, str, bool]]:
    """Return the suggested lifetime totals: each epsilon, its meaning, and whether it is chosen."""
    delta = form.dataset.ledger.delta or Fraction(0)
    return [
        (
            text,
            say(bound_of(parse_epsilon(text), delta).line(TOTAL, TOTAL_CERTAIN)),
            text == form.total_text,
        )
        for text in SUGGESTED_TOTALS
    ]


def bounds(form: ReleaseForm) -> list[tuple[int, bool, str]]:
    """Return the suggested bounds, whether each is chosen, and how many times the noise it brings.

    Laplace noise grows with the bound, Gaussian noise with its square root, which is rounded up.
    """
    gaussian = form.dataset.ledger.is_zcdp and Notion.ZCDP in form.mechanism.notions
    chosen = form.typed.get("bound", "1")
    return [
        (
            bound,
            str(bound) == chosen,
            f"{ceil(10 * sqrt(bound)) / 10:g}" if gaussian else f"{bound}",
        )
        for bound in SUGGESTED_BOUNDS
    ]


def expected(form: ReleaseForm) -> dict[str, Any]:
    """Return what to expect of the request, from public numbers and the owner's guess alone.

    `most_shown` is an upper bound on the number of places whose counts stand out from the noise.
    """
    if form.quote is None:
        return {}
    expects = form.expected(form.quote.request)
    context: dict[str, Any] = {"expects": expects}
    if form.asks_bound and expects.shows_from is not None and not expects.means:
        most = form.people * form.quote.request.bound // expects.shows_from
        context |= {"most_shown": most, "bare": most < FEW_SHOWN}
    return context


def protection(form: ReleaseForm) -> dict[str, Any]:
    """Return the map's privacy promise and cost, and what is left of the budget."""
    quote = form.quote
    if quote is None or isinstance(quote.cost, GeoInd):
        return {"nothing_left": form.nothing_left}
    ledger, household = quote.ledger, quote.request.household
    promise = of_one_map(quote.cost, form.dataset.row_noun, household)
    total = bound_of(ledger.total, ledger.delta or Fraction(0))
    # If these people also have a budget for points, the sentence is about maps of counts alone.
    lines = (COUNTS, COUNTS_CERTAIN) if points_ledger(ledger) else (TOGETHER, TOGETHER_CERTAIN)
    return {
        "promise": promise,
        "scale": privacy_diagrams.scale(promise.bound.right, total.right),
        "together": total.line(*lines),
        "epsilon": quote.request.epsilon if household == 1 else quote.epsilon,
        "delta": ledger.delta_text,
        "total": ledger.total,
        "after": ledger.epsilon_left(quote.price),
        "used": 100 - 100 * ledger.left_units / ledger.lifetime_units,
        "width": 100 * quote.price / ledger.lifetime_units,
    }


def pictures(form: ReleaseForm) -> dict[str, Any]:
    """Return the address of a map of invented people, and those of other methods' maps."""
    if form.budget is None:
        # Until there is a total, the map is drawn for the middle one of those suggested.
        form = ReleaseForm({**form.typed, "total": SUGGESTED_TOTALS[1]}, dataset=form.dataset)
    methods = []
    for key in mechanisms_about(form.subject):
        same = form if key == form.mechanism.key else _by(form, key)
        methods.append((gettext(MECHANISMS[key].title), same is form, picture(same), same.query()))
    return {"picture": picture(form), "methods": methods if len(methods) > 1 else []}


def _by(form: ReleaseForm, key: str) -> ReleaseForm:
    """Return a form that asks another mechanism for the same."""
    typed = typed_fields(QueryDict(form.query(mechanism=key)))
    return ReleaseForm(typed, dataset=form.dataset)


def picture(form: ReleaseForm) -> str:
    """Return the address of a map of invented people, which contains the request; "" if none."""
    if form.quote is None or form.quote.forecast.regions > MAX_REHEARSED:
        return ""
    fields = {"guess.people": str(form.invented), **request_fields(form.asked)}
    return reverse("desk-rehearsal", args=[form.dataset.slug, urlencode(fields), "map.bin"])


@login_required
@require_safe
def rehearsal(request: HttpRequest, slug: str, asked: str, name: str) -> HttpResponse:
    """Return one file of a map that a requested mechanism draws of invented people."""
    dataset = dataset_for(request, slug, "request")
    key = f"rehearsal-{dataset.pk}-{asked}"
    drawn: Rehearsed | None = cache.get(key)
    if drawn is None:
        fields = typed_fields(QueryDict(asked))
        try:
            priced = price_request(dataset, read_fields(fields))
            people = max(1, int(fields.get("guess.people", "")))
            if release_forecast(dataset=dataset, request=priced).regions > MAX_REHEARSED:
                raise Http404("Too large to be drawn for a look.")
            drawn = rehearse(dataset, priced, people)
        except (DpgeoError, ValueError):
            raise Http404("No such rehearsal.") from None
        # Keep the map only if it has a second file, of shapes, which the browser asks for next.
        if len(drawn.files) > 1:
            cache.set(key, drawn, REHEARSED_SECONDS)
    if name not in drawn.files:
        raise Http404("No such file.")
    answer = HttpResponse(drawn.files[name], content_type="application/octet-stream")
    answer[OPENS] = json.dumps(asdict(drawn.opening))
    answer[LOOKS] = json.dumps(dict(drawn.looks))
    answer["Cache-Control"] = f"private, max-age={REHEARSED_SECONDS}"
    return answer


@login_required
@require_safe
def ground(request: HttpRequest, slug: str) -> JsonResponse:
    """Return a dataset's basemap as JSON with the keys basemap, area and bounds."""
    area = dataset_for(request, slug).area
    shapes = basemap(area) | basemap_names(area)
    answer = JsonResponse({"basemap": shapes, "area": area.to_geojson(), "bounds": area.bounds})
    answer["Cache-Control"] = "private, max-age=600"
    return answer
