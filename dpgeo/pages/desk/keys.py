"""Page for listing, creating and revoking API keys."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.selectors import (
    joined_last,
    keys_managed_by,
    may_administer,
    visible_organisations,
)
from dpgeo.accounts.services import key_create, key_revoke, key_rotate
from dpgeo.core.errors import DpgeoError
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.confirming import confirmed, confirmed_form, kept_entries
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.rendering import say


class KeyForm(DeskForm):
    """The form for a new key: its organisation, name and scopes."""

    organisation = forms.ModelChoiceField(
        queryset=Organisation.objects.none(),
        empty_label=None,
        label=_("Acts for"),
        help_text=_("The key gives access to this organisation's datasets and no others."),
    )
    name = forms.CharField(
        max_length=100, label=_("Name"), help_text=_("Where it will be used, such as nightly.")
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, _(words)) for scope, words in Scope.choices],
        label=_("May be used to"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Choose as little as the program needs. No key ever sees private facts."),
    )

    days = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        initial="365",
        label=_("Works for"),
        choices=[
            ("365", _("a year")),
            ("90", _("three months")),
            ("30", _("a month")),
            ("", _("as long as nobody revokes it")),
        ],
        help_text=_("Replace it in time: the old key then works for a week more."),
    )

    def __init__(self, data: Any, *, organisations: QuerySet[Organisation], user: User) -> None:
        super().__init__(data, initial={"organisation": joined_last(user)})
        choice: Any = self.fields["organisation"]
        choice.queryset = organisations


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@confirmed_form
def keys(request: HttpRequest) -> HttpResponse:
    """List the API keys of the organisations that the user administers.

    A new key's secret is shown only once, in the response to the form.
    """
    user = person(request)
    mine = visible_organisations(user)
    if not mine.exists():
        raise Http404("No such page.")
    managed = mine.filter(pk__in=[each.pk for each in mine if may_administer(user, each)])
    form = KeyForm(request.POST or None, organisations=managed, user=user)
    if request.method == "GET":
        kept_entries(request, form)
    secret = make(request, form) if request.method == "POST" and form.is_valid() else ""
    return _page(request, form, secret)


def _page(request: HttpRequest, form: KeyForm, secret: str) -> HttpResponse:
    user = person(request)
    mine = visible_organisations(user)
    managed = mine.filter(pk__in=[each.pk for each in mine if may_administer(user, each)])
    context = {
        "today": timezone.now().astimezone(UTC).date(),
        "nav": "keys",
        "form": KeyForm(None, organisations=managed, user=user) if secret else form,
        "secret": secret,
        "manages": managed.exists(),
        "keys": keys_managed_by(user),
    }
    return render(request, "desk/keys.html", context, status=REFUSED if form.errors else 200)


def make(request: HttpRequest, form: KeyForm) -> str:
    """Create the key and return its secret; "" if the form has errors."""
    try:
        return key_create(**form.cleaned_data, created_by=person(request))[1]
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return ""


@login_required
@require_POST
@never_cache
@confirmed
def rotate(request: HttpRequest, key_id: int) -> HttpResponse:
    """Replace an API key, and show the new one's secret once."""
    user = person(request)
    key = get_object_or_404(keys_managed_by(user), pk=key_id)
    form = KeyForm(
        None, organisations=visible_organisations(user).filter(pk=key.organisation_id), user=user
    )
    try:
        secret = key_rotate(key=key, by=user)[1]
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
        return redirect("desk-keys")
    return _page(request, form, secret)


@login_required
@require_POST
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    """Revoke an API key."""
    key = get_object_or_404(keys_managed_by(person(request)), pk=key_id)
    key_revoke(key=key, by=person(request))
    message = gettext("Revoked: {name}. It no longer works.")
    messages.success(request, message.format(name=key.name))
    return redirect("desk-keys")
