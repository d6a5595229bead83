"""Words of other rooms as the desk says them; the rooms themselves speak English."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext

from dpgeo.budgets.models import Ledger
from dpgeo.datasets.models import Dataset
from dpgeo.pages.desk.figures import budget_of
from dpgeo.pages.desk.words import REGIONS, parameter_label, translated
from dpgeo.pages.templatetags.figures import in_language, ledger_words
from dpgeo.releases.quotes import Quote

register = template.Library()


@register.filter
def region(name: str) -> str:
    """One region of a forecast: "cell"."""
    return gettext(name)


@register.filter
def regions(name: str) -> str:
    """Many of them: "cells"."""
    return gettext(REGIONS[name])


@register.filter
def parameter(name: str) -> str:
    """What the forms call a mechanism's parameter: "pilot_share" is "Pilot share"."""
    return parameter_label(name)


@register.filter
def said(value: object) -> object:
    """A text in the page's language, where it has one; whatever is no text as it is."""
    return translated(value) if isinstance(value, str) else value


@register.filter
def warnings(quote: Quote) -> list[str]:
    """What speaks against paying for this."""
    return quote.warned(gettext, in_language)


@register.filter
def points_left(ledger: Ledger) -> str:
    """What is left of a budget for points, as a figure: "ln 4"."""
    return in_language(ledger.left_words)


@register.filter
def points_more(ledger: Ledger, dataset: Dataset) -> str:
    """What is left of a budget for points, in releases: "about 1 more like the last"."""
    return budget_of(dataset, ledger).more_words


@register.filter
def points_total(ledger: Ledger) -> str:
    """A whole budget for points: "level ln 16 within 200 m"."""
    return ledger_words(ledger, ledger.total_units)
