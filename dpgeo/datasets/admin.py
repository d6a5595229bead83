"""Admin pages for declaring datasets and uploading files, with links to the desk.

The desk is the set of pages on which members work with their datasets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import AdminForm
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import gettext_noop as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST

from dpgeo.accounts.admin_access import OrganisationScoped, desk_url
from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may, visible_organisations
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.errors import DpgeoError, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.declaration import FROZEN, Declaration, judge
from dpgeo.datasets.declaration_form import SIDES, DeclarationForm, ServiceForm
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.form_fields import form_fields
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.previews import upload_look
from dpgeo.datasets.selectors import datasets_visible_to
from dpgeo.datasets.services import dataset_create, dataset_update
from dpgeo.datasets.size_limit import check_size
from dpgeo.datasets.uploads import upload_receive
from dpgeo.ingest.formats import SUFFIXES

PERIOD = ("covers_from", "covers_until")

FIXED = tuple(name for name in FROZEN if name not in PERIOD)

EDITABLE = tuple(name for name in Declaration.model_fields if name not in FIXED)

FIXED_BEFORE = ("organisation", "slug")
FIXED_AFTER = (
    *FIXED,
    *("columns", "budget", "first_upload_at", "frozen_at", "created_at", "created_by"),
)

ADD_GROUPS: Any = (
    (lazy("Study area"), {"fields": (SIDES, "outline", "leave_out_water")}),
    (lazy("What readers see"), {"fields": ("organisation", *DeclarationForm.names)}),
    (lazy("Privacy budget"), {"fields": ("budget", "ledger")}),
)


if TYPE_CHECKING:
    # ModelForm is generic only for the type checker.
    DatasetModelForm: TypeAlias = ModelForm[Dataset]
else:
    DatasetModelForm = ModelForm


class DatasetForm(DatasetModelForm):
    """Admin form for what can still change of a dataset's declaration."""

    locals().update(form_fields(Declaration, EDITABLE))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial |= self.instance.declaration.facts()

    def clean(self) -> dict[str, Any]:
        """Show each error of the declaration at its field."""
        values = super().clean() or {}
        facts = {name: values[name] for name in EDITABLE if name in values}
        for refusal in judge(self.instance.declaration.facts() | facts)[1]:
            if refusal.field in self.fields and refusal.field not in self.errors:
                self.add_error(refusal.field, refusal.phrase.render(gettext))
        return values


class UploadAddForm(ServiceForm):
    """Form for uploading a file of rows to a dataset."""

    dataset = forms.ModelChoiceField(queryset=Dataset.objects.none(), label=lazy("Dataset"))
    file = forms.FileField(
        allow_empty_file=True,
        label=lazy("File"),
        error_messages={"required": lazy("Choose a file first.")},
    )

    def __init__(
        self, *arguments: Any, datasets: QuerySet[Dataset], accept: str, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        fields: dict[str, Any] = self.fields
        fields["dataset"].queryset = datasets
        fields["file"].widget.attrs["accept"] = accept


@admin.register(Dataset)
class DatasetAdmin(OrganisationScoped):
    """Admin page for datasets, with links to upload a file and to request a release."""

    form = DatasetForm
    list_display = ["title", "organisation", "unit", "budget", "upload_link", "release_link"]
    list_filter = [("organisation", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["declaration__title", "slug"]
    fields = (*FIXED_BEFORE, *EDITABLE, *FIXED_AFTER)
    readonly_fields = (*FIXED_BEFORE, *FIXED_AFTER)
    change_form_template = "admin/datasets/dataset/change_form.html"

    @admin.display(description="Budget")
    def budget(self, dataset: Dataset) -> str:
        """Return how much of each budget is left, as text."""
        ledgers = filter(None, (dataset.ledger, points_ledger(dataset.ledger)))
        return "; ".join(
            f"{each.amount(each.left_units)} of {each.words(each.lifetime_units)} left"
            for each in ledgers
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Dataset | None = None) -> Any:
        """Return the read-only fields; the covered days are among them once a dataset is frozen."""
        return (*self.readonly_fields, *(PERIOD if obj and obj.frozen_at else ()))

    @admin.display(description="Upload")
    def upload_link(self, dataset: Dataset) -> SafeString | str:
        """Return a link to the form for uploading a file."""
        return link(upload_address(dataset), "Upload a file")

    @admin.display(description="Release")
    def release_link(self, dataset: Dataset) -> SafeString | str:
        """Return a link to the desk's form for requesting a release."""
        return link(desk_url("desk-kind", dataset.slug), "Make a map")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for all members; the service decides which of them may set a budget."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        """Return True for stewards, who may edit the descriptive texts; frozen fields are
        read-only.
        """
        if obj is None:
            return self.has_module_permission(request)
        return may(request.user, obj, "edit")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Declare a dataset through the service, then redirect to the form for its first file."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = DeclarationForm(
            request.POST or None, organisations=visible_organisations(request.user)
        )
        if request.method == "POST" and (chosen := request.POST.get("organisation")):
            _member_of(request, chosen)
        if request.method == "POST" and form.is_valid():
            try:
                dataset = declare(form, cast(User, request.user))
            except DpgeoError as refusal:
                form.add_refusal(refusal)
            else:
                self.log_addition(request, dataset, [{"added": {}}])
                messages.success(request, gettext("Saved. Now upload its file."))
                address = reverse("admin:datasets_upload_add")
                return redirect(f"{address}?dataset={dataset.pk}")
        return _add_page(
            self, request, form, "admin/datasets/dataset/add_form.html", groups=ADD_GROUPS
        )

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's URLs, with the URL of the erasure form first."""
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
        """Show Django's page, with additional buttons and the erasure form."""
        dataset = self.get_object(request, object_id)
        buttons = []
        if dataset is not None:
            buttons = [
                (_("Upload a file"), upload_address(dataset)),
                (_("Make a map"), desk_url("desk-kind", dataset.slug)),
                (_("Spending"), reverse("admin:budgets_ledger_change", args=[dataset.ledger_id])),
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
        changes = {name: form.cleaned_data[name] for name in EDITABLE if name in form.cleaned_data}
        dataset_update(dataset=obj, changes=changes)


@admin.register(Upload)
class UploadAdmin(OrganisationScoped):
    """Admin page for uploaded files and their private reports."""

    list_display = ["file_name", "dataset", "state", "created_at", "desk_link"]
    list_filter = ["state"]
    fields = readonly_fields = (
        *("dataset", "file_name", "size", "state", "rows", "job", "created_at", "created_by"),
        "desk_link",
    )
    organisation_path = "dataset__organisation"
    change_form_template = "admin/datasets/upload/change_form.html"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for members, who may upload files to their organisations' datasets."""
        return self.has_module_permission(request)

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's URLs, with the URL of the upload form first.

        The admin's own view must not handle that URL, because it reads the whole body before it
        checks anything.
        """
        add = self.admin_site.admin_view(csrf_exempt(self.receive))
        return [path("add/", add, name="datasets_upload_add"), *super().get_urls()]

    def receive(self, request: HttpRequest) -> HttpResponse:
        """Receive a file, but refuse unauthorised users and large files before reading the body.

        Scripts that accept JSON get {"next": address} or {"errors": [...]} instead of a page.
        """
        if not self.has_add_permission(request):
            raise PermissionDenied
        if chosen := request.GET.get("dataset"):
            _may_upload(request, chosen)
        try:
            check_size(int(request.META.get("CONTENT_LENGTH") or 0))
        except InvalidInput as refusal:
            form = self._form(request)
            form.add_error("file", refusal.phrase.render(gettext))
            return self._refuse(request, form, 413)
        return self._received(request)

    @method_decorator(csrf_protect)
    def _received(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or store the file and redirect to the page for confirming its columns."""
        if request.method != "POST":
            form = UploadAddForm(
                initial={"dataset": request.GET.get("dataset")}, **self._options(request)
            )
            return _add_page(self, request, form, "admin/datasets/upload/add_form.html")
        if chosen := request.POST.get("dataset"):
            _may_upload(request, chosen)
        form = UploadAddForm(request.POST, request.FILES, **self._options(request))
        if form.is_valid():
            file = form.cleaned_data["file"]
            try:
                upload = upload_receive(
                    dataset=form.cleaned_data["dataset"],
                    file=file,
                    file_name=file.name,
                    created_by=cast(User, request.user),
                )
                upload_look(upload=upload)
            except DpgeoError as refusal:
                form.add_error("file", refusal.phrase.render(gettext))
            else:
                self.log_addition(request, upload, [{"added": {}}])
                address = desk_url("desk-upload", upload.pk) or reverse(
                    "admin:datasets_upload_change", args=[upload.pk]
                )
                return (
                    JsonResponse({"next": address}) if _wants_json(request) else redirect(address)
                )
        return self._refuse(request, form, 422)

    def _options(self, request: HttpRequest) -> dict[str, Any]:
        mine = datasets_visible_to(request.user).order_by("declaration__title")
        return {"datasets": mine, "accept": ",".join((*SUFFIXES, ".gz", ".zip"))}

    def _form(self, request: HttpRequest) -> UploadAddForm:
        """Return an empty form to which errors can be added, without reading the request's body."""
        form = UploadAddForm({}, {}, **self._options(request))
        form.full_clean()
        form.errors.clear()
        return form

    def _refuse(self, request: HttpRequest, form: UploadAddForm, status: int) -> HttpResponse:
        if not _wants_json(request):
            template = "admin/datasets/upload/add_form.html"
            return _add_page(self, request, form, template, status)
        errors = [str(error) for of_field in form.errors.values() for error in of_field]
        return JsonResponse({"errors": errors}, status=status)

    @admin.display(description="Report (private)")
    def rows(self, upload: Upload) -> str:
        """Return whether the file was read, or the reason why it was not, as text."""
        if upload.state == UploadState.ERASED:
            return "Deleted with its file, because a person was erased."
        if upload.failure:
            return f"Cannot be read. {upload.failure}"
        # Exact numbers are shown only on the desk, which hides them while a draft is waiting for
        # review.
        return "Read. The desk has the report." if upload.report else "Not read."

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show Django's page, with additional buttons that lead to the desk."""
        upload = self.get_object(request, object_id)
        buttons = []
        if upload is not None:
            buttons = [
                (_("Columns and report"), desk_url("desk-upload", upload.pk)),
                (
                    _("The dataset"),
                    reverse("admin:datasets_dataset_change", args=[upload.dataset_id]),
                ),
            ]
        context = {"buttons": [(label, url) for label, url in buttons if url]}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    @admin.display(description="Desk")
    def desk_link(self, upload: Upload) -> SafeString | str:
        """Return a link to the desk page for confirming the columns."""
        return link(desk_url("desk-upload", upload.pk), "Preview, columns and report")


def declare(form: DeclarationForm, by: User) -> Dataset:
    """Declare the dataset of a valid form. Raises DpgeoError."""
    chosen = {name: form.cleaned_data[name] for name in ("organisation", "budget", "ledger")}
    return dataset_create(
        **form.facts(),
        **chosen,
        budget_later=not (chosen["budget"] or chosen["ledger"]),
        leave_out_water=form.cleaned_data["leave_out_water"],
        created_by=by,
    )


def can_erase(request: HttpRequest, dataset: Dataset) -> bool:
    """Return whether this user may erase a person from the dataset."""
    return dataset.unit == Unit.PERSON and may(request.user, dataset, "upload")


def link(url: str, label: str) -> SafeString | str:
    """Return an HTML link, or the admin's dash if `url` is empty."""
    return format_html('<a href="{}">{}</a>', url, label) if url else "-"


def upload_address(dataset: Dataset) -> str:
    """Return the URL of the form for uploading a file to a dataset."""
    return f"{reverse('admin:datasets_upload_add')}?dataset={dataset.pk}"


def _may_upload(request: HttpRequest, chosen: str) -> None:
    """Raise PermissionDenied unless the user may upload to the dataset with the id `chosen`."""
    dataset = Dataset.objects.filter(pk=chosen).first() if chosen.isdecimal() else None
    if dataset is None or not may(request.user, dataset, "upload"):
        raise PermissionDenied


def _member_of(request: HttpRequest, chosen: str) -> None:
    """Raise PermissionDenied unless the user belongs to the organisation with the id `chosen`."""
    mine = visible_organisations(request.user)
    if not chosen.isdecimal() or not mine.filter(pk=chosen).exists():
        raise PermissionDenied


def _wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def _add_page(
    model_admin: OrganisationScoped,
    request: HttpRequest,
    form: ServiceForm,
    template: str,
    status: int = 0,
    groups: Any = ((None, {"fields": ("dataset", "file")}),),
) -> HttpResponse:
    """Return a page that shows a form in the admin's layout, with status 422 if it has errors."""
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        # The type hints of AdminForm allow model forms only.
        "adminform": AdminForm(cast(Any, form), list(groups), {}, (), model_admin),
        "errors": form.errors,
        "add": True,
        "has_view_permission": True,
        "desk": desk_url("desk"),
        "draw": desk_url("desk-where"),
    }
    return render(request, template, context, status=status or (422 if form.errors else 200))
