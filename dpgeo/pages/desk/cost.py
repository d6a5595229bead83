"""Page on privacy and cost, where the owner chooses the detail and sees a map of invented
people.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.accounts.selectors import may
from dpgeo.artefacts.promises import (
    COUNTS,
    COUNTS_CERTAIN,
    TOGETHER,
    TOGETHER_CERTAIN,
    Bound,
    Presence,
    bound_of,
    of_one_map,
)
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import ZCDP, PureDP, Unit
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages import privacy_diagrams
from dpgeo.pages.desk.access import dataset_for, person
from dpgeo.pages.desk.kinds import missing
from dpgeo.pages.desk.path import steps
from dpgeo.pages.desk.settings import SUGGESTED_PLACES, SUGGESTED_TOTALS, Card, MapSettings
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase, translatable
from dpgeo.releases.rehearsal import INVENTED_PEOPLE, Rehearsed, rehearse
from dpgeo.releases.requests import rho_for, share_of

REHEARSED_SECONDS = 600

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


@dataclass(frozen=True, slots=True)
class Method:
    """A mechanism for the chosen kind of map, with the URL of its map of invented people.

    `query` is the query string of the page with this mechanism chosen.
    """

    key: str
    title: str
    chosen: bool
    picture: str
    query: str


@login_required
@require_safe
def cost(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for the amount of detail and, the first time, for the lifetime total."""
    dataset = dataset_for(request, slug, "request")
    settings = MapSettings(dataset, request.GET)
    if missing(settings.kind, dataset):
        return redirect(f"{reverse('desk-kind', args=[slug])}?kind={settings.kind.key}")
    asks = request.GET.get("go") == "publish"
    problem = first_problem(request, settings) if asks else ""
    cards = settings.cards()
    chosen = next(card for card in cards if card.chosen)
    if asks and not problem and chosen.amount and not chosen.problem:
        return redirect(f"{reverse('desk-publish', args=[slug])}?{settings.query()}")
    context = {
        "dataset": dataset,
        "steps": steps(5),
        "settings": settings,
        "cards": cards,
        "chosen": chosen,
        "problem": problem,
        "invented_unless_guessed": str(INVENTED_PEOPLE),
        "totals": totals(settings),
        "places": places(settings),
        "may_grant": may(person(request), dataset, "set_budget"),
        **expected(settings, chosen),
        **protection(settings),
        **pictures(settings),
    }
    return render(request, "desk/cost.html", context, status=422 if problem else 200)


def first_problem(request: HttpRequest, settings: MapSettings) -> str:
    """Return the first problem that prevents publishing the map, as text; "" if there is none."""
    problem = total_problem(request, settings)
    return problem or settings.people_problem or next(iter(settings.problems.values()), "")


def total_problem(request: HttpRequest, settings: MapSettings) -> str:
    """Return what is wrong with the lifetime total of epsilon, or "" if nothing is.

    This total is needed even for a map of moved points, because its page also states the total for
    counts.
    """
    if not settings.undecided or settings.shared:
        return ""
    if not may(person(request), settings.dataset, "set_budget"):
        words = gettext("An administrator of {name} has to say how much may ever be published.")
        return words.format(name=settings.dataset.organisation)
    return settings.total_problem


def totals(settings: MapSettings) -> list[tuple[str, str, bool]]:
    """Return the suggested lifetime totals: each epsilon, its meaning, and whether it is chosen."""
    delta = settings.dataset.ledger.delta or Fraction(0)
    return [
        (
            text,
            say(bound_of(parse_epsilon(text), delta).line(TOTAL, TOTAL_CERTAIN)),
            not settings.other_text and text == settings.total_text,
        )
        for text in SUGGESTED_TOTALS
    ]


def places(settings: MapSettings) -> list[tuple[int, bool, str]]:
    """Return the numbers of places in which one person may count, as offered on the page.

    Each is a tuple of the number, whether it is chosen, and how many times larger the noise is than
    with one place: Laplace noise grows with the number, Gaussian noise with its square root, which
    is rounded up.
    """
    return [
        (
            number,
            text == settings.places_text,
            f"{ceil(10 * sqrt(number)) / 10:g}" if settings.is_gaussian() else text,
        )
        for text in SUGGESTED_PLACES
        for number in (int(text),)
    ]


def expected(settings: MapSettings, card: Card) -> dict[str, Any]:
    """Return how many places can stand out, given the owner's estimate of the number of people.

    For maps of averages, return how exact the means will be. Only public numbers are used. The
    result is {} for maps of neither people nor averages, and before a lifetime total is chosen.
    """
    if card.means:
        return {"means": card.means}
    if not settings.asks_places or card.shows_from is None:
        return {}
    most = settings.most_shown(card.shows_from)
    return {"shows_from": card.shows_from, "most_shown": most, "bare": most < FEW_SHOWN}


def protection(settings: MapSettings) -> dict[str, Any]:
    """Return the chosen map's privacy promise and cost, and what is left of the budget."""
    ledger = settings.ledger
    if settings.is_points or ledger is None:
        return {}
    epsilon = settings.epsilon(settings.detail)
    if not epsilon:
        return {"nothing_left": True}
    people = settings.asked.household
    try:
        cost = of_one_person(settings, ledger, epsilon, people)
    except DpgeoError:
        return {}
    promise, price = of_one_map(cost, settings.dataset.row_noun, people), ledger.price(cost)
    if people > 1:
        epsilon = cost.epsilon
    total = bound_of(ledger.total, ledger.delta or Fraction(0))
    return {
        "promise": promise,
        "scale": privacy_diagrams.scale(promise.bound.right, total.right),
        "together": together(settings, total),
        "epsilon": epsilon,
        "delta": ledger.delta_text,
        "total": ledger.total,
        "before": ledger.left,
        "after": ledger.epsilon_left(price),
        "used": 100 - 100 * ledger.left_units / ledger.lifetime_units,
        "width": 100 * price / ledger.lifetime_units,
    }


def of_one_person(
    settings: MapSettings, ledger: Ledger, epsilon: Fraction, people: int
) -> Presence:
    """Return each person's guarantee if a household of `people` persons may lose `epsilon` in all.

    Raises InvalidInput if nothing is left for one person.
    """
    unit = Unit(settings.dataset.unit)
    rho = rho_for(ledger, MECHANISMS[settings.method], epsilon, people)
    if rho is None or ledger.delta is None:
        return PureDP(share_of(epsilon, people), unit)
    return ZCDP(rho, ledger.delta, unit)


def together(settings: MapSettings, total: Bound) -> Phrase:
    """Return the sentence on what all maps of the same people reveal together.

    If these people also have a budget for points, the sentence is about maps of counts alone.
    """
    ledger = settings.shared or settings.dataset.ledger
    lines = (COUNTS, COUNTS_CERTAIN) if points_ledger(ledger) else (TOGETHER, TOGETHER_CERTAIN)
    return total.line(*lines)


def pictures(settings: MapSettings) -> dict[str, Any]:
    """Return the URL of a map of invented people by the chosen method; all methods, if several."""
    if settings.left is None and not settings.is_points:
        # Until a total is chosen, the picture shows the map for the middle one of the suggested
        # totals.
        settings = MapSettings(
            settings.dataset,
            {
                "kind": settings.kind.key,
                "total": SUGGESTED_TOTALS[1],
                "places": str(settings.asked.bound),
                "column": settings.column,
                **settings.options,
            },
        )
    methods = [
        Method(
            key,
            gettext(MECHANISMS[key].title),
            key == settings.method,
            picture_address(settings, method=key),
            settings.query(method=key),
        )
        for key in settings.methods
    ]
    return {
        "picture": picture_address(settings),
        "methods": methods if len(methods) > 1 else [],
    }


def picture_address(settings: MapSettings, **changes: str) -> str:
    """Return the URL of a map of invented people; it contains the settings."""
    values: dict[str, str] = {
        "kind": settings.kind.key,
        "method": settings.method,
        "detail": settings.detail,
        "total": settings.total_text,
        "ledger": settings.shared_text,
        "people": str(settings.people),
        "places": str(settings.asked.bound),
        "column": settings.column,
        **settings.options,
    }
    return reverse(
        "desk-rehearsal",
        args=[
            settings.dataset.slug,
            urlsafe_base64_encode(json.dumps(values | changes).encode()),
            "map.bin",
        ],
    )


@login_required
@require_safe
def rehearsal(request: HttpRequest, slug: str, settings: str, name: str) -> HttpResponse:
    """Return one file of a map that the chosen mechanism draws of invented people."""
    dataset = dataset_for(request, slug, "request")
    chosen = MapSettings(dataset, read_settings(settings))
    # The map's epsilon depends on what is left of the budget, so it is part of the cache's key.
    key = f"rehearsal-{dataset.pk}-{settings}-{chosen.epsilon(chosen.detail)}"
    drawn: Rehearsed | None = cache.get(key)
    if drawn is None:
        drawn = rehearsed(dataset, chosen)
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


def rehearsed(dataset: Dataset, chosen: MapSettings) -> Rehearsed:
    """Return the chosen map of invented people. Raises Http404 if it cannot be drawn."""
    try:
        wanted = chosen.request(chosen.detail)
        if wanted is None:
            raise Http404("Nothing to draw.")
        return rehearse(dataset, wanted, chosen.people)
    except DpgeoError as refusal:
        raise Http404(say(refusal)) from None


def read_settings(text: str) -> dict[str, str]:
    """Return the settings contained in a URL from `picture_address`. Raises Http404."""
    try:
        values = json.loads(urlsafe_base64_decode(text[:2000]))
        return {name: str(value) for name, value in values.items()}
    except (ValueError, AttributeError, RecursionError):
        raise Http404("No such rehearsal.") from None
