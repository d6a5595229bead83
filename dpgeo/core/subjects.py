"""Registry of subjects: what a map is about, in plain words, from which owners choose.

Each mechanism names its subjects. A mechanism with a new subject needs a line here and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from dpgeo.phrases import translatable


class Need(Enum):
    """What a dataset needs for a map of a subject, such as a time column."""

    ZONES = auto()
    PLACES = auto()
    TIMES = auto()
    TRIPS = auto()
    MEASURES = auto()
    CATEGORIES = auto()
    POINTS_BUDGET = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a map is about: a choice in the form with which owners request a map.

    A map's title is built from `headline` and the name of the mapped place. `counted_in` is a
    sentence that says in what kind of region people are counted. `common` subjects are offered
    first. If `by_district` is true, mechanisms that usually count in squares count in declared
    districts instead.
    """

    key: str
    title: str
    words: str
    headline: str
    counted_in: str = translatable("A place is one square of the map.")
    needs: tuple[Need, ...] = ()
    by_district: bool = False
    common: bool = True


HEATMAP = Subject(
    key="heat",
    title=translatable("Where people are"),
    words=translatable(
        "A heatmap: how many people in each square. Fine where it is busy, coarse where it "
        "is quiet."
    ),
    headline=translatable("Where people are: {place}"),
)
DISTRICTS = Subject(
    key="districts",
    title=translatable("By district"),
    words=translatable("One count for each district, from outlines that are published elsewhere."),
    headline=translatable("People by district: {place}"),
    counted_in=translatable("A place is one district."),
    needs=(Need.ZONES,),
)
TIMES = Subject(
    key="time",
    title=translatable("By time of day or week"),
    words=translatable("A heatmap for each part of the day or day of the week, to play through."),
    headline=translatable("Where people are, by time: {place}"),
    counted_in=translatable("A place is one square at one time of day or week."),
    needs=(Need.TIMES,),
)
TRIPS = Subject(
    key="flows",
    title=translatable("Where people go"),
    words=translatable("How many trips lead from each district or square to each other one."),
    headline=translatable("From where to where: {place}"),
    counted_in=translatable("A place is one way, from one district or square to another."),
    needs=(Need.TRIPS,),
)
PLACES = Subject(
    key="places",
    title=translatable("The busiest places"),
    words=translatable("A ranked list of stops, parks or shops, by how many people were there."),
    headline=translatable("The busiest places: {place}"),
    counted_in=translatable(
        "A place is one of your list, on one day or with one value if you divide it."
    ),
    needs=(Need.PLACES,),
)
AVERAGES = Subject(
    key="averages",
    title=translatable("How much, on average"),
    words=translatable(
        "The mean of a column in each square, such as a speed, a price or a share of yes."
    ),
    headline=translatable("Averages: {place}"),
    needs=(Need.MEASURES,),
)
AVERAGES_BY_DISTRICT = Subject(
    key="averages-districts",
    title=translatable("How much, on average, by district"),
    words=translatable("The mean of a column in each district, such as the mean speed or rent."),
    headline=translatable("Averages by district: {place}"),
    counted_in=translatable("A place is one district."),
    needs=(
        Need.MEASURES,
        Need.ZONES,
    ),
    by_district=True,
)
WEEK = Subject(
    key="week",
    title=translatable("Hour by hour"),
    words=translatable("Counts for each hour of the week, as a table of hours and days."),
    headline=translatable("The week of {place}"),
    counted_in=translatable("A place is one hour of the week, in one district if you divide it."),
    needs=(Need.TIMES,),
)
CATEGORIES = Subject(
    key="category",
    title=translatable("By category"),
    words=translatable(
        "A heatmap for each value of a column, such as on foot, by bike and by car."
    ),
    headline=translatable("Where people are, by category: {place}"),
    counted_in=translatable("A place is one square with one value of the column."),
    needs=(Need.CATEGORIES,),
)
DENSITY = Subject(
    key="contours",
    title=translatable("Lines of equal density"),
    words=translatable("Contours, from which tasks can be planned."),
    headline=translatable("How densely people are spread: {place}"),
    common=False,
)
GATHERINGS = Subject(
    key="gatherings",
    title=translatable("Gathering places"),
    words=translatable("A few centres where people gather, each with a count."),
    headline=translatable("Where people gather: {place}"),
    common=False,
)
MADE_UP_TRIPS = Subject(
    key="trips",
    title=translatable("Trips, made up"),
    words=translatable(
        "Trips that nobody made, with starts, ends, ways and lengths as in the data. It takes "
        "thousands of people."
    ),
    headline=translatable("Made-up trips: {place}"),
    counted_in=translatable("A place is one way, from the square of its start to that of its end."),
    needs=(Need.TRIPS,),
    common=False,
)
REPORTS = Subject(
    key="points",
    title=translatable("Moved points"),
    words=translatable(
        "Every report as a point, moved at random. It hides where somebody was, not that "
        "they are in the data."
    ),
    headline=translatable("Reports, moved at random: {place}"),
    needs=(Need.POINTS_BUDGET,),
    common=False,
)

SUBJECTS: Mapping[str, Subject] = {
    subject.key: subject
    for subject in (
        HEATMAP,
        DISTRICTS,
        TIMES,
        TRIPS,
        PLACES,
        AVERAGES,
        AVERAGES_BY_DISTRICT,
        WEEK,
        CATEGORIES,
        DENSITY,
        GATHERINGS,
        MADE_UP_TRIPS,
        REPORTS,
    )
}
"""Every subject by its key; in a new form, the first of them is selected."""
