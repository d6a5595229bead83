"""First step of making a map: choosing the place by its name or by drawing an area.

This step comes before any file is uploaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.models import Organisation
from dpgeo.accounts.selectors import joined_last, visible_organisations
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.declaration import time_zones
from dpgeo.datasets.declaration_form import SIDES, AreaForm
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.osm_credit import credited
from dpgeo.datasets.services import dataset_create
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.desk.path import steps
from dpgeo.pages.desk.places import MAX_SUGGESTIONS, name_of, place_search, square_words
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.named_places import NamedPlace

LICENCE = "CC BY 4.0"


class PlaceForm(DeskForm):
    """Form with one field for the name of a place."""

    place = forms.CharField(
        required=False,
        max_length=200,
        label=_("Place"),
        widget=forms.TextInput(attrs={"list": "places", "autocomplete": "off"}),
        help_text=_("A country or a large city, such as Liechtenstein or New York."),
    )
    named: NamedPlace | None = None
    meant: Sequence[str] = ()
    """Names of the places that an ambiguous name could refer to."""

    def clean_place(self) -> str:
        """Find the place. Raises ValidationError if no place has the name or several do."""
        text: str = self.cleaned_data["place"].strip()
        if not text:
            return ""
        self.named = place_search().find(text)
        if self.named is None:
            self.meant = place_search().suggest(text, MAX_SUGGESTIONS)
            raise ValidationError(
                gettext("Several places are called so; choose one of them.")
                if self.meant
                else gettext("No place is known by this name; draw the area on the map instead.")
            )
        return self.named.name

    def clean(self) -> dict[str, Any]:
        """Require the name of a place."""
        values = super().clean() or {}
        if self.named is None and "place" not in self.errors:
            self.add_error("place", gettext("Type the name of a place."))
        return values


class WhereForm(AreaForm, PlaceForm):
    """Form for the place that a map covers; the fields under "More" are optional."""

    title = forms.CharField(
        required=False,
        max_length=200,
        label=_("Title"),
        help_text=_("Public. Empty: the name of the place."),
    )
    organisation = forms.ModelChoiceField(
        queryset=Organisation.objects.none(), empty_label=None, label=_("Published by")
    )
    time_zone = forms.CharField(
        required=False,
        max_length=60,
        label=_("Time zone"),
        widget=forms.TextInput(attrs={"list": "time-zones"}),
        help_text=_(
            "For times in the file that name no zone of their own. Empty: that of the place."
        ),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        organisations: QuerySet[Organisation],
        publisher: Organisation | None = None,
    ) -> None:
        super().__init__(data, initial={"organisation": publisher or organisations.first()})
        field: Any = self.fields["organisation"]
        field.queryset = organisations

    def clean_time_zone(self) -> str:
        """Return the time zone, which must be a valid IANA name or empty."""
        name: str = self.cleaned_data["time_zone"]
        if name and name not in time_zones():
            raise ValidationError(
                gettext("There is no such time zone; write it like Europe/London, or UTC.")
            )
        return name

    def clean(self) -> dict[str, Any]:
        """Set the study area to the outline of the named place, or else to the drawn area."""
        values = dict(self.cleaned_data)
        if self.named is not None:
            self.study_area = self.named.area.to_geojson()
        elif "place" in self.errors:
            return values
        elif any(values.get(name) for name in (*SIDES, "outline")):
            self.read_area(values)
        else:
            self.add_error("place", gettext("Type the name of a place, or draw it on the map."))
        return values

    @property
    def zone(self) -> str:
        """The time zone that the user entered, or else the time zone of the place."""
        typed: str = self.cleaned_data["time_zone"]
        if typed or self.named is not None:
            return typed or (self.named.time_zone if self.named else "")
        middle = StudyArea.from_geojson(self.study_area or {}).shape.representative_point()
        return place_search().time_zone_at(middle.x, middle.y)

    @property
    def choice(self) -> dict[str, Any]:
        """How the area was chosen: as a named place, with its outline's source, or by drawing."""
        if self.named is None:
            return {"drawn": True}
        source = self.named.source
        facts = {"name": source.name, "url": source.url, "date": source.date}
        return {"place": self.named.name, "source": facts}

    @property
    def attribution(self) -> str:
        """The credit that the licence of the outline requires; "" if it requires none."""
        return credited("", [self.named.source.name] if self.named else [])

    @property
    def default_title(self) -> str:
        """The title that the user entered, or else the name of the chosen place or drawn area."""
        title: str = self.cleaned_data["title"]
        if title or self.named is not None:
            return title or (self.named.name if self.named else "")
        drawn = StudyArea.from_geojson(self.study_area or {})
        return name_of(drawn) or gettext("Where people are")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def where(request: HttpRequest) -> HttpResponse:
    """Ask which place the map covers, then continue to the upload of a file."""
    organisations = visible_organisations(person(request))
    if not organisations.exists():
        raise Http404("No such page.")
    newest = joined_last(person(request))
    form = WhereForm(request.POST or None, organisations=organisations, publisher=newest)
    if request.method == "POST" and form.is_valid():
        dataset = declare(request, form)
        if dataset:
            if form.named and (words := square_words(form.named)):
                messages.info(request, words)
            return redirect("desk-upload-new", slug=dataset.slug)
    context = {
        "form": form,
        "steps": steps(1),
        "several": len(organisations) > 1,
        "time_zones": sorted(time_zones()),
    }
    return render(request, "desk/where.html", context, status=REFUSED if form.errors else 200)


def declare(request: HttpRequest, form: WhereForm) -> Dataset | None:
    """Declare the dataset, whose budget and privacy unit are set in later steps."""
    try:
        return dataset_create(
            organisation=form.cleaned_data["organisation"],
            title=form.default_title,
            licence=LICENCE,
            unit=Unit.PERSON.value,
            study_area=form.study_area or {},
            time_zone=form.zone,
            budget=None,
            budget_later=True,
            attribution=form.attribution,
            created_by=person(request),
            area_choice=form.choice,
            leave_out_water=form.cleaned_data["leave_out_water"],
        )
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return None
