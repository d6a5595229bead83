"""Forms of the desk. They parse input and show errors; the services validate and decide."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.accounts.models import Organisation
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import Accounting, parse_accounting
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import Notion
from dpgeo.core.levels import Level, make_level
from dpgeo.datasets.declaration import FROZEN
from dpgeo.datasets.declaration_form import SIDES, DeclarationForm
from dpgeo.datasets.form_fields import form_field
from dpgeo.datasets.layer_declaration import NamedPlace, PublicSource
from dpgeo.datasets.models import Dataset
from dpgeo.ingest.formats import SUFFIXES, TITLES
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.rendering import say
from dpgeo.pages.templatetags.figures import guesses


def source_fields(model: type[PublicSource], prefix: str) -> dict[str, forms.Field]:
    """Return optional form fields for a public source, by their names with a prefix."""
    return {
        name if name == prefix else f"{prefix}_{name}": form_field(field, required=False)
        for name, field in model.model_fields.items()
    }


def parts_of(values: Mapping[str, Any], model: type[PublicSource], prefix: str) -> dict[str, Any]:
    """Return what was typed into the fields of a public source (`source_fields`)."""
    typed = {
        name: values.get(name if name == prefix else f"{prefix}_{name}")
        for name in model.model_fields
    }
    return {name: value for name, value in typed.items() if value}


def licence_choices() -> list[tuple[str, str]]:
    """Return the common open data licences, as (value, label)."""
    return [
        ("CC BY 4.0", gettext("CC BY 4.0: anyone may use it and must name you")),
        ("CC0 1.0", gettext("CC0 1.0: anyone may use it, no conditions")),
        ("CC BY-SA 4.0", gettext("CC BY-SA 4.0: as CC BY, and what is made of it too")),
        ("ODbL 1.0", gettext("ODbL 1.0: the Open Database Licence")),
        ("OGL-UK-3.0", gettext("Open Government Licence 3.0 (UK)")),
    ]


CURRENCY = ("accounting", "delta", "population")
"""Form fields that choose in what the budget is counted: in epsilon, or in rho with a delta."""

DEFAULT_RADIUS = 200
"""Default radius in metres of a level of geo-indistinguishability."""


class DatasetForm(DeclarationForm, DeskForm):
    """The form that declares a dataset's public facts and its total privacy budget."""

    budget_names = ("budget", *CURRENCY)
    points_level = forms.CharField(
        required=False,
        label=_("Budget for points, a level"),
        help_text=_(
            "Leave it empty if only counts will be published. Moved points hide where somebody "
            "was but show that they are in the data, so a budget for them can be declared only "
            "before anything is published. ln(16) allows two maps of one report each at ln(4)."
        ),
    )
    points_radius = forms.CharField(
        required=False,
        label=_("within, in metres"),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        help_text=_("The level holds for reports that could have been made this far away."),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        organisations: QuerySet[Organisation],
        dataset: Dataset | None = None,
        sets_budget: bool = True,
    ) -> None:
        super().__init__(data, organisations=organisations, dataset=dataset)
        if dataset:
            self.initial.update(budget_initial(dataset))
        self.points_budget: Level | None = None
        self.currency: Accounting | None = None
        self.fields["budget"].help_text = budget_help()
        if len(organisations) == 1:
            self.fields["organisation"].initial = organisations[0]
        if dataset and dataset.first_upload_at and not dataset.frozen_at:
            self.fields |= source_fields(NamedPlace, "place")
        if dataset and dataset.first_upload_at:
            self.fields.pop("leave_out_water", None)
        if dataset:
            self._keep_what_stands(dataset, sets_budget)

    def _keep_what_stands(self, dataset: Dataset, sets_budget: bool) -> None:
        """Remove the fields that can no longer be changed, and the budget fields unless the user
        may set budgets.
        """
        names = ["organisation", "ledger"]
        if dataset.frozen_at:
            names += [*FROZEN, *SIDES, "outline", *CURRENCY]
        if not sets_budget:
            names += ["budget", *CURRENCY, "points_level", "points_radius"]
        for name in set(names):
            self.fields.pop(name, None)

    def field_of(self, name: str) -> str:
        """Return the form field for a service's input, which may be entered in several fields.

        For the points budget and the study area, this is the first of their fields.
        """
        if name == "points_budget":
            return "points_level"
        if name.startswith("place."):
            return name.replace("place.place", "place").replace(".", "_")
        return super().field_of(name)

    @property
    def named_place(self) -> dict[str, Any]:
        """The named place that replaces the study area; {} if all of its fields are empty."""
        return parts_of(self.cleaned_data, NamedPlace, "place")

    def clean(self) -> dict[str, Any]:
        """Check the declaration, the points budget and the total budget.

        A new dataset needs either a total budget of its own or another dataset's budget to share.
        """
        values = super().clean() or {}
        if "points_level" in self.fields:
            self._read_points(values)
        if "budget" in self.fields and not self.errors.get("budget"):
            self._read_budget(values)
        if "accounting" in self.fields and not {*CURRENCY} & self.errors.keys():
            self._read_accounting(values)
        return values

    def _read_accounting(self, values: Mapping[str, Any]) -> None:
        given = [values.get(name) or "" for name in CURRENCY]
        if values.get("ledger") and not any(given[1:]) and given[0] != Notion.ZCDP.value:
            return  # The dataset shares a budget, for which epsilon or rho was chosen already.
        try:
            self.currency = parse_accounting(given[0], delta=given[1], population=given[2])
        except DpgeoError as refusal:
            self.add_error(refusal.field or "accounting", say(refusal))

    def _read_budget(self, values: Mapping[str, Any]) -> None:
        shared, own = values.get("ledger"), values.get("budget")
        if self.dataset and not self.dataset.ledger.total and own is None:
            return  # The dataset needs no budget yet, since an administrator can set one later.
        if own is None and shared is None:
            self.add_error("budget", gettext("Give the total budget, such as 2."))
        if own is not None and shared is not None:
            words = gettext("Leave this empty: the dataset draws on the budget it shares.")
            self.add_error("budget", words)

    def _read_points(self, values: Mapping[str, Any]) -> None:
        level, radius = values.get("points_level"), values.get("points_radius")
        if not level and not radius:
            return
        try:
            self.points_budget = make_level(level, radius or DEFAULT_RADIUS, field="points_level")
        except DpgeoError as refusal:
            field = "points_radius" if refusal.field == "radius" else "points_level"
            self.add_error(field, say(refusal))


def budget_help() -> str:
    """Return the help text on total budgets, with the right guesses in 100 that each one allows."""
    sentence = gettext(
        "All maps together may spend this much, ever. Whether a person is in the data can be "
        "guessed right {half} at 0.5, {one} at 1, {two} at 2, even by someone who knows the data "
        "of everyone else; above 10 it promises next to nothing. It can't be raised once something "
        "is published."
    )
    half, one, two = (guesses(Fraction(each)) for each in ("0.5", "1", "2"))
    return sentence.format(half=half, one=one, two=two)


def budget_initial(dataset: Dataset) -> dict[str, Any]:
    """Return the form's initial values for the budgets of an existing dataset."""
    ledger = dataset.ledger
    units = ledger.total_units
    initial: dict[str, Any] = {
        "budget": format_epsilon(ledger.epsilon_of(units)) if units else "",
        "accounting": ledger.notion,
        "delta": ledger.delta_text,
        "population": str(ledger.population or ""),
    }
    if points := points_ledger(ledger):
        initial["points_level"] = points.amount(points.total_units)
        initial["points_radius"] = points.radius
    return initial


UPLOADS = ",".join((*SUFFIXES, ".gz", ".zip"))


class UploadForm(DeskForm):
    """Form for uploading one file."""

    file = forms.FileField(
        allow_empty_file=True,
        label=_("File"),
        error_messages={"required": _("Choose a file first.")},
        widget=forms.FileInput(attrs={"accept": UPLOADS}),
        help_text=format_lazy(
            _(
                "One of: {formats}; plain, gzipped or zipped, one row per position. Nobody outside "
                "can ever fetch it."
            ),
            formats=TITLES,
        ),
    )
