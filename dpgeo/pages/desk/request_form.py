"""The form to request a release, with a field for each parameter of each mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from dpgeo.core.advice import Guess
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.release_request import ReleaseRequest, pointless
from dpgeo.datasets.form_fields import form_field
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import DEFAULT, MECHANISMS
from dpgeo.pages.desk.desk_form import DeskForm, all_files_field
from dpgeo.pages.desk.method_form import MethodForm
from dpgeo.releases.requests import PricedRequest, has_times, price_request

IN_RHO = _(
    "Smaller is more private and noisier. Meant at the budget's delta, {delta}, and paid for in "
    "rho."
)
"""Help text for the epsilon of a request, if the budget is in rho."""

SHOWN_APART = ("mechanism", "parameters", "epsilon")
"""Fields of a request for which the page has places of their own."""


def option_names(dataset: Dataset) -> list[str]:
    """Return the fields of a request that the page shows one below the other."""
    left_out = {*SHOWN_APART, *pointless(Unit(dataset.unit), times=has_times(dataset))}
    return [name for name in ReleaseRequest.model_fields if name not in left_out]


class OptionsForm(DeskForm):
    """Fields of a request as they were typed, with the problems of each."""

    def __init__(
        self, texts: Mapping[str, str], names: Sequence[str], problems: Mapping[str, str]
    ) -> None:
        fields = {name: form_field(ReleaseRequest.model_fields[name]) for name in names}
        super().__init__({name: texts.get(name, field.initial) for name, field in fields.items()})
        self.fields |= fields
        self._problems = problems

    def clean(self) -> dict[str, Any]:
        """Show each problem at its field."""
        for name, problem in self._problems.items():
            if name in self.fields and name not in self.errors:
                self.add_error(name, problem)
        return self.cleaned_data


class ReleaseForm(MethodForm):
    """The form for a release; each field of a request and parameter of a mechanism is a field."""

    title = forms.CharField(
        max_length=200,
        label=_("Title"),
        help_text=_("Public. What the map shows, and for which time."),
    )
    description = forms.CharField(
        required=False,
        label=_("Description"),
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Public. What a reader should know about it."),
    )
    mechanism = forms.ChoiceField(label=_("Method"), widget=forms.RadioSelect)
    publish_when_done = forms.BooleanField(
        required=False,
        label=_("Publish when done"),
        help_text=_("Otherwise it waits as a draft that only members can see."),
    )
    all_files = all_files_field()

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        dataset: Dataset,
        publishes: bool,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.dataset = dataset
        self.asked: ReleaseRequest | None = None
        self.guess: Guess | None = None
        self.names = option_names(dataset)
        declared = ReleaseRequest.model_fields
        for name in ("epsilon", *self.names):
            self.fields[name] = form_field(declared[name])
        self.fields["epsilon"].initial = "0.5"
        for name, field in Guess.model_fields.items():
            self.fields[f"guess_{name}"] = form_field(field, required=False)
        self.offer(MECHANISMS, DEFAULT)
        if dataset.ledger.is_zcdp:
            words = str(IN_RHO).format(delta=dataset.ledger.delta_text)
            self.fields["epsilon"].help_text = words
        if not publishes:
            del self.fields["publish_when_done"]

    def options(self) -> list[BoundField]:
        """Return the fields of the request that the page shows one below the other."""
        return [self[name] for name in self.names]

    def guesses(self) -> list[BoundField]:
        """Return the fields of the publisher's guesses."""
        return [self[f"guess_{name}"] for name in Guess.model_fields]

    def _guess(self, values: Mapping[str, Any]) -> Guess | None:
        """Return the publisher's estimates about the data; None unless all of them are given."""
        given = {name: values.get(f"guess_{name}") for name in Guess.model_fields}
        if not all(given.values()):
            return None
        guess, refusals = Guess.attempt(given)
        self.add_refusals(
            InvalidInput(each.phrase, field=f"guess_{each.field}") for each in refusals
        )
        return guess

    def clean(self) -> dict[str, Any]:
        """Parse the request, and show each error at its field."""
        values = super().clean()
        mechanism = self.offered.get(values.get("mechanism", ""))
        given = {name: values.get(name) for name in ("mechanism", "epsilon", *self.names)}
        if mechanism is not None and mechanism.price is not None:
            del given["epsilon"]
        self.asked, refusals = ReleaseRequest.attempt({**given, "parameters": self.parameters})
        self.add_refusals(refusals)
        self.guess = self._guess(values)
        return values

    def release_request(self) -> PricedRequest:
        """Return the priced request of a valid form. Raises InvalidInput."""
        if self.asked is None:
            raise ValueError("The form is not valid.")
        return price_request(self.dataset, self.asked)
