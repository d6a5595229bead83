"""Pages for second factors: proving one at sign-in, setting them up, and recovery codes."""

from __future__ import annotations

import base64
import json
from typing import Any

from allauth.account.internal.decorators import login_stage_required
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.internal.flows import post_authentication
from allauth.mfa.internal.constants import LoginStageKey
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import clear_totp_secret, get_totp_secret
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dpgeo.accounts.codes import TooManyCodes, code_use
from dpgeo.accounts.factors import (
    app_add,
    factor_remove,
    passkey_use,
    recovery_codes_left,
    recovery_codes_renew,
)
from dpgeo.accounts.fresh_tokens import is_from_future
from dpgeo.accounts.receivers import record_attempt
from dpgeo.accounts.second_factor import (
    factors_of,
    needs_second_factor,
    opens_before_second_factor,
)
from dpgeo.accounts.sign_in_limits import TOO_MANY_REQUESTS
from dpgeo.audit.models import EventKind
from dpgeo.core.errors import DpgeoError
from dpgeo.pages.desk.access import person, report
from dpgeo.pages.desk.confirming import CodeForm, confirmed
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.rendering import say

DETAIL = "second factor"


@sensitive_post_parameters()
@login_stage_required(stage=LoginStageKey.MFA_AUTHENTICATE.value, redirect_urlname="login")  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def prove(request: HttpRequest) -> HttpResponse:
    """Ask somebody whose password was right for their second factor, then sign them in."""
    stage: Any = request._login_stage  # type: ignore[attr-defined]
    user = stage.login.user
    if not user.is_active or is_from_future(stage.login.initiated_at):
        answer: HttpResponse = stage.abort()
        return answer
    by_passkey = "credential" in request.POST
    form = CodeForm(None if by_passkey else request.POST or None)
    status = REFUSED if form.errors else 200
    problem = ""
    if by_passkey or (request.method == "POST" and form.is_valid()):
        try:
            if by_passkey:
                factor = passkey_use(user=user, credential=read_credential(request))
            else:
                factor = code_use(user=user, code=form.cleaned_data["code"])
        except DpgeoError as refusal:
            if by_passkey:
                problem = say(refusal)
            else:
                form.add_refusal(refusal)
            locked = isinstance(refusal, TooManyCodes)
            kind = EventKind.LOCKED_OUT if locked else EventKind.SIGN_IN_FAILED
            record_attempt(kind, user.get_username(), detail=DETAIL)
            status = TOO_MANY_REQUESTS if locked else REFUSED
        else:
            post_authentication(request, factor)
            answer = stage.exit()
            return answer
    context = {"form": form, "problem": problem}
    if any(each.type == Authenticator.Type.WEBAUTHN for each in factors_of(user)):
        from allauth.mfa.webauthn.internal.auth import begin_authentication

        context["options"] = begin_authentication(user)
    return render(request, "registration/second_factor.html", context, status=status)


@opens_before_second_factor
@login_required
@require_safe
@never_cache
def factors(request: HttpRequest) -> HttpResponse:
    """List the user's second factors."""
    user = person(request)
    own = factors_of(user)
    context = {
        "nav": "account",
        "app": next((each for each in own if each.type == Authenticator.Type.TOTP), None),
        "passkeys": [each.wrap() for each in own if each.type == Authenticator.Type.WEBAUTHN],
        "codes_left": recovery_codes_left(user),
        "factors": own,
        "needed": needs_second_factor(user),
    }
    return render(request, "desk/second_factor.html", context)


@opens_before_second_factor
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@confirmed
def app(request: HttpRequest) -> HttpResponse:
    """Show a secret for an authenticator app; add the app once it has produced a valid code."""
    user = person(request)
    if any(each.type == Authenticator.Type.TOTP for each in factors_of(user)):
        return redirect("desk-second-factor")
    secret = get_totp_secret()
    form = CodeForm(request.POST or None)
    form.fields["code"].help_text = gettext("Six digits that the app shows now.")
    if request.method == "POST" and form.is_valid():
        try:
            codes = app_add(
                request=request, user=user, secret=secret, code=form.cleaned_data["code"]
            )
        except DpgeoError as refusal:
            form.add_refusal(refusal)
        else:
            clear_totp_secret(request)
            return show_codes(request, codes)
    adapter = get_adapter()
    address = adapter.build_totp_url(user, secret)
    picture = base64.b64encode(adapter.build_totp_svg(address).encode()).decode()
    context = {
        "nav": "account",
        "form": form,
        "picture": f"data:image/svg+xml;base64,{picture}",
        "secret": " ".join(secret[n : n + 4] for n in range(0, len(secret), 4)),
        "address": address,
    }
    status = REFUSED if form.errors else 200
    return render(request, "desk/authenticator_app.html", context, status=status)


def read_credential(request: HttpRequest) -> dict[str, Any]:
    """Return the browser's answer about a passkey; {} if it is not a JSON object."""
    try:
        credential = json.loads(request.POST.get("credential", ""))
    except ValueError:
        return {}
    return credential if isinstance(credential, dict) else {}


def show_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    """Show fresh recovery codes, once."""
    if not codes:
        messages.success(request, gettext("The second factor is set up."))
        return redirect("desk-second-factor")
    groups = [f"{each[:4]} {each[4:]}" for each in codes]
    return render(request, "desk/recovery_codes.html", {"nav": "account", "codes": groups})


@opens_before_second_factor
@login_required
@require_POST
@never_cache
@confirmed
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Replace the user's recovery codes, and show the new ones once."""
    with report(request):
        return show_codes(request, recovery_codes_renew(user=person(request)))
    return redirect("desk-second-factor")


@opens_before_second_factor
@login_required
@require_POST
@confirmed
def remove(request: HttpRequest, factor_id: int) -> HttpResponse:
    """Remove one of the user's second factors."""
    user = person(request)
    own = Authenticator.objects.exclude(type=Authenticator.Type.RECOVERY_CODES).filter(user=user)
    factor = get_object_or_404(own, pk=factor_id)
    with report(request, gettext("The second factor is removed.")):
        factor_remove(user=user, factor=factor)
    return redirect("desk-second-factor")
