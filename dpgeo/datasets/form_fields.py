"""Form fields of declared facts (`core.declared`): labels, help and choices follow from the model.

Their texts are parsed by the model, not by the fields. The desk and the admin share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy
from pydantic.fields import FieldInfo

from dpgeo.core.declared import Declared, Lines, Suggestions, Typed, hint_of, kind_of_field, labels
from dpgeo.core.number_text import number_text


class RealField(forms.FloatField):
    """Form field for a decimal number in plain digits.

    Python would also read texts such as "1_0", or the digits of other scripts, as numbers.
    """

    def to_python(self, value: Any) -> Any:
        """Return the number, or None for an empty field. Raises ValidationError."""
        try:
            plain = value if value in self.empty_values else number_text(value)
        except ValueError:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None
        return super().to_python(plain)


class ListField(forms.CharField):
    """Field for a list that is typed as one text; the model reads the items."""

    def __init__(self, typed: Typed, **facts: Any) -> None:
        lines = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})
        super().__init__(widget=lines if typed.separator == "\n" else forms.TextInput, **facts)
        self.typed = typed

    def prepare_value(self, value: Any) -> Any:
        """Return items as one text."""
        if not isinstance(value, list | tuple):
            return value
        blank = "" if self.typed.separator == "\n" else " "
        return f"{self.typed.separator}{blank}".join(
            each if isinstance(each, str) else self.typed.write(each) for each in value
        )

    def to_python(self, value: Any) -> Any:
        """Return the items in a text."""
        items = (super().to_python(value) or "").split(self.typed.separator)
        return [item.strip() for item in items if item.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether the text differs from that of the initial items."""
        return super().has_changed(self.prepare_value(initial), data)


def form_field(field: FieldInfo, *, required: bool | None = None) -> forms.Field:
    """Return the form field for a fact; by default it is required if the model requires it."""
    typed = hint_of(field, Typed)
    words = [gettext_lazy(text) for text in (typed and typed.hint, field.description) if text]
    facts: dict[str, Any] = {
        "required": field.is_required() if required is None else required,
        "label": gettext_lazy(field.title) if field.title else "",
        "help_text": format_lazy(" ".join(["{}"] * len(words)), *words),
        "initial": None if field.is_required() else field.get_default(),
    }
    return ListField(typed, **facts) if typed else _plain_field(field, facts)


def _plain_field(field: FieldInfo, facts: dict[str, Any]) -> forms.Field:
    kind = kind_of_field(field)
    choices = [(value, gettext_lazy(label)) for value, label in labels(field).items()]
    if issubclass(kind, tuple):
        boxes = forms.CheckboxSelectMultiple
        return forms.MultipleChoiceField(choices=choices, widget=boxes, **facts)
    if issubclass(kind, StrEnum):
        values = [(str(value), label) for value, label in choices]
        return forms.ChoiceField(choices=values, widget=forms.RadioSelect, **facts)
    if choices:
        return forms.ChoiceField(choices=choices, **facts)
    if issubclass(kind, bool):
        return forms.BooleanField(**facts | {"required": False})
    if issubclass(kind, date):
        days = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        return forms.DateField(widget=days, **facts)
    if lines := hint_of(field, Lines):
        return forms.CharField(widget=forms.Textarea(attrs={"rows": lines.rows}), **facts)
    if kind is str:
        suggestions = hint_of(field, Suggestions)
        attributes = {"list": suggestions.name} if suggestions else {}
        return forms.CharField(widget=forms.TextInput(attrs=attributes), **facts)
    mode = "numeric" if issubclass(kind, int) else "decimal"
    return forms.CharField(widget=forms.TextInput(attrs={"inputmode": mode}), **facts)


def form_fields(model: type[Declared], names: Iterable[str]) -> dict[str, forms.Field]:
    """Return the form fields for the named facts of a model, by name."""
    return {name: form_field(model.model_fields[name]) for name in names}
