"""Addresses that lead to a provider of single sign-on and back.

The client of providers is imported by the first request that needs it.
"""

from __future__ import annotations

from typing import cast

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException


@require_GET
@never_cache
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the visitor to a provider. Nothing else of the query is passed on than `next`."""
    from allauth.socialaccount.providers.oauth2.client import OAuth2Error

    from dpgeo.accounts.single_sign_on import OneCallback

    try:
        provider = get_adapter().get_provider(request, provider_id)
    except SocialApp.DoesNotExist:
        raise Http404("No such provider.") from None
    provider.oauth2_adapter_class = OneCallback
    after = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(after, {request.get_host()}, request.is_secure())
    try:
        answer = provider.redirect(request, process="login", next_url=after if safe else None)
    except (OAuth2Error, RequestException):
        return _failed(request)
    return cast(HttpResponse, answer)


def _failed(request: HttpRequest) -> HttpResponse:
    try:
        get_adapter().on_authentication_error(request)
    except ImmediateHttpResponse as answer:
        return cast(HttpResponse, answer.response)
    raise AssertionError


@require_GET
@never_cache
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in whom a provider sends back."""
    from allauth.socialaccount.providers.oauth2.client import OAuth2Error
    from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView

    from dpgeo.accounts.single_sign_on import OneCallback

    try:
        view = OAuth2CallbackView.adapter_view(OneCallback(request, provider_id))
        return cast(HttpResponse, view(request))
    except (OAuth2Error, RequestException):
        return _failed(request)
    except SocialApp.DoesNotExist:
        raise Http404("No such provider.") from None
