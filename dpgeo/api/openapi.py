"""Descriptions of the API's operations for the OpenAPI schema.

A description comes from the view's query parameters and scopes, from the docstring of the view's
method and from the method's decorator `operation`. The examples were recorded in a test run
(`tests/web/example_city.py`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
)
from rest_framework.permissions import SAFE_METHODS

from dpgeo.api.answers import ProblemOut
from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, MEDIA_TYPE, Problem
from dpgeo.api.problems import of_status
from dpgeo.api.queries import openapi
from dpgeo.core.declared import Declared, schema_of

F = TypeVar("F", bound=Callable[..., Any])

JSON = "application/json"

EXAMPLES = Path(__file__).with_name("examples.json")

WRITERS: tuple[dict[str, Any], ...] = ({"key": []}, {"cookieAuth": []})
"""Security schemes of operations that need a scope: an API key, or a member's session."""

IN_PATH: dict[str, tuple[type, str]] = {
    "campaign_id": (str, "The campaign's id."),
    "job_id": (UUID, "The job's id."),
    "key": (str, "The mechanism's key, as releases name it."),
    "layer": (str, "The layer's name, as the release's files give it."),
    "name": (str, "The name of the file or layer, as lists give it."),
    "release_id": (str, "The release's id, as lists give it."),
    "series_id": (UUID, "The series' id."),
    "slug": (str, "The dataset's short name, as lists give it."),
    "upload_id": (UUID, "The upload's id."),
    "version": (str, "The version named in a statement."),
    "x": (int, "Column"),
    "y": (int, "Row from the north"),
    "z": (int, "Zoom"),
}
"""The type and the description of each parameter of a path."""

BODY = "$response.body#"

DETAILS = {
    HTTPStatus.BAD_REQUEST: (
        "Must be four numbers: west,south,east,north in degrees.",
        "bbox",
    ),
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: (
        "The range starts beyond the end of the file, which has 51234 bytes.",
        "Range",
    ),
}
"""The texts `detail` and `field` in the example of an error, by the error's HTTP status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Description of one view method: its name, input and responses.

    `answer` is the model of the response with `status`. `repeated` describes the response 200
    to a request that was sent before; it is empty if there is none. `responses` are all other
    responses except errors. `errors` lists the statuses of errors; the usual ones are added if
    `usual` is True. `further` lists kinds of problem that share their status with another kind.
    `links` maps the names of operations that a client may call next to their path parameters, given
    as references into this response. `example` names another operation whose recorded example is
    shown; if it is empty, this operation's own is shown.
    """

    name: str
    summary: str
    tag: str
    answer: Any = None
    status: int = 200
    parameters: Sequence[OpenApiParameter] = ()
    body: type[Declared] | None = None
    request: Any = None
    errors: Sequence[int] = ()
    usual: bool = True
    further: Sequence[Problem] = ()
    repeated: str = ""
    responses: Mapping[Any, Any] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    example: str = ""


def operation(name: str, summary: str, answer: Any = None, **facts: Any) -> Callable[[F], F]:
    """Return a decorator that describes a view's method.

    `answer` is the model of the response, and `facts` are further fields of Operation.
    """
    described = Operation(name=name, summary=summary, answer=answer, **facts)

    def decorate(method: F) -> F:
        method.operation = described  # type: ignore[attr-defined]
        return method

    return decorate


def linked(names: Sequence[str], **parameters: str) -> dict[str, dict[str, str]]:
    """Return links to the operations `names`, which all have the same path parameters."""
    return dict.fromkeys(names, parameters)


class OperationSchema(AutoSchema):
    """Describes one operation; drf-spectacular creates one object for each."""

    view: Any

    @property
    def stated(self) -> Operation:
        described: Operation = getattr(self.view, self.method.lower()).operation
        return described

    def is_excluded(self) -> bool:
        """Return True for methods that lack the decorator `operation`."""
        return not hasattr(getattr(self.view, self.method.lower(), None), "operation")

    def get_operation_id(self) -> str:
        return self.stated.name

    def get_summary(self) -> str:
        return self.stated.summary

    def get_tags(self) -> list[str]:
        return [self.stated.tag]

    def get_auth(self) -> list[dict[str, Any]]:
        """Return the security schemes; authentication is optional if the method needs no scope."""
        either: list[dict[str, Any]] = super().get_auth()
        return list(WRITERS) if self.method in self.view.scopes else either

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters of the path, of the view's query and of the decorator."""
        queries = openapi(self.view.queries) if self.method == "GET" else []
        stated = {each.name: each for each in self.stated.parameters}
        in_path = [
            OpenApiParameter(name, kind, OpenApiParameter.PATH, description=meaning)
            for name, (kind, meaning) in IN_PATH.items()
            if f"{{{name}}}" in self.path and name not in stated
        ]
        return [*in_path, *queries, *stated.values()]

    def get_request_serializer(self) -> Any:
        """Return the description of the request body, with its example if one was recorded."""
        stated = self.stated
        if not stated.body:
            return stated.request
        samples = [
            OpenApiExample(stated.name, value=recorded["sent"], request_only=True)
            for recorded in recorded_maps(stated.name)
        ]
        return {JSON: OpenApiRequest(schema_of(stated.body), examples=samples)}

    def get_response_serializers(self) -> Any:
        """Return the descriptions of the responses, with errors last."""
        stated = self.stated
        described: dict[Any, Any] = {**stated.responses}
        if stated.answer:
            named = "Found" if self.method == "GET" else "Done" if stated.status == 200 else "Begun"
            described[stated.status, JSON] = self._good(stated.status, named)
        if stated.repeated:
            described[200, JSON] = self._good(200, stated.repeated)
        for status in sorted(self._errors()):
            described |= error(status, *(each for each in stated.further if each.status == status))
        return described

    def get_operation(self, *args: Any) -> dict[str, Any] | None:
        """Return the operation's description, adding what drf-spectacular cannot express.

        The response 206, part of a file, may have any media type. The web server responds to every
        operation with 414 if the URL is too long. Returns None if drf-spectacular does.
        """
        document: dict[str, Any] | None = super().get_operation(*args)
        if document is None:
            return None
        responses = document["responses"]
        if "206" in responses:
            responses["206"]["content"] = {"*/*": {}}
        if self.stated.links:
            responses[str(self.stated.status)]["links"] = {
                name: {"operationId": name, "parameters": {**where}}
                for name, where in self.stated.links.items()
            }
        responses["414"] = TOO_LONG
        return document

    def _good(self, status: int, description: str) -> OpenApiResponse:
        stated = self.stated
        samples = [
            example(stated.summary, recorded["answer"], status)
            for recorded in recorded_maps(stated.example or stated.name)
        ]
        return OpenApiResponse(stated.answer, description=description, examples=samples)

    def _errors(self) -> set[int]:
        stated = self.stated
        if not stated.usual:
            return set(stated.errors)
        usual = {400, 401, 429, *stated.errors}
        usual |= {403} if self.method in self.view.scopes else set()
        usual |= {413, 415} if stated.body else set()
        usual |= (
            {503} if self.method in self.view.scopes and self.method not in SAFE_METHODS else set()
        )
        return usual | {404} if "{" in self.path else usual


@functools.cache
def examples() -> dict[str, Any]:
    """Return the recorded requests and responses by the operation's name."""
    recorded: dict[str, Any] = json.loads(EXAMPLES.read_text())
    return recorded


def recorded_maps(name: str) -> list[dict[str, Any]]:
    """Return a list with the recorded request and response of the operation `name`.

    The list is empty if nothing was recorded for the operation.
    """
    return [examples()[name]] if name in examples() else []


def error(status: int, *further: Problem) -> dict[tuple[int, str], OpenApiResponse]:
    """Return the OpenAPI description of an error response.

    It covers the usual kind of problem for this `status` and any `further` kinds.
    """
    kinds = (of_status(status), *further)
    response = OpenApiResponse(
        ProblemOut,
        description=" or ".join([kinds[0].title, *(kind.title.lower() for kind in further)]),
        examples=[example(kind.title, sample_problem(kind), status, MEDIA_TYPE) for kind in kinds],
    )
    return {(status, MEDIA_TYPE): response}


def sample_problem(kind: Problem) -> dict[str, Any]:
    detail, field = DETAILS.get(kind.status, ("", ""))
    return kind.document(detail, field=field)


def example(name: str, value: Any, status: int = 200, media_type: str = JSON) -> OpenApiExample:
    return OpenApiExample(
        name,
        value=value,
        response_only=True,
        status_codes=[str(status)],
        media_type=media_type,
    )


TOO_LONG: dict[str, Any] = {
    "description": ADDRESS_TOO_LONG.title,
    "content": {
        MEDIA_TYPE: {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {"AddressTooLong": {"value": ADDRESS_TOO_LONG.document()}},
        }
    },
}
