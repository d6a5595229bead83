"""Repeated proof of identity before a change to how an account is protected.

A session may be stolen, or a screen left unlocked. Whoever changes a second factor must therefore
have given the password, a code or a passkey in this session within `RECENTLY`. An account that has
none of them is asked by its provider of single sign-on (`accounts.single_sign_on`).

If filling in a form takes longer than that, the proof is asked for once the form is sent. In views
decorated with `keeps`, what was typed is meanwhile kept in the session, and then shown again. It
takes effect only when the button is pressed again, because whoever typed it had not proved who they
are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.socialaccount.models import SocialAccount
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.codes import code_use
from dpgeo.accounts.fresh_tokens import is_younger
from dpgeo.accounts.models import User
from dpgeo.accounts.providers import Facts, ways_in
from dpgeo.accounts.second_factor import has_second_factor, opens_before_second_factor
from dpgeo.accounts.sign_in_limits import WINDOW
from dpgeo.core.errors import DpgeoError
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm

RECENTLY = 5 * 60
"""Seconds for which a proof of identity is accepted; a later change needs a new one."""

KEPT, CSRF_FIELD = "unconfirmed", "csrfmiddlewaretoken"

CACHE_SIZE = 2000
"""Largest number of typed characters that a session keeps; no form needs as many."""

PROOFS = {"password", "mfa", "provider"}
"""Session records that count as proof: password, second factor, and a check by a provider.

allauth's own record of single sign-on does not count: the provider may not have checked anew.
"""

View = Callable[..., HttpResponse]


def confirmed(view: View, *, keeps: bool = False) -> View:
    """Return a view that first asks for the password or a code, unless that was given recently.

    With `keeps`, the posted entries are kept in the session, and `kept_entries` puts them back into
    the form.
    """

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_confirmed(request):
            return view(request, *args, **kwargs)
        back = request.get_full_path()
        if request.method == "POST" and keeps:
            _keep(request)
        elif request.method == "POST":
            back = request.headers.get("Referer", "")
        return redirect(f"{reverse('desk-confirm')}?{urlencode({'next': back})}")

    return inner


confirmed_form = partial(confirmed, keeps=True)
"""Decorator like `confirmed` that also keeps what was typed in the form while it asks for the
password.

It must not be used for forms with secrets, because entries are stored in the session.
"""


def _keep(request: HttpRequest) -> None:
    typed = {name: values for name, values in request.POST.lists() if name != CSRF_FIELD}
    if sum(len(each) for values in typed.values() for each in values) <= CACHE_SIZE:
        request.session[KEPT] = {"of": request.path, "at": time.time(), "typed": typed}


def kept_entries(request: HttpRequest, form: forms.Form) -> None:
    """Fill a page's form with the entries that were kept while the password was asked for.

    If there are any, a message tells the user that they are filled in.
    """
    kept = request.session.pop(KEPT, None)
    if not kept or kept["of"] != request.path or not is_younger(kept["at"], RECENTLY):
        return
    for name, values in kept["typed"].items():
        if name in form.fields and values:
            several = isinstance(form.fields[name], forms.MultipleChoiceField)
            form.initial[name] = values if several else values[-1]
    messages.info(request, gettext("Your entries are here again. Nothing was done with them yet."))


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether the user has proved who they are in this session within `RECENTLY`."""
    records = get_authentication_records(request, person(request))
    return any(each["method"] in PROOFS and is_younger(each["at"], RECENTLY) for each in records)


class PasswordForm(DeskForm):
    """The form that asks for the password."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class CodeForm(DeskForm):
    """The form that asks for a code of the authenticator app or a recovery code."""

    code = forms.CharField(
        label=_("Code"),
        max_length=20,
        help_text=_("Six digits from your authenticator app, or one of your recovery codes."),
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


@opens_before_second_factor
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for the password; without one, ask for a code or offer the account's providers."""
    user = person(request)
    has_password = user.has_usable_password()
    form_class = PasswordForm if has_password else CodeForm
    form: DeskForm = form_class(request.POST or None)
    back = request.POST.get("next") or request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
        back = resolve_url("desk-second-factor")
    if request.method == "POST" and form.is_valid() and _check(request, user, form):
        return redirect(back)
    context = {
        "nav": "account",
        "form": form,
        "next": back,
        "possible": has_password or has_second_factor(user),
        "providers": sign_in_methods(user),
    }
    return render(request, "desk/confirm.html", context, status=REFUSED if form.errors else 200)


def sign_in_methods(user: User) -> list[Facts]:
    """Return those single sign-on providers in `ways_in()` that are linked to an account."""
    known = set(SocialAccount.objects.filter(user=user).values_list("provider", flat=True))
    return [each for each in ways_in() if each["id"] in known]


def _check(request: HttpRequest, user: User, form: DeskForm) -> bool:
    """Check a password or a code, record it in the session, and return whether it is right."""
    if "code" in form.cleaned_data:
        try:
            factor = code_use(user=user, code=form.cleaned_data["code"])
        except DpgeoError as refusal:
            form.add_refusal(refusal)
            return False
        record_authentication(request, user, "mfa", id=factor.pk, type=factor.type)
        return True
    # The form for a new password asks for the old one, too; wrong passwords in both forms count
    # towards the same limit.
    limit = settings.DPGEO_FAILED_SIGN_INS
    if count_attempt(f"own password of {user.pk}", limit, window=WINDOW) is not None:
        form.add_error(None, gettext("Too many attempts; try again in a quarter of an hour."))
        return False
    if not user.check_password(form.cleaned_data["password"]):
        form.add_error("password", gettext("This is not your password."))
        return False
    record_authentication(request, user, "password")
    return True
