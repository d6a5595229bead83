"""Views of releases: published ones for all, drafts for members and API keys."""

from __future__ import annotations

import datetime
from typing import Annotated, ClassVar

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from dpgeo.accounts.models import Organisation, Scope
from dpgeo.api.access import is_key, release_seen, request_viewer
from dpgeo.api.answers import address_of
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.idempotency import SAME_JOB
from dpgeo.api.member_answers import JobOut, job_answer
from dpgeo.api.openapi import BODY, linked, operation
from dpgeo.api.paging import Order, next_url, page
from dpgeo.api.problems import BUDGET_EXCEEDED
from dpgeo.api.public_answers import ReleaseListOut, ReleaseOut, release_answer
from dpgeo.api.queries import DayText, FoundQuery, SlugText, choice, schema
from dpgeo.api.release_actions import ACTION_VIEWS, Requested, request_release
from dpgeo.core.declared import fact
from dpgeo.core.kinds import KINDS
from dpgeo.datasets.selectors import near
from dpgeo.mechanisms.registry import MECHANISMS, kind_mechanisms
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import listed, mask_draw, releases_visible_to

NEWEST_FIRST = Order(("day", "pk"), descending=True)
"""Sort by day, then by random id, both descending. The day is that of publication or, for a draft,
that of the request. Sorting by the exact time would reveal when jobs ended, and so would a cursor
that contains the time.
"""


class ReleasesQuery(FoundQuery):
    dataset: SlugText = fact("Only releases of this dataset, by its slug.", None)
    mechanism: Annotated[str, choice([*MECHANISMS]), schema(enum=[*MECHANISMS])] = fact(
        "Only releases of this mechanism, by its key.", None
    )
    kind: Annotated[str, choice(sorted(KINDS)), schema(enum=sorted(KINDS))] = fact(
        "Only releases of this kind of map.", None
    )
    published_from: DayText = fact("Only releases published on this day (UTC) or later.", None)
    published_to: DayText = fact("Only releases published on this day (UTC) or earlier.", None)


class ReleasesView(DocumentView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}
    queries = ReleasesQuery

    @operation(
        "releases",
        "List releases",
        ReleaseListOut,
        tag="releases",
        links={"release": {"release_id": f"{BODY}/results/0/id"}},
    )
    def get(self, request: Request) -> HttpResponse:
        """List published releases, sorted by day, newest first.

        Members, and API keys that may request or publish releases, also see the drafts of their
        organisations.
        """
        viewer = request_viewer(request)
        releases = narrowed(releases_visible_to(viewer), self.query)
        limit, cursor = self.query.limit, self.query.cursor
        found, cursor = page(listed(releases), NEWEST_FIRST, limit=limit, cursor=cursor)
        if is_key(viewer):
            found = [mask_draw(release) for release in found]
        results = [release_answer(release, request) for release in found]
        answer = ReleaseListOut(next=next_url(request, cursor), results=results)
        return self.answer(answer, personal=is_personal(viewer))

    @operation(
        "release_request",
        "Request a release",
        JobOut,
        tag="releases",
        status=202,
        parameters=[SAME_JOB],
        body=Requested,
        errors=[404, 409],
        further=[BUDGET_EXCEEDED],
        repeated="The job of the same request, made before",
        links={"job": {"job_id": f"{BODY}/id"}},
    )
    def post(self, request: Request) -> HttpResponse:
        """Request a release: debit its cost and queue its job.

        The response describes the job. If the request is sent again with its idempotency key, the
        response is 200 and describes the same job.
        """
        release, known = request_release(request, self.actor)
        answer = self.answer(
            job_answer(release, request), status=200 if known else 202, personal=True
        )
        answer["Location"] = address_of(request, "api:release", release.pk)
        return answer


class ReleaseView(DocumentView):
    @operation(
        "release",
        "Get a release",
        ReleaseOut,
        tag="releases",
        errors=[410],
        links={
            **linked(
                [
                    "release_query_box",
                    "release_query",
                    *(f"release_{name}" for name in ACTION_VIEWS),
                ],
                release_id=f"{BODY}/id",
            ),
            "release_file": {"release_id": f"{BODY}/id", "name": f"{BODY}/files/0/name"},
            "tilejson": {"release_id": f"{BODY}/id", "layer": f"{BODY}/files/0/layer"},
        },
    )
    def get(self, request: Request, release_id: str) -> HttpResponse:
        """Get the description of a release and the list of its files.

        A withdrawn release keeps its description, but has no files.
        """
        viewer = request_viewer(request)
        release = release_seen(viewer, release_id)
        return self.answer(release_answer(release, request), personal=is_personal(viewer))


def narrowed(releases: QuerySet[Release], query: ReleasesQuery) -> QuerySet[Release]:
    """Return the releases that match every query parameter in `query`; None matches any value."""
    if slug := query.dataset:
        releases = releases.filter(dataset__slug=slug)
    if slug := query.organisation:
        releases = releases.filter(dataset__organisation__in=Organisation.objects.filter(slug=slug))
    if mechanism := query.mechanism:
        releases = releases.filter(mechanism=mechanism)
    if kind := query.kind:
        releases = releases.filter(mechanism__in=kind_mechanisms(KINDS[kind]))
    if box := query.bbox:
        releases = releases.filter(near(box, "dataset__"))
    if first := query.published_from:
        releases = releases.filter(published_at__gte=_moment(first, datetime.time.min))
    if last := query.published_to:
        # Compare with the end of the day, because the last date that Python supports has no next
        # day.
        releases = releases.filter(published_at__lte=_moment(last, datetime.time.max))
    return releases


def _moment(day: datetime.date, time: datetime.time) -> datetime.datetime:
    return datetime.datetime.combine(day, time, tzinfo=datetime.UTC)
