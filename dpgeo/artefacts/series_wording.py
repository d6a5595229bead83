"""Sentences for statements and pages about the series that a release belongs to.

Sentences about a year assume that 366 days, 53 weeks or 12 months begin in it, which are the
largest possible numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpgeo.artefacts.promises import bound_of
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Counting
from dpgeo.core.series import Part, Period, Protection, Terms
from dpgeo.core.zcdp import delta_text
from dpgeo.phrases import Figure, Phrase, translatable

A_PERIOD = {
    Period.DAY: translatable("every day"),
    Period.WEEK: translatable("every week"),
    Period.MONTH: translatable("every month"),
}

IN_A_ROW = {
    Period.DAY: translatable("any {count} days of the series in a row"),
    Period.WEEK: translatable("any {count} weeks of the series in a row"),
    Period.MONTH: translatable("any {count} months of the series in a row"),
}

ANY_ONE = {
    Period.DAY: translatable("any one day of the series"),
    Period.WEEK: translatable("any one week of the series"),
    Period.MONTH: translatable("any one month of the series"),
}

PLACE = translatable("Map {number} of the series “{title}”, which has one {period}.")

ONCE = translatable(
    "Epsilon {epsilon} is paid once for all maps of the series together, however many follow: for "
    "a year of them it is {epsilon}, too."
)

SHARED = translatable(
    "What one person did in {span} is hidden by epsilon {epsilon}. Each map spends {of_map}; the "
    "maps of a year together spend at most {of_year}, with which a guess is right {guess}."
)

ALL = translatable(
    "The series has {count} maps. What one person did in all of them is hidden by epsilon "
    "{epsilon}; each map spends {of_map}. Nobody fades, however often they are there."
)

ALL_AT_DELTA = translatable(
    "The series has {count} maps. What one person did in all of them is hidden by epsilon "
    "{epsilon} at delta {delta}, which is rho {rho}; each map spends rho {of_map}. Nobody fades, "
    "however often they are there."
)

ONCE_AT_DELTA = translatable(
    "Rho {rho} is paid once for all maps of the series together, however many follow: for a year "
    "of them it is epsilon {epsilon} at delta {delta}, too."
)

SHARED_AT_DELTA = translatable(
    "What one person did in {span} is hidden by epsilon {epsilon} at delta {delta}, which is rho "
    "{rho}. Each map spends rho {of_map}; the maps of a year together spend at most epsilon "
    "{of_year}, with which a guess is right {guess}. Maps add up in rho, not in epsilon."
)

BETWEEN = translatable(
    "The periods of the maps are meant: as long a time that begins in the middle of one is in one "
    "map more, which adds {of_map}."
)

BETWEEN_IN_RHO = translatable(
    "The periods of the maps are meant: as long a time that begins in the middle of one is in one "
    "map more, which adds rho {of_map}."
)

FADES = translatable(
    "One person counts at most {each} times in a map and at most {most} times in all maps "
    "together, and then no more. So counts of people who are there again and again sink with time, "
    "although nothing changes."
)

NEVER_FADES = translatable("One person counts at most {each} times in a map.")

IDENTIFIER = translatable(
    "A person here is one identifier. If identifiers change, what was done under another one is "
    "protected by itself."
)

CLOSED = translatable(
    "Each map was drawn once, after its last day was over and the publisher had said that the data "
    "were complete. Rows that came later are in none."
)

BOUND = translatable(
    "One person adds to at most {each} {things} of this map, chosen at random where there are "
    "more, and to at most {most} of all maps of the series together. Whoever has used these up is "
    "not counted any more."
)


def sentences(part: Part) -> Sequence[Phrase]:
    """Return the sentences on a map's number in its series, and on what the series protects."""
    place = Phrase(
        PLACE, number=part.number, title=part.title, period=Phrase(A_PERIOD[part.terms.period])
    )
    return place, *promised(part.terms), Phrase(CLOSED)


def promised(terms: Terms) -> Sequence[Phrase]:
    """Return the sentences on the protection that a series gives, and on its cost."""
    figures: dict[str, Phrase | Figure | str] = {"epsilon": Figure(format_epsilon(terms.epsilon))}
    of_map = Figure(format_epsilon(terms.amount_of_map))
    in_rho = terms.rho is not None and terms.delta is not None
    if terms.rho is not None and terms.delta is not None:
        figures |= {"rho": Figure(format_epsilon(terms.rho)), "delta": delta_text(terms.delta)}
    if terms.protection is Protection.PERSON:
        return (
            Phrase(ONCE_AT_DELTA if in_rho else ONCE, **figures),
            Phrase(FADES, each=terms.each, most=terms.most),
            Phrase(IDENTIFIER),
        )
    if terms.protection is Protection.ALL:
        whole = Phrase(ALL_AT_DELTA if in_rho else ALL, **figures, count=terms.most, of_map=of_map)
        return whole, Phrase(NEVER_FADES, each=terms.each), Phrase(IDENTIFIER)
    span = (
        Phrase(ANY_ONE[terms.period])
        if terms.protection is Protection.ONE
        else Phrase(IN_A_ROW[terms.period], count=terms.most)
    )
    shared = Phrase(
        SHARED_AT_DELTA if in_rho else SHARED,
        **figures,
        span=span,
        of_map=of_map,
        of_year=Figure(format_epsilon(terms.epsilon_of_year)),
        guess=bound_of(terms.epsilon_of_year, terms.delta or Fraction(0)).words,
    )
    between = Phrase(BETWEEN_IN_RHO if in_rho else BETWEEN, of_map=of_map)
    return shared, between, Phrase(NEVER_FADES, each=terms.each), Phrase(IDENTIFIER)


def bound_words(part: Part | None, counting: Counting, regions: str) -> str:
    """Return a sentence on a contribution bound that holds for all maps of a series together.

    Returns "" for a release with a bound of its own. `regions` is the plural noun for the counted
    regions.
    """
    if part is None or part.terms.protection is not Protection.PERSON:
        return ""
    things = f"distinct {regions}" if counting is Counting.PEOPLE else "records"
    return str(Phrase(BOUND, each=part.terms.each, most=part.terms.most, things=things))
