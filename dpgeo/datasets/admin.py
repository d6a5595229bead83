"""Admin pages of datasets and uploads; their forms are on the data owner's desk."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_POST

from dpgeo.accounts.admin_access import OrganisationScoped, desk_url
from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_update

EDITABLE = ("title", "description", "licence", "attribution", "row_noun", "keep_raw")
FIXED_BEFORE = ("organisation", "slug")
FIXED_AFTER = (
    *("unit", "study_area", "time_zone", "columns", "public_attributes"),
    *("budget", "first_upload_at", "frozen_at", "created_at", "created_by"),
)


@admin.register(Dataset)
class DatasetAdmin(OrganisationScoped):
    """Declared datasets, with links to upload a file and to request a release."""

    list_display = ["title", "organisation", "unit", "budget", "upload_link", "release_link"]
    list_filter = [("organisation", admin.RelatedOnlyFieldListFilter), "unit"]
    search_fields = ["title", "slug"]
    fields = (*FIXED_BEFORE, *EDITABLE, *FIXED_AFTER)
    readonly_fields = (*FIXED_BEFORE, *FIXED_AFTER)
    change_form_template = "admin/datasets/dataset/change_form.html"

    @admin.display(description="Budget")
    def budget(self, dataset: Dataset) -> str:
        """Return in words how much of each budget is left."""
        ledgers = filter(None, (dataset.ledger, points_ledger(dataset.ledger)))
        return "; ".join(
            f"{each.amount(each.left_units)} of {each.words(each.lifetime_units)} left"
            for each in ledgers
        )

    @admin.display(description="Upload")
    def upload_link(self, dataset: Dataset) -> SafeString | str:
        """Link to the desk's upload page."""
        return link(desk_url("desk-upload-new", dataset.slug), "Upload a file")

    @admin.display(description="Release")
    def release_link(self, dataset: Dataset) -> SafeString | str:
        """Link to the desk's request form."""
        return link(desk_url("desk-kind", dataset.slug), "New release")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let every member add datasets; the form for it is on the desk."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        """Let stewards edit the descriptive texts; the frozen fields are read-only."""
        if obj is None:
            return self.has_module_permission(request)
        return may(request.user, obj, "edit")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the desk, where the study area can be drawn."""
        if url := desk_url("desk-where"):
            return redirect(url)
        messages.info(request, "Declare datasets with: python manage.py ingest FILE --create ...")
        return redirect("admin:datasets_dataset_changelist")

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the erasure form to the admin's own."""
        erase = self.admin_site.admin_view(require_POST(self.erase))
        name = "datasets_dataset_erase"
        return [path("<int:dataset_id>/erase/", erase, name=name), *super().get_urls()]

    def erase(self, request: HttpRequest, dataset_id: int) -> HttpResponse:
        """Queue the erasure of one person from a dataset."""
        dataset = self.get_object(request, str(dataset_id))
        if dataset is None or not isinstance(request.user, User):
            raise Http404
        try:
            person_erase(dataset=dataset, person=request.POST.get("person", ""), by=request.user)
        except DpgeoError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "A version without this person is being made.")
        return redirect("admin:datasets_dataset_change", dataset_id)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Add the buttons and the erasure form to Django's page."""
        dataset = self.get_object(request, object_id)
        buttons = []
        if dataset is not None:
            buttons = [
                (_("Upload a file"), desk_url("desk-upload-new", dataset.slug)),
                (_("New release"), desk_url("desk-kind", dataset.slug)),
                (_("On the desk"), desk_url("desk-dataset", dataset.slug)),
            ]
        context: dict[str, Any] = {"buttons": [(label, url) for label, url in buttons if url]}
        if dataset is not None:
            context |= {"dataset_id": dataset.pk, "erases": can_erase(request, dataset)}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def save_model(
        self, request: HttpRequest, obj: Dataset, form: ModelForm[Dataset], change: bool
    ) -> None:
        """Save the changes through the service, which checks them."""
        dataset_update(dataset=obj, changes={name: form.cleaned_data[name] for name in EDITABLE})


@admin.register(Upload)
class UploadAdmin(OrganisationScoped):
    """Uploaded files and their private reports."""

    list_display = ["file_name", "dataset", "state", "created_at", "desk_link"]
    list_filter = ["state"]
    fields = readonly_fields = (
        *("dataset", "file_name", "size", "state", "rows", "job", "created_at", "created_by"),
        "desk_link",
    )
    organisation_path = "dataset__organisation"

    @admin.display(description="Report (private)")
    def rows(self, upload: Upload) -> SafeString | str:
        """Return how many rows were accepted and, for each reason, refused."""
        if upload.state == UploadState.ERASED:
            return "Deleted with its file, because a person was erased."
        if upload.failure:
            return f"Cannot be read. {upload.failure}"
        if not upload.report:
            return "Not read."
        refused = format_html_join(
            "", "<li>{} refused: {}</li>", ((n, why) for why, n in upload.report["refused"].items())
        )
        return format_html(
            "{} of {} rows accepted<ul>{}</ul>",
            upload.report["accepted"],
            upload.report["read"],
            refused,
        )

    @admin.display(description="Desk")
    def desk_link(self, upload: Upload) -> SafeString | str:
        """Link to the desk page on which the columns are confirmed."""
        return link(desk_url("desk-upload", upload.pk), "Preview, columns and report")


def can_erase(request: HttpRequest, dataset: Dataset) -> bool:
    """Whether this user may erase a person from the dataset."""
    return dataset.unit == Unit.PERSON and may(request.user, dataset, "upload")


def link(url: str, label: str) -> SafeString | str:
    """Return a link, or the admin's dash if `url` is empty."""
    return format_html('<a href="{}">{}</a>', url, label) if url else "-"
