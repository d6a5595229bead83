"""The form for the notes that a publisher adds to the map of a draft."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dpgeo.accounts.selectors import may
from dpgeo.datasets.form_fields import RealField
from dpgeo.jobs.models import JobState
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.releases.models import Release
from dpgeo.releases.notes import MAX_NOTE_LENGTH, MAX_NOTES, Note
from dpgeo.releases.states import ReleaseState


class NoteForm(DeskForm):
    """One note: its text and its position, which is filled in by a click on the map."""

    text = forms.CharField(
        required=False,
        max_length=MAX_NOTE_LENGTH,
        label=_("Note"),
        widget=forms.TextInput(attrs={"placeholder": " ", "data-note": "text"}),
    )
    latitude = RealField(
        required=False,
        label=_("Latitude"),
        widget=forms.TextInput(attrs={"inputmode": "decimal", "data-note": "latitude"}),
    )
    longitude = RealField(
        required=False,
        label=_("Longitude"),
        widget=forms.TextInput(attrs={"inputmode": "decimal", "data-note": "longitude"}),
    )

    def clean(self) -> dict[str, Any]:
        """Return the cleaned values; add an error if only some of the fields are filled in."""
        values = super().clean() or {}
        empty = [name for name in self.fields if values.get(name) in (None, "")]
        if not self.errors and 0 < len(empty) < len(self.fields):
            self.add_error(
                empty[0], gettext("Write a text, and press on the map where it belongs.")
            )
        return values

    @property
    def note(self) -> Note | None:
        """The note that is entered in the form; None if the form is empty."""
        values = self.cleaned_data
        if not values["text"]:
            return None
        return Note(text=values["text"], longitude=values["longitude"], latitude=values["latitude"])


def note_forms(request: HttpRequest, release: Release) -> list[NoteForm]:
    """Return the forms for all notes that the release can have, filled with its existing notes."""
    initial = [*release.notes, *[{}] * MAX_NOTES][:MAX_NOTES]
    sent = request.POST if request.method == "POST" else None
    return [
        NoteForm(sent, prefix=f"note-{number}", initial=each)
        for number, each in enumerate(initial, start=1)
    ]


def may_annotate(request: HttpRequest, release: Release) -> bool:
    """Return whether the user may write notes on a release.

    The user needs the right to request releases of its dataset. Notes are placed on the map, so the
    release must be a draft whose job is done.
    """
    drawn = release.state == ReleaseState.DRAFT and release.job.state == JobState.DONE
    return drawn and may(person(request), release.dataset, "request")
