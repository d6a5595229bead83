"""Base class of the API's documents, which defines both their schema and their content.

A field takes its value from the serializer's method `get_<field>` if there is one, otherwise from
the attribute `source`, which defaults to the field's name. Only declared fields are sent. Public
documents depend on the private data only through a release's files: they never reveal how much of a
budget is left, when jobs ran or how many rows there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from datetime import date
from enum import StrEnum
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from pydantic.fields import FieldInfo
from rest_framework import serializers
from rest_framework.fields import SkipField
from rest_framework.request import Request

from dpgeo.core.declared import Declared, kind_of_field

AnyRequest = HttpRequest | Request


class Facts(serializers.Field[Any, Any, Any, Any]):
    """Place of the fields of a declared model (`core.declared`) in a document.

    Fields of `without`, and those that the document declares itself, are left out. `source` is the
    attribute with the model's facts.
    """

    def __init__(self, model: type[Declared], *, without: Collection[str] = ()) -> None:
        super().__init__()
        self._model, self._without = model, without

    def expand(self, source: str, declared: Collection[str]) -> dict[str, Any]:
        """Return the fields that stand in this one's place, by name."""
        return {
            name: _fact_field(field, source=f"{source}.{name}")
            for name, field in self._model.model_fields.items()
            if name not in self._without and name not in declared
        }


def _fact_field(field: FieldInfo, *, source: str) -> Any:
    kind = kind_of_field(field)
    facts: dict[str, Any] = {"source": source, "help_text": field.description}
    if field.default is None:
        facts["allow_null"] = True
    if issubclass(kind, StrEnum):
        return serializers.ChoiceField(choices=[each.value for each in kind], **facts)
    return {int: serializers.IntegerField, date: serializers.DateField}[kind](**facts)


class Document(serializers.Serializer[Any]):
    """Serializer of a JSON object in a response. It builds URLs from the request in its context."""

    def get_fields(self) -> dict[str, Any]:
        """Return the declared fields, with those of a model in place of `Facts`."""
        declared: dict[str, Any] = super().get_fields()
        fields: dict[str, Any] = {}
        for name, field in declared.items():
            fields |= field.expand(name, declared) if isinstance(field, Facts) else {name: field}
        return fields

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the fields of `instance`, in the order in which they are declared.

        A field that raises SkipField is left out.
        """
        document = {}
        for name, read in self._readers:
            try:
                document[name] = read(instance)
            except SkipField:
                continue
        return document

    @functools.cached_property
    def _readers(self) -> list[tuple[str, Callable[[Any], Any]]]:
        return [(name, self._reader(name, field)) for name, field in self.fields.items()]

    def _reader(self, name: str, field: Any) -> Callable[[Any], Any]:
        method = f"get_{name}"
        take = (
            field.get_attribute
            if hasattr(Document, method)
            else getattr(self, method, field.get_attribute)
        )

        def read(instance: Any) -> Any:
            value = take(instance)
            return None if value is None else field.to_representation(value)

        return read

    def address(self, name: str, *values: object) -> str:
        """Return the absolute URL of the URL pattern `name` with the arguments `values`."""
        return address_of(self.context["request"], name, *values)


class Address(serializers.URLField):
    """Field with the URL of an object.

    The URL is that of the URL pattern `name` with the value of the attribute `source` as the
    pattern's argument.
    """

    def __init__(self, name: str, *, source: str = "pk", **facts: Any) -> None:
        super().__init__(source=source, **facts)
        self._name = name

    def to_representation(self, value: Any) -> str:
        """Return the absolute URL of the pattern `name`, given its argument `value`."""
        return address_of(self.context["request"], self._name, value)


def page_of(document: type[Document], name: str, meaning: str, *, only: str = "") -> type[Document]:
    """Create the serializer class `name` for one page of a list of documents.

    `meaning` is the class's docstring. A non-empty `only` states why the list always fits on one
    page; the field `next` is then always null.
    """
    following = f"Always null: {only}." if only else "The next page, null on the last."
    members = {
        "__doc__": meaning,
        "results": document(many=True),
        "next": serializers.URLField(allow_null=True, help_text=following),
    }
    return type(name, (Document,), members)


def address_of(request: AnyRequest, name: str, *values: object) -> str:
    """Return the absolute URL of the URL pattern `name` with the arguments `values`."""
    return request.build_absolute_uri(_path(name, *values))


@functools.lru_cache(maxsize=16_384)
def _path(name: str, *values: object) -> str:
    """Return the path of the URL pattern `name`. It is cached, because lists contain many URLs."""
    return reverse(name, args=values)
