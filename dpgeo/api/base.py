"""Base classes of the API's views."""

from __future__ import annotations

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
from dpgeo.api.access import KeyAuthentication, actor_of
from dpgeo.api.documents import Document
from dpgeo.api.problems import problem_of
from dpgeo.api.queries import Query, read_queries
from dpgeo.api.throttling import count_request, count_time

OPEN_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag"
    ),
}
"""Let scripts on other sites read public answers; browsers then send no cookies."""

PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": "If-None-Match, If-Range, Range",
    "Access-Control-Max-Age": "86400",
}


class AlwaysJson(BaseContentNegotiation):
    """Content negotiation that ignores the Accept header and always answers in JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        """Return the first parser; it is never used, as views read the body themselves."""
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        first = next(iter(renderers))
        return first, first.media_type


class ApiView(APIView):
    """Base of all views of the API.

    `queries` declares the query parameters of GET; any other parameter is an error. `scopes` names,
    by method, the scope that a key needs; only members and keys may use such methods, and `actor`
    is the user who acts. A request of any other method is authenticated only if the view reads
    `request.user`. Public answers are therefore the same for everybody and can be cached.
    """

    queries: ClassVar[Sequence[Query]] = ()
    scopes: ClassVar[Mapping[str, Scope]] = {}
    counted: ClassVar[bool] = True
    authentication_classes: Sequence[type[BaseAuthentication]] = (
        KeyAuthentication,
        SessionAuthentication,
    )
    permission_classes = (AllowAny,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AlwaysJson
    query: dict[str, Any]
    actor: User

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Parse the query parameters of the request. Raises InvalidInput."""
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS":
            reads = request.method in {"GET", "HEAD"}
            self.query = read_queries(request.query_params, self.queries if reads else ())

    def perform_authentication(self, request: Request) -> None:
        """Do nothing: views that need the user read `request.user`."""

    def check_permissions(self, request: Request) -> None:
        """Count the request for its rate limit, then check its method's scope.

        Raises Throttled, AuthenticationFailed, NotAuthenticated and NotAllowed.
        """
        if self.counted:
            count_request(request)
        method = "GET" if request.method == "HEAD" else request.method
        if scope := self.scopes.get(method or ""):
            self.actor = actor_of(request, scope)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer the request, and count how long that took for its rate limit."""
        began = time.thread_time()
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        if self.counted:
            count_time(self.request, time.thread_time() - began)
        return answer

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        """Return the function that answers errors with problem documents."""
        return problem_of

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Return the headers of every answer, errors included."""
        return {**super().default_response_headers, **OPEN_HEADERS}

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Answer the preflight requests of browsers."""
        return Response(status=204, headers=PREFLIGHT_HEADERS)


class NothingHere(ApiView):
    """View of every unknown address: answers 404 with a problem in JSON instead of a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise Http404 for any method."""
        raise Http404


class DocumentView(ApiView):
    """View that answers with a JSON document and its ETag."""

    def answer(self, document: Any, *, personal: bool = False) -> Response:
        """Answer with a document; caches may not store a personal one."""
        return Response(document, headers={"Cache-Control": caching(personal)})

    def write(self, document: type[Document], thing: Any, **context: Any) -> dict[str, Any]:
        """Return `thing` as the serializer `document` writes it."""
        return document(context={"request": self.request, **context}).to_representation(thing)

    def text(
        self, body: bytes, *, personal: bool = False, media_type: str = "application/json"
    ) -> HttpResponse:
        """Answer with a document that is JSON text already."""
        return HttpResponse(
            body, content_type=media_type, headers={"Cache-Control": caching(personal)}
        )

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """Return the view, with an ETag on its answers."""
        return conditional_page(super().as_view(**initkwargs))


def caching(personal: bool) -> str:
    """Return the Cache-Control header of a document."""
    return "private, no-store" if personal else "public, no-cache"


def is_personal(viewer: Visitor) -> bool:
    """Whether the viewer is signed in, so that caches must not store the answer."""
    return bool(viewer.is_authenticated)
