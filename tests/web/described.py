"""Checks of responses against the OpenAPI schemas of their operations."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import yaml
from django.http import HttpResponseBase

from dpgeo.api.documentation import schema


def operation(name: str) -> dict[str, Any]:
    """Return an operation's entry in the OpenAPI schema."""
    matches = [
        each
        for methods in schema()["paths"].values()
        for each in methods.values()
        if each["operationId"] == name
    ]
    assert len(matches) == 1, name
    described: dict[str, Any] = matches[0]
    return described


def check(name: str, answer: HttpResponseBase) -> None:
    """Check a response's status, media type, headers and content against its operation."""
    responses = operation(name)["responses"]
    assert str(answer.status_code) in responses, (name, answer.status_code)
    described = responses[str(answer.status_code)]
    for header in described.get("headers", {}):
        assert answer.has_header(header), (name, header)
    body: bytes = getattr(answer, "getvalue", lambda: b"")()
    media_types = described.get("content", {})
    if not media_types:
        assert body == b"", (name, answer.status_code)
        return
    form = answer.headers["Content-Type"]
    assert form in media_types or "*/*" in media_types, (name, form)
    content = media_types.get(form, media_types.get("*/*"))
    if "schema" in content:
        fits(content["schema"], read(form, body))


def read(media_type: str, body: bytes) -> Any:
    """Return a response's body, parsed by its media type as a client does."""
    essence = media_type.partition(";")[0]
    if essence.endswith(("/json", "+json")):
        return json.loads(body)
    if essence.endswith("/yaml"):
        return yaml.load(body, Loader=yaml.CSafeLoader)
    return body.decode() if essence.startswith("text/") else body.decode("latin-1")


def fits(described: dict[str, Any], value: Any) -> None:
    """Check a value against a schema. Raises jsonschema.ValidationError."""
    whole = {**described, "components": schema()["components"]}
    jsonschema.Draft202012Validator(
        whole, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    ).validate(value)
