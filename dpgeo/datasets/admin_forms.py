"""Admin forms for declaring a dataset and for uploading a file.

The services check the values that the forms collect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy

from dpgeo.accounts.models import Organisation
from dpgeo.accounts.selectors import Visitor, organisations_of
from dpgeo.budgets.models import Ledger
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import Unit
from dpgeo.core.nouns import NOUNS
from dpgeo.datasets.category_declaration import read_category
from dpgeo.datasets.declaration import read_attribute, read_outline
from dpgeo.datasets.form_fields import new_files_field
from dpgeo.datasets.measure_declaration import read_measure
from dpgeo.datasets.models import Dataset
from dpgeo.phrases import InvalidValue, phrase_of
from dpgeo.spatial.area import StudyArea

SIDES = ("west", "south", "east", "north")

_ = gettext_lazy


def _line(label: Any, *, required: bool = False, **options: Any) -> forms.CharField:
    return forms.CharField(
        label=label, required=required, widget=AdminTextInputWidget(), max_length=300, **options
    )


def _text(label: Any, rows: int, **options: Any) -> forms.CharField:
    widget = AdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
    return forms.CharField(label=label, required=False, widget=widget, **options)


class ServiceForm(forms.Form):
    """A form that shows each error raised by a service at the field it is about."""

    use_required_attribute = False
    groups: tuple[tuple[Any, tuple[Any, ...]], ...] = ()

    def add_refusal(self, refusal: DpgeoError) -> None:
        """Show an error from a service at the field that it names, or above the form."""
        name = self.field_of(refusal.field)
        self.add_error(name if name in self.fields else None, refusal.phrase.render(gettext))

    def field_of(self, name: str) -> str:
        """Return the form's field for an input, given the name that services use for the input."""
        return name

    def in_admin(self, model_admin: Any) -> AdminForm:
        """Return the form in the wrapper that the admin's templates expect."""
        fieldsets: Any = [(title, {"fields": names}) for title, names in self.groups]
        form: Any = self  # The type hints of AdminForm allow model forms only.
        return AdminForm(form, fieldsets, {}, (), model_admin)


ROWS = ("unit", "row_noun", "new_files", "public_attributes", "measures", "categories")


class DatasetAddForm(ServiceForm):
    """Form for the public declaration of a dataset and for its total budget."""

    organisation = forms.ModelChoiceField(
        queryset=Organisation.objects.none(), empty_label=None, label=_("Published by")
    )
    title = _line(
        _("Title"), required=True, help_text=_("Public. Say what was counted, where and when.")
    )
    description = _text(_("Description"), 3)
    licence = _line(_("Licence"), required=True, initial="CC BY 4.0")
    attribution = _line(_("Attribution"))
    west, south, east, north = (
        forms.FloatField(label=label, required=False)
        for label in (_("West"), _("South"), _("East"), _("North"))
    )
    outline = _text(
        _("Outline as GeoJSON"),
        4,
        help_text=_("A Polygon or MultiPolygon, longitude first. Use this or the four sides."),
    )
    time_zone = _line(
        _("Time zone"),
        required=True,
        initial="UTC",
        help_text=_("For times in the file that name no zone of their own."),
    )
    unit = forms.ChoiceField(
        label=_("Who is protected"),
        choices=[
            (Unit.PERSON.value, _("one person, with all their rows")),
            (Unit.RECORD.value, _("one row")),
        ],
    )
    row_noun = forms.ChoiceField(required=False, label=_("What is one row?"))
    new_files = new_files_field()
    public_attributes = _text(
        _("Columns you publish as they are"),
        3,
        help_text=_("A column and its values in each line, such as app: 1.4, 2.0."),
    )
    measures = _text(
        _("Columns to average"),
        3,
        help_text=_("A column, its limits and its unit in each line: speed: 0 to 120 km/h."),
    )
    categories = _text(
        _("Columns to divide maps by"),
        3,
        help_text=_("A column and its values in each line, such as mode: walk, bike, car."),
    )
    budget = _line(
        _("Total budget, epsilon (ε)"),
        help_text=_("Administrators give it. Without one, nothing can be published yet."),
    )
    ledger = forms.ModelChoiceField(
        queryset=Ledger.objects.none(),
        required=False,
        empty_label=_("Nobody: a budget of its own"),
        label=_("Same people as in another dataset?"),
        help_text=_("Datasets about the same people must share one budget."),
    )
    groups = (
        (_("What readers see"), ("organisation", "title", "description", "licence", "attribution")),
        (_("Study area"), (SIDES, "outline", "time_zone")),
        (
            _("Rows"),
            ROWS,
        ),
        (_("Privacy budget"), ("budget", "ledger")),
    )

    def __init__(self, data: Mapping[str, Any] | None, user: Visitor) -> None:
        super().__init__(data)
        organisations = organisations_of(user)
        fields: dict[str, Any] = self.fields
        fields["organisation"].queryset = organisations
        fields["ledger"].queryset = Ledger.objects.filter(
            datasets__organisation__in=organisations
        ).distinct()
        words = [(name, gettext(noun.one)) for name, noun in NOUNS.items()]
        fields["row_noun"].choices = [("", gettext("no word of its own")), *words]

    def field_of(self, name: str) -> str:
        """Return the form field for an error about the input `name`.

        For an error about the study area, that is the outline if one was given, otherwise the first
        of the four sides.
        """
        if name != "study_area":
            return name
        return "outline" if self.cleaned_data.get("outline") else "west"

    def clean(self) -> dict[str, Any]:
        """Parse the study area, the columns and the budget into arguments for the service."""
        values = super().clean() or {}
        self._keep(values, "study_area", "outline", lambda: _area(values).to_geojson())
        lines = filter(None, map(str.strip, values.get("public_attributes", "").splitlines()))
        self._keep(
            values,
            "public_attributes",
            "public_attributes",
            lambda: [read_attribute(line) for line in lines],
        )
        measured = filter(None, map(str.strip, values.get("measures", "").splitlines()))
        self._keep(
            values, "measures", "measures", lambda: [read_measure(line) for line in measured]
        )
        divided = filter(None, map(str.strip, values.get("categories", "").splitlines()))
        self._keep(
            values, "categories", "categories", lambda: [read_category(line) for line in divided]
        )
        budget = values.get("budget")
        self._keep(
            values,
            "budget",
            "budget",
            lambda: parse_epsilon(budget, field="budget") if budget else None,
        )
        return values

    def facts(self) -> dict[str, Any]:
        """Return the entered values as keyword arguments for `dataset_create`."""
        facts = {name: value for name, value in self.cleaned_data.items() if name not in SIDES}
        del facts["outline"]
        later = facts["budget"] is None and facts["ledger"] is None
        return {**facts, "budget_later": later}

    def _keep(
        self, values: dict[str, Any], name: str, field: str, parse: Callable[[], Any]
    ) -> None:
        try:
            values[name] = parse()
        except DpgeoError as refusal:
            self.add_refusal(refusal)
        except ValueError as error:
            self.add_error(field, phrase_of(error).render(gettext))


def _area(values: Mapping[str, Any]) -> StudyArea:
    """Return the study area given by the outline or, without one, by the four sides.

    Raises ValueError if it is invalid.
    """
    sides = [values.get(side) for side in SIDES]
    if values.get("outline"):
        if any(side is not None for side in sides):
            raise InvalidValue("Give the four sides or the outline, not both.")
        return read_outline(values["outline"])
    west, south, east, north = sides
    if west is None or south is None or east is None or north is None:
        raise InvalidValue("Give all four sides in degrees, or the outline.")
    return StudyArea.from_bounds(west, south, east, north)


class UploadAddForm(ServiceForm):
    """Form for uploading a file of rows to a dataset."""

    dataset = forms.ModelChoiceField(queryset=Dataset.objects.none(), label=_("Dataset"))
    file = forms.FileField(
        allow_empty_file=True,
        label=_("File"),
        error_messages={"required": _("Choose a file first.")},
    )
    groups = ((None, ("dataset", "file")),)

    def __init__(
        self, *arguments: Any, datasets: QuerySet[Dataset], accept: str, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        fields: dict[str, Any] = self.fields
        fields["dataset"].queryset = datasets
        fields["file"].widget.attrs["accept"] = accept
