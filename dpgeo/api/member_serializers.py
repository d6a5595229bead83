"""JSON documents for members and API keys.

A job is shown only as "working" or "done". It becomes "done" at a public time, which is one of the
times fixed when the job was requested (`jobs.slots`). A job that failed or was cancelled is "done"
without a result. This much cannot be hidden: users who may publish see that there is no release,
and API clients must know when to stop waiting. All other facts may depend on the private data, for
example because a file was too large for the machine's memory: why and at which step a job failed,
how long it ran, how often it was tried, and whether it failed or was cancelled. Requests for these
facts would cost no epsilon and could be repeated without limit. The facts are therefore shown only
at the desk, the site's signed-in area, to people who may see private facts. Times and progress are
left out here for the same reason.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from rest_framework import serializers

from dpgeo.api.access import is_key
from dpgeo.api.documents import Address, Document, Facts, page_of
from dpgeo.api.serializers import (
    EPSILON,
    NOT_ANSWERED,
    EpsilonField,
    LedgerUnits,
    ParametersField,
    PointsSerializer,
    PureEpsilonField,
    RhoSerializer,
    TotalsPlanSerializer,
)
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import debited_units, left_units, points_ledger
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Notion
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.datasets.models import Dataset, Transfer, Upload, UploadState
from dpgeo.datasets.selectors import is_erasure_hidden
from dpgeo.ingest.preview import Preview
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release
from dpgeo.releases.quotes import Advice, Quote

SPENT = "Spent, or reserved for unfinished jobs; to a key also what was refunded."

JOB_STATES = ("working", "done")
UPLOAD_STATES = ("receiving", "received", *JOB_STATES)


def api_state(job: Job) -> str:
    """Return the state of a job, as the API shows it to members and API keys."""
    return "done" if job.is_end_shown else "working"


def is_usable(upload: Upload) -> bool:
    """Return whether the API shows a file as one from which releases can be made.

    The API may still be hiding that the job that reads the file has ended, or that the file was
    erased. Until the API shows this, the function returns the same as before the job ended or the
    file was erased.
    """
    if upload.job is not None and not upload.job.is_end_shown:
        return False
    read_before = upload.job is not None and upload.job.state == JobState.DONE
    return upload.state == UploadState.READY or (read_before and is_erasure_hidden(upload))


class JobSerializer(Document):
    """A background job. Only the desk shows why a job has no result."""

    id = serializers.UUIDField(source="job_id")
    url = Address("api:job", source="job_id")
    state = serializers.ChoiceField(choices=JOB_STATES)
    release_url = serializers.URLField(allow_null=True, help_text="Only of a release's job.")
    upload_url = serializers.URLField(allow_null=True, help_text="Only of an upload's job.")
    has_result = serializers.BooleanField(
        help_text="Whether its release is drawn or its upload ready. If a job is done without a "
        "result, somebody has to look into it at the desk."
    )

    def get_state(self, result: Any) -> str:
        """Return the state of the job that made the release or upload `result`."""
        return api_state(result.job)

    def get_release_url(self, result: Release | Upload) -> str | None:
        """Return the release's URL, or None if `result` is an upload."""
        return self.address("api:release", result.pk) if isinstance(result, Release) else None

    def get_upload_url(self, result: Release | Upload) -> str | None:
        """Return the upload's URL, or None if `result` is a release."""
        return self.address("api:upload", result.pk) if isinstance(result, Upload) else None

    def get_has_result(self, result: Release | Upload) -> bool:
        """Return whether the job has a result: a drawn release or an upload that is ready."""
        if isinstance(result, Release):
            return result.job.is_end_shown and result.job.state == JobState.DONE
        return is_usable(result)


class UploadSerializer(Document):
    """One file that is uploaded to a dataset."""

    id = serializers.UUIDField(source="pk")
    url = Address("api:upload")
    dataset = serializers.SlugField(source="dataset.slug")
    file_name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes, as announced.")
    offset = serializers.IntegerField(help_text="Bytes received so far; continue from there.")
    state = serializers.ChoiceField(
        choices=UPLOAD_STATES,
        help_text="receiving: bytes are missing; received: confirm the columns; then as its job.",
    )
    usable = serializers.BooleanField(help_text="Whether releases can be made from it.")
    job_url = serializers.URLField(allow_null=True)

    def get_offset(self, file: Upload | Transfer) -> int:
        """Return the number of bytes of the file that have arrived."""
        return file.size if isinstance(file, Upload) else file.offset

    def get_state(self, file: Upload | Transfer) -> str:
        """Return one of UPLOAD_STATES; it does not depend on the file's content.

        An unreadable file stays "received", like any other. If nobody confirms the columns, its
        bytes are deleted and the state becomes "done".
        """
        if isinstance(file, Transfer):
            return "receiving"
        if file.job is None:
            return "received" if file.is_kept or is_erasure_hidden(file) else "done"
        return api_state(file.job)

    def get_usable(self, file: Upload | Transfer) -> bool:
        """Return whether releases can be made from the file."""
        return isinstance(file, Upload) and is_usable(file)

    def get_job_url(self, file: Upload | Transfer) -> str | None:
        """Return the URL of the job that reads the file, or None if there is none yet."""
        job_id = file.job_id if isinstance(file, Upload) else None
        return self.address("api:job", job_id) if job_id else None


class OpenUploadsSerializer(Document):
    """The files of a dataset that are still being sent or whose columns are not confirmed yet."""

    results = UploadSerializer(many=True)


class ColumnsSerializer(Document):
    """The column name for each role, or an empty text if no column has the role."""

    longitude = serializers.CharField(allow_blank=True)
    latitude = serializers.CharField(allow_blank=True)
    person = serializers.CharField(allow_blank=True)
    time = serializers.CharField(allow_blank=True)
    geometry = serializers.CharField(allow_blank=True)
    destination_longitude = serializers.CharField(
        allow_blank=True, help_text="Where trips end, for files whose rows are trips."
    )
    destination_latitude = serializers.CharField(allow_blank=True)
    place = serializers.CharField(
        allow_blank=True, help_text="The key of a place on a public list, for counts of places."
    )
    region = serializers.CharField(
        allow_blank=True,
        help_text="The key of a zone, in a table with a row for each person and region.",
    )
    regions = serializers.CharField(
        allow_blank=True, help_text="The declared layer of zones whose keys `region` holds."
    )
    crs = serializers.CharField(help_text="Code of the coordinate reference system.")
    file_format = serializers.CharField(
        allow_blank=True, help_text='What the file is, such as "csv" or "geojson.gz".'
    )


class PreviewSerializer(Document):
    """The columns of a file. Its rows are shown only at the desk."""

    columns = serializers.ListField(
        child=serializers.CharField(),
        help_text="Empty where the names stand in the rows: in JSON, and without a header.",
    )
    suggested = ColumnsSerializer(help_text="A guess; check it, then confirm it.")

    def get_columns(self, preview: Preview) -> list[str]:
        """Return the column names, or an empty list if the names depend on the file's rows."""
        return preview.columns if preview.tells_columns else []

    def get_suggested(self, preview: Preview) -> Columns:
        """Return the guessed column for each role.

        The guess uses the file's header or, if the column names depend on rows, only the file's
        name.
        """
        shown = preview.suggested
        if not preview.tells_columns:
            # The only column of a file of GeoJSON points is named "geometry".
            points = preview.named_format.startswith("geojson")
            shown = Columns(geometry="geometry" if points else "")
        return replace(shown, file_format=preview.named_format)


class SpendSerializer(Document):
    """One measurement and its cost."""

    what = serializers.CharField(help_text="What is measured.")
    epsilon = serializers.CharField(allow_null=True, help_text=EPSILON)
    cost = serializers.CharField(help_text="The cost in words, also for moved points.")


class ForecastSerializer(Document):
    """The noise to expect from a release, computed from public inputs alone."""

    region = serializers.CharField(help_text="The region that is counted in, such as cell.")
    regions = serializers.IntegerField(help_text="The most regions there can be.")
    margin = serializers.IntegerField(
        allow_null=True, help_text="The margin of error of a count (95 %)."
    )
    stands_out_from = serializers.IntegerField(
        allow_null=True,
        help_text="The count that at most one empty region in a thousand reaches by noise.",
    )
    radius_50 = serializers.FloatField(
        allow_null=True, help_text="Half of the points are moved by at most this many metres."
    )
    radius_95 = serializers.FloatField(
        allow_null=True, help_text="95 % of the points are moved by at most this many metres."
    )
    ground_metres = serializers.FloatField(
        help_text="The width of the smallest region on the ground, in metres."
    )
    caution = serializers.CharField(
        allow_blank=True, help_text="What to know before paying; empty if there is nothing."
    )
    facts = serializers.ListField(
        child=serializers.CharField(),
        help_text="Facts from public inputs, such as the hierarchical sensitivity of a level.",
    )

    def get_caution(self, forecast: Any) -> str:
        """Return all warnings in one text, empty if there are none."""
        return " ".join(map(str, forecast.cautions))

    def get_radius_50(self, forecast: Any) -> float | None:
        """Return the median distance in metres by which points are moved.

        Returns None if no points are moved.
        """
        return forecast.radii[0] if forecast.radii else None

    def get_radius_95(self, forecast: Any) -> float | None:
        """Return the 95 % quantile of the distances in metres by which points are moved.

        Returns None if no points are moved.
        """
        return forecast.radii[1] if forecast.radii else None


class BoundErrorSerializer(Document):
    """The error to expect at one contribution bound."""

    bound = serializers.IntegerField()
    error = serializers.FloatField()


class AdviceSerializer(Document):
    """The errors to expect in counts, computed from the publisher's public guesses alone."""

    # The errors are those at the place that the publisher guesses to be busiest. If all cells have
    # the same noise, they are means over all cells.

    best_bound = serializers.IntegerField(
        source="best", help_text="The bound with the smallest error."
    )
    error = serializers.FloatField(help_text="The error at the requested bound.")
    error_at_best = serializers.FloatField()
    curve = BoundErrorSerializer(
        many=True,
        help_text="From a bound of 1 to all places of a person, or beyond the best bound.",
    )

    def get_curve(self, advice: Advice) -> list[dict[str, Any]]:
        """Return the contribution bounds of the error curve, each with the error to expect."""
        pairs = zip(advice.bounds, advice.errors, strict=True)
        return [{"bound": bound, "error": error} for bound, error in pairs]


class CurrenciesSerializer(Document):
    """The noise to expect with a budget in epsilon and in rho, from public inputs alone."""

    delta = serializers.CharField(
        source="delta_text", help_text="The delta of the budget in rho: declared, or the default."
    )
    margin_in_epsilon = serializers.IntegerField(
        source="alone.epsilon", help_text="The margin of a count (95 %) with the epsilon asked for."
    )
    margin_in_rho = serializers.IntegerField(
        source="alone.rho", help_text="The same with the rho of that epsilon at delta."
    )
    maps = serializers.IntegerField(help_text="How many such maps the whole budget pays for.")
    each_margin_in_epsilon = serializers.IntegerField(
        source="each.epsilon", help_text="The margin if the budget is divided among so many maps."
    )
    each_margin_in_rho = serializers.IntegerField(
        source="each.rho", help_text="The same with a budget in rho."
    )
    better = serializers.CharField(
        allow_null=True,
        help_text="The currency in which each of these maps has the smaller margin, pure-dp or "
        "zcdp; null if they are equal.",
    )
    advice = serializers.CharField(help_text="Which is better, and how to change it.")


class QuoteSerializer(Document):
    """The cost and the expected noise of a release. Nothing is reserved."""

    dataset = serializers.SlugField()
    mechanism = serializers.CharField(source="request.mechanism")
    parameters = ParametersField(help_text="All parameters, defaults included.")
    notion = serializers.ChoiceField(
        source="cost.notion.value", choices=[each.value for each in Notion]
    )
    cost = serializers.CharField(help_text="The cost in words.")
    epsilon = PureEpsilonField(
        source="cost",
        allow_null=True,
        help_text=f"For pure-dp; null for other notions. {EPSILON}",
    )
    rho = RhoSerializer(
        allow_null=True,
        help_text="What it costs in a budget in rho, under whichever notion; else null.",
    )
    totals = TotalsPlanSerializer(
        source="request.totals_plan",
        allow_null=True,
        help_text="What would be spent on totals of all the data; null for nothing.",
    )
    request = Facts(ReleaseRequest, without=NOT_ANSWERED)
    epsilon_of_household = serializers.CharField(
        allow_null=True,
        help_text=f"At the budget's delta, if it counts in rho; null for points. {EPSILON}",
    )
    plan = SpendSerializer(many=True)
    forecast = ForecastSerializer()
    left_before = serializers.CharField(
        help_text="What is left of the budget: an epsilon, a rho or, for moved points, a level."
    )
    left_after = serializers.CharField(help_text="What would be left after this release.")
    more_like_this = serializers.IntegerField(
        help_text="How many more such releases the budget would allow."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Reasons not to pay for this release."
    )
    advice = AdviceSerializer(
        allow_null=True, help_text="Advice on the bound; null without a guess."
    )
    currencies = CurrenciesSerializer(
        allow_null=True,
        help_text="A comparison with the other currency of the budget; null once that is fixed.",
    )

    def get_dataset(self, quote: Quote) -> str:
        """Return the slug of the dataset."""
        slug: str = self.context["dataset"].slug
        return slug

    def get_epsilon_of_household(self, quote: Quote) -> str | None:
        """Return the epsilon at which a household is protected, or None for moved points."""
        moved = quote.request.notion is Notion.GEO_IND
        return None if moved else format_epsilon(quote.request.of_household)

    def get_parameters(self, quote: Quote) -> dict[str, Any]:
        """Return all parameters by name, including those left at their defaults."""
        return dict(quote.request.parameters)

    def get_rho(self, quote: Quote) -> LedgerUnits | None:
        """Return the release's cost in rho, or None if the budget does not count in rho."""
        return LedgerUnits(quote.ledger, quote.price) if quote.ledger.is_zcdp else None

    def get_cost(self, quote: Quote) -> str:
        """Return the cost of the release as text for people."""
        return quote.cost_words

    def get_plan(self, quote: Quote) -> list[dict[str, Any]]:
        """Return what the release is going to measure, and what each measurement costs."""
        pure = quote.cost.notion is Notion.PURE_DP
        return [
            {
                "what": spend.label,
                "epsilon": format_epsilon(spend.amount) if pure else None,
                "cost": quote.words(spend.amount),
            }
            for spend in quote.plan
        ]

    def get_left_before(self, quote: Quote) -> str:
        """Return what is left of the budget now."""
        return quote.rest_before

    def get_left_after(self, quote: Quote) -> str:
        """Return what would be left of the budget after the release."""
        return quote.rest_after


class WithSpending(Document):
    """Base class of documents that state how much budget is spent.

    Keys do not see refunds, because refunds would reveal failures.
    """

    def spent_units(self, ledger: Ledger) -> int:
        """Return the spent amount in units of the ledger, as far as the requester may see it.

        For API keys, refunds are not subtracted.
        """
        return debited_units(ledger) if is_key(self.context["request"].user) else ledger.spent_units

    def left_units(self, ledger: Ledger) -> int:
        """Return the remaining amount in units of the ledger, as far as the requester may see it.

        For API keys, refunds are not added.
        """
        return left_units(ledger, refunds=not is_key(self.context["request"].user))


class PointsBudgetSerializer(WithSpending):
    """The budget for points: each amount is a level within a radius."""

    total = PointsSerializer()
    spent = PointsSerializer(help_text=SPENT)
    left = PointsSerializer()

    def get_total(self, ledger: Ledger) -> LedgerUnits:
        """Return the declared budget."""
        return LedgerUnits(ledger, ledger.lifetime_units)

    def get_spent(self, ledger: Ledger) -> LedgerUnits:
        """Return what is spent of the budget, as far as the requester may see it."""
        return LedgerUnits(ledger, self.spent_units(ledger))

    def get_left(self, ledger: Ledger) -> LedgerUnits:
        """Return what is left of the budget, as far as the requester may see it."""
        return LedgerUnits(ledger, self.left_units(ledger))


class RhoBudgetSerializer(WithSpending):
    """A budget in rho: each amount with its epsilon at the declared delta."""

    total = RhoSerializer()
    spent = RhoSerializer(help_text=SPENT)
    left = RhoSerializer()

    def get_total(self, ledger: Ledger) -> LedgerUnits:
        """Return the declared budget."""
        return LedgerUnits(ledger, ledger.lifetime_units)

    def get_spent(self, ledger: Ledger) -> LedgerUnits:
        """Return what is spent of the budget, as far as the requester may see it."""
        return LedgerUnits(ledger, self.spent_units(ledger))

    def get_left(self, ledger: Ledger) -> LedgerUnits:
        """Return what is left of the budget, as far as the requester may see it."""
        return LedgerUnits(ledger, self.left_units(ledger))


class BudgetSerializer(WithSpending):
    """The budget of a dataset.

    In a budget in rho, each epsilon is the one to which a rho converts at the declared delta.
    """

    dataset = serializers.SlugField(source="slug")
    total = EpsilonField(source="ledger.total", help_text=EPSILON)
    spent = EpsilonField(help_text=f"{SPENT} {EPSILON}")
    left = EpsilonField(help_text=EPSILON)
    rho = RhoBudgetSerializer(
        allow_null=True, help_text="The same amounts in rho; null for a budget in epsilon."
    )
    points = PointsBudgetSerializer(
        allow_null=True, help_text="The budget for points; null if none is declared."
    )
    shared_with = serializers.ListField(
        child=serializers.SlugField(), help_text="Other datasets that share the budget."
    )

    def get_spent(self, dataset: Dataset) -> Fraction:
        """Return the spent epsilon, as far as the requester may see it."""
        return dataset.ledger.epsilon_of(self.spent_units(dataset.ledger))

    def get_left(self, dataset: Dataset) -> Fraction:
        """Return the remaining epsilon, as far as the requester may see it."""
        return dataset.ledger.epsilon_of(self.left_units(dataset.ledger))

    def get_rho(self, dataset: Dataset) -> Ledger | None:
        """Return the dataset's ledger if it counts in rho, or None."""
        return dataset.ledger if dataset.ledger.is_zcdp else None

    def get_points(self, dataset: Dataset) -> Ledger | None:
        """Return the ledger for points, or None if no budget for points is declared."""
        return points_ledger(dataset.ledger)

    def get_shared_with(self, dataset: Dataset) -> list[str]:
        """Return the sorted slugs of the other datasets that share the budget."""
        return sorted(each.slug for each in dataset.ledger.datasets.all() if each.pk != dataset.pk)


BudgetListSerializer = page_of(
    BudgetSerializer, "BudgetListSerializer", "One page of budgets, by the slug of the dataset."
)
