"""Template filters that format figures for people."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from django import template
from django.utils.formats import get_format
from django.utils.translation import get_language, gettext

from dpgeo.artefacts.promises import bound_of
from dpgeo.budgets.models import Entry, Ledger
from dpgeo.core.counted import Counted
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.noise import PlanarLaplace
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.release_summary import Figures, Summary
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release
from dpgeo.releases.quotes import Quote

register = template.Library()

MINUS = "\u2212"

RHO = "\u03c1 "


@register.filter
def figure(value: float) -> str:
    """Format a number: without decimals if whole or at least 10, else to two significant digits.

    Negative numbers get a true minus sign.
    """
    exact = float(value) == round(float(value))
    text = f"{value:,.0f}" if abs(value) >= 10 or exact else f"{value:.2g}"
    return in_language("0" if text == "-0" else text.replace("-", MINUS))


@register.filter
def hour_words(title: str) -> str:
    """Return an hour of the week, such as "Monday 17:00", in the reader's language."""
    return " ".join(map(gettext, title.split(" ")))


@register.filter
def zone_hour_words(title: str) -> str:
    """Return an hour of a zone, such as "Whole area, Monday 17:00", in the reader's language."""
    zone, comma, hour = title.rpartition(", ")
    return slice_words(zone) + comma + hour_words(hour)


@register.filter
def slice_words(title: str) -> str:
    """Return a slice's title in the reader's language, part by part: a value, a time, or both."""
    return ", ".join(map(gettext, title.split(", ")))


@register.filter
def in_language(text: str) -> str:
    """Replace the separators of an English number with those of the page's language."""
    separators = _separators(get_language())
    return text.translate(separators) if separators else text


@cache
def _separators(language: str | None) -> dict[int, str]:
    """Return a table for `str.translate` that replaces the separators of English numbers.

    It is empty for a language with the same separators as English. A page shows hundreds of
    numbers, so the table is made only once.
    """
    named = ((",", "THOUSAND_SEPARATOR"), (".", "DECIMAL_SEPARATOR"))
    table = {ord(sign): get_format(name, lang=language) for sign, name in named}
    return {} if all(chr(code) == sign for code, sign in table.items()) else table


@register.filter
def epsilon(value: Fraction) -> str:
    """Format an exact epsilon with as many decimals as it needs, as "0.5"."""
    return in_language(format_epsilon(value).replace("-", MINUS))


@register.filter
def cost(paid: Release | Entry) -> str:
    """Format the cost of a release or ledger entry, as "0.5" or "level ln 4 within 200 m".

    A cost in rho is "rho 0.015 (epsilon 1 at delta 1e-9)".
    """
    ledger = paid.ledger
    if ledger.radius is None and not ledger.is_zcdp:
        return epsilon(paid.epsilon)
    if isinstance(paid, Entry):
        return ledger_words(ledger, paid.units, minus=MINUS)
    words = ledger_words(ledger, ledger.price(paid.cost))
    if ledger.notion == paid.notion:
        return words
    exact = gettext("epsilon {epsilon}").format(epsilon=epsilon(paid.epsilon))
    return f"{exact}, {words}"


def ledger_words(ledger: Ledger, units: int, minus: str = "-") -> str:
    """Format an amount in the units of a ledger, as in "level ln 4 within 200 m".

    `minus` is the sign before the amount of a refund.
    """
    words = ledger.phrase(abs(units)).render(gettext, in_language)
    return f"{minus}{words}" if units < 0 else words


BOUGHT = re.compile(
    r"(?P<title>.*) \((?P<series>a series, )?(?P<mechanism>[a-z-]+)(?P<rest>[^()]*)\)", re.DOTALL
)
"""Pattern of the text in a ledger entry that says what was paid for: "TITLE (MECHANISM ...)"."""


@register.filter
def bought(entry: Entry) -> str:
    """Return what a ledger entry paid for, with the mechanism's title instead of its key."""
    parts = BOUGHT.fullmatch(entry.what)
    mechanism = MECHANISMS.get(parts["mechanism"]) if parts else None
    if parts is None or mechanism is None:
        return entry.what
    series = gettext("a series") + ", " if parts["series"] else ""
    return f"{parts['title']} ({series}{gettext(mechanism.title)}{parts['rest']})"


@register.filter
def price(quote: Quote) -> str:
    """Format the cost of a quoted release, as "0.5", "rho 0.015" or, for moved points, "ln 4"."""
    return _units(quote, quote.ledger.amount, quote.price)


@register.filter
def left_after(quote: Quote) -> str:
    """Format the budget left after paying for the quoted release."""
    return _units(quote, quote.ledger.rest, quote.units_left - quote.price)


def _units(quote: Quote, level: Callable[[int], str], units: int) -> str:
    """Format an amount in the units of a quote's ledger.

    If the ledger is one for points, `level` formats the amount.

    Amounts in rho are not shown as epsilons, because a receipt subtracts amounts, and epsilons at a
    delta must not be subtracted.
    """
    ledger = quote.ledger
    if ledger.is_zcdp:
        return RHO + in_language(ledger.rho_text(units))
    return in_language(level(units)) if quote.forecast.moves else epsilon(ledger.epsilon_of(units))


@register.filter
def guesses(epsilon: Fraction | float) -> str:
    """Format the bound on correct guesses at an epsilon, as in "at most 63 times in 100".

    A floating-point epsilon is first increased slightly, so that the bound is never too low.
    """
    exact = Fraction(epsilon)
    if isinstance(epsilon, float):
        exact *= 1 + Fraction(1, 10**12)
    return say(bound_of(exact).words)


@register.filter
def report_guesses(noise: PlanarLaplace, radius: int) -> str:
    """Format the bound on correct guesses from a perturbed report.

    The guess is at which of two places, `radius` metres apart, the report was made.
    """
    return guesses(noise.loss_within(radius))


@register.filter
def say(phrase: Phrase) -> str:
    """Render a phrase in the page's language."""
    return phrase.render(gettext, in_language)


@register.filter
def metres(value: float) -> str:
    """Format a length with two significant digits and a non-breaking space: "240 m", "1.2 km"."""
    if not value:
        return "0\u00a0m"
    rounded = round(value, 1 - math.floor(math.log10(value)))
    text = f"{rounded:g}\u00a0m" if rounded < 1000 else f"{rounded / 1000:g}\u00a0km"
    return in_language(text)


@register.simple_tag
def standing_words(figures: Figures) -> str:
    """Return a sentence on how many of the counted features stand out from the noise."""
    if figures.together:
        return gettext("No count shows clearly alone; the map colours where several do together.")
    if not figures.standing:
        return gettext("Nothing shows clearly: every count is too small to tell from none.")
    return gettext(figures.features.standing).format(
        standing=figure(figures.standing),
        size=figure(figures.size),
    )


@register.simple_tag
def total_title(summary: Summary) -> str:
    """Return the heading for the sum of all counts."""
    if summary.figures and summary.figures.listed:
        title = gettext("{counted} in the squares listed")
    elif not summary.flows and summary.figures and summary.figures.counted is Counted.SIGHTINGS:
        title = gettext("{counted}")
    else:
        title = gettext("{counted} on this map")
    word = gettext(summary.total_word)
    return title.format(counted=word[:1].upper() + word[1:])


@register.simple_tag
def total_words(summary: Summary) -> str:
    """Return a sentence that says what the sum of all counts tells about the number of people.

    It is empty if there are no figures."""
    figures, rows = summary.figures, gettext(summary.rows)
    if summary.flows and figures and figures.counted is not Counted.PEOPLE:
        once = gettext("Each trip counts once, where it begins.")
        if summary.counts_people:
            once = gettext("A person counts once for each way from one region to another.")
        return f"{once} {_between(summary, figures)}".strip()
    if figures is None or figures.counted is Counted.PEOPLE:
        return gettext("Each person counts once.") if figures else ""
    if figures.people is None:
        if figures.counted is Counted.SIGHTINGS:
            return gettext("Somebody seen in several squares counts once for each.")
        if summary.noun in ("", "visit"):
            return gettext("Someone who came twice counts twice.")
        return gettext("Someone with two {rows} counts twice.").format(rows=rows)
    if figures.counted is Counted.VISITS:
        template = gettext(
            "People were not counted themselves: they are at least {low} and at most {high}, as "
            "each adds at most {bound} of their {rows}."
        )
    elif summary.slices:
        template = gettext(
            "People were not counted themselves: they are at least {low} and at most {high}, as "
            "each counts once in each of up to {bound} squares and times."
        )
    else:
        return _between(summary, figures)
    low, high = map(figure, outward(*figures.people))
    return template.format(low=low, high=high, bound=figure(summary.bound), rows=rows)


def _between(summary: Summary, figures: Figures) -> str:
    """Return the sentence on how many people the counts stand for; "" if that is not known."""
    if figures.people is None:
        return ""
    low, high = map(figure, outward(*figures.people))
    template = gettext(figures.features.between)
    return template.format(low=low, high=high, bound=figure(summary.bound))


def outward(low: int, high: int) -> tuple[int, int]:
    """Round limits to three significant digits, the lower one down and the upper one up."""
    down, up = (max(1, 10 ** (len(str(limit)) - 3)) for limit in (low, high))
    return low // down * down, -(-high // up) * up


@register.filter
def size(value: int) -> str:
    """Format a file size, as in "940 B", "157 KB" or "4.2 MB"."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if value >= factor * 0.9995:
            decimals = 0 if value >= 10 * factor else 1
            return in_language(f"{value / factor:.{decimals}f} {unit}")
    return f"{value} B"


@register.filter
def as_json(value: object) -> str:
    """Return a value as JSON for an attribute that scripts read; the template escapes it."""
    return json.dumps(value)


@register.filter
def degrees(value: float, sides: str) -> str:
    """Format an angle with its hemisphere, as in `{{ latitude|degrees:"NS" }}`.

    The two letters may be followed by the number of decimals; the default is 4.
    """
    decimals = sides[2:] or "4"
    return in_language(f"{abs(value):.{decimals}f}° {sides[0] if value >= 0 else sides[1]}")
