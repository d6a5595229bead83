"""Passkeys (WebAuthn): adding one, and signing in with one instead of a password.

Every passkey checks who uses it, by a fingerprint, a face or a PIN, and is bound to this site's
name, so it counts as two factors and cannot be typed into a page that imitates this one. Passkeys
need scripts; all else works without. fido2 is imported by the first request that needs it.
"""

from __future__ import annotations

from typing import cast

from allauth.account.models import Login
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.attempts import count_attempt, forget_attempt
from dpgeo.accounts.factors import passkey_add
from dpgeo.accounts.rate_counters import address_of
from dpgeo.accounts.receivers import record_attempt
from dpgeo.accounts.second_factor import opens_before_second_factor
from dpgeo.accounts.sign_in_limits import WINDOW
from dpgeo.audit.models import EventKind
from dpgeo.core.errors import DpgeoError
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.confirming import confirmed
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.pages.desk.second_factor import read_credential, show_codes


class PasskeyForm(DeskForm):
    """The form of a new passkey: its name, and the browser's answer."""

    name = forms.CharField(
        max_length=60,
        label=_("Name"),
        help_text=_("To tell it from others, such as office laptop."),
    )
    credential = forms.CharField(widget=forms.HiddenInput, required=False)


@opens_before_second_factor
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@confirmed
def passkey(request: HttpRequest) -> HttpResponse:
    """Show the form that adds a passkey, and add it when the form is sent."""
    from allauth.mfa.webauthn.internal.auth import begin_registration

    user = person(request)
    form = PasskeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            codes = passkey_add(
                request=request,
                user=user,
                name=form.cleaned_data["name"],
                credential=read_credential(request),
            )
        except DpgeoError as refusal:
            form.add_refusal(refusal)
        else:
            return show_codes(request, codes)
    context = {"nav": "account", "form": form, "options": begin_registration(user, True)}
    status = REFUSED if form.errors else 200
    return render(request, "desk/passkey.html", context, status=status)


@require_http_methods(["GET", "POST"])
@never_cache
def enter(request: HttpRequest) -> HttpResponse:
    """Return a challenge for any passkey of this site, and sign in whoever answers it."""
    from allauth.mfa.webauthn.internal import auth, flows

    if request.method == "GET":
        return JsonResponse(auth.begin_authentication())
    limit = settings.DPGEO_FAILED_SIGN_INS
    caller = f"passkeys from {address_of(request)}"
    if count_attempt(caller, limit, window=WINDOW) is not None:
        return _refuse(request)
    credential = read_credential(request)
    try:
        user = auth.extract_user_from_response(credential)
        auth.parse_authentication_response(credential)
        authenticator = auth.complete_authentication(user, credential)
    except (ValidationError, AttributeError, KeyError, TypeError, ValueError):
        record_attempt(EventKind.SIGN_IN_FAILED, "", detail="passkey")
        return _refuse(request)
    if not user.is_active:
        return _refuse(request)
    forget_attempt(caller, window=WINDOW)
    after = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(after, {request.get_host()}, request.is_secure())
    login = Login(user=user, redirect_url=after if safe else None)
    return cast(HttpResponse, flows.perform_passwordless_login(request, authenticator, login))


def _refuse(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page, with an error message."""
    messages.error(request, gettext("This passkey does not open an account here."))
    return redirect("login")
