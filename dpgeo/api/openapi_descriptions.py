"""How each address is described in the OpenAPI schema: answers, errors, examples of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
)

from dpgeo.api import examples, member_examples
from dpgeo.api.problems import MEDIA_TYPE, Problem, of_status
from dpgeo.api.queries import Query, openapi
from dpgeo.api.request_bodies import Field, body_schema
from dpgeo.api.serializers import ProblemSerializer

F = TypeVar("F", bound=Callable[..., Any])


def describe(
    name: str,
    summary: str,
    answer: type[Any],
    *,
    queries: Sequence[Query] = (),
    key: tuple[str, str] | None = None,
    further: Sequence[OpenApiParameter] = (),
    tag: str = "",
    problems: Sequence[int] = (),
) -> Callable[[F], F]:
    """Describe the GET of a JSON document.

    `key` names and explains the variable part of the address, of what may not be there; `further`
    are more such parts. `problems` are the statuses of errors beside those of every such address.
    """
    success = OpenApiResponse(
        answer, description="Found", examples=[example(summary, examples.ANSWERS[name])]
    )
    responses: dict[Any, Any] = {
        (200, "application/json"): success,
        **problem(400),
        **problem(401),
        **problem(429),
    }
    parameters = openapi(queries)
    if key:
        responses |= problem(404)
        parameters += [in_path(*key), *further]
    for status in problems:
        responses |= problem(status)
    decorate: Callable[[F], F] = extend_schema(
        operation_id=name,
        summary=summary,
        parameters=parameters,
        responses=responses,
        tags=[tag or (name if name.endswith("s") else f"{name}s")],
    )
    return decorate


def describe_action(
    name: str,
    summary: str,
    answer: type[Any],
    *,
    tag: str,
    status: int = 200,
    keys: Sequence[OpenApiParameter] = (),
    body: Sequence[Field] = (),
    queries: Sequence[Query] = (),
    problems: Sequence[int] = (),
    further: Sequence[Problem] = (),
    public: bool = False,
    repeated: str = "",
    deprecated: bool = False,
) -> Callable[[F], F]:
    """Describe what members and their keys alone may do or see, or, where `public`, anybody.

    `problems` are the statuses of errors beside those that every such address has; `further` are
    kinds of these that are not the first of their status. `repeated` says what is answered with
    200 where the same was asked for before.
    """
    success = OpenApiResponse(
        answer,
        description="Done" if status == 200 else "Begun",
        examples=[example(summary, member_examples.ANSWERS[name], status)],
    )
    responses: dict[Any, Any] = {(status, "application/json"): success}
    if repeated:
        responses |= answered(name, summary, answer, repeated)
    always = {400, 401, 429} if public else {400, 401, 403, 429}
    for each in sorted({*always, *problems, *((404,) if keys else ())}):
        responses |= problem(each, *(kind for kind in further if kind.status == each))
    if body:
        responses |= problem(413) | problem(415)
    decorate: Callable[[F], F] = extend_schema(
        operation_id=name,
        summary=summary,
        parameters=[*openapi(queries), *keys],
        request=_request(name, body),
        responses=responses,
        tags=[tag],
        auth=None if public else WRITERS,
        deprecated=deprecated or None,
    )
    return decorate


def answered(
    name: str, summary: str, answer: type[Any], description: str = "Found"
) -> dict[Any, Any]:
    """The description of a good answer whose example is `name`'s."""
    sample = example(summary, member_examples.ANSWERS[name])
    return {
        (200, "application/json"): OpenApiResponse(
            answer, description=description, examples=[sample]
        )
    }


def problems(*statuses: int) -> dict[Any, Any]:
    """The descriptions of some errors."""
    described: dict[Any, Any] = {}
    for status in statuses:
        described |= problem(status)
    return described


WRITERS: Any = [{"key": []}, {"cookieAuth": []}]
"""A key, or the session of a member who is signed in."""


def _request(name: str, body: Sequence[Field]) -> Any:
    """The description of a JSON body, or None where there is none."""
    if not body:
        return None
    sample = OpenApiExample(name, value=member_examples.BODIES[name], request_only=True)
    return {"application/json": OpenApiRequest(body_schema(body), examples=[sample])}


def in_path(name: str, description: str) -> OpenApiParameter:
    """The description of a variable part of an address."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


def problem(status: int, *further: Problem) -> dict[tuple[int, str], OpenApiResponse]:
    """The description of an error answer of the first kind of a status, or of further ones."""
    kinds = (of_status(status), *further)
    response = OpenApiResponse(
        ProblemSerializer,
        description=" or ".join([kinds[0].title, *(kind.title.lower() for kind in further)]),
        examples=[example(kind.title, examples.problem(kind), status) for kind in kinds],
    )
    return {(status, MEDIA_TYPE): response}


def example(name: str, value: Any, status: int = 200) -> OpenApiExample:
    """An example of an answer."""
    media_type = "application/json" if status < 300 else MEDIA_TYPE
    return OpenApiExample(
        name,
        value=value,
        response_only=True,
        status_codes=[str(status)],
        media_type=media_type,
    )
