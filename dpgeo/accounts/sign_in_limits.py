"""Signing in, at the desk and at the administration, with failed attempts counted.

They are counted for the address they come from and for the account that they name, whether there
is one or not, before the password is looked at: so that many at once are not let pass together.
An attempt that succeeds is taken off again, and no other: who has an account wins no further
guesses at the next by signing in between. Whoever knows the name of an account can keep it from
signing in while the window lasts; that is the price of bounding guesses from many addresses.
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

from dpgeo.accounts.rate_counters import address_of, count

WINDOW = 15 * 60
"""Seconds after which failed attempts are counted anew."""

TOO_MANY_REQUESTS = 429


class CountedForm(AuthenticationForm):
    """Name and password, refused after too many that were wrong."""

    wait: float | None = None
    """Seconds until another attempt is looked at, where this one was not."""

    def clean(self) -> dict[str, Any]:
        """Sign in. Raises ValidationError, which says when to come back, beyond the limits."""
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password"):
            return super().clean()
        callers = self._callers(name)
        for caller, limit in callers.items():
            self.wait = count(caller, limit, window=WINDOW)
            if self.wait is not None:
                minutes = math.ceil(self.wait / 60)
                raise ValidationError(
                    f"Too many attempts to sign in from here or with this name; try again in "
                    f"{minutes} minute{'s'[: minutes != 1]}.",
                    code="too_many",
                )
        cleaned = super().clean()
        for caller, limit in callers.items():
            count(caller, limit, window=WINDOW, more=-1)
        return cleaned

    def _callers(self, name: str) -> dict[str, int]:
        """What is counted, and up to which number; the address first, so that one which asks too
        often adds no further names."""
        limit = settings.DPGEO_FAILED_SIGN_INS
        return {
            f"signing in from {address_of(self.request)}": limit,
            f"signing in as {name.casefold()}": math.ceil(limit / 2),
        }


class CountedAdminForm(CountedForm, AdminAuthenticationForm):
    """The same, for staff alone."""


class SignIn(LoginView):
    """The door of the desk."""

    form_class = CountedForm
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Say what is wrong; 429 with Retry-After beyond the limits."""
        return refusal(super().form_invalid(form))


class Administration(AdminSite):
    """The administration, behind a door that counts."""

    login_form = CountedAdminForm

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Django's page; 429 with Retry-After beyond the limits."""
        return refusal(super().login(request, extra_context))


def refusal(answer: HttpResponse) -> HttpResponse:
    """An answer of a door, with the status of a form that was refused for being too many."""
    context = getattr(answer, "context_data", None) or {}
    wait = getattr(context.get("form"), "wait", None)
    if wait is not None:
        answer.status_code = TOO_MANY_REQUESTS
        answer.headers["Retry-After"] = str(math.ceil(wait))
    return answer
