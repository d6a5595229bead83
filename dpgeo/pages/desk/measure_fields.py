"""Form field for the measures of a dataset: a line for each column of numbers to average."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dpgeo.datasets.measure_declaration import read_measure
from dpgeo.pages.rendering import say
from dpgeo.phrases import phrase_of


def measures_field() -> forms.CharField:
    """Return a field for lines such as "speed: 0 to 120 km/h"."""
    return forms.CharField(
        required=False,
        label=_("Columns to average"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "A column, its limits and its unit in each line, such as speed: 0 to 120 km/h, or "
            "by_bike: yes or no. Values beyond a limit count as the limit; narrow limits give "
            "exact averages. Limits are public, so choose what is possible or usual anywhere, "
            "without looking at your rows: nothing here is taken from them."
        ),
    )


def read_measures(text: str) -> list[dict[str, Any]]:
    """Return the measures of lines. Raises ValidationError for a line that is not understood."""
    try:
        return [read_measure(line) for line in filter(None, map(str.strip, text.splitlines()))]
    except ValueError as error:
        raise ValidationError(say(phrase_of(error))) from None
