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
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from dpgeo.accounts.devices import device_of, remember_device
from dpgeo.accounts.models import User
from dpgeo.accounts.rate_counters import address_of, count
from dpgeo.accounts.receivers import record_attempt
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
            self.wait = count(caller, limit, window=WINDOW)
            if self.wait is not None:
                # Record only the first refusal in a window; otherwise refusals would fill the list.
                if count(f"told of {caller}", 1, window=WINDOW) is None:
                    record_attempt(EventKind.LOCKED_OUT, name)
                minutes = math.ceil(self.wait / 60)
                raise ValidationError(
                    f"Too many attempts to sign in from here or with this name; try again in "
                    f"{minutes} minute{'s'[: minutes != 1]}.",
                    code="too_many",
                )
        cleaned = super().clean()
        for caller, limit in limits.items():
            count(caller, limit, window=WINDOW, more=-1)
        return cleaned

    def _limits(self, name: str) -> dict[str, int]:
        """Return the limit of each counter that a sign-in attempt increments, by the counter's key.

        The IP address comes first, so that an address beyond its limit cannot create counters for
        account names. A device from which the account has signed in before has only its own
        counter.
        """
        limit = settings.DPGEO_FAILED_SIGN_INS
        if self.request and (device := device_of(self.request, name)):
            return {device: math.ceil(limit / 2)}
        return {
            f"signing in from {address_of(self.request)}": limit,
            f"signing in as {name.casefold()}": math.ceil(limit / 2),
        }


class CountedAdminForm(CountedForm, AdminAuthenticationForm):
    """Sign-in form of the admin, open to staff only, with the same limits as the desk's."""


class SignIn(LoginView):
    """The sign-in page of the desk."""

    form_class = CountedForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the user in, and remember the device."""
        response = super().form_valid(form)
        remember_device(self.request, response, form.get_user())
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Show the form's errors, or respond with 429 and Retry-After beyond the limits."""
        return refusal(super().form_invalid(form))


class Administration(AdminSite):
    """The admin site, with limits on sign-in attempts."""

    login_form = CountedAdminForm

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Sign the user in on Django's admin page and remember the device.

        Beyond the limits, responds with 429.
        """
        response = refusal(super().login(request, extra_context))
        if request.method == "POST" and isinstance(request.user, User):
            remember_device(request, response, request.user)
        return response


def refusal(answer: HttpResponse) -> HttpResponse:
    """Set status 429 and Retry-After on the response to an attempt beyond the limits."""
    context = getattr(answer, "context_data", None) or {}
    wait = getattr(context.get("form"), "wait", None)
    if wait is not None:
        answer.status_code = TOO_MANY_REQUESTS
        answer.headers["Retry-After"] = str(math.ceil(wait))
    return answer
