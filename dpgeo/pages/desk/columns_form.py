"""Form that says what each column of a file contains, and who is protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.core.guarantees import Unit
from dpgeo.datasets.declaration import Declaration
from dpgeo.datasets.form_fields import form_fields
from dpgeo.ingest.declared_formats import POSITION_SENTENCES, TIME_SENTENCES, USUAL_TIMES
from dpgeo.ingest.formats import FORMATS
from dpgeo.ingest.schema import Columns, Role
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase

MISSING_COLUMNS = {
    "longitude": _("Choose the column that holds the longitude."),
    "latitude": _("Choose the column that holds the latitude."),
}


def file_formats(code: str) -> list[tuple[str, str]]:
    """Return the formats to choose from for a file in the format `code`, as (code, title).

    All of them have the compression of `code`: for "csv.gz", gzip.
    """
    _format, _dot, packing = code.partition(".")
    end = f".{packing}" if packing else ""
    return [(f"{each.code}{end}", f"{each.title}{end and f' ({end})'}") for each in FORMATS]


class ColumnsForm(DeskForm):
    """Form that assigns a file's columns to roles; it is read-only once the columns are fixed."""

    longitude = forms.ChoiceField(
        required=False,
        label=_("Longitude"),
        help_text=_("East-west: degrees from -180 to 180, or in the projection chosen below."),
    )
    latitude = forms.ChoiceField(
        required=False,
        label=_("Latitude"),
        help_text=_("North-south: degrees from -90 to 90, or in the projection chosen below."),
    )
    geometry = forms.ChoiceField(
        required=False,
        label=_("Geometry"),
        help_text=_(
            "Points in one column, as text (WKT) or as the file's format stores them, instead of "
            "the two above."
        ),
    )
    person = forms.ChoiceField(
        required=False,
        label=_("Person"),
        help_text=_(
            "Any identifier. It is turned into a keyed hash; only your own data still hold it."
        ),
    )
    time = forms.ChoiceField(
        required=False, label=_("Time"), help_text=_("Optional: when the person was there.")
    )
    clock = forms.ChoiceField(
        required=False,
        label=_("Time of day"),
        help_text=_("Only where it stands in a column of its own, beside the date."),
    )
    destination_longitude = forms.ChoiceField(
        required=False,
        label=_("Longitude of the destination"),
        help_text=_("Only where rows are trips: where they end, for maps of flows."),
    )
    destination_latitude = forms.ChoiceField(required=False, label=_("Latitude of the destination"))
    place = forms.ChoiceField(
        required=False,
        label=_("Key of the place"),
        help_text=_(
            "Only where rows name a place of a public list, such as the number of a stop, for "
            "rankings of places."
        ),
    )
    region = forms.ChoiceField(
        required=False,
        label=_("Region"),
        help_text=_(
            "Only for a table with one row for each person and region, instead of a position. You "
            "declare that each row depends on its own person alone, and that no two rows have the "
            "same person, region and slice."
        ),
    )
    regions = forms.ChoiceField(
        required=False,
        label=_("Layer of the regions"),
        help_text=_("The declared zones whose keys the column above holds."),
    )
    crs = forms.CharField(
        required=False,
        max_length=20,
        label=_("Coordinate system"),
        help_text=_(
            "EPSG:4326 is longitude and latitude in degrees; give another code, such as "
            "EPSG:25832, if the coordinates are projected."
        ),
    )

    time_format = forms.ChoiceField(
        required=False,
        label=_("Times are written as"),
        help_text=_("Every row is read in this way; what is written otherwise is left out."),
    )
    position_format = forms.ChoiceField(required=False, label=_("Positions are written as"))
    file_format = forms.ChoiceField(
        required=False,
        label=_("File format"),
        help_text=_("The whole file is read in this format, whatever it begins with."),
    )
    encoding = forms.CharField(required=False, widget=forms.HiddenInput)
    delimiter = forms.CharField(required=False, widget=forms.HiddenInput)
    unnamed = forms.CharField(required=False, widget=forms.HiddenInput)
    skip = forms.CharField(required=False, widget=forms.HiddenInput)
    row_names = forms.CharField(required=False, widget=forms.HiddenInput)
    sheet = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        columns: Sequence[str],
        unit: str,
        frozen: bool,
        unit_frozen: bool,
        layers: Sequence[str] = (),
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.fields |= form_fields(Declaration, ("unit", "measures", "categories"))
        self.fields["unit"].required = False
        self.declared_unit = unit
        if unit_frozen:
            del self.fields["measures"], self.fields["categories"]
            del self.fields["unit"]
            if unit == Unit.RECORD:
                del self.fields["person"]
        choices: Any = self.fields["regions"]
        choices.choices = [("", gettext("The only one")), *((name, name) for name in layers)]
        self._offer("time_format", {"": USUAL_TIMES, **TIME_SENTENCES})
        self._offer("position_format", POSITION_SENTENCES)
        offered: Any = self.fields["file_format"]
        offered.choices = file_formats(self.initial.get("file_format", ""))
        for name, field in self.fields.items():
            field.disabled = frozen
            if name not in set(Role):
                continue
            known = [column for column in columns if column]
            declared = self.initial.get(name, "")
            if declared and declared not in known:
                known.append(declared)
            choice: Any = field
            choice.choices = [("", gettext("None")), *((column, column) for column in known)]

    def _offer(self, name: str, sentences: Mapping[str, Phrase]) -> None:
        """Offer formats of values as the choices of field `name`, including the declared format.

        A declared format may combine several formats, separated by blanks.
        """
        field: Any = self.fields[name]
        offered = {code: say(sentence) for code, sentence in sentences.items()}
        declared = self.initial.get(name, "")
        if declared and declared not in offered:
            parts = [say(sentences[code]) for code in declared.split() if code in sentences]
            offered[declared] = "; ".join(parts)
        field.choices = list(offered.items())

    def field_of(self, name: str) -> str:
        """Return the field of a column's role, given as "columns.longitude" or as "longitude"."""
        return name.removeprefix("columns.")

    def clean(self) -> dict[str, Any]:
        """Require a geometry column or two coordinate columns, and a person column to protect
        people.
        """
        values = super().clean() or {}
        if self.chosen_unit == Unit.PERSON and not values.get("person"):
            self.add_error("person", gettext("Choose the column that says whose row it is."))
        longitude, latitude = values.get("longitude"), values.get("latitude")
        if values.get("region"):
            return values
        if values.get("geometry"):
            if longitude or latitude:
                words = gettext("Choose this or longitude and latitude, not both.")
                self.add_error("geometry", words)
            return values
        for name in ("longitude", "latitude"):
            if not values.get(name):
                self.add_error(name, MISSING_COLUMNS[name])
        if longitude and longitude == latitude:
            words = gettext("Longitude and latitude must be two different columns.")
            self.add_error("latitude", words)
        return values

    @property
    def chosen_unit(self) -> str:
        """The privacy unit chosen in the form, or else the declared one."""
        chosen: str = self.cleaned_data.get("unit", "")
        return chosen or self.declared_unit

    @property
    def declared(self) -> dict[str, Any]:
        """The facts of the dataset that the form declares, by their names.

        Facts that the form does not send stay unchanged.
        """
        facts: dict[str, Any] = {"unit": self.chosen_unit}
        for name in ("measures", "categories"):
            if name in self.data and name in self.changed_data:
                facts[name] = self.cleaned_data[name]
        return facts

    @property
    def columns(self) -> Columns:
        """The file's columns and formats that were chosen in the form."""
        names = {member.name for member in fields(Columns)}
        return Columns(**{name: each for name, each in self.cleaned_data.items() if name in names})
