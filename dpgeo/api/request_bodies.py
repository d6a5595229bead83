"""JSON request bodies, whose fields are declared by a model (`core.declared`)."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from django.core.exceptions import BadRequest
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from dpgeo.api.problems import LENGTH_REQUIRED, TOO_LARGE, Refused
from dpgeo.core.declared import Declared
from dpgeo.core.errors import InvalidInput

MAX_BODY_BYTES = 2 * 1024 * 1024
"""Largest request body in bytes. It is enough for a study area of 20,000 vertices; files are sent
to other URLs."""

D = TypeVar("D", bound=Declared)


def read_body(
    request: Request,
    facts: type[D] = Declared,  # type: ignore[assignment]
    *,
    most: int = MAX_BODY_BYTES,
) -> D:
    """Read a request body of at most `most` bytes, and return the declared facts in it.

    By default, no fields are allowed. Raises InvalidInput, which names the field, if a field is
    unknown, given twice, missing or malformed. Can also raise Refused or
    UnsupportedMediaType.
    """
    needed = any(field.is_required() for field in facts.model_fields.values())
    document = _document(request, most) if body_length(request) or needed else {}
    return facts.read(document, strict=True)


def body_length(request: Request) -> int:
    """Return the declared length of the body in bytes, or 0 if there is no body.

    Raises Refused for a chunked body without a length, or InvalidInput for a malformed
    length.
    """
    text = request.META.get("CONTENT_LENGTH") or ""
    if not text and request.META.get("HTTP_TRANSFER_ENCODING"):
        raise Refused(LENGTH_REQUIRED)
    if text and not (text.isascii() and text.isdecimal()):
        raise InvalidInput("Must be the length of the body in bytes.", field="Content-Length")
    return int(text or 0)


def _document(request: Request, most: int) -> dict[str, Any]:
    media_type = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and body_length(request):
        raise UnsupportedMediaType(
            media_type, "Send JSON, with the header Content-Type: application/json."
        )
    if body_length(request) > most:
        raise Refused(TOO_LARGE, f"The body may have at most {most:,} bytes; send less.")
    try:
        document = json.loads(_text(request), parse_constant=_no_constant, object_pairs_hook=_once)
    except RecursionError:
        raise InvalidInput("The JSON is nested too deeply; send a plain object.") from None
    except ValueError as error:
        reason = str(error)[:200]
        raise InvalidInput("The body is not JSON: {reason}.", reason=reason) from None
    if not isinstance(document, dict):
        raise InvalidInput("The body must be a JSON object, {...}.")
    return document


def _text(request: Request) -> str:
    try:
        # Read the stream instead of `body`, because Django limits `body` to fewer bytes than some
        # views allow.
        return request._request.read().decode("utf-8-sig")
    except OSError:
        raise BadRequest from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has a member twice")
    return members


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
