"""Answers to range queries."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from dpgeo.api.answers import Answer, one_of
from dpgeo.core.counted import Counted
from dpgeo.core.declared import fact
from dpgeo.core.guarantees import Counting
from dpgeo.postprocess.ranges import RangeAnswer
from dpgeo.postprocess.scaling import Scaling


def known(figure: float | None) -> float | None:
    """Return `figure`, or None if it is NaN, which means that nothing was counted."""
    return None if figure is None or math.isnan(figure) else figure


Known = Annotated[float | None, BeforeValidator(known)]
CountedKey = Annotated[str, one_of(Counted)]
CountingKey = Annotated[str, one_of(Counting)]

LOW = "The lower end of the interval."
HIGH = "The upper end of the interval."
NO_UNIT = "Empty where the numbers have none."


class Interval(NamedTuple):
    """An estimate, and the lower and upper limits of the estimate's interval."""

    estimate: float
    low: float
    high: float


class ScaledOut(Answer):
    """An answer scaled to a total of all the data."""

    estimate: float
    low: float = fact(LOW)
    high: float = fact(HIGH)


class ScalingOut(Answer):
    """The scaling of answers to the release's own noisy total of all the data."""

    counted: CountedKey = fact("What scaled answers are numbers of.")
    factor: Known = fact("The factor; null where nothing is scaled: meaning says why.")
    low: Known = fact("The lower end of the factor's interval.")
    high: Known = fact("The upper end of the factor's interval.")
    meaning: str


def scaling_answer(scaling: Scaling | None) -> ScalingOut | None:
    if scaling is None:
        return None
    return ScalingOut(
        counted=scaling.counted,
        factor=scaling.factor,
        low=scaling.low,
        high=scaling.high,
        meaning=str(scaling.meaning),
    )


class AverageOut(Answer):
    """The mean of a measure in one region, or the share of yes in per cent."""

    title: str
    unit: str = fact(NO_UNIT)
    mean: Known = fact("Null where there are too few records for a mean.")
    low: Known = fact(LOW)
    high: Known = fact(HIGH)


class QuartileOut(Answer):
    """A quartile with the ends of its interval; all are null where noise hides it."""

    estimate: Known
    low: Known = fact(LOW)
    high: Known = fact(HIGH)


class QuartilesOut(Answer):
    """The median and both quartiles of a measure in one region."""

    title: str
    unit: str = fact(NO_UNIT)
    lower: QuartileOut = fact("A quarter of the values are below.")
    median: QuartileOut = fact("Half of the values are below.")
    upper: QuartileOut = fact("Three quarters of the values are below.")


class AnswerOut(Answer):
    """The count of one region."""

    id: Any = fact("The feature's id; null if it has none.")
    estimate: Known = fact(
        "May be negative, because noise is not truncated. Null where nothing was counted "
        "in the region: reason says why."
    )
    margin: Known = fact("The margin of error: half the width of the interval.")
    noise_margin: Known = fact(
        "The part of the margin that is the noise in the counts. The margin is the root "
        "of the sum of the squares of its two parts."
    )
    model_margin: float | None = fact(
        "The part of the margin that is a model: how unevenly people may be spread in "
        "measured areas that the region's edge cuts. Null where there is such an error that the "
        "margin does not include."
    )
    low: Known = fact(LOW)
    high: Known = fact(HIGH)
    counted: CountedKey = fact(
        "What the estimate is a number of: people, each once; sightings, people added up "
        "over places or times, in several of which somebody may count; or visits, rows."
    )
    people_low: int | None = fact(
        "The fewest people in the interval, where they are not counted one by one: the "
        "lower end divided by the bound. Null where rows name no person, and with counted people."
    )
    people_high: int | None = fact("The most people in the interval: its upper end.")
    average: AverageOut | None = fact(
        "In a release of averages, the mean; the estimate is then the number of records "
        "with a value. Null in any other release, and where nothing was counted."
    )
    quartiles: QuartilesOut | None = fact(
        "In a release of quartiles, the median and both quartiles; the estimate is then "
        "the number of records with a value. Null in any other release, and where nothing was "
        "counted."
    )
    reason: str | None = fact(
        "Why there is no estimate: outside, where the region lies outside the study "
        "area, or unmeasured, where no published count lies in it."
    )
    exact: bool = fact(
        "Whether noise is the only error, so that the interval covers all of it. "
        "Otherwise the notes say what it does not cover."
    )
    areas: int = fact("How many measured areas were added up.")
    cut: int = fact("How many of them the region's edge crosses.")
    notes: list[str]
    scaled: ScaledOut | None = fact("The answer scaled as in scaling; null where it is not scaled.")


def region_answer(name: Any, answer: RangeAnswer, scaled: Interval | None = None) -> AnswerOut:
    """Return the count of a region, with the region's id `name`, None if it has none.

    `scaled` is the estimate multiplied by a factor that makes the release's counts agree with its
    noisy total of all data. It is None if counts are not scaled, or if nothing was counted.
    """
    low, high = answer.people or (None, None)
    average = answer.average
    return AnswerOut(
        id=name,
        estimate=answer.estimate,
        margin=answer.margin,
        noise_margin=answer.noise,
        model_margin=answer.model,
        low=answer.estimate - answer.margin,
        high=answer.estimate + answer.margin,
        counted=answer.counted,
        people_low=low,
        people_high=high,
        average=None
        if average is None
        else AverageOut(
            title=average.title,
            unit=average.unit,
            mean=average.value,
            low=average.low,
            high=average.high,
        ),
        quartiles=QuartilesOut.model_validate(answer.quartiles) if answer.quartiles else None,
        reason=answer.reason,
        exact=answer.exact,
        areas=answer.areas,
        cut=answer.cut,
        notes=list(answer.notes),
        scaled=ScaledOut.model_validate(scaled) if scaled else None,
    )


class AnswersOut(Answer):
    """The estimated count of each region: noisy, after contribution bounding."""

    release: str = fact("The release's id.")
    counting: CountingKey = fact(
        "What one measured area counts. What an answer is a number of is its counted."
    )
    rows: str = fact("What the publisher calls rows.")
    bound: int = fact(
        "The contribution bound: where people are counted, the most areas in which one "
        "person counts; where visits are counted, the most records of one person that count."
    )
    confidence: float = fact("The confidence level of the intervals.")
    meaning: str
    scaling: ScalingOut | None = fact("Null if the release bought no totals of all the data.")
    results: list[AnswerOut]
