"""Views that send a browser to an OpenID Connect provider, and sign in who comes back.

The client library for providers is imported by the first request that needs it.
"""

from __future__ import annotations

import secrets
import time
from typing import cast

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException

from dpgeo.accounts.second_factor import opens_before_second_factor


@require_GET
@never_cache
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the visitor to a provider; keep only `next` and AGAIN of the query.

    With AGAIN, the provider must check the user's identity even if its own session is still open.
    """
    from allauth.socialaccount.providers.oauth2.client import OAuth2Error

    from dpgeo.accounts.single_sign_on import AGAIN, NONCE, OneCallback

    try:
        provider = get_adapter().get_provider(request, provider_id)
    except SocialApp.DoesNotExist:
        raise Http404("No such provider.") from None
    provider.oauth2_adapter_class = OneCallback
    after = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(after, {request.get_host()}, request.is_secure())
    again = AGAIN in request.GET
    nonce = secrets.token_urlsafe(16)
    asked = {"prompt": "login", "max_age": "0"} if again else {}
    try:
        answer = provider.redirect(
            request,
            process="login",
            next_url=after if safe else None,
            data={NONCE: nonce, **({AGAIN: time.time()} if again else {})},
            auth_params={NONCE: nonce, **asked},
        )
    except (OAuth2Error, RequestException) as error:
        return _failed(request, error)
    return cast(HttpResponse, answer)


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    try:
        get_adapter().on_authentication_error(request, exception=error)
    except ImmediateHttpResponse as answer:
        return cast(HttpResponse, answer.response)
    raise AssertionError


@opens_before_second_factor
@require_GET
@never_cache
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in the person whom a provider has confirmed and sent back."""
    from allauth.socialaccount.providers.oauth2.client import OAuth2Error
    from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView

    from dpgeo.accounts.single_sign_on import OneCallback

    try:
        view = OAuth2CallbackView.adapter_view(OneCallback(request, provider_id))
        return cast(HttpResponse, view(request))
    except (OAuth2Error, RequestException) as error:
        return _failed(request, error)
    except SocialApp.DoesNotExist:
        raise Http404("No such provider.") from None
