"""JSON documents with the results of range queries."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rest_framework import serializers

from dpgeo.api.documents import Document
from dpgeo.core.counted import Counted
from dpgeo.core.guarantees import Counting
from dpgeo.postprocess.ranges import RangeAnswer
from dpgeo.postprocess.scaling import Scaling
from dpgeo.postprocess.typical import Average, Quartile


class Interval(NamedTuple):
    """An estimate, and the lower and upper limits of the estimate's interval."""

    estimate: float
    low: float
    high: float


class RegionAnswer(NamedTuple):
    """The estimated count of one region, with the region's id, or None if the region has none.

    `scaled` is the estimate multiplied by a factor that makes the release's counts agree with its
    noisy total of all data. It is None if counts are not scaled, or if nothing was counted.
    """

    id: Any
    answer: RangeAnswer
    scaled: Interval | None


class ScaledSerializer(Document):
    """An answer scaled to a total of all the data."""

    estimate = serializers.FloatField()
    low = serializers.FloatField(help_text="The lower end of the interval.")
    high = serializers.FloatField(help_text="The upper end of the interval.")


class ScalingSerializer(Document):
    """The scaling of answers to the release's own noisy total of all the data."""

    counted = serializers.ChoiceField(
        source="counted.value",
        choices=[each.value for each in Counted],
        help_text="What scaled answers are numbers of.",
    )
    factor = serializers.FloatField(
        allow_null=True, help_text="The factor; null where nothing is scaled: meaning says why."
    )
    low = serializers.FloatField(
        allow_null=True, help_text="The lower end of the factor's interval."
    )
    high = serializers.FloatField(
        allow_null=True, help_text="The upper end of the factor's interval."
    )
    meaning = serializers.CharField()

    def get_factor(self, scaling: Scaling) -> float | None:
        """Return the factor by which counts are multiplied, or None if they are not scaled."""
        return known(scaling.factor)

    def get_low(self, scaling: Scaling) -> float | None:
        """Return the lower end of the scaling factor's interval, or None without a factor."""
        return known(scaling.low)

    def get_high(self, scaling: Scaling) -> float | None:
        """Return the upper end of the scaling factor's interval, or None without a factor."""
        return known(scaling.high)


class AverageSerializer(Document):
    """The mean of a measure in one region, or the share of yes in per cent."""

    title = serializers.CharField()
    unit = serializers.CharField(help_text="Empty where the numbers have none.")
    mean = serializers.FloatField(
        allow_null=True, help_text="Null where there are too few records for a mean."
    )
    low = serializers.FloatField(allow_null=True, help_text="The lower end of the interval.")
    high = serializers.FloatField(allow_null=True, help_text="The upper end of the interval.")

    def get_mean(self, average: Average) -> float | None:
        """Return the mean, or None if it is withheld."""
        return known(average.value)

    def get_low(self, average: Average) -> float | None:
        """Return the lower end of the interval, or None if noise hides the mean."""
        return known(average.low)

    def get_high(self, average: Average) -> float | None:
        """Return the upper end of the interval, or None if noise hides the mean."""
        return known(average.high)


class QuartileSerializer(Document):
    """A quartile with the ends of its interval; all are null where noise hides it."""

    estimate = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="The lower end of the interval.")
    high = serializers.FloatField(allow_null=True, help_text="The upper end of the interval.")

    def get_estimate(self, quartile: Quartile) -> float | None:
        """Return the estimate, or None if noise hides it."""
        return known(quartile.estimate)

    def get_low(self, quartile: Quartile) -> float | None:
        """Return the lower end of the interval, or None if noise hides the estimate."""
        return known(quartile.low)

    def get_high(self, quartile: Quartile) -> float | None:
        """Return the upper end of the interval, or None if noise hides the estimate."""
        return known(quartile.high)


class QuartilesSerializer(Document):
    """The median and both quartiles of a measure in one region."""

    title = serializers.CharField()
    unit = serializers.CharField(help_text="Empty where the numbers have none.")
    lower = QuartileSerializer(help_text="A quarter of the values are below.")
    median = QuartileSerializer(help_text="Half of the values are below.")
    upper = QuartileSerializer(help_text="Three quarters of the values are below.")


class AnswerSerializer(Document):
    """The count of one region."""

    id = serializers.JSONField(help_text="The feature's id; null if it has none.")
    estimate = serializers.FloatField(
        allow_null=True,
        help_text="May be negative, because noise is not truncated. Null where nothing was counted "
        "in the region: reason says why.",
    )
    margin = serializers.FloatField(
        allow_null=True, help_text="The margin of error: half the width of the interval."
    )
    noise_margin = serializers.FloatField(
        allow_null=True,
        help_text="The part of the margin that is the noise in the counts. The margin is the root "
        "of the sum of the squares of its two parts.",
    )
    model_margin = serializers.FloatField(
        allow_null=True,
        help_text="The part of the margin that is a model: how unevenly people may be spread in "
        "measured areas that the region's edge cuts. Null where there is such an error that the "
        "margin does not include.",
    )
    low = serializers.FloatField(allow_null=True, help_text="The lower end of the interval.")
    high = serializers.FloatField(allow_null=True, help_text="The upper end of the interval.")
    counted = serializers.ChoiceField(
        source="answer.counted",
        choices=[each.value for each in Counted],
        help_text="What the estimate is a number of: people, each once; sightings, people added up "
        "over places or times, in several of which somebody may count; or visits, rows.",
    )
    people_low = serializers.IntegerField(
        allow_null=True,
        help_text="The fewest people in the interval, where they are not counted one by one: the "
        "lower end divided by the bound. Null where rows name no person, and with counted people.",
    )
    people_high = serializers.IntegerField(
        allow_null=True, help_text="The most people in the interval: its upper end."
    )
    average = AverageSerializer(
        source="answer.average",
        allow_null=True,
        help_text="In a release of averages, the mean; the estimate is then the number of records "
        "with a value. Null in any other release, and where nothing was counted.",
    )
    quartiles = QuartilesSerializer(
        source="answer.quartiles",
        allow_null=True,
        help_text="In a release of quartiles, the median and both quartiles; the estimate is then "
        "the number of records with a value. Null in any other release, and where nothing was "
        "counted.",
    )
    reason = serializers.CharField(
        source="answer.reason",
        allow_null=True,
        help_text="Why there is no estimate: outside, where the region lies outside the study "
        "area, or unmeasured, where no published count lies in it.",
    )
    exact = serializers.BooleanField(
        source="answer.exact",
        help_text="Whether noise is the only error, so that the interval covers all of it. "
        "Otherwise the notes say what it does not cover.",
    )
    areas = serializers.IntegerField(
        source="answer.areas", help_text="How many measured areas were added up."
    )
    cut = serializers.IntegerField(
        source="answer.cut", help_text="How many of them the region's edge crosses."
    )
    notes = serializers.ListField(source="answer.notes", child=serializers.CharField())
    scaled = ScaledSerializer(
        allow_null=True,
        help_text="The answer scaled as in scaling; null where it is not scaled.",
    )

    def get_estimate(self, region: RegionAnswer) -> float | None:
        """Return the estimate, or None if nothing was counted in the region."""
        return known(region.answer.estimate)

    def get_margin(self, region: RegionAnswer) -> float | None:
        """Return the margin, or None if nothing was counted in the region."""
        return known(region.answer.margin)

    def get_noise_margin(self, region: RegionAnswer) -> float | None:
        """Return the part of the margin due to noise, or None if nothing was counted there."""
        return known(region.answer.noise)

    def get_model_margin(self, region: RegionAnswer) -> float | None:
        """Return the part of the margin due to people spread unevenly within measured areas.

        Returns None if the margin does not include this error, or if nothing was counted.
        """
        return region.answer.model

    def get_low(self, region: RegionAnswer) -> float | None:
        """Return the estimate minus the margin, or None if nothing was counted."""
        return known(region.answer.estimate - region.answer.margin)

    def get_high(self, region: RegionAnswer) -> float | None:
        """Return the estimate plus the margin, or None if nothing was counted."""
        return known(region.answer.estimate + region.answer.margin)

    def get_people_low(self, region: RegionAnswer) -> int | None:
        """Return the fewest people that the interval of the count allows.

        Returns None if the count is already a number of people, if rows name no person, or if
        nothing was counted in the region.
        """
        return region.answer.people[0] if region.answer.people else None

    def get_people_high(self, region: RegionAnswer) -> int | None:
        """Return the most people that the interval of the count allows.

        Returns None if the count is already a number of people, if rows name no person, or if
        nothing was counted in the region.
        """
        return region.answer.people[1] if region.answer.people else None


def known(figure: float) -> float | None:
    """Return `figure`, or None if it is NaN, which means that nothing was counted."""
    return None if math.isnan(figure) else figure


class AnswersSerializer(Document):
    """The estimated count of each region: noisy, after contribution bounding."""

    release = serializers.CharField(help_text="The release's id.")
    counting = serializers.ChoiceField(
        choices=[each.value for each in Counting],
        help_text="What one measured area counts. What an answer is a number of is its counted.",
    )
    rows = serializers.CharField(help_text="What the publisher calls rows.")
    bound = serializers.IntegerField(
        help_text="The contribution bound: where people are counted, the most areas in which one "
        "person counts; where visits are counted, the most records of one person that count."
    )
    confidence = serializers.FloatField(help_text="The confidence level of the intervals.")
    meaning = serializers.CharField()
    scaling = ScalingSerializer(
        allow_null=True, help_text="Null if the release bought no totals of all the data."
    )
    results = AnswerSerializer(many=True)
