"""Number fields that accept only plain decimal digits.

Python would also read texts such as "1_0", or the digits of other scripts, as numbers. These fields
reject them.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from dpgeo.core.number_text import number_text


class _Plain:
    """Mixin that rejects texts that Python would read as a number but that are not plain digits."""

    def to_python(self, value: Any) -> Any:
        """Return the number, or None for an empty field. Raises ValidationError."""
        field: Any = self
        try:
            plain = value if value in field.empty_values else number_text(value)
        except ValueError:
            raise ValidationError(field.error_messages["invalid"], code="invalid") from None
        return super().to_python(plain)  # type: ignore[misc]


class WholeField(_Plain, forms.IntegerField):
    """Form field for a whole number."""


class RealField(_Plain, forms.FloatField):
    """Form field for a decimal number."""
