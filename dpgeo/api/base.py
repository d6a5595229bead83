"""What all addresses of the API have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.http import HttpResponse
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
from dpgeo.api.throttling import count_request

OPEN_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag"
    ),
}
"""Maps on other sites may read what is public. A browser sends no cookie along with this."""

PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": "If-None-Match, If-Range, Range",
    "Access-Control-Max-Age": "86400",
}


class AlwaysJson(BaseContentNegotiation):
    """Every Accept header gets the JSON that there is, so that none opens another door."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        """The first parser: nothing is ever sent here."""
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The first renderer."""
        first = next(iter(renderers))
        return first, first.media_type


class ApiView(APIView):
    """An address. `queries` are the parameters that reading it takes; others are refused.

    `scopes` names, by method, the scope that a key needs; such methods are for members alone,
    and find who acts in `actor`. Otherwise who asks is looked at only where a view reads
    `request.user`, so that what is public for all stays the same for all, and can be cached.
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
    asked: dict[str, Any]
    actor: User

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Read the query parameters. Raises InvalidInput."""
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS":
            reads = request.method in {"GET", "HEAD"}
            self.asked = read_queries(request.query_params, self.queries if reads else ())

    def perform_authentication(self, request: Request) -> None:
        """Leave it to the views that need to know."""

    def check_permissions(self, request: Request) -> None:
        """Count the request, then see that who acts has the scope of the method.

        Raises Throttled, AuthenticationFailed, NotAuthenticated and NotAllowed.
        """
        if self.counted:
            count_request(request)
        method = "GET" if request.method == "HEAD" else request.method
        if scope := self.scopes.get(method or ""):
            self.actor = actor_of(request, scope)

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        """Problems, not pages."""
        return problem_of

    @property
    def default_response_headers(self) -> dict[str, str]:
        """What every answer carries, errors too."""
        return {**super().default_response_headers, **OPEN_HEADERS}

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Answer browsers that ask before they read from another site."""
        return Response(status=204, headers=PREFLIGHT_HEADERS)


class DocumentView(ApiView):
    """An address that answers with a JSON document and its ETag."""

    def answer(self, document: Any, *, personal: bool = False) -> Response:
        """A document that caches may keep if they ask again; one for a member alone they never."""
        return Response(document, headers={"Cache-Control": caching(personal)})

    def write(self, document: type[Document], thing: Any, **context: Any) -> dict[str, Any]:
        """What a document says of a thing."""
        return document(context={"request": self.request, **context}).to_representation(thing)

    def text(
        self, body: bytes, *, personal: bool = False, media_type: str = "application/json"
    ) -> HttpResponse:
        """The same of a document that is text already."""
        return HttpResponse(
            body, content_type=media_type, headers={"Cache-Control": caching(personal)}
        )

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view, with an ETag on what it answers."""
        return conditional_page(super().as_view(**initkwargs))


def caching(personal: bool) -> str:
    """What caches may do with a document."""
    return "private, no-store" if personal else "public, no-cache"


def is_personal(viewer: Visitor) -> bool:
    """Whether somebody in particular looks, whose answer nobody else may get from a cache."""
    return bool(viewer.is_authenticated)
