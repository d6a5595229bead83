"""JSON bodies: each declared once, as a serializer that reads strictly and describes itself."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from django.core.exceptions import BadRequest
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.fields import empty
from rest_framework.request import Request

from dpgeo.api.problems import LengthRequired, TooLarge
from dpgeo.core.errors import InvalidInput

MAX_BODY_BYTES = 2 * 1024 * 1024
"""Room for a study area of 20,000 corners; files are sent to addresses of their own."""

Schema = Mapping[str, Any]


class Anything(serializers.Field[Any, Any, Any, Any]):
    """A member of a body, of any form; `schema` is what the description says of it."""

    schema: Schema = {"type": "string"}

    def __init__(self, help_text: str = "", *, schema: Schema | None = None, **facts: Any) -> None:
        super().__init__(help_text=help_text, **facts)
        self.schema = schema or self.schema

    def to_internal_value(self, data: Any) -> Any:
        """What was sent. Raises InvalidInput for another form."""
        return data

    @property
    def sent_as(self) -> str:
        """The member of the whole body that an error names: this one, or the one that holds it."""
        return _sent_as(self)


class Body(serializers.Serializer[Any]):
    """A JSON object that is sent, or a member that is one. What it does not declare is refused.

    What is absent takes its default, or is absent from what was read. `needed` are fields that
    have to be there, though the class they are inherited from does without.
    """

    needed: ClassVar[Collection[str]] = ()

    def get_fields(self) -> dict[str, Any]:
        """The declared fields."""
        fields: dict[str, Any] = super().get_fields()
        for name in self.needed:
            fields[name].required = True
        return fields

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The value of every field. Raises InvalidInput that names the field."""
        outer = _sent_as(self)
        if not isinstance(data, dict):
            raise InvalidInput("Must be an object, {...}.", field=outer)
        for name in data:
            if name not in self.fields:
                raise unknown(name, list(self.fields), field=outer or name[:100])
        values = {name: _value(field, data.get(name, empty)) for name, field in self.fields.items()}
        return {name: value for name, value in values.items() if value is not empty}


class Text(Anything):
    """Text."""

    def to_internal_value(self, data: Any) -> str:
        """The text as it is."""
        if not isinstance(data, str):
            raise InvalidInput("Must be text, in quotation marks.", field=self.sent_as)
        if any("\ud800" <= sign <= "\udfff" for sign in data):
            raise InvalidInput(
                "Holds half of a surrogate pair; send whole characters.", field=self.sent_as
            )
        return data


class Decimal(Text):
    """A decimal number as exact text: "0.5" is as good as 0.5, and safer."""

    schema: Schema = {"type": ["string", "number"]}

    def to_internal_value(self, data: Any) -> str:
        """The number's text."""
        if isinstance(data, bool) or not isinstance(data, (str, int, float)):
            raise InvalidInput('Must be a number, such as "0.5".', field=self.sent_as)
        return super().to_internal_value(data) if isinstance(data, str) else str(data)


class Whole(Anything):
    """A whole number."""

    schema: Schema = {"type": "integer"}

    def to_internal_value(self, data: Any) -> int:
        """The number."""
        if isinstance(data, bool) or not isinstance(data, int):
            raise InvalidInput(
                "Must be a whole number, without quotation marks.", field=self.sent_as
            )
        return data


class Real(Anything):
    """A number."""

    schema: Schema = {"type": "number"}

    def to_internal_value(self, data: Any) -> float:
        """The nearest float."""
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            raise InvalidInput("Must be a number, without quotation marks.", field=self.sent_as)
        try:
            return float(data)
        except OverflowError:
            raise InvalidInput("Is too large.", field=self.sent_as) from None


class Flag(Anything):
    """True or false."""

    schema: Schema = {"type": "boolean"}

    def to_internal_value(self, data: Any) -> bool:
        """The same."""
        if not isinstance(data, bool):
            raise InvalidInput(
                "Must be true or false, without quotation marks.", field=self.sent_as
            )
        return data


class Items(Anything):
    """A list."""

    schema: Schema = {"type": "array"}

    def to_internal_value(self, data: Any) -> list[Any]:
        """The list, its items unread."""
        if not isinstance(data, list):
            raise InvalidInput("Must be a list, [...].", field=self.sent_as)
        return data


class Members(Anything):
    """An object of any members."""

    schema: Schema = {"type": "object", "additionalProperties": True}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The object, its members unread."""
        if not isinstance(data, dict):
            raise InvalidInput("Must be an object, {...}.", field=self.sent_as)
        return data


def read_body(
    request: Request, body: type[Body] = Body, *, most: int = MAX_BODY_BYTES
) -> dict[str, Any]:
    """What was sent of a body; without one, nothing may be. `most` is in bytes.

    Raises InvalidInput that names the field: unknown, given twice, missing, or of another form.
    """
    declared = body()
    document = _document(request, most) if body_length(request) or declared.fields else {}
    return declared.to_internal_value(document)


def body_schema(body: Body) -> dict[str, Any]:
    """The JSON Schema of a body."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _member_schema(field) for name, field in body.fields.items()},
    }
    required = [name for name, field in body.fields.items() if field.required]
    return {**schema, "required": required} if required else schema


def _member_schema(field: Any) -> dict[str, Any]:
    schema = body_schema(field) if isinstance(field, Body) else dict(field.schema)
    if field.help_text:
        schema["description"] = field.help_text
    if field.default not in (empty, None):
        schema["default"] = field.default
    return schema


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
        document = json.loads(_text(request), parse_constant=_no_constant, object_pairs_hook=_once)
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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member of an object is given twice")
    return members


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def unknown(name: str, known: list[str], *, field: str) -> InvalidInput:
    """The error for a member that is not declared."""
    sent = name[:100]
    if not known:
        return InvalidInput(
            "There is no field {name!r}; send no body here.", name=sent, field=field
        )
    if close := difflib.get_close_matches(sent, known, n=1):
        return InvalidInput(
            "There is no field {name!r}; did you mean {close!r}?",
            name=sent,
            close=close[0],
            field=field,
        )
    return InvalidInput(
        "There is no field {name!r}; choose from {known}.",
        name=sent,
        known=", ".join(known),
        field=field,
    )


def _value(field: Any, sent: Any) -> Any:
    if sent is not empty:
        return field.to_internal_value(sent)
    if field.required:
        outer = _sent_as(field)
        if outer == field.field_name:
            meaning = field.help_text
            raise InvalidInput("Is missing; give it: {meaning}", meaning=meaning, field=outer)
        raise InvalidInput("Lacks {name!r}; give it.", name=field.field_name, field=outer)
    return field.default


def _sent_as(field: Any) -> str:
    while field.parent is not None and field.parent.parent is not None:
        field = field.parent
    return field.field_name or ""
