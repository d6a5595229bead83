"""JSON bodies: declared once, read strictly, documented from the same lines."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import BadRequest
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from dpgeo.api.problems import LengthRequired, TooLarge
from dpgeo.core.errors import InvalidInput

MAX_BODY_BYTES = 2 * 1024 * 1024
"""Room for a study area of 20,000 corners; files are sent to addresses of their own."""

Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One member of a JSON object. `read` checks its form or raises ValueError(remedy)."""

    name: str
    description: str
    read: Read
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False
    default: Any = None


def read_body(
    request: Request, declared: Sequence[Field], *, most: int = MAX_BODY_BYTES
) -> dict[str, Any]:
    """The value of every declared field; what is absent takes its default. `most` is in bytes.

    Raises InvalidInput that names the field: unknown, given twice, missing, or of another form.
    """
    document = _document(request, most) if body_length(request) or declared else {}
    known = {each.name: each for each in declared}
    for name in document:
        if name not in known:
            raise InvalidInput(_unknown(name, list(known)), field=name[:100])
    return {each.name: _read(each, document) for each in declared}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were given, where the default of every field is None."""
    return {name: value for name, value in values.items() if value is not None}


def body_schema(declared: Sequence[Field]) -> dict[str, Any]:
    """The JSON Schema of a body."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            each.name: {
                **each.schema,
                "description": each.description,
                **({} if each.default is None else {"default": each.default}),
            }
            for each in declared
        },
    }
    required = [each.name for each in declared if each.required]
    return {**schema, "required": required} if required else schema


def body_length(request: Request) -> int:
    """The length of a request's body in bytes. Raises LengthRequired where it is not told."""
    text = request.META.get("CONTENT_LENGTH") or ""
    if not text and request.META.get("HTTP_TRANSFER_ENCODING"):
        raise LengthRequired
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
        raise TooLarge(f"The body may have at most {most:,} bytes; send less.")
    try:
        document = json.loads(
            _text(request), parse_constant=_no_constant, object_pairs_hook=_members
        )
    except RecursionError:
        raise InvalidInput("The JSON is nested too deeply; send a plain object.") from None
    except ValueError as error:
        raise InvalidInput(f"The body is not JSON: {str(error)[:200]}.") from None
    if not isinstance(document, dict):
        raise InvalidInput("The body must be a JSON object, {...}.")
    return document


def _text(request: Request) -> str:
    try:
        # Read as a stream, `body` being held to Django's own limit, which is lower than some.
        return request._request.read().decode("utf-8-sig")
    except OSError:
        raise BadRequest from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member of an object is given twice")
    return members


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _unknown(name: str, known: list[str]) -> str:
    shown = repr(name[:100])
    if not known:
        return f"There is no field {shown}; send no body here."
    close = difflib.get_close_matches(name[:100], known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}."
    return f"There is no field {shown}; {hint}"


def _read(declared: Field, document: Mapping[str, Any]) -> Any:
    if declared.name not in document:
        if declared.required:
            raise InvalidInput(f"Is missing; give it: {declared.description}", field=declared.name)
        return declared.default
    try:
        return declared.read(document[declared.name])
    except ValueError as error:
        raise InvalidInput(str(error), field=declared.name) from None


def text(value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ValueError("Must be text, in quotation marks.")
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError("Holds half of a surrogate pair; send whole characters.")
    return value


def number(value: Any) -> str:
    """A decimal number as exact text: "0.5" is as good as 0.5, and safer."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError('Must be a number, such as "0.5".')
    return text(value) if isinstance(value, str) else str(value)


def whole(value: Any) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("Must be a whole number, without quotation marks.")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("Must be true or false, without quotation marks.")
    return value


def items(value: Any) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise ValueError("Must be a list, [...].")
    return value


def members(value: Any) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise ValueError("Must be an object, {...}.")
    return value
