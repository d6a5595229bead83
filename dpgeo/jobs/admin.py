"""Read-only admin page of background jobs, with private times and failures."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from dpgeo.accounts.admin_access import OrganisationScoped
from dpgeo.accounts.selectors import visible_organisations
from dpgeo.jobs.models import Job


@admin.register(Job)
class JobAdmin(OrganisationScoped):
    """Admin page of the jobs of uploads and releases."""

    list_display = ["task", "state", "step", "attempts", "created_at", "finished_at"]
    list_filter = ["state", "task"]
    exclude = ["lease"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Return the jobs of the uploads and releases of the user's organisations."""
        if request.user.is_superuser:
            return Job.objects.all()
        mine = visible_organisations(request.user)
        return Job.objects.filter(
            Q(release__dataset__organisation__in=mine) | Q(upload__dataset__organisation__in=mine)
        ).distinct()
