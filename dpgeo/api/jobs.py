"""Background jobs as the API shows them to members and keys; see `JobOut`."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.http import Http404, HttpResponse
from rest_framework.request import Request

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import visible_organisations
from dpgeo.api.base import DocumentView
from dpgeo.api.member_answers import JobOut, job_answer
from dpgeo.api.openapi import operation
from dpgeo.datasets.models import Upload
from dpgeo.datasets.selectors import uploads_visible_to
from dpgeo.releases.models import Release


class JobView(DocumentView):
    scopes: ClassVar = {"GET": Scope.JOBS_READ}

    @operation("job", "Get a job", JobOut, tag="jobs")
    def get(self, request: Request, job_id: UUID) -> HttpResponse:
        """Get the state of a job: working or done. Ask again every minute until it is done.

        An API key sees that a job is done only at fixed times after the request: after 1, 5, 15 or
        60 minutes, or after any whole number of hours from two on.
        """
        return self.answer(job_answer(job_seen(self.actor, job_id), request), personal=True)


def job_seen(user: User, job_id: UUID) -> Release | Upload:
    """Return the release or upload that a job works on.

    Raises Http404 if there is no such job, or `user` may not see what it works on.
    """
    mine = Release.objects.filter(dataset__organisation__in=visible_organisations(user))
    release = mine.filter(job_id=job_id).select_related("job").first()
    upload = None if release else uploads_visible_to(user).filter(job_id=job_id).first()
    result = release or upload
    if result is None:
        raise Http404
    return result
