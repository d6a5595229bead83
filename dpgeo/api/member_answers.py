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

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from dpgeo.api.access import is_key
from dpgeo.api.answers import NEXT, Answer, AnyRequest, Parameters, Slug, Url, address_of, one_of
from dpgeo.api.public_answers import (
    EPSILON,
    NotionKey,
    PointsOut,
    RequestFacts,
    RhoOut,
    TotalsPlanOut,
    own_fields_first,
    points_answer,
    rho_answer,
    totals_answer,
)
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import debited_units, left_units, points_ledger
from dpgeo.core.declared import fact
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Notion, PureDP
from dpgeo.datasets.models import Dataset, Transfer, Upload, UploadState
from dpgeo.datasets.selectors import is_erasure_hidden
from dpgeo.ingest.preview import Preview
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release
from dpgeo.releases.quotes import Quote

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


class JobOut(Answer):
    """A background job. Only the desk shows why a job has no result."""

    id: UUID
    url: Url
    state: Annotated[str, one_of(JOB_STATES)]
    release_url: Url | None = fact("Only of a release's job.")
    upload_url: Url | None = fact("Only of an upload's job.")
    has_result: bool = fact(
        "Whether its release is drawn or its upload ready. If a job is done without a "
        "result, somebody has to look into it at the desk."
    )


def job_answer(result: Release | Upload, request: AnyRequest) -> JobOut:
    job: Any = result.job
    drawn = isinstance(result, Release)
    return JobOut(
        id=job.pk,
        url=address_of(request, "api:job", job.pk),
        state=api_state(job),
        release_url=address_of(request, "api:release", result.pk) if drawn else None,
        upload_url=None if drawn else address_of(request, "api:upload", result.pk),
        has_result=is_usable(result)
        if isinstance(result, Upload)
        else job.is_end_shown and job.state == JobState.DONE,
    )


class UploadOut(Answer):
    """One file that is uploaded to a dataset."""

    id: UUID
    url: Url
    dataset: Slug
    file_name: str
    size: int = fact("Bytes, as announced.")
    offset: int = fact("Bytes received so far; continue from there.")
    state: Annotated[str, one_of(UPLOAD_STATES)] = fact(
        "receiving: bytes are missing; received: confirm the columns; then as its job."
    )
    usable: bool = fact("Whether releases can be made from it.")
    job_url: Url | None


class OpenUploadsOut(Answer):
    """The files of a dataset that are still being sent or whose columns are not confirmed yet."""

    results: list[UploadOut]


def upload_answer(file: Upload | Transfer, request: AnyRequest) -> UploadOut:
    whole = file if isinstance(file, Upload) else None
    return UploadOut(
        id=file.pk,
        url=address_of(request, "api:upload", file.pk),
        dataset=file.dataset.slug,
        file_name=file.file_name,
        size=file.size,
        offset=file.size if isinstance(file, Upload) else file.offset,
        state=_upload_state(file),
        usable=whole is not None and is_usable(whole),
        job_url=address_of(request, "api:job", whole.job_id) if whole and whole.job_id else None,
    )


def _upload_state(file: Upload | Transfer) -> str:
    """Return one of UPLOAD_STATES; it does not depend on the file's content.

    An unreadable file stays "received", like any other. If nobody confirms the columns, its bytes
    are deleted and the state becomes "done".
    """
    if isinstance(file, Transfer):
        return "receiving"
    if file.job is None:
        return "received" if file.is_kept or is_erasure_hidden(file) else "done"
    return api_state(file.job)


class ColumnsOut(Answer):
    """The column name for each role, or an empty text if no column has the role."""

    longitude: str
    latitude: str
    person: str
    time: str
    geometry: str
    destination_longitude: str = fact("Where trips end, for files whose rows are trips.")
    destination_latitude: str
    place: str = fact("The key of a place on a public list, for counts of places.")
    region: str = fact("The key of a zone, in a table with a row for each person and region.")
    regions: str = fact("The declared layer of zones whose keys `region` holds.")
    crs: str = fact("Code of the coordinate reference system.")
    file_format: str = fact('What the file is, such as "csv" or "geojson.gz".')


class PreviewOut(Answer):
    """The columns of a file. Its rows are shown only at the desk."""

    columns: list[str] = fact(
        "Empty where the names stand in the rows: in JSON, and without a header."
    )
    suggested: ColumnsOut = fact("A guess; check it, then confirm it.")


def preview_answer(preview: Preview) -> PreviewOut:
    """Return the columns of a file and their guessed roles.

    They depend on the file's header or, if the column names are part of the rows, only on the
    file's name.
    """
    columns, guess = preview.columns, preview.suggested
    if not preview.tells_columns:
        # The only column of a file of GeoJSON points is named "geometry".
        points = preview.named_format.startswith("geojson")
        columns, guess = [], Columns(geometry="geometry" if points else "")
    suggested = replace(guess, file_format=preview.named_format)
    return PreviewOut(columns=columns, suggested=ColumnsOut.model_validate(suggested))


class SpendOut(Answer):
    """One measurement and its cost."""

    what: str = fact("What is measured.")
    epsilon: str | None = fact(EPSILON)
    cost: str = fact("The cost in words, also for moved points.")


class ForecastOut(Answer):
    """The noise to expect from a release, computed from public inputs alone."""

    region: str = fact("The region that is counted in, such as cell.")
    regions: int = fact("The most regions there can be.")
    margin: int | None = fact("The margin of error of a count (95 %).")
    stands_out_from: int | None = fact(
        "The count that at most one empty region in a thousand reaches by noise."
    )
    radius_50: float | None = fact("Half of the points are moved by at most this many metres.")
    radius_95: float | None = fact("95 % of the points are moved by at most this many metres.")
    ground_metres: float = fact("The width of the smallest region on the ground, in metres.")
    caution: str = fact("What to know before paying; empty if there is nothing.")
    facts: list[str] = fact(
        "Facts from public inputs, such as the hierarchical sensitivity of a level."
    )


class BoundErrorOut(Answer):
    """The error to expect at one contribution bound."""

    bound: int
    error: float


class AdviceOut(Answer):
    """The errors to expect in counts, computed from the publisher's public guesses alone."""

    # The errors are those at the place that the publisher guesses to be busiest. If all cells have
    # the same noise, they are means over all cells.

    best_bound: int = fact("The bound with the smallest error.")
    error: float = fact("The error at the requested bound.")
    error_at_best: float
    curve: list[BoundErrorOut] = fact(
        "From a bound of 1 to all places of a person, or beyond the best bound."
    )


class CurrenciesOut(Answer):
    """The noise to expect with a budget in epsilon and in rho, from public inputs alone."""

    delta: str = fact("The delta of the budget in rho: declared, or the default.")
    margin_in_epsilon: int = fact("The margin of a count (95 %) with the epsilon asked for.")
    margin_in_rho: int = fact("The same with the rho of that epsilon at delta.")
    maps: int = fact("How many such maps the whole budget pays for.")
    each_margin_in_epsilon: int = fact("The margin if the budget is divided among so many maps.")
    each_margin_in_rho: int = fact("The same with a budget in rho.")
    better: str | None = fact(
        "The currency in which each of these maps has the smaller margin, pure-dp or "
        "zcdp; null if they are equal."
    )
    advice: str = fact("Which is better, and how to change it.")


class QuoteOut(RequestFacts):  # type: ignore[misc]
    """The cost and the expected noise of a release. Nothing is reserved."""

    dataset: Slug
    mechanism: str
    parameters: Parameters = fact("All parameters, defaults included.")
    notion: NotionKey
    cost: str = fact("The cost in words.")
    epsilon: str | None = fact(f"For pure-dp; null for other notions. {EPSILON}")
    rho: RhoOut | None = fact(
        "What it costs in a budget in rho, under whichever notion; else null."
    )
    totals: TotalsPlanOut | None = fact(
        "What would be spent on totals of all the data; null for nothing."
    )
    epsilon_of_household: str | None = fact(
        f"At the budget's delta, if it counts in rho; null for points. {EPSILON}"
    )
    plan: list[SpendOut]
    forecast: ForecastOut
    left_before: str = fact(
        "What is left of the budget: an epsilon, a rho or, for moved points, a level."
    )
    left_after: str = fact("What would be left after this release.")
    more_like_this: int = fact("How many more such releases the budget would allow.")
    warnings: list[str] = fact("Reasons not to pay for this release.")
    advice: AdviceOut | None = fact("Advice on the bound; null without a guess.")
    currencies: CurrenciesOut | None = fact(
        "A comparison with the other currency of the budget; null once that is fixed."
    )


own_fields_first(QuoteOut)


def quote_answer(quote: Quote, dataset: Dataset) -> QuoteOut:
    asked, cost, ledger = quote.request, quote.cost, quote.ledger
    pure, moved = isinstance(cost, PureDP), cost.notion is Notion.GEO_IND
    answer: QuoteOut = QuoteOut.model_validate(
        {
            **dict(asked),
            "dataset": dataset.slug,
            "parameters": asked.parameters,
            "notion": cost.notion,
            "cost": quote.cost_words,
            "epsilon": format_epsilon(cost.epsilon) if pure else None,
            "rho": rho_answer(ledger, quote.price) if ledger.is_zcdp else None,
            "totals": totals_answer(asked.totals_plan),
            "epsilon_of_household": None if moved else format_epsilon(asked.of_household),
            "plan": [
                SpendOut(
                    what=spend.label,
                    epsilon=format_epsilon(spend.amount) if pure else None,
                    cost=quote.words(spend.amount),
                )
                for spend in quote.plan
            ],
            "forecast": _forecast_answer(quote),
            "left_before": quote.rest_before,
            "left_after": quote.rest_after,
            "more_like_this": quote.more_like_this,
            "warnings": [str(each) for each in quote.warnings],
            "advice": _advice_answer(quote),
            "currencies": _currencies_answer(quote),
        }
    )
    return answer


def _forecast_answer(quote: Quote) -> ForecastOut:
    forecast = quote.forecast
    half, most = forecast.radii or (None, None)
    return ForecastOut(
        region=forecast.region,
        regions=forecast.regions,
        margin=forecast.margin,
        stands_out_from=forecast.stands_out_from,
        radius_50=half,
        radius_95=most,
        ground_metres=forecast.ground_metres,
        caution=" ".join(map(str, forecast.cautions)),
        facts=[str(each) for each in forecast.facts],
    )


def _advice_answer(quote: Quote) -> AdviceOut | None:
    advice = quote.advice
    if advice is None:
        return None
    pairs = zip(advice.bounds, advice.errors, strict=True)
    return AdviceOut(
        best_bound=advice.best,
        error=advice.error,
        error_at_best=advice.error_at_best,
        curve=[BoundErrorOut(bound=bound, error=error) for bound, error in pairs],
    )


def _currencies_answer(quote: Quote) -> CurrenciesOut | None:
    both = quote.currencies
    if both is None:
        return None
    return CurrenciesOut(
        delta=both.delta_text,
        margin_in_epsilon=both.alone.epsilon,
        margin_in_rho=both.alone.rho,
        maps=both.maps,
        each_margin_in_epsilon=both.each.epsilon,
        each_margin_in_rho=both.each.rho,
        better=both.better,
        advice=str(both.advice),
    )


class PointsBudgetOut(Answer):
    """The budget for points: each amount is a level within a radius."""

    total: PointsOut
    spent: PointsOut = fact(SPENT)
    left: PointsOut


class RhoBudgetOut(Answer):
    """A budget in rho: each amount with its epsilon at the declared delta."""

    total: RhoOut
    spent: RhoOut = fact(SPENT)
    left: RhoOut


class BudgetOut(Answer):
    """The budget of a dataset.

    In a budget in rho, each epsilon is the one to which a rho converts at the declared delta.
    """

    dataset: Slug
    total: str = fact(EPSILON)
    spent: str = fact(f"{SPENT} {EPSILON}")
    left: str = fact(EPSILON)
    rho: RhoBudgetOut | None = fact("The same amounts in rho; null for a budget in epsilon.")
    points: PointsBudgetOut | None = fact("The budget for points; null if none is declared.")
    shared_with: list[Slug] = fact("Other datasets that share the budget.")


class BudgetListOut(Answer):
    """One page of budgets, by the slug of the dataset."""

    results: list[BudgetOut]
    next: Url | None = fact(NEXT)


def budget_answer(dataset: Dataset, request: AnyRequest) -> BudgetOut:
    """Return the budget of a dataset, as far as the requester may see it.

    For API keys, refunds count as spent, because they would reveal failures.
    """
    ledger, points = dataset.ledger, points_ledger(dataset.ledger)
    by_key = is_key(request.user)

    def amounts(ledger: Ledger, answer: Callable[[Ledger, int], Any]) -> dict[str, Any]:
        spent = debited_units(ledger) if by_key else ledger.spent_units
        return {
            "total": answer(ledger, ledger.lifetime_units),
            "spent": answer(ledger, spent),
            "left": answer(ledger, left_units(ledger, refunds=not by_key)),
        }

    return BudgetOut(
        dataset=dataset.slug,
        **amounts(ledger, lambda ledger, units: format_epsilon(ledger.epsilon_of(units))),
        rho=RhoBudgetOut(**amounts(ledger, rho_answer)) if ledger.is_zcdp else None,
        points=PointsBudgetOut(**amounts(points, points_answer)) if points else None,
        shared_with=sorted(each.slug for each in ledger.datasets.all() if each.pk != dataset.pk),
    )
