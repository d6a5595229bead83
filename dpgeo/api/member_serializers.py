"""What the API answers to keys and members.

Jobs appear as queued, running or done, and nothing else. A job that failed or was cancelled is
"done" without a result. That there is none cannot be hidden from whoever may publish it, and a
program has to stop waiting; so much is said, and no more. Why it failed, at which step, after how
long, how often it was tried, and whether it failed or was cancelled depend on the private data or
may (a file too large for the machine's memory), cost no epsilon and could be asked for again and
again: they are shown at the desk, to people who may see private facts. For the same reason there
are no times and no progress here.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dpgeo.api.documents import Address, Document, page_of
from dpgeo.api.serializers import (
    EPSILON,
    LedgerUnits,
    ParametersField,
    PointsSerializer,
    presence_epsilon,
)
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Bounding, Counting, Notion
from dpgeo.datasets.models import Dataset, Transfer, Upload, UploadState
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release
from dpgeo.releases.quotes import Advice, Quote

SHOWN = {JobState.QUEUED: "queued", JobState.RUNNING: "running"}
"""Every other state is "done"."""

JOB_STATES = ("queued", "running", "done")
UPLOAD_STATES = ("receiving", "received", *JOB_STATES)


def state_shown(job: Job) -> str:
    """As much of a job's state as is told."""
    return SHOWN.get(JobState(job.state), "done")


class JobSerializer(Document):
    """Background work. Why one has no result is told at the desk alone."""

    id = serializers.UUIDField(source="job_id")
    url = Address("api:job", source="job_id")
    state = serializers.ChoiceField(choices=JOB_STATES)
    release_url = serializers.URLField(allow_null=True, help_text="Of a release's job.")
    upload_url = serializers.URLField(allow_null=True, help_text="Of an upload's job.")
    has_result = serializers.BooleanField(
        help_text="Whether its release is drawn or its upload ready. A job that is done without "
        "one needs a person at the desk."
    )

    def get_state(self, made: Any) -> str:
        """Of the job that makes it."""
        return state_shown(made.job)

    def get_release_url(self, made: Release | Upload) -> str | None:
        """Where the release is."""
        return self.address("api:release", made.pk) if isinstance(made, Release) else None

    def get_upload_url(self, made: Release | Upload) -> str | None:
        """Where the upload is."""
        return self.address("api:upload", made.pk) if isinstance(made, Upload) else None

    def get_has_result(self, made: Release | Upload) -> bool:
        """Whether there is something to go on with."""
        if isinstance(made, Release):
            return made.job.state == JobState.DONE
        return made.state == UploadState.READY


class UploadSerializer(Document):
    """One file of a dataset."""

    id = serializers.UUIDField(source="pk")
    url = Address("api:upload")
    dataset = serializers.SlugField(source="dataset.slug")
    file_name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes, as announced.")
    offset = serializers.IntegerField(help_text="Bytes that have arrived; go on from there.")
    state = serializers.ChoiceField(
        choices=UPLOAD_STATES,
        help_text="receiving: bytes are missing; received: confirm the columns; then as its job.",
    )
    usable = serializers.BooleanField(help_text="Whether releases can be made from it.")
    job_url = serializers.URLField(allow_null=True)

    def get_offset(self, file: Upload | Transfer) -> int:
        """All of an upload, and of a transfer what has arrived."""
        return file.size if isinstance(file, Upload) else file.offset

    def get_state(self, file: Upload | Transfer) -> str:
        """Where it stands, without anything that depends on its content."""
        if isinstance(file, Transfer):
            return "receiving"
        if file.job is None:
            return "received" if file.state == UploadState.RECEIVED else "done"
        return state_shown(file.job)

    def get_usable(self, file: Upload | Transfer) -> bool:
        """Whether it was read."""
        return isinstance(file, Upload) and file.state == UploadState.READY

    def get_job_url(self, file: Upload | Transfer) -> str | None:
        """The job that reads it."""
        job_id = file.job_id if isinstance(file, Upload) else None
        return self.address("api:job", job_id) if job_id else None


class ColumnsSerializer(Document):
    """Which column holds what, by name; "" where none does."""

    longitude = serializers.CharField(allow_blank=True)
    latitude = serializers.CharField(allow_blank=True)
    person = serializers.CharField(allow_blank=True)
    time = serializers.CharField(allow_blank=True)
    geometry = serializers.CharField(allow_blank=True)
    crs = serializers.CharField(help_text="Code of the system of the coordinates.")


class PreviewSerializer(Document):
    """The columns of a file. Its rows are shown at the desk alone."""

    columns = serializers.ListField(child=serializers.CharField())
    suggested = ColumnsSerializer(help_text="To be checked, then confirmed.")


class SpendSerializer(Document):
    """One look at the data and its price."""

    what = serializers.CharField(help_text="What is measured.")
    epsilon = serializers.CharField(allow_null=True, help_text=EPSILON)
    cost = serializers.CharField(help_text="The same in words, of every notion.")


class ForecastSerializer(Document):
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

    def get_caution(self, forecast: Any) -> str:
        """All of them, one after the other."""
        return " ".join(map(str, forecast.cautions))

    def get_facts(self, forecast: Any) -> list[str]:
        """In English."""
        return list(map(str, forecast.facts))

    def get_radius_50(self, forecast: Any) -> float | None:
        """The nearer radius."""
        return forecast.radii[0] if forecast.radii else None

    def get_radius_95(self, forecast: Any) -> float | None:
        """The farther one."""
        return forecast.radii[1] if forecast.radii else None


class BoundErrorSerializer(Document):
    """The error to expect at one bound."""

    bound = serializers.IntegerField()
    error = serializers.FloatField()


class AdviceSerializer(Document):
    """What guessed numbers say of the bound: errors are root mean squares, of the busy place."""

    best_bound = serializers.IntegerField(source="best", help_text="Of the least error.")
    error = serializers.FloatField(help_text="At the bound asked for.")
    error_at_best = serializers.FloatField()
    curve = BoundErrorSerializer(many=True, help_text="From one place to all of them.")

    def get_curve(self, advice: Advice) -> list[dict[str, Any]]:
        """The error at each bound that is shown."""
        pairs = zip(advice.bounds, advice.errors, strict=True)
        return [{"bound": bound, "error": error} for bound, error in pairs]


class QuoteSerializer(Document):
    """What a release would cost and how noisy it would be. Nothing is reserved."""

    dataset = serializers.SlugField()
    mechanism = serializers.CharField(source="request.mechanism")
    parameters = ParametersField(help_text="All of them, with their defaults.")
    notion = serializers.ChoiceField(
        source="cost.notion.value", choices=[each.value for each in Notion]
    )
    cost = serializers.CharField(help_text="In words.")
    epsilon = serializers.CharField(
        allow_null=True, help_text=f"For pure-dp; null where points are moved. {EPSILON}"
    )
    bound = serializers.IntegerField(source="request.bound")
    counting = serializers.ChoiceField(
        source="request.counting.value", choices=[each.value for each in Counting]
    )
    bounding = serializers.ChoiceField(
        source="request.bounding.value",
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

    def get_dataset(self, quote: Quote) -> str:
        """The dataset it was asked of."""
        slug: str = self.context["dataset"].slug
        return slug

    def get_parameters(self, quote: Quote) -> dict[str, Any]:
        """The parameters, defaults filled in."""
        return dict(quote.request.parameters)

    def get_cost(self, quote: Quote) -> str:
        """The cost as the notion tells it."""
        return quote.words(quote.epsilon)

    def get_epsilon(self, quote: Quote) -> str | None:
        """The cost of pure differential privacy."""
        return presence_epsilon(quote.cost)

    def get_plan(self, quote: Quote) -> list[dict[str, Any]]:
        """Each look at the data."""
        pure = quote.cost.notion is Notion.PURE_DP
        return [
            {
                "what": spend.label,
                "epsilon": format_epsilon(spend.epsilon) if pure else None,
                "cost": quote.words(spend.epsilon),
            }
            for spend in quote.plan
        ]

    def get_warnings(self, quote: Quote) -> list[str]:
        """In English."""
        return list(map(str, quote.warnings))

    def get_left_before(self, quote: Quote) -> str:
        """The budget as it is."""
        return quote.rest(quote.left_before)

    def get_left_after(self, quote: Quote) -> str:
        """The budget as it would be."""
        return quote.rest(quote.left_after)


class PointsBudgetSerializer(Document):
    """The budget for points, in levels."""

    total = PointsSerializer()
    spent = PointsSerializer(help_text="Spent, or held for jobs that run.")
    left = PointsSerializer()

    def get_total(self, ledger: Ledger) -> LedgerUnits:
        """What was declared."""
        return LedgerUnits(ledger, ledger.total_units)

    def get_spent(self, ledger: Ledger) -> LedgerUnits:
        """What the ledger's entries sum to."""
        return LedgerUnits(ledger, ledger.spent_units)

    def get_left(self, ledger: Ledger) -> LedgerUnits:
        """The difference."""
        return LedgerUnits(ledger, ledger.total_units - ledger.spent_units)


class BudgetSerializer(Document):
    """The budget a dataset draws on."""

    dataset = serializers.SlugField(source="slug")
    total = serializers.CharField(help_text=EPSILON)
    spent = serializers.CharField(help_text=f"Spent, or held for jobs that run. {EPSILON}")
    left = serializers.CharField(help_text=EPSILON)
    points = PointsBudgetSerializer(
        allow_null=True, help_text="The budget for points; null where none was declared."
    )
    shared_with = serializers.ListField(
        child=serializers.SlugField(), help_text="Other datasets that draw on the same budget."
    )

    def get_total(self, dataset: Dataset) -> str:
        """What was declared."""
        return format_epsilon(dataset.ledger.total)

    def get_spent(self, dataset: Dataset) -> str:
        """What the ledger's entries sum to."""
        return format_epsilon(dataset.ledger.spent)

    def get_left(self, dataset: Dataset) -> str:
        """The difference."""
        return format_epsilon(dataset.ledger.left)

    def get_points(self, dataset: Dataset) -> Ledger | None:
        """The ledger for points."""
        return points_ledger(dataset.ledger)

    def get_shared_with(self, dataset: Dataset) -> list[str]:
        """The other datasets by slug."""
        return sorted(each.slug for each in dataset.ledger.datasets.all() if each.pk != dataset.pk)


BudgetListSerializer = page_of(
    BudgetSerializer, "BudgetListSerializer", "One page of budgets, by the slug of the dataset."
)
