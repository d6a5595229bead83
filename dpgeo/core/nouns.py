"""What a dataset's owner calls its rows: visits, trips, reports.

The words are a closed list, because they stand in the promise to the people in the data, which must
not say anything else, and because pages translate them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpgeo.phrases import shown_by_scripts, translatable


@dataclass(frozen=True, slots=True)
class Noun:
    """A word for rows, in singular and plural; `travel` marks rows of people who travel."""

    one: str
    many: str
    travel: bool = False


ROW = Noun(translatable("row"), shown_by_scripts("rows"))
VISIT = Noun(translatable("visit"), shown_by_scripts("visits"))
REPORT = Noun(translatable("report"), shown_by_scripts("reports"))

NOUNS: dict[str, Noun] = {
    noun.one: noun
    for noun in (
        VISIT,
        Noun(translatable("stay"), shown_by_scripts("stays")),
        Noun(translatable("check-in"), shown_by_scripts("check-ins")),
        Noun(translatable("trip"), shown_by_scripts("trips"), travel=True),
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
"""The words that an owner may choose from, by their singular. None begins with a vowel, so that
sentences can put "a" before it."""


def noun_of(chosen: str, default: Noun) -> Noun:
    """Return the chosen word; the default where the owner chose none."""
    return NOUNS.get(chosen, default)
