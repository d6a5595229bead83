"""The OpenAPI schema, and the documentation page generated from it."""

from __future__ import annotations

import functools
import json
import threading
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from dpgeo.api import problems, queries
from dpgeo.api.base import DocumentView
from dpgeo.api.openapi import operation
from dpgeo.api.queries import choice
from dpgeo.core.declared import Declared, fact

YAML_TYPE = "application/vnd.oai.openapi"

FORMATS = ("json", "yaml")


class SchemaQuery(Declared):
    format: Annotated[str, choice(FORMATS), queries.schema(enum=list(FORMATS))] = fact(
        "json or yaml; by default what the Accept header prefers, else json.", None
    )


class SchemaView(DocumentView):
    queries = SchemaQuery

    @operation(
        "schema",
        "Get this description",
        tag="schema",
        responses={
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT, "OpenAPI 3.1"),
            (200, "application/yaml"): OpenApiResponse(OpenApiTypes.OBJECT, "OpenAPI 3.1"),
        },
        errors=[400],
        usual=False,
    )
    def get(self, request: Request) -> HttpResponse:
        """Get this OpenAPI 3.1 description as JSON or YAML."""
        wanted = self.query.format or preferred_format(request.headers.get("Accept", ""))
        text, media_type = _written(wanted)
        headers = {"Vary": "Accept", "Cache-Control": "public, no-cache"}
        return HttpResponse(text, content_type=media_type, headers=headers)


@require_safe
@conditional_page
@cache_control(no_cache=True)
def docs(request: HttpRequest) -> HttpResponse:
    context = {
        "section": "api",
        "groups": _groups(schema()),
        "problems": problems.KINDS,
        "address": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "api/docs.html", context)


_GENERATING = threading.Lock()
"""Lock for generating the OpenAPI document: drf-spectacular fails if two threads do so at once."""


@functools.cache
def schema() -> dict[str, Any]:
    """Return the OpenAPI document. It is cached, because it depends on the code alone."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    with _GENERATING:
        document: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return document


def preferred_format(accept: str) -> str:
    """Return "yaml" if the Accept header names it, otherwise "json"."""
    return "yaml" if "yaml" in accept.lower() or accept.strip() == YAML_TYPE else "json"


@functools.cache
def _written(form: str) -> tuple[bytes, str]:
    if form == "json":
        return json.dumps(schema(), indent=2, ensure_ascii=False).encode(), "application/json"
    text: bytes = OpenApiYamlRenderer().render(schema())  # type: ignore[no-untyped-call]
    return text, "application/yaml"


def _groups(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the operations, grouped by their first tag in the order of the declared tags."""
    groups: dict[str, list[dict[str, Any]]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            entry = _operation(path, method, described)
            groups[described["tags"][0]].append(entry)
    return groups


def _operation(path: str, method: str, described: dict[str, Any]) -> dict[str, Any]:
    answers = [
        {"status": status, "description": answer["description"]}
        for status, answer in sorted(described["responses"].items())
    ]
    return {
        "id": described["operationId"],
        "path": path,
        "method": method.upper(),
        "summary": described["summary"],
        "description": described.get("description", ""),
        "parameters": [_parameter(each) for each in described.get("parameters", ())],
        "fields": _fields(described),
        "sent": _example(described.get("requestBody", {})),
        "needs_key": bool(described.get("security")) and {} not in described["security"],
        "answers": answers,
        "example": next(
            filter(None, (_example(answer) for answer in described["responses"].values())), ""
        ),
    }


def _fields(described: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of an operation's JSON request body.

    Returns an empty list if the operation accepts no JSON.
    """
    form = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = form.get("schema", {})
    required = body.get("required", ())
    return [
        {
            "name": name,
            "required": name in required,
            **{key: field.get(key) for key in ("description", "enum", "default")},
        }
        for name, field in body.get("properties", {}).items()
    ]


def _parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    form = parameter.get("schema", {})
    return {
        "name": parameter["name"],
        "place": parameter["in"],
        "description": parameter.get("description", ""),
        "choices": [each for each in form.get("enum", ()) if each],
        "default": form.get("default"),
    }


def _example(answer: dict[str, Any]) -> str:
    for content in answer.get("content", {}).values():
        for example in content.get("examples", {}).values():
            return json.dumps(example["value"], indent=2, ensure_ascii=False)
    return ""
