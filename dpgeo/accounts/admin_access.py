"""Access of staff to the admin, mostly read-only and limited to their organisations' rows.

The desk, mentioned here and elsewhere, is the site's signed-in area for members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from dpgeo.accounts.selectors import visible_organisations

if TYPE_CHECKING:
    # ModelAdmin is generic for the type checker only.
    ModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    TabularInline: TypeAlias = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline


def desk_url(name: str, *args: object) -> str:
    """Return the URL of a page of the desk, or "" if the desk is not installed."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


class OrganisationScoped(ModelAdmin):
    """A read-only admin page, limited to the rows of the user's organisations.

    `organisation_path` is the lookup from the model to its organisation. `other_path` is a second
    lookup, for rows in which the first one has no value; it is empty if no such lookup is needed.
    """

    organisation_path = "organisation"
    other_path = ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the user's organisations."""
        rows = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        mine = Q()
        for path in filter(None, (self.organisation_path, self.other_path)):
            mine |= Q(**{f"{path}__in": visible_organisations(request.user)})
        return rows.filter(mine).distinct()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow only the filters that the page offers.

        Django lets URLs filter by any column of a model, even by hidden ones such as a salt. With
        `__regex`, a hidden value could be found letter by letter.
        """
        offered = self.list_filter if request is None else self.get_list_filter(request)
        names = [str(each[0] if isinstance(each, tuple | list) else each) for each in offered]
        is_offered = any(lookup == name or lookup.startswith(f"{name}__") for name in names)
        return is_offered and super().lookup_allowed(lookup, value, request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return True for staff who are members of an organisation."""
        return request.user.is_staff and visible_organisations(request.user).exists()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for every user of this admin module; the queryset limits the rows."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, since only services add rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, since only services change rows."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, since every object that spent privacy budget must stay on record."""
        return False
