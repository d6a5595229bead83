"""Admin pages for users, organisations and API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from dpgeo.accounts.admin_access import ModelAdmin, OrganisationScoped, TabularInline
from dpgeo.accounts.factors import factors_reset
from dpgeo.accounts.models import ApiKey, Membership, Organisation, User
from dpgeo.accounts.selectors import may_administer, user_sessions, visible_organisations
from dpgeo.accounts.services import key_revoke, session_end
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.core.errors import NotAllowed

if TYPE_CHECKING:
    # UserAdmin is generic for the type checker only.
    AnyUserAdmin: TypeAlias = UserAdmin[User]
else:
    AnyUserAdmin = UserAdmin

admin.site.site_header = "dpgeo administration"
admin.site.site_title = "dpgeo"
admin.site.index_title = "Your datasets"


class SuperusersAlone(ModelAdmin):
    """An admin page for superusers alone, whatever Django's permissions say."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return True for superusers only."""
        return bool(request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for superusers only."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for superusers only."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for superusers only."""
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for superusers only."""
        return self.has_module_permission(request)


admin.site.unregister(Group)  # replace Django's own page for groups


@admin.register(Group)
class GroupOfPermissionsAdmin(SuperusersAlone, GroupAdmin):
    """Admin page for groups of permissions, which only superusers may use.

    Otherwise, whoever may change a group that they are in could give themselves any permission.
    """


@admin.register(User)
class AccountAdmin(SuperusersAlone, AnyUserAdmin):
    """Admin page for accounts, which only superusers may use.

    Whoever may change accounts can set a superuser's password, or become one. Django's permission
    *Can change user* would thus allow more than it says, so it has no effect here.
    """

    actions = ["end_sessions", "remove_factors"]
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        ("Two persons", {"fields": ("vouched", "invited_by")}),
    )
    readonly_fields = ("invited_by",)

    @admin.action(description="End all sessions")
    def end_sessions(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """End all sessions of the selected accounts."""
        for user in queryset:
            for session in user_sessions(user):
                session_end(session=session, by=cast(User, request.user))
            self.message_user(request, f"{user} has to sign in again.")

    @admin.action(description="Remove second factors that were lost, and end the sessions")
    def remove_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Remove all second factors of the selected accounts."""
        for user in queryset:
            factors_reset(user=user)
            self.message_user(request, f"{user} signs in with the password alone from now on.")


class MembershipInline(TabularInline):
    """The list of an organisation's members, which only superusers edit here.

    Administrators use the desk instead, where people are invited, the last administrator cannot
    leave, and changes need the password.
    """

    model = Membership
    extra = 0
    raw_id_fields = ["user"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for members of any organisation; the page limits which rows they see."""
        return visible_organisations(request.user).exists()

    def has_add_permission(self, request: HttpRequest, obj: Organisation | None = None) -> bool:
        """Return True for superusers only."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Organisation | None = None) -> bool:
        """Return True for superusers only."""
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Organisation | None = None) -> bool:
        """Return True for superusers only."""
        return bool(request.user.is_superuser)


LIMITS = (
    "quota_bytes",
    "quota_jobs",
    "quota_requests",
    "most_epsilon",
    "most_level",
    "two_persons",
)
"""Fields that hold limits and requirements which only the site's operators set."""

OPERATORS = (*LIMITS, "slug", "second_factor")
"""Fields that only the site's operators can edit in the admin.

A changed slug would break the settings DPGEO_SOURCES, DPGEO_OIDC and DPGEO_SAML, which contain it.
Whether members need a second factor is set on the desk, which asks for a password first.
"""


@admin.register(Organisation)
class OrganisationAdmin(OrganisationScoped):
    """Admin page for organisations. Only superusers add one; its administrators edit it here."""

    list_display = ["name", "slug", "contact"]
    prepopulated_fields = {"slug": ["name"]}
    inlines = [MembershipInline]
    organisation_path = "pk"

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> dict[str, Any]:
        """Return the fields to prepopulate, or none if the user cannot edit the slug."""
        return dict(self.prepopulated_fields) if request.user.is_superuser else {}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the fields that this user cannot edit: none for a superuser, else OPERATORS."""
        return () if request.user.is_superuser else OPERATORS

    def save_model(
        self, request: HttpRequest, obj: Organisation, form: ModelForm[Organisation], change: bool
    ) -> None:
        """Save the organisation, and record in the audit list which of its limits (`LIMITS`)
        changed.
        """
        super().save_model(request, obj, form, change)
        for name in form.changed_data if change else ():
            if name in LIMITS:
                event_record(
                    EventKind.SETTING,
                    organisation=obj.pk,
                    subject=obj.slug,
                    detail=f"{name}: {form.initial.get(name)} > {getattr(obj, name)}",
                )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for superusers only."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Organisation | None = None) -> bool:
        """Return True for superusers and the organisation's administrators."""
        return bool(request.user.is_superuser) if obj is None else may_administer(request.user, obj)


KEY_FIELDS = (
    "organisation",
    "name",
    "scopes",
    "prefix",
    "created_by",
    "created_at",
    "last_used_on",
    "expires_on",
    "revoked_at",
)


@admin.register(ApiKey)
class ApiKeyAdmin(OrganisationScoped):
    """Admin page for API keys. They are created at the desk and can be revoked there or here."""

    list_display = ["name", "organisation", "prefix", "created_by", "last_used_on", "revoked_at"]
    fields = KEY_FIELDS
    readonly_fields = KEY_FIELDS
    actions = ["revoke"]

    @admin.action(description="Revoke the chosen keys, for good", permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke the selected keys, except in organisations that the user does not administer."""
        person = cast(User, request.user)
        for key in queryset.select_related("organisation"):
            try:
                key_revoke(key=key, by=person)
            except NotAllowed as refusal:
                self.message_user(request, f"{key}: {refusal.message}", messages.ERROR)
