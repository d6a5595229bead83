"""Fields for a study area in the desk's forms: four limits in degrees, or an outline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.datasets.declaration import read_outline
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.desk.number_fields import RealField
from dpgeo.pages.rendering import say
from dpgeo.phrases import phrase_of
from dpgeo.spatial.area import StudyArea

MISSING_SIDES = {
    "west": _("Give the western side in degrees, such as -74.05."),
    "south": _("Give the southern side in degrees, such as 40.68."),
    "east": _("Give the eastern side in degrees, such as -73.90."),
    "north": _("Give the northern side in degrees, such as 40.88."),
}


class AreaForm(DeskForm):
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
    side_names = ("west", "south", "east", "north")
    study_area: dict[str, Any] | None = None

    def field_of(self, name: str) -> str:
        """Return the first field of the study area if `name` is the area, else the field `name`."""
        if name == "study_area":
            return "outline" if self.cleaned_data.get("outline") else "west"
        return super().field_of(name)

    def read_area(self, values: Mapping[str, Any]) -> None:
        """Parse the four limits or the outline, and show any error at the field that causes it."""
        sides = [values.get(name) for name in self.side_names]
        if any(name in self.errors for name in self.side_names):
            return
        if values.get("outline"):
            if any(side is not None for side in sides):
                words = gettext("Give the four sides or the outline, not both.")
                self.add_error("outline", words)
                return
            self._keep_area("outline", lambda: read_outline(values["outline"]))
            return
        missing = [name for name, side in zip(self.side_names, sides, strict=True) if side is None]
        for name in missing:
            self.add_error(name, MISSING_SIDES[name])
        if not missing:
            self._keep_area("west", lambda: StudyArea.from_bounds(*sides))  # type: ignore[arg-type]

    def _keep_area(self, field: str, make: Any) -> None:
        try:
            self.study_area = make().to_geojson()
        except ValueError as error:
            problem = phrase_of(error)
            at = "south" if field == "west" and "south" in problem.values else field
            self.add_error(at, say(problem))
