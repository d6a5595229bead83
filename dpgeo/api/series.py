"""Views that declare, list, describe, continue and end series.

API keys learn that a map is drawn, or that none will be, only when the end of its job is public
(`jobs.slots`).
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from django.http import Http404, HttpResponse
from pydantic import Field, model_validator
from rest_framework.request import Request

from dpgeo.accounts.models import Scope
from dpgeo.accounts.selectors import visible_organisations
from dpgeo.api.access import is_key, own_dataset
from dpgeo.api.answers import (
    ONE_PAGE,
    Answer,
    Parameters,
    Slug,
    Url,
    address_of,
    day_of,
    one_of,
)
from dpgeo.api.base import DocumentView
from dpgeo.api.openapi import BODY, linked, operation
from dpgeo.api.range_answers import CountingKey
from dpgeo.api.request_bodies import read_body
from dpgeo.artefacts.series_wording import promised
from dpgeo.core.declared import Day, Declared, fact
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.series import Period, Protection
from dpgeo.core.series_request import SeriesRequest
from dpgeo.core.zcdp import delta_text
from dpgeo.releases.models import Series
from dpgeo.releases.series import (
    series_complete,
    series_declare,
    series_end,
    series_mechanisms,
    series_resume,
    series_seen,
)


class SeriesDeclaration(SeriesRequest):
    """The declaration of a series."""

    schema_facts: ClassVar = {"mechanism": {"enum": series_mechanisms()}}

    @model_validator(mode="before")
    @classmethod
    def _refuse_households(cls, sent: Any) -> Any:
        if "household" in sent:
            raise InvalidInput(
                "Series protect single people; leave it out. A household of k people loses up to k "
                "times the epsilon, or k^2 times the rho, of one.",
                field="household",
            )
        return sent


class Completion(Declared):
    """A request body that says through which day the data are complete."""

    through: Day = Field(description="The last day that is complete; it has to be past.")


class SeriesOut(Answer):
    """A series: a map for every period, drawn one after another."""

    id: UUID
    url: Url
    dataset: Slug
    title: str
    description: str
    mechanism: str
    parameters: Parameters
    counting: CountingKey
    period: Annotated[str, one_of(Period)]
    first_day: datetime.date
    protection: Annotated[str, one_of(Protection)]
    each: int = fact("The most that one person adds to a map.")
    most: int = fact(
        "The most that one person adds to all maps, or the number of maps or of periods in a row."
    )
    epsilon: str
    epsilon_of_map: str = fact("With which each map is drawn.")
    epsilon_of_year: str = fact("What the maps of a year spend together.")
    rho: str | None = fact("What adds up if the series is paid in rho; otherwise null.")
    rho_of_map: str | None
    delta: str | None = fact("At which rho is converted to the epsilons.")
    paid_once: bool
    promises: str = fact("What it protects, in sentences.")
    all_files: bool = fact("Whether the files of each map are made when it is published.")
    complete_through: datetime.date | None
    drawn: int = fact("How many maps are drawn.")
    due: int = fact("How many more are due.")
    ended: bool = fact("Whether no further map is drawn.")
    declared_on: datetime.date


class SeriesListOut(Answer):
    """All series of a dataset, newest first."""

    results: list[SeriesOut]
    next: Url | None = fact(ONE_PAGE)


def series_answer(series: Series, request: Request) -> SeriesOut:
    terms, asked = series.terms, series.request
    seen = series_seen(series, public=is_key(request.user))
    in_rho = terms.rho is not None
    return SeriesOut.model_validate(
        {
            **{name: getattr(series, name, None) for name in SeriesOut.model_fields},
            "id": series.pk,
            "url": address_of(request, "api:series-one", series.pk),
            "dataset": series.dataset.slug,
            "mechanism": asked.mechanism,
            "parameters": asked.parameters,
            "counting": asked.counting,
            "epsilon": format_epsilon(terms.epsilon),
            "epsilon_of_map": format_epsilon(terms.epsilon_of_map),
            "epsilon_of_year": format_epsilon(terms.epsilon_of_year),
            "rho": None if terms.rho is None else format_epsilon(terms.rho),
            "rho_of_map": format_epsilon(terms.amount_of_map) if in_rho else None,
            "delta": None if terms.delta is None else delta_text(terms.delta),
            "paid_once": series.is_paid_once,
            "promises": " ".join(map(str, promised(terms))),
            "drawn": seen.drawn,
            "due": seen.due,
            "ended": seen.ended,
            "declared_on": day_of(series.created_at),
        }
    )


class DatasetSeriesView(DocumentView):
    scopes: ClassVar = {"GET": Scope.RELEASES_REQUEST, "POST": Scope.RELEASES_REQUEST}

    @operation("series_list", "List series", SeriesListOut, tag="releases")
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List the series of a dataset."""
        dataset = own_dataset(self.actor, slug, "view")
        found = dataset.series.select_related("dataset")
        results = [series_answer(series, request) for series in found]
        return self.answer(SeriesListOut(results=results, next=None), personal=True)

    @operation(
        "series_declare",
        "Declare a series",
        SeriesOut,
        tag="releases",
        status=201,
        body=SeriesDeclaration,
        errors=[409],
        links=linked(
            ["series", "series_complete", "series_end", "series_resume"], series_id=f"{BODY}/id"
        ),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Declare a map for every day, week or month.

        Each map is drawn once, after its last day is over and its data were said to be complete.
        """
        dataset = own_dataset(self.actor, slug, "request")
        asked = read_body(request, SeriesDeclaration)
        series = series_declare(dataset=dataset, asked=asked, by=self.actor)
        return self.created(series_answer(series, request))


class OwnSeriesView(DocumentView):
    def own(self, series_id: UUID) -> Series:
        """Return a series of the requester's organisations. Raises Http404."""
        series = Series.objects.select_related("dataset__ledger").filter(pk=series_id).first()
        owners = visible_organisations(self.actor)
        if series is None or not owners.filter(pk=series.dataset.organisation_id).exists():
            raise Http404
        return series

    def show(self, series: Series) -> HttpResponse:
        return self.answer(series_answer(series, self.request), personal=True)


class OneSeriesView(OwnSeriesView):
    scopes: ClassVar = {"GET": Scope.RELEASES_REQUEST}

    @operation("series", "Describe a series", SeriesOut, tag="releases")
    def get(self, request: Request, series_id: UUID) -> HttpResponse:
        """Get what a series promises, and how many of its maps are drawn and due."""
        return self.show(self.own(series_id))


class SeriesCompleteView(OwnSeriesView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_complete",
        "Say that data are complete",
        SeriesOut,
        tag="releases",
        body=Completion,
        errors=[409],
    )
    def post(self, request: Request, series_id: UUID) -> HttpResponse:
        """Say through which day the data are complete, so that due maps are drawn."""
        through = read_body(request, Completion).through
        return self.show(
            series_complete(series=self.own(series_id), through=through, by=self.actor)
        )


class SeriesEndView(OwnSeriesView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_end",
        "End a series",
        SeriesOut,
        tag="releases",
        errors=[409],
    )
    def post(self, request: Request, series_id: UUID) -> HttpResponse:
        """End a series for good. What it cost stays spent, unless no map was requested."""
        read_body(request)
        return self.show(series_end(series=self.own(series_id), by=self.actor))


class SeriesResumeView(OwnSeriesView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_resume",
        "Resume a series",
        SeriesOut,
        tag="releases",
        errors=[409],
    )
    def post(self, request: Request, series_id: UUID) -> HttpResponse:
        """Go on with a series that ended because a map failed before noise was drawn for it.

        An API key resumes only series that some API key declared, and only if the map failed before
        the data were opened.
        """
        read_body(request)
        return self.show(series_resume(series=self.own(series_id), by=self.actor))
