"""JSON request bodies, each declared once for both strict parsing and OpenAPI."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import BadRequest
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.fields import empty
from rest_framework.request import Request

from dpgeo.api.problems import LengthRequired, TooLarge
from dpgeo.core.declared import Declared, schema_of, unknown
from dpgeo.core.errors import InvalidInput

MAX_BODY_BYTES = 2 * 1024 * 1024
"""Largest request body in bytes. It is enough for a study area of 20,000 vertices; files are sent
to other URLs."""

Schema = Mapping[str, Any]

D = TypeVar("D", bound=Declared)


class Anything(serializers.Field[Any, Any, Any, Any]):
    """A field that accepts values of `types` and rejects others with the message `wrong`."""

    schema: Schema = {"type": "string"}
    types: ClassVar[tuple[type, ...]] = (object,)
    wrong: ClassVar[str] = ""

    def __init__(self, help_text: str = "", *, schema: Schema | None = None, **facts: Any) -> None:
        super().__init__(help_text=help_text, **facts)
        self.schema = schema or self.schema

    def to_internal_value(self, data: Any) -> Any:
        """Return the value unchanged. Raises InvalidInput if its type is not in `types`."""
        is_flag = isinstance(data, bool) and not {bool, object} & {*self.types}
        if is_flag or not isinstance(data, self.types):
            raise InvalidInput(self.wrong, field=self.sent_as)
        return data

    @property
    def sent_as(self) -> str:
        """Return the name of the body's top-level field that contains this field.

        Errors name that field.
        """
        return _sent_as(self)


def check_text(text: str, field: str) -> str:
    """Return `text` unchanged.

    Raises InvalidInput, which names `field`, if the text contains a lone surrogate.
    """
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise InvalidInput("Contains half of a surrogate pair; send whole characters.", field=field)
    return text


class Body(serializers.Serializer[Any]):
    """A JSON object in which a field that is not declared is an error.

    An absent field gets its default or, without a default, is absent from the result. `needed`
    lists inherited fields that are required in this class.
    """

    needed: ClassVar[Collection[str]] = ()

    def get_fields(self) -> dict[str, Any]:
        """Return the declared fields, and make those in `needed` required."""
        fields: dict[str, Any] = super().get_fields()
        for name in self.needed:
            fields[name].required = True
        return fields

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the values of the fields by name.

        Raises InvalidInput, which names the field, for invalid content.
        """
        outer = _sent_as(self)
        if not isinstance(data, dict):
            raise InvalidInput("Must be an object, {...}.", field=outer)
        for name in data:
            if name not in self.fields:
                sent = name[:100]
                known = list(self.fields)
                raise unknown("field", sent, known, none="send no body here.", field=outer or sent)
        values = {name: _value(field, data.get(name, empty)) for name, field in self.fields.items()}
        return {name: value for name, value in values.items() if value is not empty}


class Text(Anything):
    """Request field that holds a text."""

    types: ClassVar[tuple[type, ...]] = (str,)
    wrong = "Must be text, in quotation marks."

    def to_internal_value(self, data: Any) -> str:
        """Return the text unchanged."""
        return check_text(str(super().to_internal_value(data)), self.sent_as)


class Decimal(Text):
    """Request field that holds a decimal number, as exact text or as a JSON number."""

    schema: Schema = {"type": ["string", "number"]}
    types = (str, int, float)
    wrong = 'Must be a number, such as "0.5".'


class Whole(Anything):
    """Request field that holds an integer."""

    schema: Schema = {"type": "integer"}
    types = (int,)
    wrong = "Must be a whole number, without quotation marks."


class Real(Anything):
    """Request field that holds a number."""

    schema: Schema = {"type": "number"}
    types = (int, float)
    wrong = "Must be a number, without quotation marks."

    def to_internal_value(self, data: Any) -> float:
        """Return the number as a float. Raises InvalidInput if it is too large for one."""
        try:
            return float(super().to_internal_value(data))
        except OverflowError:
            raise InvalidInput("Is too large.", field=self.sent_as) from None


class Flag(Anything):
    """Request field that holds true or false."""

    schema: Schema = {"type": "boolean"}
    types = (bool,)
    wrong = "Must be true or false, without quotation marks."


class Items(Anything):
    """Request field that holds a list. Its items are not checked."""

    schema: Schema = {"type": "array"}
    types = (list,)
    wrong = "Must be a list, [...]."


class Members(Anything):
    """Request field that holds an object. Its members are not checked."""

    schema: Schema = {"type": "object", "additionalProperties": True}
    types = (dict,)
    wrong = "Must be an object, {...}."


def read_body(
    request: Request, body: type[Body] = Body, *, most: int = MAX_BODY_BYTES
) -> dict[str, Any]:
    """Read a request body of at most `most` bytes, and return the values of its fields by name.

    The default for `body` is the base class Body, which allows no fields. Raises InvalidInput,
    which names the field, if a field is unknown, given twice, missing or malformed. Can also raise
    LengthRequired, TooLarge or UnsupportedMediaType.
    """
    declared = body()
    needed = any(field.default is empty for field in declared.fields.values())
    document = _document(request, most) if body_length(request) or needed else {}
    return declared.to_internal_value(document)


def read_facts(request: Request, facts: type[D], *, most: int = MAX_BODY_BYTES) -> D:
    """Read a request body of at most `most` bytes, and return the declared facts in it.

    Raises InvalidInput, which names the field, if a field is unknown, given twice, missing or
    malformed. Can also raise LengthRequired, TooLarge or UnsupportedMediaType.
    """
    needed = any(field.is_required() for field in facts.model_fields.values())
    document = _document(request, most) if body_length(request) or needed else {}
    return facts.read(document, strict=True)


def body_schema(body: Body | type[Body] | type[Declared]) -> dict[str, Any]:
    """Return the JSON Schema of a body."""
    if isinstance(body, type):
        return schema_of(body) if issubclass(body, Declared) else body_schema(body())
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
    """Return the declared length of the body in bytes, or 0 if there is no body.

    Raises LengthRequired for a chunked body without a length, or InvalidInput for a malformed
    length.
    """
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
