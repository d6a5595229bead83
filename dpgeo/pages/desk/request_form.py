"""The form to request a release, with a field for each parameter of each mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.core.advice import Guess
from dpgeo.core.bound_choice import USUAL_PERCENT
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import Bounding, Counting, Unit
from dpgeo.datasets.form_fields import day_field
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import DEFAULT, MECHANISMS
from dpgeo.pages.desk.desk_form import all_files_field
from dpgeo.pages.desk.method_form import MethodForm
from dpgeo.pages.desk.number_fields import RealField, WholeField
from dpgeo.pages.rendering import say
from dpgeo.releases.requests import ReleaseRequest, has_times, read_request

IN_RHO = _(
    "Smaller is more private and noisier. Meant at the budget's delta, {delta}, and paid for in "
    "rho."
)
"""Help text for the epsilon of a request, if the budget is in rho."""

COUNTING_WORDS = [
    (Counting.PEOPLE.value, _("People: each person once per place")),
    (Counting.VISITS.value, _("Visits: every row")),
]


BOUNDING_WORDS = [
    (Bounding.RANDOM.value, _("Random ones: for maps of a whole area")),
    (
        Bounding.POPULAR.value,
        _(
            "The most popular ones: for rankings of busy places. A tenth of ε is spent on "
            "finding them"
        ),
    ),
]


class ReleaseForm(MethodForm):
    """The form for a release; each parameter of a mechanism becomes a field."""

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
    epsilon = forms.CharField(
        required=False,
        label=_("Privacy to spend, epsilon (ε)"),
        initial="0.5",
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        help_text=_("Smaller is more private and noisier."),
    )
    counting = forms.ChoiceField(
        label=_("What is counted"),
        widget=forms.RadioSelect,
        choices=COUNTING_WORDS,
        initial=Counting.PEOPLE.value,
    )
    bound = WholeField(
        initial=1,
        min_value=1,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages={
            "invalid": _("Must be a whole number, such as 10."),
            "min_value": _("Must be at least 1, such as 10."),
        },
    )
    choose_bound = forms.BooleanField(
        required=False,
        label=_("Choose that number from the data"),
        help_text=_(
            "Privately, for a twentieth of the cost: near the number that nine people in ten do "
            "not exceed, and at most the number above, such as 200. It is published with the map."
        ),
    )
    bounding = forms.ChoiceField(
        label=_("Which places of a person are kept, if there are more"),
        widget=forms.RadioSelect,
        choices=BOUNDING_WORDS,
        initial=Bounding.RANDOM.value,
        required=False,
    )
    household = WholeField(
        initial=1,
        min_value=1,
        required=False,
        label=_("Protect households of up to"),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        help_text=_(
            "people who travel together, as one person would be at this ε. Each person gets a "
            "share of ε, so the map costs less and is noisier. 1 protects single people."
        ),
    )
    from_day = day_field(
        _("Only rows from"),
        _(
            "Public. It costs as much as all rows, because one person may be in many months. "
            "Empty: all rows."
        ),
    )
    to_day = day_field(_("until"), _("The last day, which is included."))
    totals = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Also buy totals of all the data"),
        help_text=_(
            "Of people, sightings and visits, for a tenth of the cost. The map can then be scaled "
            "to all that happened, where it counts only a part of what busy people did."
        ),
    )
    guess_people = WholeField(required=False, label=_("People in total"), help_text=_("A guess."))
    guess_records = WholeField(
        required=False,
        label=_("Places per person"),
        help_text=_("Or rows, when visits are counted."),
    )
    guess_share = RealField(
        required=False,
        label=_("Share of them in one busy place"),
        help_text=_("0.01 is one place in a hundred."),
    )
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
        self.offer(MECHANISMS, DEFAULT)
        self._fit_to_unit(Unit(dataset.unit))
        if not has_times(dataset):
            del self.fields["from_day"], self.fields["to_day"]
        if not publishes:
            del self.fields["publish_when_done"]

    def _fit_to_unit(self, unit: Unit) -> None:
        """Hide the choices that make no sense if the privacy unit is a record."""
        bound = self.fields["bound"]
        if unit is Unit.RECORD:
            bound.widget = forms.HiddenInput()
            self.fields["counting"].widget = forms.HiddenInput()
            self.fields["counting"].initial = Counting.VISITS.value
            self.fields["bounding"].widget = forms.HiddenInput()
            del self.fields["totals"], self.fields["household"], self.fields["choose_bound"]
            return
        bound.label = gettext("Each person adds to at most")
        bound.help_text = gettext(
            "places (or rows, when visits are counted). Of people who have more, only this many "
            "are kept. A larger number keeps more of busy people and makes every count noisier "
            "in proportion."
        )
        if self.dataset.ledger.is_zcdp:
            bound.help_text = gettext(
                "places (or rows, when visits are counted). Of people who have more, only this "
                "many are kept. A larger number keeps more of busy people and makes every count "
                "noisier: with its square root where people are counted, in proportion where "
                "visits are."
            )
            self.fields["epsilon"].help_text = str(IN_RHO).format(
                delta=self.dataset.ledger.delta_text
            )

    def guess(self) -> Guess | None:
        """Return the publisher's estimates about the data; None unless all of them are valid."""
        names = ("people", "records", "share")
        given: dict[str, Any] = {name: self.cleaned_data.get(f"guess_{name}") for name in names}
        if None in given.values():
            return None
        try:
            return Guess(**given)
        except DpgeoError as refusal:
            self.add_error(f"guess_{refusal.field}", say(refusal))
            return None

    def release_request(self) -> ReleaseRequest:
        """Return the parsed request. Raises InvalidInput."""
        named = ("mechanism", "epsilon", "bound", "counting", "bounding")
        fields: dict[str, Any] = {name: self.cleaned_data[name] for name in named}
        fields |= {
            name: self.cleaned_data.get(name) for name in ("from_day", "to_day", "household")
        }
        fields["choose_bound"] = USUAL_PERCENT if self.cleaned_data.get("choose_bound") else 0
        totals = None if self.cleaned_data.get("totals") else 0
        return read_request(self.dataset, parameters=self.parameters, totals=totals, **fields)

    def clean_bounding(self) -> str:
        """Return the method of contribution bounding, which is random by default."""
        return self.cleaned_data["bounding"] or Bounding.RANDOM.value

    def clean_epsilon(self) -> Fraction | None:
        """Parse the epsilon exactly; None if the mechanism's parameters determine the cost."""
        mechanism = MECHANISMS.get(self.cleaned_data.get("mechanism", ""))
        if mechanism and mechanism.price:
            return None
        try:
            return parse_epsilon(self.cleaned_data["epsilon"])
        except DpgeoError as refusal:
            raise ValidationError(say(refusal)) from None
