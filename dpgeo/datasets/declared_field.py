"""A column of JSON that holds declared facts (`core.declared`)."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from django.db import models
from django.db.models.fields.json import KeyTransform

from dpgeo.core.declared import Declared


@lru_cache(maxsize=64)
def _read(declared: type[Declared], text: str) -> Declared:
    """Return the facts in a row's JSON; they are immutable, so rows with the same text share them.

    A study area may have 20,000 corners, which are then not read with every page.
    """
    return declared.model_validate(json.loads(text))


class DeclaredField(models.JSONField):
    """Stores the facts of one model as JSON; attributes of its keys can be searched.

    The model is not part of migrations, which see a column of JSON.
    """

    def __init__(self, declared: type[Declared] = Declared, **facts: Any) -> None:
        self.declared = declared
        super().__init__(**facts)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """Return the facts in a row, or the JSON value of one of their keys."""
        if value is None or isinstance(expression, KeyTransform):
            return super().from_db_value(value, expression, connection)
        return _read(self.declared, value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """Return facts, or the value of a key, as the database's JSON."""
        document = value.model_dump(mode="json") if isinstance(value, Declared) else value
        return super().get_db_prep_value(document, connection, prepared)

    def deconstruct(self) -> Any:
        """Return what migrations see: a column of JSON."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.JSONField", arguments, options

    def value_to_string(self, obj: Any) -> Any:
        """Return the facts as JSON, for dumps of the database."""
        return self.value_from_object(obj).model_dump(mode="json")

    def to_python(self, value: Any) -> Any:
        """Return facts that were given as JSON."""
        return self.declared.model_validate(value) if isinstance(value, dict) else value
