"""How each address is described in the OpenAPI schema: answers, errors, examples of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from dpgeo.api import examples
from dpgeo.api.problems import MEDIA_TYPE, of_status
from dpgeo.api.queries import Query, openapi
from dpgeo.api.serializers import ProblemSerializer

F = TypeVar("F", bound=Callable[..., Any])


def describe(
    name: str,
    summary: str,
    answer: type[Any],
    *,
    queries: Sequence[Query] = (),
    key: tuple[str, str] | None = None,
) -> Callable[[F], F]:
    """Describe the GET of a JSON document.

    `key` names and explains the variable part of the address, of what may not be there.
    """
    success = OpenApiResponse(
        answer, description="Found", examples=[example(summary, examples.ANSWERS[name])]
    )
    responses: dict[Any, Any] = {(200, "application/json"): success, **problem(400)}
    parameters = openapi(queries)
    if key:
        responses |= problem(404)
        parameters.append(in_path(*key))
    decorate: Callable[[F], F] = extend_schema(
        operation_id=name,
        summary=summary,
        parameters=parameters,
        responses=responses,
        tags=[name if name.endswith("s") else f"{name}s"],
    )
    return decorate


def in_path(name: str, description: str) -> OpenApiParameter:
    """The description of a variable part of an address."""
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


def problem(status: int) -> dict[tuple[int, str], OpenApiResponse]:
    """The description of an error answer."""
    kind = of_status(status)
    document = examples.problem(kind)
    response = OpenApiResponse(
        ProblemSerializer,
        description=kind.title,
        examples=[example(kind.title, document, status)],
    )
    return {(status, MEDIA_TYPE): response}


def example(name: str, value: Any, status: int = 200) -> OpenApiExample:
    """An example of an answer."""
    media_type = "application/json" if status == 200 else MEDIA_TYPE
    return OpenApiExample(
        name,
        value=value,
        response_only=True,
        status_codes=[str(status)],
        media_type=media_type,
    )
