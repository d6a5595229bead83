"""A number field that accepts only plain decimal digits.

Python would also read texts such as "1_0", or the digits of other scripts, as numbers. This field
rejects them.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from dpgeo.core.number_text import number_text


class RealField(forms.FloatField):
    """Form field for a decimal number."""

    def to_python(self, value: Any) -> Any:
        """Return the number, or None for an empty field. Raises ValidationError."""
        try:
            plain = value if value in self.empty_values else number_text(value)
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None
        return super().to_python(plain)
