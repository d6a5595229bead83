"""Template filters for the desk's texts and for budgets for points."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext

from dpgeo.accounts.mail import sends_mail
from dpgeo.budgets.models import Ledger
from dpgeo.datasets.models import Dataset
from dpgeo.pages.desk.figures import budget_of
from dpgeo.pages.rendering import say
from dpgeo.pages.templatetags.figures import in_language, ledger_words

register = template.Library()


register.filter(say)
register.simple_tag(sends_mail, name="mail_is_sent")


@register.filter
def word(text: str) -> str:
    """Translate a text that is marked for translation into the page's language."""
    return gettext(text)


@register.filter
def spent_words(ledger: Ledger) -> str:
    """Format what was spent on a ledger: "epsilon 0.5", "level ln 4 within 200 m"."""
    return ledger_words(ledger, ledger.spent_units)


@register.filter
def points_left(ledger: Ledger) -> str:
    """Format what is left of a budget for points: "ln 4"."""
    return in_language(ledger.left_words)


@register.filter
def points_more(ledger: Ledger, dataset: Dataset) -> str:
    """Format what is left of a budget for points as a number of releases."""
    return budget_of(dataset, ledger).more_words


@register.filter
def points_total(ledger: Ledger) -> str:
    """Format a whole budget for points: "level ln 16 within 200 m"."""
    return ledger_words(ledger, ledger.lifetime_units)
