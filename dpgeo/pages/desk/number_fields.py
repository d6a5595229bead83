"""Number fields that read digits as people write them, without "1_0" or other scripts' digits."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from dpgeo.core.number_text import number_text


class _Plain:
    """Refuses texts that Python reads as a number but that are not plain digits."""

    def to_python(self, value: Any) -> Any:
        """Return the number, or None for an empty field. Raises ValidationError."""
        field: Any = self
        try:
            plain = value if value in field.empty_values else number_text(value)
        except ValueError:
            raise ValidationError(field.error_messages["invalid"], code="invalid") from None
        return super().to_python(plain)  # type: ignore[misc]


class WholeField(_Plain, forms.IntegerField):
    """A whole number."""


class RealField(_Plain, forms.FloatField):
    """A finite number."""
