"""Base classes of the API's views."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.http import Http404, HttpResponse, HttpResponseBase
from django.views.decorators.http import conditional_page
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import Visitor
from dpgeo.api.access import KeyAuthentication, request_actor
from dpgeo.api.answers import Answer, Json
from dpgeo.api.problems import problem_response
from dpgeo.api.queries import read_query
from dpgeo.api.throttling import count_request, count_time
from dpgeo.core.declared import Declared

OPEN_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag"
    ),
}
"""CORS headers that let scripts on other sites read public responses.

Browsers send no cookies with such requests.
"""

PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": "If-None-Match, If-Range, Range",
    "Access-Control-Max-Age": "86400",
}


class AlwaysJson(BaseContentNegotiation):
    """Content negotiation that ignores the Accept header and always responds with JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        """Return the first parser, which is never used: the views read the body themselves."""
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type


class ApiView(APIView):
    """Base class of all views of the API.

    `queries` declares the query parameters of GET; any other parameter is an error. `scopes` maps
    an HTTP method to the scope that an API key needs. Only members and keys may use the methods in
    `scopes`; `actor` is then the user who sent the request. A request with any other method is
    authenticated only if the view reads `request.user`, so public responses are the same for
    everybody and can be cached. If a view sets `counted` to False, requests to it have no rate
    limit.
    """

    queries: ClassVar[type[Declared]] = Declared
    scopes: ClassVar[Mapping[str, Scope]] = {}
    counted: ClassVar[bool] = True
    authentication_classes: Sequence[type[BaseAuthentication]] = (
        KeyAuthentication,
        SessionAuthentication,
    )
    permission_classes = (AllowAny,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AlwaysJson
    query: Any
    actor: User

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS":
            reads = request.method in {"GET", "HEAD"}
            self.query = read_query(request.query_params, self.queries if reads else Declared)

    def perform_authentication(self, request: Request) -> None:
        """Do nothing. A request is authenticated when a view reads `request.user`."""

    def check_permissions(self, request: Request) -> None:
        """Count the request for the rate limit, then check the scope that its method needs.

        Raises Throttled, AuthenticationFailed, NotAuthenticated or NotAllowed.
        """
        if self.counted:
            count_request(request)
        method = "GET" if request.method == "HEAD" else request.method
        if scope := self.scopes.get(method or ""):
            self.actor = request_actor(request, scope)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Respond to the request, and count its processor time for the rate limit."""
        began = time.thread_time()
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        if self.counted:
            count_time(self.request, time.thread_time() - began)
        return answer

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        return problem_response

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {**super().default_response_headers, **OPEN_HEADERS}

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        return Response(status=204, headers=PREFLIGHT_HEADERS)


class NothingHere(ApiView):
    """View for unknown URLs, which responds with 404 and a problem document instead of a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise Http404 for any method."""
        raise Http404


class DocumentView(ApiView):
    def answer(
        self, document: Answer | Json, *, personal: bool = False, status: int = 200
    ) -> HttpResponse:
        """Return a response with `document`; caches may not store it if it is `personal`."""
        answer = (
            document.model_dump_json(exclude_unset=True).encode()
            if isinstance(document, Answer)
            else json.dumps(document, ensure_ascii=False).encode()
        )
        return self.text(answer, personal=personal, status=status)

    def created(self, document: Any) -> HttpResponse:
        """Return a response with the description of a new object, whose URL is `document.url`."""
        answer = self.answer(document, personal=True, status=201)
        answer["Location"] = document.url
        return answer

    def text(
        self,
        body: bytes,
        *,
        personal: bool = False,
        media_type: str = "application/json",
        status: int = 200,
    ) -> HttpResponse:
        """Return a response with `body`, which is already text of the media type.

        Caches may not store the response if it is `personal`.
        """
        headers = {"Cache-Control": caching(personal)}
        return HttpResponse(body, status=status, content_type=media_type, headers=headers)

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return conditional_page(super().as_view(**initkwargs))


def caching(personal: bool) -> str:
    return "private, no-store" if personal else "public, no-cache"


def is_personal(viewer: Visitor) -> bool:
    """Return whether the viewer is authenticated, so that caches must not store the response."""
    return bool(viewer.is_authenticated)
