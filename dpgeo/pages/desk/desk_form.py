"""Base class of the desk's forms, which shows errors from services next to the fields."""

from __future__ import annotations

from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.translation import gettext_lazy as _

from dpgeo.datasets.declaration_form import ServiceForm
from dpgeo.pages.rendering import say
from dpgeo.phrases import Phrase


class DeskRenderer(DjangoTemplates):
    """Renders a form field as label, control, help text and errors."""

    field_template_name = "desk/field.html"


class DeskForm(ServiceForm):
    """A form that shows errors next to their fields, including errors raised by services."""

    default_renderer = DeskRenderer

    def say(self, phrase: Phrase) -> str:
        """Return a phrase in the reader's language, with its figures."""
        return say(phrase)


def all_files_field() -> forms.BooleanField:
    """Return the field that asks whether a map's files are made at publication."""
    return forms.BooleanField(
        required=False,
        label=_("Make all files at publication"),
        help_text=_("Otherwise each is made when somebody first asks for it, and then kept."),
    )
