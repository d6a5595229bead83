"""Form fields for a dataset's public texts, shared by the desk and the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _

from dpgeo.blanks import trim
from dpgeo.core.errors import InvalidInput
from dpgeo.core.themes import THEMES
from dpgeo.datasets.declaration import clean_keywords
from dpgeo.datasets.models import NewFiles


class KeywordsField(forms.CharField):
    """Field for keywords on one line, separated by commas."""

    def __init__(self, **facts: Any) -> None:
        usual: dict[str, Any] = {"required": False, "max_length": 2000, "empty_value": []}
        super().__init__(**usual | facts)

    def prepare_value(self, value: Any) -> Any:
        """Return a list of keywords as one line of text."""
        return ", ".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        """Return the keywords in a text as a list. Raises ValidationError if one is invalid."""
        if isinstance(value, list):
            return value
        words = [trim(word) for word in str(value or "").replace(";", ",").split(",")]
        try:
            return clean_keywords([word for word in words if word])
        except InvalidInput as error:
            raise forms.ValidationError(error.phrase.render(gettext)) from None


class ThemesField(forms.MultipleChoiceField):
    """Field for the themes of data portals, shown as checkboxes."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **facts: Any) -> None:
        choices = [(code, gettext_lazy(title)) for code, title in THEMES.items()]
        usual: dict[str, Any] = {"required": False, "choices": choices}
        super().__init__(**usual | facts)


def new_files_field() -> forms.ChoiceField:
    """Return the field that asks whether a further file replaces the data or is added to them.

    Its cleaned value is a value of `NewFiles`, or "" if the form was sent without the field.
    """
    return forms.ChoiceField(
        required=False,
        label=_("When another file is uploaded"),
        widget=forms.RadioSelect,
        initial=NewFiles.REPLACE.value,
        choices=[
            (NewFiles.REPLACE.value, _("It replaces the data: each file is whole")),
            (NewFiles.APPEND.value, _("It is added to the data: each file has new rows")),
        ],
        help_text=_("Public. Fixed when the first file is confirmed."),
    )


def day_field(label: Any, help_text: Any) -> forms.DateField:
    """Return an optional field for a day, which browsers show with a calendar."""
    return forms.DateField(
        required=False,
        label=label,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=help_text,
    )
