"""Base class of the API's answers, each declared once as a pydantic model.

The fields of a model are the JSON of an answer and its schema in the OpenAPI description. Plain
functions make answers from database rows. Public answers depend on the private data only through a
release's files: they never reveal how much of a budget is left, when jobs ran or how many rows
there are.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable
from typing import Annotated, Any

from django.http import HttpRequest
from django.urls import reverse
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from rest_framework.request import Request

from dpgeo.core.declared import fact

AnyRequest = HttpRequest | Request

Json = dict[str, Any]

SUFFIX = "Out"
"""Suffix of the models' names, which the names in the schema lack."""


class Answer(BaseModel):
    """A JSON object in a response. Optional fields are left out unless they are given."""

    model_config = ConfigDict(from_attributes=True, extra="ignore")


def optional() -> Any:
    """Declare a field that is left out unless it is given."""
    return Field(default=None)


def one_of(values: Iterable[str]) -> WithJsonSchema:
    """Return the JSON Schema of a text that is one of `values`."""
    return WithJsonSchema({"type": "string", "enum": [str(each) for each in values]})


BOX = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 4,
    "maxItems": 4,
    "description": "West, south, east, north of the study area in degrees.",
}

Url = Annotated[str, WithJsonSchema({"type": "string", "format": "uri"})]
Slug = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"})]
Box = Annotated[list[float], WithJsonSchema(BOX)]
Parameters = Annotated[
    Json,
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": ["string", "integer", "boolean"]},
        }
    ),
]

NEXT = "The next page, null on the last."
ONE_PAGE = "Always null: there is one page."


class ProblemOut(Answer):
    """A problem and its remedy (RFC 9457)."""

    type: str = fact("A URI reference that names the kind of problem.")
    title: str = fact("The kind of problem in words.")
    status: int = fact("The HTTP status.")
    detail: str = fact("What is wrong, and what to do about it.")
    field: str = fact("The input at fault.", None)


def address_of(request: AnyRequest, name: str, *values: object) -> str:
    """Return the absolute URL of the URL pattern `name` with the arguments `values`."""
    return request.build_absolute_uri(_path(name, *values))


@functools.lru_cache(maxsize=16_384)
def _path(name: str, *values: object) -> str:
    return reverse(name, args=values)


def day_of(moment: datetime.datetime | None) -> datetime.date | None:
    """Return the UTC date of a point in time, without the time of day.

    Some releases are published as soon as their job ends. Their exact time of publication would
    reveal how long the job ran, which depends on the private data.
    """
    return moment and moment.astimezone(datetime.UTC).date()


class _AnswerSchema(GenerateJsonSchema):
    """JSON Schema as OpenAPI 3.1 and its generators of clients have it, without titles."""

    def float_schema(self, schema: Any) -> Json:
        return {**super().float_schema(schema), "format": "double"}

    def nullable_schema(self, schema: Any) -> Json:
        inner = self.generate_inner(schema["schema"])
        if "type" in inner:
            return {**inner, "type": [inner["type"], "null"]}
        return {"oneOf": [inner, {"type": "null"}]}

    def default_schema(self, schema: Any) -> Json:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class AnswerDescription(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Extension that describes answers in the OpenAPI schema."""

    target_class = Answer
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        set_override(self.target, "suppress_collision_warning", True)
        return str(self.target.__name__).removesuffix(SUFFIX)

    def map_serializer(self, auto_schema: Any, direction: Any) -> Json:
        """Return the schema of the answer; those of answers within it are registered."""
        schema = self.target.model_json_schema(
            ref_template="#/components/schemas/{model}", schema_generator=_AnswerSchema
        )
        for name, part in schema.pop("$defs", {}).items():
            short = name.removesuffix(SUFFIX)
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=short, type=ResolvedComponent.SCHEMA, object=short, schema=_component(part)
            )
            auto_schema.registry.register_on_missing(component)
        return _component(schema)


def _component(schema: Json) -> Json:
    """Return the schema of an object with sorted requirements, and without a title."""
    plain: Json = _referring(schema)
    plain.pop("title")
    if "required" in plain:
        plain["required"].sort()
    return plain


def _referring(schema: Any) -> Any:
    """Return a schema whose references have short names and, beside other keywords, an allOf."""
    if isinstance(schema, list):
        return [_referring(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _referring(each) for name, each in schema.items()}
    if not isinstance(plain.get("$ref"), str):
        return plain
    reference = {"$ref": plain.pop("$ref").removesuffix(SUFFIX)}
    return {"allOf": [reference], **plain} if plain else reference
