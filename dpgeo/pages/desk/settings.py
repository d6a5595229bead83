"""Settings of a map that is being made, passed on from page to page.

The settings depend only on the owner's answers and on public facts. The uploaded file is not read,
because exact counts could be used to tune what becomes public.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import most_pure
from dpgeo.core.advice import MOST_PEOPLE
from dpgeo.core.domain import LayerKind
from dpgeo.core.epsilon import MICRO, format_epsilon, parse_epsilon
from dpgeo.core.errors import DpgeoError, InvalidInput
from dpgeo.core.guarantees import Notion, Unit
from dpgeo.core.parameters import parameters
from dpgeo.core.release_request import ReleaseRequest, broken_rules
from dpgeo.core.subjects import SUBJECTS, Subject
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS, mechanisms_about
from dpgeo.pages.desk.request_form import OptionsForm, option_names
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase
from dpgeo.releases.expected_detail import ExpectedTotal, expected_totals, usual_side
from dpgeo.releases.quotes import release_forecast
from dpgeo.releases.rehearsal import INVENTED_PEOPLE, MOST_INVENTED
from dpgeo.releases.requests import PricedRequest, basis_of, read_request

SUGGESTED_TOTALS = ("0.5", "1", "2")
"""Suggested lifetime totals of epsilon for all maps of the same people; none is preselected."""

DETAILS = {
    "finest": _("Finest detail"),
    "balanced": _("Balanced"),
    "private": _("Most private"),
}
SHARES = {"finest": Fraction(1), "balanced": Fraction(1, 2), "private": Fraction(1, 5)}
"""Fraction of the dataset's remaining budget that a map spends, for each level of detail.

The user chooses the level; the finest one spends the whole remainder.
"""
CELLS = {"finest": Fraction(2), "balanced": Fraction(1), "private": Fraction(1, 2)}
"""Number of cells along a side of the map, as a multiple of the method's default, for each level
of detail.
"""
LEVELS = {"finest": "ln 16", "balanced": "ln 4", "private": "ln 2"}
"""Level of geo-indistinguishability of moved points at each level of detail.

Points are charged to a separate budget, so `SHARES` does not apply to them.
"""

LEAST_INVENTED = 100
"""Smallest number of people that a simulated map invents."""

SUGGESTED_PLACES = ("1", "5", "20")
"""Suggested contribution bounds: in how many cells, zones or places one person may count.

The first one is the default; with it, every figure is a number of people. On four datasets, maps
with larger bounds were hardly better, or were worse (docs/bounding.md).
"""


GROUPED = re.compile(r"[0-9]{1,3}(?:[,.' \u2019\u00a0\u202f][0-9]{3})+|[0-9]+")
"""Pattern of a whole number, which may have groups of three digits, as in 50,000 or 50.000."""


@dataclass(frozen=True, slots=True)
class Card:
    """A level of detail to choose from, with its cost and the expected noise.

    `shows_from` is the smallest count that stands out from the noise, and `region` the noun for the
    regions in which people are counted. For averages, `shows_from` is the smallest number of rows
    with which a mean is shown, `margin` is None, since it would be the margin of a number of rows,
    and `means` says how exact means are. If households are protected, `asked` is the epsilon of a
    whole household; otherwise it equals `amount`. If the data decide how finely the map is divided,
    `metres` is the side of the smallest possible square, and `usual` the side in metres of the
    square in which the median person would be counted if there were as many people as guessed;
    otherwise `usual` is None. `totals` are noisy totals of all the data, for which part of the cost
    would pay.
    """

    key: str
    title: str
    chosen: bool
    amount: str
    margin: int | None
    metres: float | None
    problem: str
    shows_from: int | None = None
    region: str = ""
    means: tuple[Phrase, ...] = ()
    asked: str = ""
    usual: float | None = None
    totals: tuple[ExpectedTotal, ...] = ()


class MapSettings:
    """Choices made so far, such as kind, method, detail and, for a first map, lifetime total."""

    def __init__(self, dataset: Dataset, given: Mapping[str, Any]) -> None:
        self.dataset = dataset
        self.kind: Subject = SUBJECTS.get(given.get("kind", ""), next(iter(SUBJECTS.values())))
        method = given.get("method", "")
        self.methods = mechanisms_about(self.kind)
        self.method: str = method if method in self.methods else self.methods[0]
        detail = given.get("detail", "")
        self.detail: str = detail if detail in DETAILS else "balanced"
        self.total_text: str = str(given.get("other") or given.get("total") or "").strip()
        self.other_text: str = str(given.get("other") or "")
        self.people_text: str = str(given.get("people") or dataset.guessed_people or "").strip()
        self.shared_text: str = str(given.get("ledger") or "")
        places = given.get("other_places") or given.get("places") or SUGGESTED_PLACES[0]
        self.places_text: str = str(places).strip()
        self.column_text: str = str(given.get("column") or "")
        self.options: dict[str, str] = {
            name: text for name in self.option_names if (text := str(given.get(name) or "").strip())
        }
        self.other_places: str = "" if self.places_text in SUGGESTED_PLACES else self.places_text

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """Name and title of each measure or category that the map can show; [] for most maps."""
        for each in parameters(MECHANISMS[self.method].params):
            if each.measure:
                return [(measure.column, measure.heading) for measure in self.dataset.measured]
            if each.category and not each.optional:
                return [(given.column, given.title) for given in self.dataset.categorised]
        return []

    @property
    def column(self) -> str:
        """The name of the measure or category that the map shows, by default the first.

        It is "" for maps of neither.
        """
        names = [name for name, _ in self.columns]
        return self.column_text if self.column_text in names else next(iter(names), "")

    @property
    def column_title(self) -> str:
        """The title of the measure or category that the map shows, or ""."""
        return dict(self.columns).get(self.column, "")

    @property
    def asks_places(self) -> bool:
        """Whether a person may count in several places of the map."""
        return Unit(self.dataset.unit) is Unit.PERSON and not self.is_points

    @cached_property
    def option_names(self) -> list[str]:
        """The fields of a request that the page offers as further choices."""
        return [name for name in option_names(self.dataset) if name not in ("bound", "counting")]

    @cached_property
    def problems(self) -> Mapping[str, str]:
        """What is wrong with each field of a request that was typed and is not valid."""
        texts = {**self.options, "bound": self.places_text}
        asked, refusals = ReleaseRequest.attempt(texts)
        if asked is not None:
            basis = basis_of(self.dataset, MECHANISMS[self.method])
            places = asked if self.asks_places else asked.model_copy(update={"bound": 1})
            refusals = list(broken_rules(basis.settle(places), basis))
        return {refusal.field: say(refusal) for refusal in reversed(refusals)}

    @cached_property
    def asked(self) -> ReleaseRequest:
        """The typed fields of a request, without those that are not valid."""
        bound = self.places_text if self.asks_places else 1
        texts = {**self.options, "bound": bound}
        return ReleaseRequest.read({k: v for k, v in texts.items() if k not in self.problems})

    @cached_property
    def form(self) -> OptionsForm:
        """The form fields of the further choices."""
        return OptionsForm(self.options, self.option_names, self.problems)

    @property
    def is_points(self) -> bool:
        """Whether the map is charged to the budget for points."""
        return MECHANISMS[self.method].notion is Notion.GEO_IND

    @property
    def undecided(self) -> bool:
        """Whether the dataset's privacy budget still has no lifetime total."""
        return not self.dataset.ledger.total

    @cached_property
    def others(self) -> list[Ledger]:
        """Budgets of the organisation's other datasets with the same privacy unit.

        Their data may be about the same people.
        """
        ledgers = Ledger.objects.filter(
            datasets__organisation=self.dataset.organisation_id,
            datasets__declaration__unit=self.dataset.unit,
            total_units__gt=0,
        )
        return list(ledgers.exclude(pk=self.dataset.ledger_id).distinct())

    @property
    def shared(self) -> Ledger | None:
        """The other dataset's budget to share, if the owner chose one.

        Moved points are charged to the dataset's own budget for points, so for them this is None.
        """
        if self.is_points:
            return None
        return next((each for each in self.others if str(each.pk) == self.shared_text), None)

    @cached_property
    def total(self) -> Fraction | None:
        """The lifetime total of the dataset's or shared budget, or else the typed one.

        None if there is no valid total yet.
        """
        if not self.undecided:
            return self.dataset.ledger.total
        if self.shared:
            return self.shared.total
        try:
            return parse_epsilon(self.total_text, field="total") if self.total_text else None
        except DpgeoError:
            return None

    @property
    def total_problem(self) -> str:
        """What is wrong with the typed total; "" if nothing is wrong."""
        if self.total is not None:
            return ""
        if not self.total_text:
            return gettext("Say how much may ever be published about these people.")
        try:
            parse_epsilon(self.total_text, field="total")
        except DpgeoError as refusal:
            return say(refusal)
        return ""

    @cached_property
    def ledger(self) -> Ledger | None:
        """The budget for counts that pays for the map: the dataset's own, or the one to be shared.

        If the dataset's own budget has no total yet, this is a copy of it with the total entered in
        the form, or None while that total is not valid.
        """
        if not self.undecided:
            return self.dataset.ledger
        if self.shared or self.total is None:
            return self.shared
        own = copy.copy(self.dataset.ledger)
        own.total_units = own.units_for(self.total)
        return own if own.total_units else None

    def is_gaussian(self, method: str = "") -> bool:
        """Whether the map has Gaussian noise and costs a rho.

        `method` is the key of the mechanism, by default the chosen one.
        """
        in_rho = self.dataset.ledger.is_zcdp
        return in_rho and Notion.ZCDP in MECHANISMS[method or self.method].notions

    @property
    def left(self) -> Fraction | None:
        """Epsilon left in the budget for counts; None while no lifetime total is set."""
        if self.shared and self.undecided:
            return self.shared.left
        return self.total if self.undecided else self.dataset.ledger.left

    @property
    def people(self) -> int:
        """The number of people that a simulated map invents.

        This is the owner's estimate or a default, from LEAST_INVENTED to MOST_INVENTED. It is never
        looked up in the data.
        """
        return min(max(self.guessed_people, LEAST_INVENTED), MOST_INVENTED)

    @cached_property
    def guessed_people(self) -> int:
        """The owner's estimate of the number of people, or a default."""
        return INVENTED_PEOPLE if self.people_problem else self._parsed_people()

    @cached_property
    def people_problem(self) -> str:
        """What is wrong with the typed number of people; "" if nothing is wrong."""
        try:
            self._parsed_people()
        except DpgeoError as refusal:
            return say(refusal)
        return ""

    def _parsed_people(self) -> int:
        if not self.people_text:
            return INVENTED_PEOPLE
        if not GROUPED.fullmatch(self.people_text):
            raise InvalidInput(
                "About how many people are in your data? {value!r} is not a whole number; write it "
                "like 5000.",
                value=self.people_text,
                field="people",
            )
        people = int(re.sub(r"\D", "", self.people_text))
        if not 1 <= people <= MOST_PEOPLE:
            raise InvalidInput(
                "About how many people are in your data? Guess from 1 to {most:,}, such as 5000.",
                most=MOST_PEOPLE,
                field="people",
            )
        return people

    def most_shown(self, shows_from: int) -> int:
        """Return an upper bound on the number of places whose counts stand out from the noise.

        It is computed from the owner's estimate of the number of people, the contribution bound and
        the noise; the file is not read. Counts of at least `shows_from` stand out.
        """
        return self.guessed_people * self.asked.bound // shows_from

    def epsilon(self, detail: str, method: str = "") -> Fraction | None:
        """Return the epsilon that a level of detail spends on counts; None without a budget.

        A level of detail for counts is a share of the remaining budget, in epsilon or rho. `method`
        is the key of the mechanism, by default the chosen one.
        """
        ledger = self.ledger
        if ledger is None:
            return None
        units = int(ledger.left_units * SHARES[detail])
        if ledger.is_zcdp:
            gaussian = self.is_gaussian(method)
            share = ledger.epsilon_within(units) if gaussian else most_pure(units)
        else:
            share = self.left * SHARES[detail] if self.left else Fraction(0)
        if detail == "finest":
            return share
        # Round down to the fewest decimals with which at least nine tenths of the epsilon remain.
        for scale in (10, 100, 1000, 10_000, 100_000, MICRO):
            rounded = Fraction(int(share * scale), scale)
            if rounded >= share * Fraction(9, 10) and rounded:
                return rounded
        return share

    def request(self, detail: str, method: str = "") -> PricedRequest | None:
        """Return the release request for a level of detail; None without a total budget.

        `method` is the key of the mechanism, by default the chosen one.

        Raises InvalidInput.
        """
        key = method or self.method
        mechanism = MECHANISMS[key]
        epsilon = None if self.is_points else self.epsilon(detail, key)
        if epsilon is None and not self.is_points:
            return None
        chosen = {name: getattr(self.asked, name) for name in self.asked.model_fields_set}
        return read_request(
            self.dataset,
            **chosen,
            mechanism=key,
            parameters=self._parameters(mechanism.params, detail),
            epsilon=epsilon,
        )

    @property
    def buys_totals(self) -> bool:
        """Whether part of what the map costs is spent on totals of all the data."""
        basis = basis_of(self.dataset, MECHANISMS[self.method])
        return bool(basis.settle(self.asked).totals)

    def _parameters(self, params: type[Any], detail: str) -> dict[str, object]:
        values: dict[str, object] = {}
        for each in parameters(params):
            if each.name == "cells":
                cells = int(int(each.default) * CELLS[detail])
                values["cells"] = min(max(cells, each.low or 1), each.high or cells)
            if self.column and (each.measure or (each.category and not each.optional)):
                values[each.name] = self.column
            if each.layer is LayerKind.ZONES and each.optional and self.kind.by_district:
                values[each.name] = self._districts
        points = points_ledger(self.dataset.ledger) if self.is_points else None
        if points is not None:
            values |= {"level": LEVELS[detail], "radius": points.radius}
        return values

    @property
    def _districts(self) -> str:
        """The name of the dataset's first declared layer of zones; there must be one."""
        layers = self.dataset.layers.filter(kind=LayerKind.ZONES).order_by("pk")
        return str(layers.values_list("name", flat=True)[0])

    def cards(self) -> list[Card]:
        """Return the levels of detail, each with its cost and noise."""
        return [self._card(key) for key in DETAILS]

    def _card(self, key: str) -> Card:
        chosen, title = key == self.detail, gettext(DETAILS[key])
        try:
            request = self.request(key)
            if request is None:
                return Card(key, title, chosen, "", None, None, "")
            forecast = release_forecast(dataset=self.dataset, request=request)
        except DpgeoError as refusal:
            return Card(key, title, chosen, "", None, None, say(refusal))
        amount = LEVELS[key] if self.is_points else format_epsilon(request.epsilon_of_person)
        means = forecast.facts if forecast.records else ()
        margin = None if forecast.moves or means else forecast.margin
        shows = forecast.stands_out_from
        metres, region = forecast.ground_metres, forecast.region
        asked = amount if self.is_points else format_epsilon(request.of_household)
        usual = usual_side(self.dataset, request, forecast, self.guessed_people)
        totals = expected_totals(request, self.guessed_people)
        return Card(
            *(key, title, chosen, amount, margin, metres, "", shows, region, means, asked),
            usual=usual,
            totals=totals,
        )

    def query(self, **changes: str) -> str:
        """Return the settings as a query string, with `changes` applied."""
        values = {
            "kind": self.kind.key,
            "method": self.method,
            "detail": self.detail,
            "total": self.total_text,
            "ledger": self.shared_text,
            "people": self.people_text,
            "column": self.column_text,
            "places": "" if self.places_text == SUGGESTED_PLACES[0] else self.places_text,
            **self.options,
        }
        return urlencode({name: value for name, value in (values | changes).items() if value})

    @property
    def expert_query(self) -> str:
        """The settings as a query string of the page with every setting of a request."""
        [card] = [card for card in self.cards() if card.chosen]
        values = {"mechanism": self.method, "epsilon": card.asked, "bound": str(self.asked.bound)}
        return urlencode({**values, **self.options})
