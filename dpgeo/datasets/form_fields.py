"""Form fields for a dataset's public texts, shared by the desk and the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from dpgeo.core.errors import InvalidInput
from dpgeo.core.themes import THEMES
from dpgeo.datasets.declaration import clean_keywords


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
        words = [word.strip() for word in str(value or "").replace(";", ",").split(",")]
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
