"""Sentences of privacy statements that only some types of content need, registered by type."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

from dpgeo.artefacts.declarations import layers_used
from dpgeo.artefacts.wording import CELLS, RegionWords, format_odds
from dpgeo.core.guarantees import Counting
from dpgeo.core.measures import Measure
from dpgeo.core.nouns import TRIP, Noun
from dpgeo.core.released import (
    AveragesRelease,
    Content,
    DividedRelease,
    FlowsRelease,
    PhasedSlicesRelease,
    PlacesRelease,
    PointsRelease,
    QuartilesRelease,
    Released,
    SlicesRelease,
    TripsRelease,
)
from dpgeo.core.slices import SliceNames
from dpgeo.core.trip_paths import UNITS
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import FURTHEST_SNAP
from dpgeo.spatial.projection import ground_scale

REMAPPED = (
    "Moved points: each was put where its report was likeliest made (at the least expected "
    "distance) by a public density, {title}, SHA-256 {sha256}. {origin} Where noise is finer than "
    "512 x 512 cells of the study area, points stay. The density recovered starts from the prior, "
    "too."
)

PADDED = (
    "That people are in the data: everybody has exactly {padded} points, so that their number "
    "tells how many people there are. How many reports somebody made is hidden as far as distances "
    "are: who has fewer gets reports that are made up anywhere in the study area and moved like "
    "all others, and one report more or less, except their only one, changes the odds by at most a "
    "factor {factor}, as moving it across the area does. Whoever has no report has no points."
)

ATTRIBUTES = (
    "What the publisher declared to be known of every report, whoever reads it and wherever it was "
    "made: {attributes}. It is published as it is, and reports of one person can be told together "
    "by it. The promise holds only where it follows neither from the place nor from the person, "
    "which the publisher alone can know."
)


@singledispatch
def not_protected(content: Content, facts: list[str]) -> list[str]:
    """Return the sentences on what a release does not hide.

    `facts` are those for its notion of privacy; some types of content replace them or add others.
    """
    return facts


@singledispatch
def own_noun(content: Content) -> Noun | None:
    """Return the noun for what is counted, such as trips, or None if these are people or rows."""
    return None


@own_noun.register(FlowsRelease)
@own_noun.register(TripsRelease)
def _trips_counted(content: FlowsRelease | TripsRelease) -> Noun:
    # The owner's noun for rows would be wrong: a trip may consist of several rows of a person.
    return TRIP


PAIRS = RegionWords(
    "pair of regions",
    "pairs of regions",
    "One record adds 1 to one pair of regions, to the departures of one region and to the arrivals "
    "of another.",
    "one flow in all, as is expected if nobody travelled,",
    bounded="trips",
)

TRIP_TABLES = RegionWords(
    "pair of a start and an end",
    "pairs of a start and an end",
    f"One trip adds 1 to the pair of the squares in which it starts and ends, 1 to the trips with "
    f"as many moves, and {UNITS} units, divided among its moves, to moves between squares.",
    "one pair in all, as is expected if nobody travelled,",
    bounded="trips",
)

AVERAGED = RegionWords(
    "region",
    "regions",
    "One record adds to the two sums of one region: the steps of its value to one, and those that "
    "it lacks to the other.",
    "at most one empty region in all, as is expected if all are empty,",
)


BINNED = RegionWords(
    "region",
    "regions",
    "One record adds 1 to one bin of one region, the bin that holds its value.",
    AVERAGED.of_empty,
)


LISTED_PLACES = RegionWords(
    "place",
    "places",
    "One record adds 1 to one place and, where there are contexts, to one pair of that place and a "
    "context.",
    CELLS.of_empty,
)


@singledispatch
def regions(content: Content) -> RegionWords:
    """Return the words for the regions, such as cells or zones, in which people are counted."""
    return CELLS


@regions.register
def _pairs(content: FlowsRelease) -> RegionWords:
    return PAIRS


@regions.register
def _trip_tables(content: TripsRelease) -> RegionWords:
    return TRIP_TABLES


@regions.register
def _places(content: PlacesRelease) -> RegionWords:
    return LISTED_PLACES


@regions.register
def _averaged(content: AveragesRelease) -> RegionWords:
    return AVERAGED


@regions.register
def _binned(content: QuartilesRelease) -> RegionWords:
    return BINNED


@singledispatch
def steps(content: Content, released: Released) -> list[str]:
    """Return sentences on steps of post-processing that are not in a layer's `note`."""
    return []


MEANS = (
    "Averages of {title}: every value was held between {low:g} and {high:g}{unit} and rounded to "
    "one of {steps:,} steps. A mean is told in a region where the noisy number of records reaches "
    "a threshold that at most one region in all is expected to reach if all are empty. What was "
    "beyond the limits, and what one person has beyond the bound, is not in the interval."
)

SHARES = (
    "Shares of {title}: yes counts as 1 and no as 0. A share is told in a region where the noisy "
    "number of records reaches a threshold that at most one region in all is expected to reach if "
    "all are empty. What one person has beyond the bound is not in the interval."
)

LIMITS = (
    "What the limits {low:g} and {high:g}{unit} of {title} give away by themselves: the publisher "
    "typed them and may have seen rows before; whether they follow the data the software cannot "
    "know."
)
"""Sentence on the lowest and highest value of a measure, which the publisher chose.

Yes-or-no measures do not need it: their limits are always 0 and 1.
"""

DIVIDED = (
    "The map is divided by {category}: the publisher listed the values, and every other one counts "
    "as other. Which value a row has is private, and the bound holds over all slices together."
)

LISTED = (
    "What the list of values of {category} gives away by itself: the publisher typed it and may "
    "have seen rows before; whether it follows the data the software cannot know."
)

EACH_PERSON = (
    "Of each person and region, one value counts: the mean of their own values there, rounded to a "
    "step."
)


@steps.register
def _average_steps(content: AveragesRelease, released: Released) -> list[str]:
    words = SHARES if content.measure.is_answer else MEANS
    facts = _measure_facts(content.measure)
    return [
        words.format(**facts, steps=content.measure.steps + 1),
        *([EACH_PERSON] if released.counting is Counting.PEOPLE else []),
        *_about_category(content.slices, DIVIDED),
    ]


QUANTILES = (
    "Quartiles of {title}: every value was held between {low:g} and {high:g}{unit}, and the values "
    "of each region were counted in {bins:,} bins of equal width. An interval holds the values of "
    "which the noisy counts below and above them do not rule out that they are the quartile, and "
    "reaches to the edges of bins. Quartiles are told in a region where the noisy number of "
    "records reaches a threshold that at most one region in all is expected to reach if all are "
    "empty. What was beyond the limits, and what one person has beyond the bound, is not in the "
    "interval."
)


@steps.register
def _quartile_steps(content: QuartilesRelease, released: Released) -> list[str]:
    return [
        QUANTILES.format(**_measure_facts(content.measure), bins=content.bins),
        *([EACH_PERSON] if released.counting is Counting.PEOPLE else []),
        *_about_category(content.slices, DIVIDED),
    ]


@steps.register(SlicesRelease)
@steps.register(PhasedSlicesRelease)
def _slice_steps(content: SlicesRelease | PhasedSlicesRelease, released: Released) -> list[str]:
    return _about_category(content.names, DIVIDED)


@not_protected.register
def _slices_not_protected(content: DividedRelease, facts: list[str]) -> list[str]:
    """Return `facts` and, if the map is divided by a category, a sentence on the publisher's list
    of the category's values.
    """
    return [*facts, *_about_category(content.names, LISTED)]


def _about_category(names: SliceNames, sentence: str) -> list[str]:
    return [sentence.format(category=names.category)] if names.values else []


@not_protected.register(AveragesRelease)
@not_protected.register(QuartilesRelease)
def _values_not_protected(
    content: AveragesRelease | QuartilesRelease, facts: list[str]
) -> list[str]:
    """Return `facts`, and sentences on what the publisher chose: a category's values, and the
    measure's limits.
    """
    facts = [*facts, *_about_category(content.slices, LISTED)]
    if content.measure.is_answer:
        return facts
    return [*facts, LIMITS.format(**_measure_facts(content.measure))]


def _measure_facts(measure: Measure) -> dict[str, Any]:
    unit = f" {measure.unit}" if measure.unit else ""
    return {"title": measure.title, "low": measure.low, "high": measure.high, "unit": unit}


TRIPS_OF_ROWS = (
    "Trips: each row with a destination is a trip from its position to there. Trips that begin or "
    "end outside all regions{within} are left out."
)

TRIPS_BETWEEN_ROWS = (
    "Trips: two rows of a person that follow each other in time, at most {hours} hours apart, are "
    "a trip from the first to the second. Trips that begin or end outside all regions{within} are "
    "left out."
)

TRIPS_IN_DAYS = (
    "Only rows of the days of this map are joined, so a trip that begins in them and ends later is "
    "not counted."
)

FLOWS_LISTED = (
    "A flow is listed where its noisy count reaches {least:,} and the departures and arrivals at "
    "its ends reach {ends:,}: in 19 of 20 maps, no listed flow is of noise alone. Departures, "
    "arrivals and pairs of regions were measured from the same bounded trips, and each costs a "
    "part of epsilon."
)


@steps.register
def _flow_steps(content: FlowsRelease, released: Released) -> list[str]:
    within = "" if content.within else ", or that stay in one,"
    words = TRIPS_BETWEEN_ROWS if content.gap_hours else TRIPS_OF_ROWS
    return [
        words.format(within=within, hours=content.gap_hours),
        *([TRIPS_IN_DAYS] if content.gap_hours and released.request.window else []),
        FLOWS_LISTED.format(least=content.threshold, ends=content.ends_threshold),
        *_about_category(content.names, DIVIDED),
    ]


ROWS_AS_TRIPS = (
    "Trips: each row with a destination is a trip straight from its position to there, over "
    "squares of a grid. Trips that stay in one square are left out."
)

CHAINS_AS_TRIPS = (
    "Trips: rows of a person that follow each other in time, each at most {minutes} minutes after "
    "the one before, are a trip over squares of a grid; squares between two rows are filled in. "
    "Trips that stay in one square are left out, and trips are cut off after {most} moves."
)

NO_TRIP = (
    "What trips in general look like: made-up trips follow the ways that many people take. A "
    "made-up trip that resembles somebody's was drawn from the noisy tables, and was not copied."
)


@steps.register
def _trip_steps(content: TripsRelease, released: Released) -> list[str]:
    if not content.gap_minutes:
        return [ROWS_AS_TRIPS]
    return [CHAINS_AS_TRIPS.format(minutes=content.gap_minutes, most=content.lengths.size)]


@not_protected.register
def _trips_not_protected(content: TripsRelease, facts: list[str]) -> list[str]:
    """Return `facts`, and a sentence on what made-up trips have in common with real ones."""
    return [*facts, NO_TRIP]


NEAREST = (
    "Places: each row counts at the nearest place of a public list of {places:,}, if that is at "
    "most {reach:,} m away; otherwise it is left out. Ranks are about counts as bounded, and their "
    "intervals hold for all places of a list at once."
)

BY_KEY = (
    "Places: each row counts at the place of a public list of {places:,} whose key it names; a row "
    "without a key of the list is left out. Ranks are about counts as bounded, and their intervals "
    "hold for all places of a list at once."
)

CONTEXTS = (
    "Places were measured twice, all together and by context ({contexts}), each with a part of "
    "epsilon; the bound holds over all contexts together."
)

ADDED_UP = "Both are of one sample, in which the contexts of a place add up to it."

NOT_ADDED_UP = (
    "Somebody who was at a place in several contexts is in each of them, and once in the place."
)


@steps.register
def _place_steps(content: PlacesRelease, released: Released) -> list[str]:
    names, words = content.slices, NEAREST if content.reach else BY_KEY
    nearest = words.format(places=len(content.keys), reach=content.reach)
    if not names:
        return [nearest]
    contexts = names.category or f"local time, {names.time_zone}"
    adding = ADDED_UP if content.adds_up else NOT_ADDED_UP
    return [nearest, CONTEXTS.format(contexts=contexts), adding]


@not_protected.register
def _places_not_protected(content: PlacesRelease, facts: list[str]) -> list[str]:
    """Return `facts` and, if the contexts are values of a category, a sentence on the publisher's
    list of them.
    """
    return [*facts, *_about_category(content.slices, LISTED)]


@not_protected.register
def _points_not_protected(content: PointsRelease, facts: list[str]) -> list[str]:
    """Return `facts`, adapted if points are padded or have public attributes.

    The first of `facts` says that the number of a person's reports is visible. Padding hides it, so
    a sentence on padding takes its place.
    """
    if content.padded:
        across = _across(content.grid) + 2 * Fraction(FURTHEST_SNAP) * content.noise.step
        factor = format_odds(content.noise.declared * across)
        facts = [PADDED.format(padded=content.padded, factor=factor), *facts[1:]]
    if content.attributes:
        named = ", ".join(attribute.column for attribute in content.attributes)
        facts = [facts[0], ATTRIBUTES.format(attributes=named), *facts[1:]]
    return facts


@steps.register
def _points_steps(content: PointsRelease, released: Released) -> list[str]:
    """Return sentences on the public density used for remapping, if one was used."""
    if not content.prior:
        return []
    layer = next(each for each in layers_used(released) if each["name"] == content.prior)
    return [REMAPPED.format(title=layer["title"], sha256=layer["sha256"], origin=layer["meaning"])]


def _across(grid: Grid) -> Fraction:
    """Return an upper bound on the length of a grid's diagonal, in whole metres."""
    _, south, _, north = grid.bounds
    widest = ground_scale(0.0 if south < 0 < north else min(abs(south), abs(north)))
    return Fraction(math.ceil(grid.cell * math.hypot(grid.rows, grid.columns) * widest))
