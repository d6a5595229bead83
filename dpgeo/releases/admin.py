"""Admin pages of series and of releases, with buttons to publish, withdraw, cancel and retry.

Drafts are rejected on the owners' pages (the desk), which ask for the reason.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from dpgeo.accounts.admin_access import OrganisationScoped, desk_url
from dpgeo.accounts.models import User
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import DpgeoError
from dpgeo.jobs.models import JobState
from dpgeo.releases.models import Release, Series
from dpgeo.releases.selectors import open_actions
from dpgeo.releases.services import DECISIONS
from dpgeo.releases.states import ACTIONS

BUTTONS = {name: action.label for name, action in ACTIONS.items() if not action.inputs}
"""Button labels by action, for the actions that need no further input."""


@admin.register(Series)
class SeriesAdmin(OrganisationScoped):
    """Admin for series; it shows only the series of the user's organisations."""

    list_display = ["title", "dataset", "period", "protection", "drawn", "ending"]
    list_filter = ["period", "protection", ("dataset", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["title"]
    fields = readonly_fields = (
        *("id", "dataset", "title", "description", "request"),
        *("period", "first_day", "protection", "each", "most", "epsilon_shown"),
        *("publish_when_done", "all_files", "complete_through", "drawn", "created_at"),
        *("created_by", "ended_at", "ending"),
    )
    organisation_path = "dataset__organisation"

    @admin.display(description="Epsilon", ordering="epsilon_units")
    def epsilon_shown(self, series: Series) -> str:
        """Format the epsilon by which the series protects each privacy unit."""
        return format_epsilon(series.terms.epsilon)


@admin.register(Release)
class ReleaseAdmin(OrganisationScoped):
    """Admin for releases; it shows only the releases of the user's organisations."""

    list_display = ["title", "dataset", "mechanism", "cost_shown", "state", "progress"]
    list_filter = ["state", "mechanism", ("dataset", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["title"]
    fields = readonly_fields = (
        *("id", "dataset", "upload", "title", "description", "request"),
        *("cost_shown", "bound", "notes", "series", "number"),
        *("publish_when_done", "all_files", "state", "progress", "failure"),
        *("file_list", "created_at", "created_by", "published_at", "withdrawn_at"),
        *("rejected_at", "rejection"),
    )
    organisation_path = "dataset__organisation"
    change_form_template = "admin/releases/release/change_form.html"

    @admin.display(description="Cost", ordering="cost_units")
    def cost_shown(self, release: Release) -> str:
        """Format the release's exact cost."""
        return release.cost_words

    @admin.display(description="Job")
    def progress(self, release: Release) -> str:
        """Describe the state and the current step of the release's job."""
        job = release.job
        running = job.state == JobState.RUNNING and job.step
        return (
            f"{job.get_state_display()}: {job.step_phrase}" if running else job.get_state_display()
        )

    @admin.display(description="Failure (private)")
    def failure(self, release: Release) -> str:
        """Return the reason why the release's job failed."""
        return str(release.job.failure)

    @admin.display(description="Files")
    def file_list(self, release: Release) -> SafeString:
        """List each file's name, size and checksum."""
        return format_html_join(
            "",
            "<div>{} · {} bytes · <code>{}</code></div>",
            ((file.name, file.size, file.sha256) for file in release.files.all()),
        )

    def get_urls(self) -> list[URLPattern]:
        """Add the buttons' URLs to the URLs of Django's admin."""
        act = self.admin_site.admin_view(require_POST(self.act))
        name = "releases_release_act"
        return [path("<str:release_id>/act/<str:action>/", act, name=name), *super().get_urls()]

    def act(self, request: HttpRequest, release_id: str, action: str) -> HttpResponse:
        """Perform the action of a pressed button on behalf of the user."""
        release = self.get_object(request, release_id)
        if release is None or action not in BUTTONS or not isinstance(request.user, User):
            raise Http404
        try:
            DECISIONS[action](release=release, by=request.user)
        except DpgeoError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, gettext(ACTIONS[action].done))
        return redirect("admin:releases_release_change", quote(release_id))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show Django's change page of a release, with the action buttons added."""
        release = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = {}
        if release is not None:
            context = {
                "open_actions": [
                    (each, BUTTONS[each])
                    for each in open_actions(request.user, release)
                    if each in BUTTONS
                ],
                "page_url": desk_url("desk-release", release.pk),
                "release_id": release.pk,
            }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))
