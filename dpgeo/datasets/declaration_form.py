"""Forms that declare a dataset, shared by the desk and the admin."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.accounts.models import Organisation
from dpgeo.budgets.models import Ledger
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.budget_declaration import BudgetDeclaration
from dpgeo.datasets.declaration import Declaration, judge, read_area
from dpgeo.datasets.form_fields import RealField, form_fields
from dpgeo.datasets.models import Dataset
from dpgeo.phrases import InvalidValue, Phrase, phrase_of
from dpgeo.spatial.area import StudyArea

SIDES = ("west", "south", "east", "north")

MISSING_SIDES = {
    "west": _("Give the western side in degrees, such as -74.05."),
    "south": _("Give the southern side in degrees, such as 40.68."),
    "east": _("Give the eastern side in degrees, such as -73.90."),
    "north": _("Give the northern side in degrees, such as 40.88."),
}


class ServiceForm(forms.Form):
    """A form that shows errors next to their fields, including errors raised by services."""

    use_required_attribute = False

    def say(self, phrase: Phrase) -> str:
        """Return a phrase in the reader's language."""
        return phrase.render(gettext)

    def add_refusal(self, refusal: DpgeoError) -> None:
        """Show a service's error at the field that it names, or above the form."""
        name = self.field_of(refusal.field)
        self.add_error(name if name in self.fields else None, self.say(refusal.phrase))

    def add_refusals(self, refusals: Iterable[DpgeoError]) -> None:
        """Show errors of declared facts at their fields, except where one is shown already."""
        for refusal in refusals:
            if self.field_of(refusal.field) not in self.errors:
                self.add_refusal(refusal)

    def field_of(self, name: str) -> str:
        """Return the form's field for an input, given the name that services use for that input."""
        return name


class AreaForm(ServiceForm):
    """A form with a study area, entered in five fields but passed to the services as one value."""

    west = RealField(required=False, label=_("West"), help_text=_("degrees longitude"))
    south = RealField(required=False, label=_("South"), help_text=_("degrees latitude"))
    east = RealField(required=False, label=_("East"), help_text=_("degrees longitude"))
    north = RealField(required=False, label=_("North"), help_text=_("degrees latitude"))
    outline = forms.CharField(
        required=False,
        label=_("Outline as GeoJSON"),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_("A Polygon or MultiPolygon, longitude first. Use this or the four sides."),
    )
    leave_out_water = forms.BooleanField(
        required=False,
        label=_("Leave out the sea and large lakes"),
        help_text=_(
            "The sea, and lakes of 1 km² and more, from 100 m off the shore. Where this site has "
            "no streets under its maps, only the sea is known, and is left out from 2 km off the "
            "coast. Rows out there are left out, including those from ferries and long bridges."
        ),
    )
    study_area: dict[str, Any] | None = None

    def field_of(self, name: str) -> str:
        """Return the first field of the study area if `name` is the area, else the field `name`."""
        if name == "study_area":
            return "outline" if self.cleaned_data.get("outline") else "west"
        return super().field_of(name)

    def read_area(self, values: Mapping[str, Any]) -> None:
        """Parse the four limits or the outline, and show any error at the field that causes it."""
        sides = [values.get(name) for name in SIDES]
        if any(name in self.errors for name in SIDES):
            return
        if values.get("outline"):
            if any(side is not None for side in sides):
                words = gettext("Give the four sides or the outline, not both.")
                self.add_error("outline", words)
                return
            self._keep_area("outline", lambda: read_area(_parse(values["outline"])))
            return
        missing = [name for name, side in zip(SIDES, sides, strict=True) if side is None]
        for name in missing:
            self.add_error(name, MISSING_SIDES[name])
        if not missing:
            box: Any = StudyArea.from_bounds
            self._keep_area("west", lambda: box(*sides).to_geojson())

    def _keep_area(self, field: str, make: Callable[[], dict[str, Any]]) -> None:
        try:
            self.study_area = make()
        except ValueError as error:
            problem = phrase_of(error)
            at = "south" if field == "west" and "south" in problem.values else field
            self.add_error(at, self.say(problem))


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidValue("This is not JSON; paste the whole GeoJSON text.") from None


class DeclarationForm(AreaForm):
    """The form that declares a dataset's public facts and its total privacy budget."""

    organisation = forms.ModelChoiceField(
        queryset=Organisation.objects.none(),
        empty_label=None,
        label=_("Published by"),
        help_text=_("The name shown on every map."),
    )
    ledger = forms.ModelChoiceField(
        queryset=Ledger.objects.none(),
        required=False,
        empty_label=_("Nobody: a budget of its own"),
        label=_("Same people as in another dataset?"),
        help_text=_("Datasets about the same people must share one budget."),
    )
    names = tuple(name for name in Declaration.model_fields if name != "study_area")
    budget_names: tuple[str, ...] = ("budget",)

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        organisations: QuerySet[Organisation],
        dataset: Dataset | None = None,
    ) -> None:
        new = {"licence": "CC BY 4.0", "unit": Unit.PERSON}
        super().__init__(data, initial=declaration_initial(dataset) if dataset else new)
        self.dataset = dataset
        fields: dict[str, Any] = self.fields
        fields |= form_fields(Declaration, self.names)
        fields |= form_fields(BudgetDeclaration, self.budget_names)
        fields["organisation"].queryset = organisations
        fields["ledger"].queryset = Ledger.objects.filter(
            datasets__organisation__in=organisations
        ).distinct()

    def clean(self) -> dict[str, Any]:
        """Parse the study area, and show each error of the declaration at its field."""
        values: dict[str, Any] = super().clean() or {}
        if "west" in self.fields:
            self.read_area(values)
        before = self.dataset.declaration.facts() if self.dataset else {}
        _, refusals = judge(before | self.facts())
        known = self.study_area or self.dataset
        self.add_refusals(each for each in refusals if known or each.field != "study_area")
        typed = {name: values.get(name) for name in self.budget_names}
        budgets, refusals = BudgetDeclaration.attempt(typed)
        self.add_refusals(refusals)
        if budgets:
            values["budget"] = budgets.budget
        return values

    def facts(self) -> dict[str, Any]:
        """Return the declared facts that were typed; of an existing dataset those that changed."""
        changed = self.changed_data if self.dataset else self.fields
        facts: dict[str, Any] = {
            name: self.cleaned_data[name]
            for name in self.names
            if name in changed and name in self.cleaned_data
        }
        return facts | ({"study_area": self.study_area} if self.study_area else {})


def declaration_initial(dataset: Dataset) -> dict[str, Any]:
    """Return the initial values of the form for an existing dataset."""
    initial: dict[str, Any] = dataset.declaration.facts()
    if dataset.area.is_box:
        return initial | dict(zip(SIDES, dataset.area.bounds, strict=True))
    return initial | {"outline": json.dumps(dataset.study_area)}
