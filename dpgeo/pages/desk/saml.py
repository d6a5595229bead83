"""Views that send a browser to a SAML provider for single sign-on, and receive its answer.

The libraries for SAML are imported by the first request that needs them.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, cast

from allauth.socialaccount.helpers import complete_social_login
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from dpgeo.accounts.attempts import count_attempt, forget_attempt
from dpgeo.accounts.providers import Facts
from dpgeo.accounts.rate_counters import address_of
from dpgeo.accounts.second_factor import opens_before_second_factor
from dpgeo.accounts.sign_in_limits import TOO_MANY_REQUESTS, WINDOW
from dpgeo.accounts.single_sign_on import AGAIN, assertion_use, refuse

if TYPE_CHECKING:
    from dpgeo.accounts.saml import Confirmed

FORM = "application/x-www-form-urlencoded"

ANSWERS = 5
"""Number of a provider's answers to one sign-in request that may be refused before further answers
are blocked for a time.

It is more than 1, because reloading the page posts the same answer again.
"""


def _facts(provider_id: str) -> Facts:
    for each in settings.DPGEO_SAML:
        if each["id"] == provider_id:
            return each
    raise Http404("No such provider.")


@require_GET
@never_cache
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the visitor to a provider; keep the query's `next` and AGAIN in the session.

    With AGAIN, the provider must check the user's identity even if its own session is still open.
    """
    facts = _facts(provider_id)
    from dpgeo.accounts.saml import address_to_ask, find_identity_provider

    again = AGAIN in request.GET
    address, state = address_to_ask(request, facts, again=again)
    after = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(after, {request.get_host()}, request.is_secure())
    find_identity_provider(request, facts).stash_redirect_state(
        request,
        "login",
        next_url=after if safe else None,
        data={AGAIN: time.time()} if again else None,
        state_id=state,
    )
    return redirect(address)


@csrf_exempt
@require_POST
@never_cache
def answer(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Receive the answer that a provider's page posts, and redirect to `finish`.

    The post comes from another site, so it has neither a token against forged requests nor a
    session. The signature replaces the token, and `finish` checks in the session that this browser
    sent the request. The number of refused answers is limited; `accounts.saml` says which of them
    are counted together.
    """
    facts = _facts(provider_id)
    from dpgeo.accounts.saml import COOKIE, COOKIE_SECONDS, Refused, is_ticket, read_answer, sealed

    caller, limit = f"answers by SAML from {address_of(request)}", settings.DPGEO_FAILED_SIGN_INS
    if request.content_type == FORM and is_ticket(ticket := request.POST.get("RelayState", "")):
        caller, limit = f"answers by SAML to {ticket}", min(limit, ANSWERS)
    if wait := count_attempt(caller, limit, window=WINDOW):
        text = gettext("Too many attempts; try again in a quarter of an hour.")
        headers = {"Retry-After": str(math.ceil(wait))}
        return HttpResponse(text, status=TOO_MANY_REQUESTS, headers=headers)
    try:
        if request.content_type != FORM:
            raise Refused("not a form")
        confirmed = read_answer(request, facts, request.POST.get("SAMLResponse", ""))
    except Refused as refusal:
        return _refused(request, refusal)
    forget_attempt(caller, window=WINDOW)
    response = redirect("saml-finish", provider_id)
    response.set_cookie(
        COOKIE,
        sealed(confirmed),
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


@opens_before_second_factor
@require_GET
@never_cache
def finish(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in the person whom a provider has confirmed, if this browser sent the request."""
    facts = _facts(provider_id)
    from dpgeo.accounts.saml import COOKIE, Refused, unsealed

    try:
        confirmed = unsealed(request.COOKIES.get(COOKIE, ""))
    except Refused:
        # Anybody may open this URL without a provider's answer, so the failure is not recorded.
        return refuse(request, "failed", "")
    try:
        response = _sign_in(request, facts, confirmed)
    except Refused as refusal:
        response = _refused(request, refusal)
    response.delete_cookie(COOKIE, samesite="Lax")
    return response


def _sign_in(request: HttpRequest, facts: Facts, confirmed: Confirmed) -> HttpResponse:
    from dpgeo.accounts.saml import Refused, find_identity_provider

    if confirmed.provider != facts["id"]:
        raise Refused("wrong provider")
    provider = find_identity_provider(request, facts)
    state = {"process": "login"}
    if confirmed.answers:
        try:
            state = provider.unstash_redirect_state(request, confirmed.answers)
        except PermissionDenied:
            raise Refused("this browser had not asked") from None
    elif not facts.get("idp_initiated"):
        raise Refused("nobody had asked")
    if not assertion_use(
        provider=confirmed.provider, assertion=confirmed.assertion, until=confirmed.until
    ):
        raise Refused("it was used before")
    login = provider.sociallogin_from_response(request, confirmed)
    login.state = state
    return cast(HttpResponse, complete_social_login(request, login))


def _refused(request: HttpRequest, refusal: Exception) -> HttpResponse:
    return refuse(request, "failed", f"single sign-on: {refusal}")


@require_GET
def metadata(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Return the SAML metadata that describe this site to a provider."""
    facts = _facts(provider_id)
    from dpgeo.accounts.saml import provider_metadata

    return HttpResponse(
        provider_metadata(request, facts), content_type="application/samlmetadata+xml"
    )
