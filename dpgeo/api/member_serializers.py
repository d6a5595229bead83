"""The form of answers to keys and members. What is not declared here is not sent."""

from __future__ import annotations

from rest_framework import serializers

from dpgeo.api.job_documents import JOB_STATES, UPLOAD_STATES
from dpgeo.api.serializers import EPSILON, ParametersField, PointsSerializer, Serializer
from dpgeo.core.guarantees import Bounding, Counting, Notion


class JobSerializer(Serializer):
    """Background work. Why one has no result is told at the desk alone."""

    id = serializers.UUIDField()
    url = serializers.URLField()
    state = serializers.ChoiceField(choices=JOB_STATES)
    release_url = serializers.URLField(allow_null=True, help_text="Of a release's job.")
    upload_url = serializers.URLField(allow_null=True, help_text="Of an upload's job.")
    has_result = serializers.BooleanField(
        help_text="Whether its release is drawn or its upload ready. A job that is done without "
        "one needs a person at the desk."
    )


class UploadSerializer(Serializer):
    """One file of a dataset."""

    id = serializers.UUIDField()
    url = serializers.URLField()
    dataset = serializers.SlugField()
    file_name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes, as announced.")
    offset = serializers.IntegerField(help_text="Bytes that have arrived; go on from there.")
    state = serializers.ChoiceField(
        choices=UPLOAD_STATES,
        help_text="receiving: bytes are missing; received: confirm the columns; then as its job.",
    )
    usable = serializers.BooleanField(help_text="Whether releases can be made from it.")
    job_url = serializers.URLField(allow_null=True)


class ColumnsSerializer(Serializer):
    """Which column holds what, by name; "" where none does."""

    longitude = serializers.CharField(allow_blank=True)
    latitude = serializers.CharField(allow_blank=True)
    person = serializers.CharField(allow_blank=True)
    time = serializers.CharField(allow_blank=True)
    geometry = serializers.CharField(allow_blank=True)
    crs = serializers.CharField(help_text="Code of the system of the coordinates.")


class PreviewSerializer(Serializer):
    """The columns of a file. Its rows are shown at the desk alone."""

    columns = serializers.ListField(child=serializers.CharField())
    suggested = ColumnsSerializer(help_text="To be checked, then confirmed.")


class SpendSerializer(Serializer):
    """One look at the data and its price."""

    what = serializers.CharField(help_text="What is measured.")
    epsilon = serializers.CharField(allow_null=True, help_text=EPSILON)
    cost = serializers.CharField(help_text="The same in words, of every notion.")


class ForecastSerializer(Serializer):
    """The noise to expect, from public facts alone."""

    region = serializers.CharField(help_text="What is counted, such as cell.")
    regions = serializers.IntegerField(help_text="How many there are at most.")
    margin = serializers.IntegerField(
        allow_null=True, help_text="Half the width of the 95 % interval of a count."
    )
    stands_out_from = serializers.IntegerField(
        allow_null=True,
        help_text="The smallest count that at most one empty region in a thousand shows.",
    )
    radius_50 = serializers.FloatField(
        allow_null=True, help_text="Metres within which half of the points are moved."
    )
    radius_95 = serializers.FloatField(
        allow_null=True, help_text="Metres within which 95 % of the points are moved."
    )
    ground_metres = serializers.FloatField(help_text="The side of the smallest on the ground.")
    caution = serializers.CharField(
        allow_blank=True, help_text="What to know before paying; empty where there is nothing."
    )
    facts = serializers.ListField(
        child=serializers.CharField(),
        help_text="What follows from public inputs: the hierarchical sensitivity of each level.",
    )


class BoundErrorSerializer(Serializer):
    """The error to expect at one bound."""

    bound = serializers.IntegerField()
    error = serializers.FloatField()


class AdviceSerializer(Serializer):
    """What guessed numbers say of the bound: errors are root mean squares, of the busy place."""

    best_bound = serializers.IntegerField(help_text="Of the least error.")
    error = serializers.FloatField(help_text="At the bound asked for.")
    error_at_best = serializers.FloatField()
    curve = BoundErrorSerializer(many=True, help_text="From one place to all of them.")


class QuoteSerializer(Serializer):
    """What a release would cost and how noisy it would be. Nothing is reserved."""

    dataset = serializers.SlugField()
    mechanism = serializers.CharField()
    parameters = ParametersField(help_text="All of them, with their defaults.")
    notion = serializers.ChoiceField(choices=[each.value for each in Notion])
    cost = serializers.CharField(help_text="In words.")
    epsilon = serializers.CharField(
        allow_null=True, help_text=f"For pure-dp; null where points are moved. {EPSILON}"
    )
    bound = serializers.IntegerField()
    counting = serializers.ChoiceField(choices=[each.value for each in Counting])
    bounding = serializers.ChoiceField(
        choices=[each.value for each in Bounding],
        help_text="Which places of a person are kept, where there are more than the bound.",
    )
    plan = SpendSerializer(many=True)
    forecast = ForecastSerializer()
    left_before = serializers.CharField(
        help_text="Of the budget of this notion: an epsilon, or a level."
    )
    left_after = serializers.CharField(help_text="Were it requested.")
    more_like_this = serializers.IntegerField(help_text="How many more would fit after it.")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="What speaks against paying for this."
    )
    advice = AdviceSerializer(allow_null=True, help_text="On the bound; null without a guess.")


class PointsBudgetSerializer(Serializer):
    """The budget for points, in levels."""

    total = PointsSerializer()
    spent = PointsSerializer(help_text="Spent, or held for jobs that run.")
    left = PointsSerializer()


class BudgetSerializer(Serializer):
    """The budget a dataset draws on."""

    dataset = serializers.SlugField()
    total = serializers.CharField(help_text=EPSILON)
    spent = serializers.CharField(help_text=f"Spent, or held for jobs that run. {EPSILON}")
    left = serializers.CharField(help_text=EPSILON)
    points = PointsBudgetSerializer(
        allow_null=True, help_text="The budget for points; null where none was declared."
    )
    shared_with = serializers.ListField(
        child=serializers.SlugField(), help_text="Other datasets that draw on the same budget."
    )


class BudgetListSerializer(Serializer):
    """One page of budgets, by the slug of the dataset."""

    results = BudgetSerializer(many=True)
    next = serializers.URLField(allow_null=True, help_text="The next page, null on the last.")
