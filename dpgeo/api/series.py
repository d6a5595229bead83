"""Views that declare, list, describe, continue and end series.

API keys learn that a map is drawn, or that none will be, only when the end of its job is public
(`jobs.slots`).
"""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404
from pydantic import Field, model_validator
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope
from dpgeo.accounts.selectors import organisations_of
from dpgeo.api.access import is_key, own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.documents import Address, Document, page_of
from dpgeo.api.openapi import BODY, in_path, linked, operation
from dpgeo.api.request_bodies import read_body
from dpgeo.api.serializers import DayField, ParametersField
from dpgeo.artefacts.series_wording import promised
from dpgeo.core.declared import Day, Declared
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Counting
from dpgeo.core.series import Period, Protection
from dpgeo.core.series_request import SeriesRequest
from dpgeo.core.zcdp import delta_text
from dpgeo.releases.models import Series
from dpgeo.releases.series import (
    Seen,
    series_complete,
    series_declare,
    series_end,
    series_mechanisms,
    series_resume,
    series_seen,
)

SLUG = in_path("slug", "The dataset's short name.")
SERIES_ID = in_path("series_id", "The series' id.", UUID)


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


class SeriesSerializer(Document):
    """A series: a map for every period, drawn one after another."""

    id = serializers.UUIDField(source="pk")
    url = Address("api:series-one")
    dataset = serializers.SlugField(source="dataset.slug")
    title = serializers.CharField()
    description = serializers.CharField()
    mechanism = serializers.CharField(source="request.mechanism")
    parameters = ParametersField(source="request.parameters")
    counting = serializers.ChoiceField(
        source="request.counting", choices=[each.value for each in Counting]
    )
    period = serializers.ChoiceField(choices=[each.value for each in Period])
    first_day = serializers.DateField()
    protection = serializers.ChoiceField(choices=[each.value for each in Protection])
    each = serializers.IntegerField(help_text="The most that one person adds to a map.")
    most = serializers.IntegerField(
        help_text="The most that one person adds to all maps, or the number of maps or of periods "
        "in a row."
    )
    epsilon = serializers.CharField()
    epsilon_of_map = serializers.CharField(help_text="With which each map is drawn.")
    epsilon_of_year = serializers.CharField(help_text="What the maps of a year spend together.")
    rho = serializers.CharField(
        allow_null=True, help_text="What adds up if the series is paid in rho; otherwise null."
    )
    rho_of_map = serializers.CharField(allow_null=True)
    delta = serializers.CharField(
        allow_null=True, help_text="At which rho is converted to the epsilons."
    )
    paid_once = serializers.BooleanField(source="is_paid_once")
    promises = serializers.CharField(help_text="What it protects, in sentences.")
    all_files = serializers.BooleanField(
        help_text="Whether the files of each map are made when it is published."
    )
    complete_through = serializers.DateField(allow_null=True)
    drawn = serializers.IntegerField(help_text="How many maps are drawn.")
    due = serializers.IntegerField(help_text="How many more are due.")
    ended = serializers.BooleanField(help_text="Whether no further map is drawn.")
    declared_on = DayField(source="created_at")

    def get_epsilon(self, series: Series) -> str:
        """Return the epsilon with which the series protects each person."""
        return format_epsilon(series.terms.epsilon)

    def get_epsilon_of_map(self, series: Series) -> str:
        """Return the epsilon with which each map is drawn."""
        return format_epsilon(series.terms.epsilon_of_map)

    def get_epsilon_of_year(self, series: Series) -> str:
        """Return the epsilon that the maps of one year spend together."""
        return format_epsilon(series.terms.epsilon_of_year)

    def get_rho(self, series: Series) -> str | None:
        """Return the rho with which the series protects each person; None if no rho is spent."""
        return None if (rho := series.terms.rho) is None else format_epsilon(rho)

    def get_rho_of_map(self, series: Series) -> str | None:
        """Return the rho with which each map is drawn; None if no rho is spent."""
        terms = series.terms
        return None if terms.rho is None else format_epsilon(terms.amount_of_map)

    def get_delta(self, series: Series) -> str | None:
        """Return the delta at which rho is converted to epsilon; None if no rho is spent."""
        return None if (delta := series.terms.delta) is None else delta_text(delta)

    def get_promises(self, series: Series) -> str:
        """Return sentences on the protection that the series gives."""
        return " ".join(map(str, promised(series.terms)))

    def get_drawn(self, series: Series) -> int:
        """Return how many maps are drawn, as far as the requester may know."""
        return self._seen(series).drawn

    def get_due(self, series: Series) -> int:
        """Return how many maps are due, as far as the requester may know."""
        return self._seen(series).due

    def get_ended(self, series: Series) -> bool:
        """Return whether the series has ended, as far as the requester may know."""
        return self._seen(series).ended

    def _seen(self, series: Series) -> Seen:
        return series_seen(series, public=is_key(self.context["request"].user))


SeriesListSerializer = page_of(
    SeriesSerializer,
    "SeriesListSerializer",
    "All series of a dataset, newest first.",
    only="there are few",
)


class DatasetSeriesView(DocumentView):
    """The series of a dataset."""

    scopes: ClassVar = {"GET": Scope.RELEASES_REQUEST, "POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_list", "List series", SeriesListSerializer, tag="releases", parameters=[SLUG]
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the series of a dataset."""
        dataset = own_dataset(self.actor, slug, "view")
        document = {"results": dataset.series.select_related("dataset"), "next": None}
        return self.answer(self.write(SeriesListSerializer, document), personal=True)

    @operation(
        "series_declare",
        "Declare a series",
        SeriesSerializer,
        tag="releases",
        status=201,
        parameters=[SLUG],
        body=SeriesDeclaration,
        errors=[409],
        links=linked(
            ["series", "series_complete", "series_end", "series_resume"], series_id=f"{BODY}/id"
        ),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Declare a map for every day, week or month.

        Each map is drawn once, after its last day is over and its data were said to be complete.
        """
        dataset = own_dataset(self.actor, slug, "request")
        asked = read_body(request, SeriesDeclaration)
        series = series_declare(dataset=dataset, asked=asked, by=self.actor)
        document = self.write(SeriesSerializer, series)
        headers = {"Location": document["url"], "Cache-Control": "private, no-store"}
        return Response(document, status=201, headers=headers)


class OwnSeriesView(DocumentView):
    """Base class of the views of one series of the requester's organisations."""

    def own(self, series_id: UUID) -> Series:
        """Return a series of the requester's organisations. Raises Http404."""
        series = Series.objects.select_related("dataset__ledger").filter(pk=series_id).first()
        owners = organisations_of(self.actor)
        if series is None or not owners.filter(pk=series.dataset.organisation_id).exists():
            raise Http404
        return series

    def show(self, series: Series) -> Response:
        """Return a response that describes the series."""
        return self.answer(self.write(SeriesSerializer, series), personal=True)


class OneSeriesView(OwnSeriesView):
    """One series."""

    scopes: ClassVar = {"GET": Scope.RELEASES_REQUEST}

    @operation(
        "series", "Describe a series", SeriesSerializer, tag="releases", parameters=[SERIES_ID]
    )
    def get(self, request: Request, series_id: UUID) -> Response:
        """Get what a series promises, and how many of its maps are drawn and due."""
        return self.show(self.own(series_id))


class SeriesCompleteView(OwnSeriesView):
    """The statement that the data of a series are complete through a day."""

    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_complete",
        "Say that data are complete",
        SeriesSerializer,
        tag="releases",
        parameters=[SERIES_ID],
        body=Completion,
        errors=[409],
    )
    def post(self, request: Request, series_id: UUID) -> Response:
        """Say through which day the data are complete, so that due maps are drawn."""
        through = read_body(request, Completion).through
        return self.show(
            series_complete(series=self.own(series_id), through=through, by=self.actor)
        )


class SeriesEndView(OwnSeriesView):
    """The end of a series."""

    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_end",
        "End a series",
        SeriesSerializer,
        tag="releases",
        parameters=[SERIES_ID],
        errors=[409],
    )
    def post(self, request: Request, series_id: UUID) -> Response:
        """End a series for good. What it cost stays spent, unless no map was requested."""
        read_body(request)
        return self.show(series_end(series=self.own(series_id), by=self.actor))


class SeriesResumeView(OwnSeriesView):
    """The resumption of a series that a failed map has ended."""

    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "series_resume",
        "Resume a series",
        SeriesSerializer,
        tag="releases",
        parameters=[SERIES_ID],
        errors=[409],
    )
    def post(self, request: Request, series_id: UUID) -> Response:
        """Go on with a series that ended because a map failed before noise was drawn for it.

        An API key resumes only series that some API key declared, and only if the map failed before
        the data were opened.
        """
        read_body(request)
        return self.show(series_resume(series=self.own(series_id), by=self.actor))
