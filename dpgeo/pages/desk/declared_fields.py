"""Form fields of declared facts (`core.declared`): labels, help and choices follow from the model.

Their texts are parsed by the model, not by the fields.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Any

from django import forms
from django.utils.translation import gettext
from pydantic.fields import FieldInfo

from dpgeo.core.declared import kind_of_field, labels


def form_field(field: FieldInfo, *, required: bool | None = None) -> forms.Field:
    """Return the form field for a fact; by default it is required if the model requires it."""
    kind = kind_of_field(field)
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    facts: dict[str, Any] = {
        "required": field.is_required() if required is None else required,
        "label": gettext(field.title or ""),
        "help_text": gettext(field.description or ""),
        "initial": default,
    }
    if issubclass(kind, bool):
        return forms.BooleanField(**facts)
    if kind is str:
        return forms.CharField(**facts)
    if issubclass(kind, StrEnum):
        choices = [(each.value, gettext(label)) for each, label in labels(field).items()]
        return forms.ChoiceField(choices=choices, widget=forms.RadioSelect, **facts)
    if issubclass(kind, date):
        days = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        return forms.DateField(widget=days, **facts)
    mode = "numeric" if issubclass(kind, int) else "decimal"
    return forms.CharField(widget=forms.TextInput(attrs={"inputmode": mode}), **facts)
