"""Nouns for the rows of a dataset, such as visits, trips or reports.

An owner chooses one from a fixed list, because pages translate the noun, and because it is the only
word of the promise to the people in the data that an owner may change.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpgeo.phrases import shown_by_scripts, translatable


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun for rows, in singular and plural; `travel` is true for rows that are journeys."""

    one: str
    many: str
    travel: bool = False


ROW = Noun(translatable("row"), shown_by_scripts("rows"))
VISIT = Noun(translatable("visit"), shown_by_scripts("visits"))
REPORT = Noun(translatable("report"), shown_by_scripts("reports"))
TRIP = Noun(translatable("trip"), shown_by_scripts("trips"), travel=True)

NOUNS: dict[str, Noun] = {
    noun.one: noun
    for noun in (
        VISIT,
        Noun(translatable("stay"), shown_by_scripts("stays")),
        Noun(translatable("check-in"), shown_by_scripts("check-ins")),
        TRIP,
        Noun(translatable("journey"), shown_by_scripts("journeys"), travel=True),
        Noun(translatable("boarding"), shown_by_scripts("boardings"), travel=True),
        Noun(translatable("pickup"), shown_by_scripts("pickups"), travel=True),
        Noun(translatable("delivery"), shown_by_scripts("deliveries")),
        REPORT,
        Noun(translatable("call"), shown_by_scripts("calls")),
        Noun(translatable("message"), shown_by_scripts("messages")),
        Noun(translatable("photo"), shown_by_scripts("photos")),
    )
}
"""The nouns that owners can choose, by their singular form. None of them begins with a vowel sound,
so that sentences can use the article "a".
"""


def choose_noun(chosen: str, default: Noun) -> Noun:
    """Return the noun whose singular is `chosen`, or `default` if there is none."""
    return NOUNS.get(chosen, default)
