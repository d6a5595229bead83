"""Form fields for the measures and categories of a dataset: a line for each column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dpgeo.datasets.category_declaration import read_category
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


def categories_field() -> forms.CharField:
    """Return a field for lines such as "mode: walk, bike, car"."""
    return forms.CharField(
        required=False,
        label=_("Columns to divide maps by"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_(
            "A column and its values in each line, such as mode: walk, bike, car. Every other "
            "value counts as other. The list is public, so type what is usual anywhere, without "
            "looking at your rows; which value a row has stays private."
        ),
    )


def read_measures(text: str) -> list[dict[str, Any]]:
    """Return the measures that lines of text declare. Raises ValidationError."""
    return _read(text, read_measure)


def read_categories(text: str) -> list[dict[str, Any]]:
    """Return the categories that lines of text declare.

    Raises ValidationError for a line without a colon.
    """
    return _read(text, read_category)


def _read(text: str, read: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        return [read(line) for line in filter(None, map(str.strip, text.splitlines()))]
    except ValueError as error:
        raise ValidationError(say(phrase_of(error))) from None
