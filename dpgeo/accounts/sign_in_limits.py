"""Limits on failed sign-ins at the desk and in the admin.

Attempts are counted by IP address and by account name, whether or not the account exists. They are
counted before the password is checked, so that concurrent attempts cannot exceed the limit. A
successful attempt is then subtracted, but failed ones are not: somebody who signs in to their own
account between guesses gains no further guesses at other accounts. Anybody who knows an account's
name can block sign-ins to it for one window; this is the price of limiting guesses from many
addresses. Devices from which the account has signed in before are not blocked, because they have
counters of their own (`devices`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import REDIRECT_FIELD_NAME, logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from dpgeo.accounts.attempts import count_attempt, forget_attempt
from dpgeo.accounts.devices import device_name
from dpgeo.accounts.models import User
from dpgeo.accounts.providers import ways_in
from dpgeo.accounts.rate_counters import address_of
from dpgeo.accounts.receivers import record_attempt
from dpgeo.accounts.second_factor import has_second_factor, signed_in_user
from dpgeo.audit.models import EventKind

WINDOW = 15 * 60
"""Length in seconds of the window in which failed attempts are counted."""

TOO_MANY_REQUESTS = 429


class CountedForm(AuthenticationForm):
    """A sign-in form that rejects attempts after too many failures."""

    wait: float | None = None
    """Seconds until another attempt is allowed, or None if this attempt was within the limits."""

    def clean(self) -> dict[str, Any]:
        """Authenticate the user.

        Raises ValidationError if the name or password is wrong or the limits are exceeded; in the
        latter case, the error states the waiting time.
        """
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password"):
            return super().clean()
        limits = self._limits(name)
        for caller, limit in limits.items():
            self.wait = count_attempt(caller, limit, window=WINDOW)
            if self.wait is not None:
                # Record only the first refusal in a window; otherwise refusals would fill the list.
                if count_attempt(f"told of {caller}", 1, window=WINDOW) is None:
                    record_attempt(EventKind.LOCKED_OUT, name)
                minutes = math.ceil(self.wait / 60)
                words = ngettext(
                    "Too many attempts to sign in from here or with this name; "
                    "try again in {minutes} minute.",
                    "Too many attempts to sign in from here or with this name; "
                    "try again in {minutes} minutes.",
                    minutes,
                )
                raise ValidationError(words.format(minutes=minutes), code="too_many")
        cleaned = super().clean()
        for caller in limits:
            forget_attempt(caller, window=WINDOW)
        return cleaned

    def _limits(self, name: str) -> dict[str, int]:
        """Return the limit of each counter that a sign-in attempt increments, by the counter's key.

        The IP address comes first, so that an address beyond its limit cannot create counters for
        account names. A device from which the account has signed in before has only its own
        counter.
        """
        limit = settings.DPGEO_FAILED_SIGN_INS
        if self.request and (device := device_name(self.request, name)):
            return {device: math.ceil(limit / 2)}
        return {
            f"signing in from {address_of(self.request)}": limit,
            f"signing in as {name.casefold()}": math.ceil(limit / 2),
        }


class CountedAdminForm(CountedForm, AdminAuthenticationForm):
    """Sign-in form of the admin, open to staff only, with the same limits as the desk's."""


class SignIn(LoginView):
    """The sign-in page of the desk, which also asks for the second factor of accounts that have
    one.
    """

    form_class = CountedForm
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Send a session whose account still needs a second factor to the page to set one up."""
        user = signed_in_user(request)
        if isinstance(user, User) and not request.user.is_authenticated:
            if not has_second_factor(user):
                return redirect("desk-second-factor")
            # The user signed in before the account had a second factor, so must sign in again.
            logout(request)
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the user in, or ask for the second factor first."""
        user = form.get_user()
        record_authentication(self.request, user, method="password")
        login = Login(user=user, redirect_url=self.get_success_url())
        answer: HttpResponse = perform_login(self.request, login)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the page's context, with the providers of single sign-on."""
        return {"providers": ways_in(), **super().get_context_data(**kwargs)}

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Show the form's errors, or respond with 429 and Retry-After beyond the limits."""
        return refusal(super().form_invalid(form))


class AdminSignIn(SignIn):
    """The sign-in page of the admin, for staff only, with the desk's limits and second factors."""

    form_class = CountedAdminForm
    template_name = "admin/login.html"
    redirect_authenticated_user = False


class Administration(AdminSite):
    """The admin site, with limits on sign-in attempts and second factors."""

    login_form = CountedAdminForm

    def register(self, model_or_iterable: Any, *args: Any, **options: Any) -> None:
        """Register a model, but skip allauth's models, since only services may change second
        factors.
        """
        models = (
            model_or_iterable if isinstance(model_or_iterable, Iterable) else [model_or_iterable]
        )
        own = [each for each in models if not each.__module__.startswith("allauth.")]
        super().register(own, *args, **options)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Sign the user in on Django's admin page; beyond the limits, respond with 429."""
        index = reverse("admin:index", current_app=self.name)
        if request.method == "GET" and self.has_permission(request):
            return redirect(index)
        context = {
            **self.each_context(request),
            "title": gettext("Sign in"),
            "subtitle": None,
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
            **(extra_context or {}),
        }
        if REDIRECT_FIELD_NAME not in request.GET and REDIRECT_FIELD_NAME not in request.POST:
            context[REDIRECT_FIELD_NAME] = index
        page = AdminSignIn.as_view(extra_context=context)
        return cast(HttpResponse, page(request))


def refusal(answer: HttpResponse) -> HttpResponse:
    """Set status 429 and Retry-After on the response to an attempt beyond the limits."""
    context = getattr(answer, "context_data", None) or {}
    wait = getattr(context.get("form"), "wait", None)
    if wait is not None:
        answer.status_code = TOO_MANY_REQUESTS
        answer.headers["Retry-After"] = str(math.ceil(wait))
    return answer
