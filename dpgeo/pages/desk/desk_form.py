"""Base class of the desk's forms, which shows errors from services next to the fields."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.translation import gettext_lazy as _

from dpgeo.core.errors import DpgeoError
from dpgeo.pages.rendering import say


class DeskRenderer(DjangoTemplates):
    """Renders a form field as label, control, help text and errors."""

    field_template_name = "desk/field.html"


class DeskForm(forms.Form):
    """A form that shows errors next to their fields, including errors raised by services."""

    default_renderer = DeskRenderer
    use_required_attribute = False

    def add_refusal(self, refusal: DpgeoError) -> None:
        """Show a service's error at the field that it names, or above the form."""
        name = self.field_of(refusal.field)
        message = say(refusal)
        self.add_error(name if name in self.fields else None, message)

    def add_refusals(self, refusals: Iterable[DpgeoError]) -> None:
        """Show errors of declared facts at their fields, except where one is shown already."""
        for refusal in refusals:
            if self.field_of(refusal.field) not in self.errors:
                self.add_refusal(refusal)

    def field_of(self, name: str) -> str:
        """Return the form's field for an input, given the name that services use for that input."""
        return name


def all_files_field() -> forms.BooleanField:
    """Return the field that asks whether a map's files are made at publication."""
    return forms.BooleanField(
        required=False,
        label=_("Make all files at publication"),
        help_text=_("Otherwise each is made when somebody first asks for it, and then kept."),
    )
