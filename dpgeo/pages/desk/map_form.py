"""The form of a request of a release, with what an owner decides before the first map.

Its figures depend only on the owner's answers and on public facts. The uploaded file is not read,
because exact counts could be used to tune what becomes public.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import most_pure
from dpgeo.core.advice import Guess
from dpgeo.core.domain import LayerKind
from dpgeo.core.epsilon import MICRO, format_epsilon, parse_epsilon
from dpgeo.core.errors import DpgeoError, InvalidInput
from dpgeo.core.guarantees import Notion, Unit
from dpgeo.core.parameters import parameters
from dpgeo.core.release_request import ReleaseRequest, broken_rules, pointless
from dpgeo.core.subjects import SUBJECTS, Subject
from dpgeo.datasets.form_fields import form_field
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS, mechanisms_about
from dpgeo.pages.desk.request_form import RequestForm, request_fields
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase
from dpgeo.releases.expected_detail import ExpectedTotal, expected_totals, usual_side
from dpgeo.releases.quotes import Quote, release_forecast, release_quote
from dpgeo.releases.rehearsal import INVENTED_PEOPLE, MAX_INVENTED_PEOPLE
from dpgeo.releases.requests import PricedRequest, has_times, price_request, quote_basis


class Detail(NamedTuple):
    """A level of detail, which fills in the fields of a request that are left empty.

    A map spends the `share` of what is left of the budget, and `cells` is the number of cells along
    its side as a multiple of the method's default. Moved points, which have a budget of their own,
    have the `level` of geo-indistinguishability instead of an epsilon.
    """

    title: str
    uses: str
    share: Fraction
    cells: Fraction
    level: str


DETAILS = {
    "finest": Detail(_("Finest detail"), _("uses all of it"), Fraction(1), Fraction(2), "ln 16"),
    "balanced": Detail(_("Balanced"), _("uses half of it"), Fraction(1, 2), Fraction(1), "ln 4"),
    "private": Detail(
        _("Most private"), _("uses a fifth of it"), Fraction(1, 5), Fraction(1, 2), "ln 2"
    ),
}

MIN_INVENTED = 100
"""Smallest number of people that a simulated map invents."""


def option_names(dataset: Dataset) -> list[str]:
    """Return the fields of a request that can matter for a dataset, apart from the method's."""
    left_out = {"mechanism", "parameters", *pointless(Unit(dataset.unit), times=has_times(dataset))}
    return [name for name in ReleaseRequest.model_fields if name not in left_out]


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of a request, for a guessed number of people.

    `amount` is what one person spends, as text. For averages, `shows_from` is the smallest number
    of rows with which a mean is shown, `means` says how exact means are, and `margin` is None. If
    the data decide how finely the map is divided, `metres` is the side of the smallest possible
    square, and `usual` that of the square in which the median person would be counted.
    """

    amount: str
    margin: int | None
    metres: float
    shows_from: int | None
    region: str
    means: tuple[Phrase, ...]
    usual: float | None
    totals: tuple[ExpectedTotal, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A level of detail to choose, with what to expect of it, or why it cannot be chosen."""

    key: str
    detail: Detail
    chosen: bool
    expected: Expected | None
    problem: str


class ReleaseForm(RequestForm):
    """The form of a request, with the lifetime total of a first map and the owner's guesses.

    `kind`, the key of a subject, and `detail` fill in fields that are left empty.
    """

    model = ReleaseRequest

    def __init__(self, typed: Mapping[str, str], *, dataset: Dataset) -> None:
        typed = {name: text.strip() for name, text in typed.items() if text.strip()}
        if subject := SUBJECTS.get(typed.pop("kind", "")):
            typed = _about(subject, dataset) | typed
        self.mechanism = MECHANISMS.get(typed.get("mechanism", ""), next(iter(MECHANISMS.values())))
        self.dataset = dataset
        self.total_text = typed.get("total", "")
        self.shared_text = typed.get("ledger", "")
        self.detail = self._detail(typed)
        self.typed = typed
        self.quote: Quote | None = None
        self.guess: Guess | None = None
        super().__init__(
            typed,
            dataset=dataset,
            mechanisms=MECHANISMS,
            names=[
                name for name in option_names(dataset) if name != "epsilon" or not self.is_points
            ],
            usual=self.values_of(self.detail or "balanced"),
        )
        for name, field in Guess.model_fields.items():
            self.fields[f"guess.{name}"] = form_field(field, required=False)
        people = self.fields["guess.people"]
        people.widget.attrs["id"] = "people"
        people.help_text = gettext(
            "A guess is enough. The figures below and the rehearsal are for this many people; your "
            "data are not read for them."
        )
        guessed = str(dataset.guessed_people or INVENTED_PEOPLE)
        self.data = {"guess.people": guessed, **self.data}
        self.fields["total"] = forms.CharField(required=False)
        self.full_clean()

    def _detail(self, typed: dict[str, str]) -> str:
        """Return the chosen level of detail; "" if the epsilon is another.

        Fields with the very values of a level are taken out of `typed`, because they follow it.
        """
        own = "epsilon" in typed and not self.is_points
        if typed.get("detail") in DETAILS:
            return "" if own else typed["detail"]
        for key in DETAILS:
            values = self.values_of(key)
            if values and values.items() <= typed.items():
                for name in values:
                    del typed[name]
                return key
        return "" if own else "balanced"

    @property
    def is_points(self) -> bool:
        """Whether the map is charged to the budget for points, by a level and no epsilon."""
        return self.mechanism.notion is Notion.GEO_IND

    @cached_property
    def subject(self) -> Subject:
        """What the map is about."""
        alike = (each for each in MECHANISMS.values() if each.kind is self.mechanism.kind)
        with_subjects = (each.subjects for each in (self.mechanism, *alike) if each.subjects)
        subjects, by_district = next(with_subjects), "parameters.zones" in self.typed
        return next((each for each in subjects if each.by_district == by_district), subjects[0])

    @property
    def people_field(self) -> BoundField:
        """The field of the guessed number of people."""
        return self["guess.people"]

    @property
    def asks_bound(self) -> bool:
        """Whether a person may count in several places of the map."""
        return "bound" in self.fields and not self.is_points

    @property
    def columns(self) -> list[BoundField]:
        """The field that chooses which of several measures or categories the map shows."""
        return [each for each in self._columns if len(each.field.choices) > 1]

    @property
    def _columns(self) -> list[Any]:
        return [
            self[f"parameters.{each.name}"]
            for each in parameters(self.mechanism.params)
            if each.measure or (each.category and not each.optional)
        ]

    @property
    def column_title(self) -> str:
        """The title of the measure or category that the map shows, or ""."""
        titles = [dict(each.field.choices).get(each.value(), "") for each in self._columns]
        return str(next(iter(titles), ""))

    @property
    def options(self) -> list[BoundField]:
        """The fields that the page folds away: the method's and the request's."""
        apart = {"bound" if self.asks_bound else "", *(each.name for each in self.columns)}
        method = [each for each in self.parameter_fields if each.name not in apart]
        names = [name for name in self.names if name not in apart]
        return [*method, *(self[name] for name in names)]

    @property
    def guesses(self) -> list[BoundField]:
        """The fields of guesses by which the bound can be chosen."""
        names = [name for name in Guess.model_fields if name != "people"]
        return [self[f"guess.{name}"] for name in names] if self.asks_bound else []

    @property
    def unfolded(self) -> bool:
        """Whether a field that the page folds away was filled in, or is wrong."""
        usual = {each.html_name: str(each.field.initial) for each in (*self.options, *self.guesses)}
        typed = {name: text for name, text in self.typed.items() if name in usual}
        return not usual.keys().isdisjoint(self.errors) or not typed.items() <= usual.items()

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

    @cached_property
    def shared(self) -> Ledger | None:
        """The other dataset's budget to share, if the owner chose one.

        Moved points are charged to the dataset's own budget for points, so for them this is None.
        """
        if self.is_points or not self.undecided:
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

    @cached_property
    def budget(self) -> Ledger | None:
        """The budget that pays for the map; None before a first map while there is no total.

        If the dataset's own budget has no total yet, this is a copy with the typed one.
        """
        if self.is_points:
            return points_ledger(self.dataset.ledger)
        if not self.undecided or self.shared or self.total is None:
            return self.dataset.ledger if not self.undecided else self.shared
        own = copy.copy(self.dataset.ledger)
        own.total_units = own.units_for(self.total)
        return own if own.total_units else None

    @property
    def nothing_left(self) -> bool:
        """Whether the budget for counts is spent."""
        return bool(self.budget and not self.is_points and not self.share_of_rest(Fraction(1)))

    @property
    def people(self) -> int:
        """The owner's estimate of the number of people, or a default; never looked up in the
        data.
        """
        text = "" if "guess.people" in self.errors else self.cleaned_data["guess.people"]
        return int(text or INVENTED_PEOPLE)

    @property
    def invented(self) -> int:
        """The number of people that a simulated map invents."""
        return min(max(self.people, MIN_INVENTED), MAX_INVENTED_PEOPLE)

    def share_of_rest(self, share: Fraction) -> Fraction | None:
        """Return the epsilon that a share of the rest of the budget pays for; None without one."""
        ledger = self.budget
        if ledger is None:
            return None
        units = int(ledger.left_units * share)
        if ledger.is_zcdp:
            gaussian = Notion.ZCDP in self.mechanism.notions
            epsilon = ledger.epsilon_within(units) if gaussian else most_pure(units)
        else:
            epsilon = ledger.left * share
        if share == 1:
            return epsilon
        # Round down to the fewest decimals with which at least nine tenths of the epsilon remain.
        for scale in (10, 100, 1000, 10_000, 100_000, MICRO):
            rounded = Fraction(int(epsilon * scale), scale)
            if rounded >= epsilon * Fraction(9, 10) and rounded:
                return rounded
        return epsilon

    def values_of(self, key: str) -> dict[str, str]:
        """Return the fields that a level of detail fills in."""
        detail, values = DETAILS[key], {}
        for each in parameters(self.mechanism.params):
            if each.name == "cells":
                cells = int(int(each.default) * detail.cells)
                cells = min(max(cells, each.low or 1), each.high or cells)
                values["parameters.cells"] = str(cells)
        if self.is_points:
            values["parameters.level"] = detail.level
            if self.budget:
                values["parameters.radius"] = str(self.budget.radius)
        elif epsilon := self.share_of_rest(detail.share):
            values["epsilon"] = format_epsilon(epsilon)
        return values

    def clean(self) -> dict[str, Any]:
        """Read and quote the request, and show each error at its field."""
        values = super().clean()
        self._read_guess(values)
        self._read_total()
        if self.asked is None:
            return values
        basis = quote_basis(self.dataset, self.mechanism)
        self.add_refusals(broken_rules(basis.settle(self.asked), basis))
        if not self.errors and self.budget and (self.is_points or self.asked.epsilon is not None):
            try:
                self.quote = self._quoted(self.asked)
            except DpgeoError as refusal:
                self.add_refusal(refusal)
        return values

    def _quoted(self, asked: ReleaseRequest) -> Quote:
        request = price_request(self.dataset, asked)
        return release_quote(
            dataset=self.dataset, request=request, guess=self.guess, ledger=self.budget
        )

    def _read_guess(self, values: Mapping[str, Any]) -> None:
        given = {name: values.get(f"guess.{name}") for name in Guess.model_fields}
        # The number of people is of use alone, the other two are not.
        stand_in = {"people": INVENTED_PEOPLE, "records": 1, "share": 1}
        texts = {name: text for name, text in given.items() if text}
        guess, refusals = Guess.attempt(stand_in | texts)
        self.guess = guess if all(given.values()) else None
        self.add_refusals(
            InvalidInput(each.phrase, field=f"guess.{each.field}") for each in refusals
        )

    def _read_total(self) -> None:
        if not self.undecided or self.shared or not self.total_text:
            return
        try:
            parse_epsilon(self.total_text, field="total")
        except DpgeoError as refusal:
            self.add_refusal(refusal)

    def cards(self) -> list[Card]:
        """Return the levels of detail, each with its cost and noise."""
        return [self._card(key, detail) for key, detail in DETAILS.items()]

    def _card(self, key: str, detail: Detail) -> Card:
        chosen = key == self.detail
        if self.asked is None:
            return Card(key, detail, chosen, None, "")
        follows = self.values_of(key)
        if "epsilon" not in follows and not self.is_points:
            return Card(key, detail, chosen, None, "")
        typed = {name: text for name, text in self.typed.items() if name != "epsilon"}
        fields = {**request_fields(self.asked), **follows, **typed}
        try:
            request = price_request(self.dataset, read_fields(fields))
            return Card(key, detail, chosen, self.expected(request), "")
        except DpgeoError as refusal:
            return Card(key, detail, chosen, None, say(refusal))

    def expected(self, request: PricedRequest) -> Expected:
        """Return what to expect of a request."""
        forecast = release_forecast(dataset=self.dataset, request=request)
        means = tuple(forecast.facts) if forecast.records else ()
        level = str(request.parameters.get("level"))
        return Expected(
            amount=level if self.is_points else format_epsilon(request.epsilon_of_person),
            margin=None if forecast.moves or means else forecast.margin,
            metres=forecast.ground_metres,
            shows_from=forecast.stands_out_from,
            region=forecast.region,
            means=means,
            usual=usual_side(self.dataset, request, forecast, self.people),
            totals=expected_totals(request, self.people),
        )

    @property
    def first_facts(self) -> dict[str, str]:
        """The answers beside the request: the total of a first map, and the number of people."""
        facts = {"total": self.total_text, "ledger": self.shared_text} if self.undecided else {}
        facts["guess.people"] = self.typed.get("guess.people", "")
        return {name: text for name, text in facts.items() if text}

    def query(self, **changes: str) -> str:
        """Return the request and the answers beside it as a query string.

        If the mechanism changes, so do its parameters.
        """
        fields = request_fields(self.asked) if self.asked else dict(self.typed)
        if changes.get("mechanism", self.mechanism.key) != self.mechanism.key:
            kept = ("parameters.zones", "parameters.measure", "parameters.category")
            names = {f"parameters.{each.name}" for each in parameters(self.mechanism.params)}
            fields = {name: text for name, text in fields.items() if name not in names - {*kept}}
        return urlencode({**fields, **self.first_facts, **changes})


def _about(subject: Subject, dataset: Dataset) -> dict[str, str]:
    """Return the fields that a subject of maps fills in."""
    fields = {"mechanism": mechanisms_about(subject)[0]}
    if subject.by_district:
        layers = dataset.layers.filter(kind=LayerKind.ZONES).order_by("pk")
        fields["parameters.zones"] = layers.values_list("name", flat=True).first() or ""
    return fields


def read_fields(fields: Mapping[str, str]) -> ReleaseRequest:
    """Return the request in a form's fields, of which others are ignored. Raises InvalidInput."""
    facts: dict[str, Any] = {n: v for n, v in fields.items() if n in ReleaseRequest.model_fields}
    chosen = {
        name.removeprefix("parameters."): text
        for name, text in fields.items()
        if name.startswith("parameters.")
    }
    return ReleaseRequest.read({**facts, "parameters": chosen})
