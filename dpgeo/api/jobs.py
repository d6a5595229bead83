"""Background work as keys see it; see `work` for what is told and what is not."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope
from dpgeo.api.base import DocumentView
from dpgeo.api.job_documents import job_document
from dpgeo.api.member_serializers import JobSerializer
from dpgeo.api.openapi import in_path, operation

JOB_ID = in_path("job_id", "The job's id.", UUID)


class JobView(DocumentView):
    """One job."""

    scopes: ClassVar = {"GET": Scope.JOBS_READ}

    @operation("job", "Get a job", JobSerializer, tag="jobs", parameters=[JOB_ID])
    def get(self, request: Request, job_id: UUID) -> Response:
        """Queued, running or done. Ask again every few seconds until it is done."""
        document = job_document(request, self.actor, job_id)
        return self.answer(JobSerializer(document).data, personal=True)
